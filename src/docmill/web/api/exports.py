"""Routes that take data out: tables of fields, originals, bookkeeping."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from starlette.responses import StreamingResponse

from docmill.service.exports.archive import Archive
from docmill.service.exports.table_files import MEDIA_TYPES, TableFormat
from docmill.service.exports.tables import TableName, export_tables
from docmill.service.store.documents import Selection
from docmill.web.api.shapes import State
from docmill.web.context import TheVault

router = APIRouter(prefix="/exports", tags=["exports"])

_MOST_IDS = 1000


def _selection(
    *,
    q: Annotated[str | None, Query(max_length=200, description="as in the list of documents")] = None,
    state: State | Literal["not_read"] | None = None,
    document_type: Annotated[str | None, Query(max_length=200)] = None,
    id: Annotated[  # noqa: A002  the parameter's name in the address
        list[UUID] | None, Query(max_length=_MOST_IDS, description="only these documents; can be repeated")
    ] = None,
) -> Selection:
    return Selection(query=q or None, state=state, document_type=document_type or None, ids=id)


TheSelection = Annotated[Selection, Depends(_selection)]
"""The filters in the address, for a route that names it as an argument."""


@router.get("/fields.{form}", response_class=Response)
async def get_fields(
    form: TableFormat,
    vault: TheVault,
    selection: TheSelection,
    *,
    table: Annotated[
        TableName, Query(description="which table a file of CSV or Parquet holds; XLSX holds both")
    ] = "documents",
) -> Response:
    """The believed values of documents as a table: a row for each document, or for each line item."""
    chunks = export_tables(
        vault.service.database,
        vault.settings.own.by_choice,
        selection,
        tenant_id=vault.tenant_id,
        form=form,
        table=table,
    )
    stem = "documents" if form == "xlsx" else table
    return await _download(chunks, file_name(stem, form), MEDIA_TYPES[form])


@router.get("/documents.zip", response_class=Response)
async def get_archive(vault: TheVault, selection: TheSelection) -> Response:
    """The originals of documents, and a JSON record of each."""
    archive = Archive(
        vault.service.database, vault.service.blobs, vault.service.reviews, tenant_id=vault.tenant_id
    )
    return await _download(archive.stream(selection), file_name("documents", "zip"), "application/zip")


def file_name(stem: str, extension: str) -> str:
    """The name of a file that is exported today."""
    return f"docmill-{stem}-{datetime.now(UTC):%Y-%m-%d}.{extension}"


async def _download(chunks: AsyncGenerator[bytes], name: str, media_type: str) -> StreamingResponse:
    """Stream a file. What fails before its first bytes is answered by an error."""
    first = b""
    async for chunk in chunks:
        if chunk:
            first = chunk
            break

    async def content() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            if chunk:
                yield chunk

    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return StreamingResponse(content(), headers=headers, media_type=media_type)
