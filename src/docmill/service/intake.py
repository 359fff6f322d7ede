"""Taking documents in: each content once, and nothing that was accepted is lost."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from docmill.errors import CorruptError
from docmill.ports import Queue
from docmill.service.blobs import Blobs, Stored
from docmill.service.feed import EventFeed
from docmill.service.store import documents, ingestions
from docmill.service.store.database import Conn, Database
from docmill.service.store.ids import new_id
from docmill.service.store.tenants import DEFAULT_USER_ID


class TransactionalQueue(Queue, Protocol):
    """A queue that takes messages within the caller's transaction."""

    async def send_in(self, conn: Conn, bodies: Sequence[str], *, delay_s: float = 0) -> None:
        """Enqueue if the transaction commits."""
        ...

    def announce(self) -> None:
        """Tell receivers, after the commit."""
        ...


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of an upload.

    ingestion_id: of the processing now under way; None if an earlier result is used. is_new: whether this
    content was unknown before.
    """

    document_id: UUID
    ingestion_id: UUID | None
    is_new: bool


class Intake:
    """Where documents enter the service."""

    def __init__(
        self, database: Database, blobs: Blobs, queue: TransactionalQueue, feed: EventFeed, *, max_bytes: int
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._queue = queue
        self._feed = feed
        self._max_bytes = max_bytes

    async def accept(
        self,
        chunks: AsyncIterator[bytes],
        *,
        tenant_id: UUID,
        file_name: str,
        uploaded_by: UUID | None = None,
        force: bool = False,
    ) -> Accepted:
        """Store a file and have it processed. Content that was processed before is not processed again.

        force: process it again even so. Raises TooLargeError, CorruptError for an empty file, ServerError if
        it could not be stored: try again.
        """
        path, stored = await self._store(chunks, tenant_id)
        async with self._database.tenant(tenant_id) as conn:
            document_id, is_new = await documents.upsert(
                conn,
                tenant_id=tenant_id,
                content_hash=stored.content_hash,
                byte_size=stored.byte_size,
                file_name=_plain_name(file_name),
                file_path=path,
            )
            if not is_new and not force and await ingestions.has_result(conn, document_id):
                return Accepted(document_id, await ingestions.live_id(conn, document_id), is_new)
            ingestion_id = await self._begin(conn, document_id, tenant_id, uploaded_by)
        self._announce()
        return Accepted(document_id, ingestion_id, is_new)

    async def reprocess(
        self, document_id: UUID, *, tenant_id: UUID, uploaded_by: UUID | None = None
    ) -> UUID | None:
        """Have a document processed again; the ingestion under way, None if there is no such document.

        While one is under way no other is begun, however often this is called; one that is stuck is sent to
        the workers again, whatever became of its message.
        """
        async with self._database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id):
                return None
            ingestion_id = await self._begin(conn, document_id, tenant_id, uploaded_by)
        self._announce()
        return ingestion_id

    async def _store(self, chunks: AsyncIterator[bytes], tenant_id: UUID) -> tuple[str, Stored]:
        """The file under a key that its content gives, complete before any row speaks of it."""
        incoming = f"incoming/{new_id()}"
        stored = await self._blobs.put_stream(incoming, chunks, max_bytes=self._max_bytes)
        if not stored.byte_size:
            await self._blobs.delete(incoming)
            raise CorruptError("the file is empty")
        path = f"documents/{tenant_id}/{stored.content_hash}"
        await self._blobs.move(incoming, path)
        return path, stored

    async def _begin(
        self, conn: Conn, document_id: UUID, tenant_id: UUID, uploaded_by: UUID | None
    ) -> UUID | None:
        ingestion_id = await ingestions.begin(
            conn,
            tenant_id=tenant_id,
            document_id=document_id,
            uploaded_by=uploaded_by or DEFAULT_USER_ID,
        )
        if ingestion_id is None:
            ingestion_id = await ingestions.revive(conn, document_id)
        if ingestion_id is None:
            return await ingestions.live_id(conn, document_id)
        await self._queue.send_in(conn, [str(ingestion_id)])
        return ingestion_id

    def _announce(self) -> None:
        self._queue.announce()
        self._feed.announce()


def _plain_name(file_name: str) -> str:
    """The last part of a path, without control characters: a name is shown and offered for download."""
    last = file_name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(letter for letter in last if letter.isprintable()).strip()[:255] or "document"
