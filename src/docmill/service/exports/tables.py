"""Export of documents' fields as tables, in memory that does not grow with the number of documents."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Literal
from uuid import UUID

from docmill.model.result import Schema
from docmill.service.exports.columns import DOCUMENTS, ITEMS, Row, Tables
from docmill.service.exports.table_files import TableFile, TableFormat, open_table_file
from docmill.service.store import document_list
from docmill.service.store.database import Database
from docmill.service.store.document_list import Cursor, DocumentFilters
from docmill.service.store.documents import DocumentRow

TableName = Literal["documents", "items"]

Progress = Callable[[int], None]
"""Is told how many more documents are done."""

_BATCH = 500


def nothing(count: int) -> None:
    """Tell nobody of progress."""
    del count


async def export_tables(
    database: Database,
    schemas: Mapping[str, Schema],
    selection: DocumentFilters,
    *,
    tenant_id: UUID,
    form: TableFormat,
    table: TableName = DOCUMENTS,
    progress: Progress = nothing,
) -> AsyncGenerator[bytes]:
    """The file with the believed values of the selected documents, in pieces.

    schemas: by document type. table: which one a file of CSV or Parquet holds; XLSX holds both. progress: is
    told the number of documents that each step has added.
    """
    async with database.tenant(tenant_id) as conn:
        types = await document_list.types(conn, selection)
    tables = Tables(schemas[name] for name in types if name in schemas)
    names = (DOCUMENTS, ITEMS) if form == "xlsx" else (table,)
    file = await asyncio.to_thread(open_table_file, form, {name: tables.columns[name] for name in names})
    try:
        async for rows in document_batches(database, selection, tenant_id=tenant_id):
            yield await asyncio.to_thread(_write, file, tables, names, rows)
            progress(len(rows))
        rest = file.end()
        while (chunk := await asyncio.to_thread(next, rest, None)) is not None:
            yield chunk
    finally:
        await asyncio.to_thread(file.close)


async def document_batches(
    database: Database, selection: DocumentFilters, *, tenant_id: UUID
) -> AsyncIterator[list[DocumentRow]]:
    """The selected documents in batches, the newest first, each read in a transaction of its own.

    A document that comes while they are read is not among them: it is newer than the first one.
    """
    after: Cursor | None = None
    while True:
        async with database.tenant(tenant_id) as conn:
            page = await document_list.page(conn, selection, sort="newest", after=after, limit=_BATCH)
        if page.rows:
            yield page.rows
        if page.follow is None:
            return
        after = page.follow


def _write(file: TableFile, tables: Tables, names: Sequence[str], rows: Sequence[DocumentRow]) -> bytes:
    ready: list[bytes] = []
    if DOCUMENTS in names:
        ready.append(file.write(DOCUMENTS, [tables.document(row) for row in rows]))
    if ITEMS in names:
        items: list[Row] = [item for row in rows for item in tables.items(row)]
        ready.append(file.write(ITEMS, items))
    return b"".join(ready)
