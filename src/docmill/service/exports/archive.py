"""The archive of originals and records: a file and a JSON record for each document."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from uuid import UUID

from docmill.errors import CorruptError
from docmill.service.exports.records import Record, vault_record
from docmill.service.exports.safe_names import SafeNames
from docmill.service.exports.tables import Progress, document_batches, nothing
from docmill.service.exports.zip_stream import ZipStream
from docmill.service.review.reviews import Reviews
from docmill.service.storage.blobs import Blobs
from docmill.service.store import exported_results
from docmill.service.store.database import Database
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow
from docmill.service.store.exported_results import ExportedResult

ORIGINALS, RECORDS = "originals", "records"

ALREADY_SMALL = ("image/", "application/pdf", "application/zip", "application/vnd.openxmlformats", "video/")


class Archive:
    """Makes archives of a tenant's documents."""

    def __init__(self, database: Database, blobs: Blobs, reviews: Reviews, *, tenant_id: UUID) -> None:
        self._database = database
        self._blobs = blobs
        self._reviews = reviews
        self._tenant_id = tenant_id

    async def stream(self, selection: DocumentFilters, progress: Progress = nothing) -> AsyncGenerator[bytes]:
        """The archive of the selected documents, in pieces.

        An original that is gone from the file store has no entry, and its record says so.
        """
        archive, names, sources = ZipStream(), SafeNames(), dict[UUID, str]()
        async for rows in document_batches(self._database, selection, tenant_id=self._tenant_id):
            results = await self._results(rows)
            for row in rows:
                sources[row.id] = name = names.take(row.file_name)
                original = await open_original(self._blobs, row.file_path)
                if original is not None:
                    entry = archive.add(
                        f"{ORIGINALS}/{name}",
                        original,
                        byte_size=row.byte_size,
                        modified_at=row.created_at,
                        is_compressed=not row.media_type.startswith(ALREADY_SMALL),
                    )
                    async for chunk in entry:
                        yield chunk
                record = await self._record(row, results[row.id], sources)
                record["original_is_missing"] = original is None
                data = await asyncio.to_thread(_as_json, record)
                yield archive.add_bytes(f"{RECORDS}/{name}.json", data, modified_at=row.updated_at)
                progress(1)
        yield archive.end()

    async def _results(self, rows: Sequence[DocumentRow]) -> dict[UUID, ExportedResult]:
        async with self._database.tenant(self._tenant_id) as conn:
            return await exported_results.of_documents(conn, [row.id for row in rows])

    async def _record(self, row: DocumentRow, result: ExportedResult, sources: dict[UUID, str]) -> Record:
        # What follows from reviews for other values is computed, which takes several queries.
        reviewed = await self._reviews.of(row.id, tenant_id=self._tenant_id) if result.reviews else None
        return vault_record(row, result, source=sources[row.id], reviewed=reviewed, sources=sources)


async def open_original(blobs: Blobs, key: str) -> AsyncIterator[bytes] | None:
    """The content of a stored file; None if it is gone, which its first bytes tell."""
    chunks = blobs.stream(key)
    try:
        first = await anext(chunks)
    except CorruptError:
        return None

    async def content() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return content()


def _as_json(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
