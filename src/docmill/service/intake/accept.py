"""Taking documents in: each content once, and nothing that was accepted is lost.

Of a file that is protected by a password, a copy without it is stored beside the original, and read instead.
"""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias
from uuid import UUID

from docmill.errors import CorruptError, DocmillError, ServerError, ValidationError
from docmill.model.document import Part
from docmill.resilience.concurrency import see_through
from docmill.service.config.fingerprint import Fingerprint
from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.events.wakeups import EventFeed
from docmill.service.intake.orphaned_files import remove_original
from docmill.service.observe.tracing import NO_TRACER, SENDING, Tracer, document_attributes
from docmill.service.ports import Sender, Unlocker
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.storage.blobs import Blobs, StoredFile
from docmill.service.store import arrivals, dead_letters, documents, ingestions, parts, tags
from docmill.service.store import bin as bin_store
from docmill.service.store.claims import Claim
from docmill.service.store.database import Conn, Database, lock_file, new_id
from docmill.service.store.documents import EnteredDocument
from docmill.service.store.ingestions import Origin
from docmill.service.store.parts import Root

log = logging.getLogger(__name__)

_HEAD_BYTES = 1024
_OFFICE = b"\xd0\xcf\x11\xe0"
_WITHDRAW_S = 5.0
"""A failed upload whose database is gone need not wait for it to tidy up."""


Unlock: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Gives the readable copy of the stored file of this key, None if the file itself is readable."""


async def already_readable(_: str) -> None:
    """`Unlock` where no password was given."""


class NoUnlocker:
    """`Unlocker` where none is at hand."""

    async def unlock(self, original: Path, password: str) -> bytes | None:
        """See `Unlocker.unlock`. Raises ValidationError."""
        del original, password
        raise ValidationError("files with a password cannot be opened here; save the file without one")


def unlocking(blobs: Blobs, unlocker: Unlocker, password: str) -> Unlock:
    """Open stored files with `password`, from a copy on this machine that is gone afterwards."""

    async def unlock(key: str) -> bytes | None:
        with tempfile.TemporaryDirectory(prefix="docmill-unlock-") as folder:
            path = Path(folder) / "original"
            await blobs.download(key, path)
            return await unlocker.unlock(path, password)

    return unlock


async def takes_password(blobs: Blobs, file_path: str) -> bool:
    """True for a protected file that a password can open here: a PDF or an Office file."""
    head = b""
    try:
        async for chunk in blobs.stream(file_path, start=0, stop=_HEAD_BYTES):
            head += chunk
    except CorruptError:  # the file is gone
        return False
    return head.startswith(_OFFICE) or b"%PDF" in head


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of an upload, or of the arrival of an item.

    ingestion_id: of the processing now under way; None if an earlier result is used. is_new: whether this
    content was unknown before. is_restored: the document was in the bin.
    """

    document_id: UUID
    ingestion_id: UUID | None
    is_new: bool
    is_restored: bool = False


@dataclass(frozen=True, slots=True)
class AssignedTags:
    """Tags that a document gets when it arrives, and in whose name."""

    tag_ids: Sequence[UUID]
    assigned_by: UUID


class KnownItemError(Exception):
    """The item of a source was taken before; nothing was changed now."""


class Intake:
    """Takes uploads and parts of documents into the service.

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
        fingerprint: Fingerprint,
        matching: MatchingRequests = NO_MATCHING,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._sender = sender
        self._feed = feed
        self._max_bytes = max_bytes
        self._fingerprint = fingerprint
        self._matching = matching
        self._tracer = tracer

    async def accept(
        self,
        chunks: AsyncIterator[bytes],
        *,
        tenant_id: UUID,
        file_name: str,
        uploaded_by: UUID | None = None,
        force: bool = False,
        unlock: Unlock = already_readable,
    ) -> Accepted:
        """Store a file that a person uploads; see `accept_from`."""
        origin = Origin(uploaded_by=uploaded_by)
        return await self.accept_from(
            origin, chunks, tenant_id=tenant_id, file_name=file_name, force=force, unlock=unlock
        )

    async def accept_from(
        self,
        origin: Origin,
        chunks: AsyncIterator[bytes],
        *,
        tenant_id: UUID,
        file_name: str,
        item: str | None = None,
        tagging: AssignedTags | None = None,
        force: bool = False,
        unlock: Unlock = already_readable,
    ) -> Accepted:
        """Store a file and have it processed. Content that was processed before is not processed again.

        A document of this content that is in the bin is restored.

        item: what the source of `origin` calls it; it is taken once, in the same transaction. tagging: tags
        for the document, as a person assigns them. force: process it again even so. unlock: opens a file
        that is protected by a password. Raises TooLargeError, CorruptError for an empty file, ServerError if
        it could not be stored: try again; KnownItemError for an item that was taken before; and what `unlock`
        raises, with nothing stored.
        """
        async with (
            self._received_file(chunks) as arrived,
            self._stored_file(arrived, tenant_id, await unlock(arrived.key)) as copy_key,
            self._database.tenant(tenant_id) as conn,
        ):
            document_id, is_new, is_deleted = await self._enter_document(
                conn, arrived, tenant_id, file_name, is_part=False
            )
            if is_deleted:
                await self._restore(conn, document_id, tenant_id)
            opened = await self._set_readable(conn, document_id, copy_key)
            ingestion_id = None
            begins = force or opened or is_new
            newest = None if begins else await ingestions.newest(conn, document_id)
            if newest is None or not newest.has_result(await self._fingerprint.now()):
                ingestion_id = await self._begin(conn, document_id, tenant_id, origin, opened=opened)
            if tagging is not None:
                await tags.assign(
                    conn, [document_id], add=tagging.tag_ids, remove=(), assigned_by=tagging.assigned_by
                )
            if item is not None and not await arrivals.add(
                conn, origin, item, tenant_id=tenant_id, document_id=document_id
            ):
                raise KnownItemError
        self.announce()
        return Accepted(document_id, ingestion_id, is_new, is_restored=is_deleted)

    async def accept_part(
        self, chunks: AsyncIterator[bytes], *, claim: Claim, root: Root, position: int, part: Part
    ) -> None:
        """Store a part of the claimed document, link it to that, and have it processed.

        A document of this content that is in the bin is restored, unless it is a part of this one already.

        Done before, with the same upload, it changes nothing. Raises ClaimLostError, TooLargeError,
        CorruptError for an empty file or one that is the whole itself, ServerError.
        """
        tenant_id = claim.tenant_id
        async with (
            self._received_file(chunks) as arrived,
            self._stored_file(arrived, tenant_id),
            self._database.tenant(tenant_id) as conn,
        ):
            document_id, is_new, is_deleted = await self._enter_document(
                conn, arrived, tenant_id, part.name, is_part=True
            )
            if document_id == claim.document_id:
                raise CorruptError("the file holds itself")
            if not await parts.still_held(conn, claim):
                raise ClaimLostError
            was_linked = is_deleted and await parts.is_linked(conn, claim.document_id, document_id)
            await parts.link(conn, claim, position, part, child_id=document_id, root=root)
            if was_linked:
                return
            if is_deleted:
                await self._restore(conn, document_id, tenant_id)
            newest = None if is_new else await ingestions.newest(conn, document_id)
            if newest is None or not (
                newest.has_result(await self._fingerprint.now())
                # One that failed since is not begun again by each turn of a circle and each retry of a whole.
                or newest.root_id == root.ingestion_id
                # Only its password opens it, and the question for that must not vanish while somebody types.
                or newest.is_locked
            ):
                await self._begin(conn, document_id, tenant_id, root.origin_of_part(claim.document_id))
        self.announce()

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
            ingestion_id = await self._begin(conn, document_id, tenant_id, Origin(uploaded_by))
        self.announce()
        return ingestion_id

    async def read_again(
        self, conn: Conn, document_id: UUID, *, tenant_id: UUID, uploaded_by: UUID, reread_of: UUID
    ) -> UUID:
        """Have the fields of a document read again, without another recognition of its pages.

        The ingestion that does it: the one under way begins again. The caller has locked the document, and
        calls `announce` after the transaction. reread_of: the ingestion whose transcription is used.
        """
        origin = Origin(uploaded_by)
        return await self._begin(conn, document_id, tenant_id, origin, opened=True, reread_of=reread_of)

    async def unlock(
        self, document_id: UUID, unlock: Unlock, *, tenant_id: UUID, uploaded_by: UUID | None = None
    ) -> UUID | None:
        """Have a stored document read that is protected by a password; None if there is no such document.

        The ingestion under way is returned. Raises what `unlock` raises, with nothing changed.
        """
        async with self._database.tenant(tenant_id) as conn:
            row = await documents.get(conn, document_id)
        if row is None:
            return None
        copy = await unlock(row.file_path)
        copy_key = None if copy is None else await self._keep_copy(row.file_path, copy)
        async with self._database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id):
                return None
            opened = copy_key is not None and await documents.set_readable(conn, document_id, copy_key)
            ingestion_id = await self._begin(conn, document_id, tenant_id, Origin(uploaded_by), opened=opened)
        self.announce()
        return ingestion_id

    async def _keep_copy(self, file_path: str, copy: bytes) -> str:
        """Store a document's readable copy, over one that may be damaged; its key.

        As with originals, the key ends in the hash of the content.
        """
        digest = hashlib.sha256(copy).hexdigest()
        key = f"readable/{file_path.removeprefix('documents/')}/{digest}"
        await self._blobs.put(key, copy)
        return key

    @asynccontextmanager
    async def _received_file(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator["_IncomingFile"]:
        """A complete file under a key that nobody else knows. It is gone after the block."""
        incoming = f"incoming/{new_id()}"
        try:
            stored = await self._blobs.put_stream(incoming, chunks, max_bytes=self._max_bytes)
            if not stored.byte_size:
                raise CorruptError("the file is empty")
            yield _IncomingFile(incoming, stored)
        finally:
            try:
                await see_through(self._blobs.delete(incoming))
            except DocmillError as error:  # the sweeper removes it
                log.warning("could not remove an incoming file", extra={"key": incoming, "code": error.code})

    @asynccontextmanager
    async def _stored_file(
        self, arrived: "_IncomingFile", tenant_id: UUID, copy: bytes | None = None
    ) -> AsyncGenerator[str | None]:
        """The file under the key that its document names, and its readable copy, whose key is returned.

        Before the transaction: in a bucket it takes as long as a large file does. Over what is there: its
        content may have been damaged, and to look would take longer.
        """
        path = _path(tenant_id, arrived.stored)
        try:
            await self._blobs.copy(arrived.key, path)
            yield None if copy is None else await self._keep_copy(path, copy)
        except BaseException:
            await see_through(self._withdraw(path))
            raise

    async def _withdraw(self, path: str) -> None:
        """Remove the file of an upload that became no document."""
        try:
            async with asyncio.timeout(_WITHDRAW_S):
                await remove_original(self._database, self._blobs, path)
        except (DocmillError, TimeoutError) as error:  # the sweeper removes it
            log.warning("could not remove a file", extra={"key": path, "reason": type(error).__name__})

    async def _set_readable(self, conn: Conn, document_id: UUID, copy_key: str | None) -> bool:
        """Have the document read from its copy; False without one. The caller has locked the original.

        Raises ServerError if the copy was removed meanwhile, with an older document of this content.
        """
        if copy_key is None:
            return False
        try:
            await self._blobs.size(copy_key)
        except CorruptError as error:
            raise ServerError("a file of this content was just being removed; send it again") from error
        return await documents.set_readable(conn, document_id, copy_key)

    async def _restore(self, conn: Conn, document_id: UUID, tenant_id: UUID) -> None:
        """Take a document out of the bin, and go on with what was under way."""
        restored, reopened = await bin_store.restore(conn, document_id, tenant_id=tenant_id)
        await self._sender.send_in(conn, [str(ingestion_id) for ingestion_id in reopened])
        await self._matching.request_restored(conn, restored)

    async def _enter_document(
        self, conn: Conn, arrived: "_IncomingFile", tenant_id: UUID, file_name: str, *, is_part: bool
    ) -> EnteredDocument:
        """The document of this content, locked.

        file_name: the last part of a path is kept, without control characters: it is shown and offered for
        download.
        """
        last = file_name.replace("\\", "/").rstrip("/").rpartition("/")[2]
        path = _path(tenant_id, arrived.stored)
        await lock_file(conn, path)
        try:
            await self._blobs.size(path)
        except CorruptError:  # the sweeper has just removed it, as that of no document
            await self._blobs.copy(arrived.key, path)
        return await documents.upsert(
            conn,
            tenant_id=tenant_id,
            content_hash=arrived.stored.content_hash,
            byte_size=arrived.stored.byte_size,
            file_name="".join(filter(str.isprintable, last)).strip()[:255] or "document",
            file_path=path,
            is_part=is_part,
        )

    async def _begin(
        self,
        conn: Conn,
        document_id: UUID,
        tenant_id: UUID,
        origin: Origin,
        *,
        opened: bool = False,
        reread_of: UUID | None = None,
    ) -> UUID:
        """Return the ingestion under way, or begin one. The caller has locked the document.

        opened: the document is to be read otherwise than a worker may be reading it now. reread_of: see
        `ingestions.begin`.

        Looking first, and not at what an insertion says, means never waiting for a worker that is just
        ending the ingestion: it waits for our lock on the document.
        """
        live = await ingestions.live_id(conn, document_id)
        if live is not None:
            if opened:
                await ingestions.recall(conn, live)
                await self._sender.send_in(conn, [str(live)])
            elif await ingestions.revive(conn, live):
                await self._sender.send_in(conn, [str(live)])
            elif await ingestions.is_free(conn, live):
                await self._sender.hasten_in(conn, str(live))
            return live
        with self._tracer.span("send ingestion", kind="producer", attributes=SENDING) as span:
            begun = await ingestions.begin(
                conn,
                tenant_id=tenant_id,
                document_id=document_id,
                origin=origin,
                traceparent=self._tracer.traceparent(),
                reread_of=reread_of,
            )
            await dead_letters.forget_document(conn, document_id)
            await self._sender.send_in(conn, [str(begun)])
            span.describe(document_attributes(tenant_id, document_id, begun))
        return begun

    def announce(self) -> None:
        """Wake workers and update open pages after a transaction."""
        self._sender.announce()
        self._matching.announce()
        self._feed.announce()


class _IncomingFile(NamedTuple):
    """A complete file. key: where it is for now."""

    key: str
    stored: StoredFile


def _path(tenant_id: UUID, stored: StoredFile) -> str:
    return f"documents/{tenant_id}/{stored.content_hash}"
