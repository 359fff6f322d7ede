"""Uploads that arrive in pieces, over several requests, and go on where they were broken off.

Several processes may serve one upload: its state is in the database, its pieces are in the file store.
Requests take no locks. Each stores its piece under a key of its own; it counts if the upload is still where
the request began, and is dropped otherwise. So a request that hangs or a process that died keeps nobody
waiting.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from uuid import UUID

from docmill.errors import (
    ChangedError,
    DocmillError,
    DocumentError,
    RateLimitedError,
    TooLargeError,
    ValidationError,
)
from docmill.service.intake.accept import Intake
from docmill.service.storage.blobs import Blobs
from docmill.service.store import partial_uploads as store
from docmill.service.store.database import Database, new_id
from docmill.service.store.partial_uploads import Outcome, PartialUpload, Uploader

log = logging.getLogger(__name__)

PIECE_BYTES = 8 << 20
"""The most that a process loses by dying; a bucket takes it in one call."""

LONGEST_METADATA = 4096
MOST_OPEN = 500
"""Uploads of one person that may be begun and not complete: each keeps what has arrived."""
_RETRY_S = 60.0
_BATCH = 100


class ResumableUploads:
    """The uploads of people and programs, each with its own.

    max_bytes: of a whole file.
    """

    def __init__(self, database: Database, blobs: Blobs, intake: Intake, *, max_bytes: int) -> None:
        self._database = database
        self._blobs = blobs
        self._intake = intake
        self.max_bytes = max_bytes

    async def create(
        self, uploader: Uploader, *, byte_length: int, file_name: str, metadata: str = ""
    ) -> PartialUpload:
        """Begin an upload.

        Raises TooLargeError, ValidationError for an empty file or long metadata, RateLimitedError if this
        person or key has too many that are not complete.
        """
        if byte_length > self.max_bytes:
            raise TooLargeError(
                f"the file is larger than {self.max_bytes / 1_000_000:g} MB; make it smaller, or raise"
                " limits.file_mb"
            )
        if byte_length < 1:
            raise ValidationError("the file is empty")
        if len(metadata) > LONGEST_METADATA:
            raise ValidationError(f"the metadata of an upload has at most {LONGEST_METADATA} characters")
        async with self._database.tenant(uploader.tenant_id) as conn:
            if await store.count_open(conn, uploader) >= MOST_OPEN:
                raise RateLimitedError(
                    f"there are {MOST_OPEN} uploads that are not complete; go on with them, or remove some",
                    retry_after_s=_RETRY_S,
                )
            return await store.add(
                conn, uploader, byte_length=byte_length, file_name=file_name, metadata=metadata
            )

    async def find(self, upload_id: UUID, uploader: Uploader) -> PartialUpload | None:
        """The upload of this person or key, or None if there is none or it has expired."""
        async with self._database.tenant(uploader.tenant_id) as conn:
            return await store.get(conn, upload_id, uploader)

    async def append(
        self, upload: PartialUpload, chunks: AsyncIterator[bytes], *, offset: int, is_whole: bool = False
    ) -> PartialUpload:
        """Store what follows the bytes that are there; with the last byte, the file is taken in.

        is_whole: all of it is stored or, if `chunks` ends with an error, nothing. Returns the upload as it is
        then. Raises ChangedError if the upload is not at `offset` (any more), ValidationError for more bytes
        than it lacks, and what `Intake.accept` raises. A file that is refused for good is removed.
        """
        if offset != upload.byte_offset:
            raise ChangedError(f"The upload is at byte {upload.byte_offset}; go on from there.")
        body = _Body(chunks)
        while upload.byte_offset < upload.byte_length:
            missing = upload.byte_length - upload.byte_offset
            most = missing if is_whole else min(missing, PIECE_BYTES)
            key = f"partial/{upload.id}/{upload.byte_offset}-{new_id()}"
            stored = await self._blobs.put_stream(key, body.take(most), max_bytes=most)
            if not stored.byte_size:
                await self._drop([key])
                return upload
            is_last = stored.byte_size == missing
            if is_last or is_whole:
                await self._check_end(body, key)
            upload = await (
                self._finish(upload, key) if is_last else self._advance(upload, key, stored.byte_size)
            )
        return upload

    async def remove(self, upload: PartialUpload) -> None:
        """Remove an upload and its pieces; a document that it became stays."""
        async with self._database.tenant(upload.tenant_id) as conn:
            keys = await store.remove(conn, upload.id)
        await self._drop(keys)

    async def remove_expired(self) -> None:
        """Remove the uploads of all tenants that are past their time."""
        async with self._database.connection() as conn:
            tenants = await store.tenants_with_expired(conn)
        for tenant_id in tenants:
            while True:
                async with self._database.tenant(tenant_id) as conn:
                    expired = await store.expired(conn, limit=_BATCH)
                    keys = [key for upload_id in expired for key in await store.remove(conn, upload_id)]
                await self._drop(keys)
                if len(expired) < _BATCH:
                    break

    async def _check_end(self, body: "_Body", key: str) -> None:
        """Check that nothing follows. Raises ValidationError if something does, and what `chunks` raises."""
        try:
            has_more = await body.has_more()
        except BaseException:
            await self._drop([key])
            raise
        if has_more:
            await self._drop([key])
            raise ValidationError("the request has more bytes than the upload lacks")

    async def _advance(self, upload: PartialUpload, key: str, byte_size: int) -> PartialUpload:
        async with self._database.tenant(upload.tenant_id) as conn:
            is_next = await store.add_piece(conn, upload, key, byte_size=byte_size)
        if not is_next:
            await self._drop([key])
            raise _overtaken()
        return replace(upload, byte_offset=upload.byte_offset + byte_size)

    async def _finish(self, upload: PartialUpload, key: str) -> PartialUpload:
        """Take the file in. The last piece counts only then: sent again before, it tries this again."""
        async with self._database.tenant(upload.tenant_id) as conn:
            keys = [*await store.piece_keys(conn, upload.id), key]
        try:
            accepted = await self._intake.accept(
                self._content(keys),
                tenant_id=upload.tenant_id,
                file_name=upload.file_name,
                uploaded_by=upload.user_id,
            )
        except DocumentError:
            now = await self.find(upload.id, Uploader(upload.tenant_id, upload.user_id, upload.api_key_id))
            if now is None or now.byte_offset == upload.byte_offset:
                await self.remove(upload)
                await self._drop([key])
                raise
            raise _overtaken() from None  # the other request has dropped the pieces
        outcome: Outcome = "already_here"
        if accepted.is_new:
            outcome = "accepted"
        elif accepted.is_restored:
            outcome = "restored"
        async with self._database.tenant(upload.tenant_id) as conn:
            is_finished = await store.finish(conn, upload, accepted.document_id, outcome)
            if is_finished:
                await store.forget_pieces(conn, upload.id)
        if not is_finished:
            await self._drop([key])
            raise _overtaken()
        await self._drop(keys)
        return replace(
            upload, byte_offset=upload.byte_length, document_id=accepted.document_id, outcome=outcome
        )

    async def _content(self, keys: Sequence[str]) -> AsyncGenerator[bytes]:
        for key in keys:
            async for chunk in self._blobs.stream(key):
                yield chunk

    async def _drop(self, keys: Sequence[str]) -> None:
        for key in keys:
            try:
                await self._blobs.delete(key)
            except DocmillError as error:  # the sweeper removes it
                log.warning("could not remove a piece of an upload", extra={"key": key, "code": error.code})


class _Body:
    """The body of a request, to be read in pieces."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._next = b""

    async def take(self, most: int) -> AsyncGenerator[bytes]:
        """Read up to so many bytes."""
        while most and await self.has_more():
            chunk, self._next = self._next[:most], self._next[most:]
            most -= len(chunk)
            yield chunk

    async def has_more(self) -> bool:
        """Read on if need be; True if there is a byte to take."""
        while not self._next:
            try:
                self._next = await anext(self._chunks)
            except StopAsyncIteration:
                return False
        return True


def _overtaken() -> ChangedError:
    return ChangedError(
        "Another request has gone on with this upload. Ask where it is, and go on from there."
    )
