"""Taking documents in: each content once, and nothing that was accepted is lost."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from docmill.errors import CorruptError, DocmillError
from docmill.service.blobs import Blobs, Stored
from docmill.service.feed import EventFeed
from docmill.service.store import dead_letters, documents, ingestions
from docmill.service.store.database import Conn, Database
from docmill.service.store.ids import new_id
from docmill.service.store.locks import lock_file
from docmill.service.store.tenants import DEFAULT_USER_ID
from docmill.service.tasks import see_through

log = logging.getLogger(__name__)


class Sender(Protocol):
    """Sends messages with the caller's transaction: all of it happens, or nothing."""

    async def send_in(self, conn: Conn, bodies: Sequence[str], *, delay_s: float = 0) -> None:
        """Have messages sent if the transaction commits; each falls due `delay_s` from now."""
        ...

    def announce(self) -> None:
        """Say after the commit that there is something new."""
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
    """Where documents enter the service.

    fingerprint: of the pipeline that processes documents now; a result of another is not used again.
    """

    def __init__(
        self,
        database: Database,
        blobs: Blobs,
        sender: Sender,
        feed: EventFeed,
        *,
        max_bytes: int,
        fingerprint: str,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._sender = sender
        self._feed = feed
        self._max_bytes = max_bytes
        self._fingerprint = fingerprint

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
        async with self._arrived(chunks) as (incoming, stored), self._database.tenant(tenant_id) as conn:
            path = f"documents/{tenant_id}/{stored.content_hash}"
            await lock_file(conn, path)
            document_id, is_new = await documents.upsert(
                conn,
                tenant_id=tenant_id,
                content_hash=stored.content_hash,
                byte_size=stored.byte_size,
                file_name=_plain_name(file_name),
                file_path=path,
            )
            ingestion_id = None
            if force or is_new or not await ingestions.has_result(conn, document_id, self._fingerprint):
                ingestion_id = await self._begin(conn, document_id, tenant_id, uploaded_by)
            # Last, so that what fails before leaves no file without a row.
            if is_new or not await self._is_stored(path, stored):
                await self._blobs.move(incoming, path)
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

    @asynccontextmanager
    async def _arrived(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, Stored]]:
        """A complete file under a key that nobody else knows. It is gone after the block, unless moved."""
        incoming = f"incoming/{new_id()}"
        try:
            stored = await self._blobs.put_stream(incoming, chunks, max_bytes=self._max_bytes)
            if not stored.byte_size:
                raise CorruptError("the file is empty")
            yield incoming, stored
        finally:
            await see_through(self._drop(incoming))

    async def _drop(self, incoming: str) -> None:
        try:
            await self._blobs.delete(incoming)
        except DocmillError as error:  # the sweeper removes it
            log.warning("could not remove an incoming file", extra={"key": incoming, "code": error.code})

    async def _is_stored(self, path: str, stored: Stored) -> bool:
        """Whether the file is really where its row says: a new upload mends a lost one."""
        try:
            return await self._blobs.size(path) == stored.byte_size
        except CorruptError:
            return False

    async def _begin(self, conn: Conn, document_id: UUID, tenant_id: UUID, uploaded_by: UUID | None) -> UUID:
        """The ingestion under way, a new one if there is none. The caller has locked the document.

        Looking first, and not at what an insertion says, means never waiting for a worker that is just
        ending the ingestion: it waits for our lock on the document.
        """
        live = await ingestions.live_id(conn, document_id)
        if live is not None:
            if await ingestions.revive(conn, live):
                await self._sender.send_in(conn, [str(live)])
            return live
        begun = await ingestions.begin(
            conn,
            tenant_id=tenant_id,
            document_id=document_id,
            uploaded_by=uploaded_by or DEFAULT_USER_ID,
        )
        await dead_letters.forget_document(conn, document_id)
        await self._sender.send_in(conn, [str(begun)])
        return begun

    def _announce(self) -> None:
        self._sender.announce()
        self._feed.announce()


def _plain_name(file_name: str) -> str:
    """The last part of a path, without control characters: a name is shown and offered for download."""
    last = file_name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(letter for letter in last if letter.isprintable()).strip()[:255] or "document"
