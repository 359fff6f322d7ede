"""Files by key: originals, transcriptions. In a local folder, in a bucket of S3, or in memory."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import obstore
from obstore import exceptions
from obstore.store import LocalStore, MemoryStore, S3Store

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.model import codec
from docmill.model.document import Document
from docmill.resilience.concurrency import STORED_BYTES, off_loop
from docmill.service.storage.private_files import private_folder

if TYPE_CHECKING:
    # exist for type checkers only
    from obstore import GetOptions
    from obstore.store import S3CredentialProvider

CHUNK_BYTES = 1 << 20
_INCOMING = "incoming/"
"""Prefix of files that are not complete yet."""

_PART_BYTES = 8 << 20
"""What is held of a file on its way into a bucket, twice: S3 takes no parts below 5 MiB but the last. A file
that fits into one is sent in one call."""

_PARTS_AT_ONCE = 2
_CALL = timedelta(seconds=60)
_CONNECT = timedelta(seconds=5)
_RETRIES = 3
_RETRYING = timedelta(seconds=30)
_KEY = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that was written. content_hash: SHA-256, lower-case hexadecimal."""

    byte_size: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file in a listing. modified_at: when it was written (in a bucket also: copied), by its clock."""

    key: str
    modified_at: datetime
    byte_size: int


class Blobs:
    """Files of any size under keys such as `documents/ab12`.

    A key is made of letters, digits, `.`, `_` and `-`, parted by `/`; anything else raises ValueError, so
    that no key leads out of the store. All methods raise ServerError if the store fails, is full or out of
    reach, MisconfiguredError if it denies access. root: of a store in a folder; what a method has written
    there survives a power cut.
    """

    def __init__(self, store: LocalStore | MemoryStore | S3Store, *, root: Path | None = None) -> None:
        self._store = store
        self._root = root
        self._part_bytes = _PART_BYTES if isinstance(store, S3Store) else CHUNK_BYTES

    @classmethod
    def in_folder(cls, root: Path) -> "Blobs":
        """A store in the folder `root`, which is made for this user alone if it does not exist."""
        private_folder(root)
        return cls(LocalStore(prefix=root, automatic_cleanup=True), root=root)

    @classmethod
    def in_bucket(
        cls, name: str, *, region: str, endpoint: str | None, credentials: "S3CredentialProvider"
    ) -> "Blobs":
        """A store in a bucket of Amazon S3, or of a compatible service at `endpoint`."""
        store = S3Store(
            name,
            region=region,
            endpoint=endpoint or f"https://s3.{region}.amazonaws.com",
            credential_provider=credentials,
            client_options={
                "allow_http": endpoint is not None,
                "timeout": _CALL,
                "connect_timeout": _CONNECT,
            },
            retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRYING},
        )
        return cls(store)

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes], *, max_bytes: int) -> StoredFile:
        """Write a file as it arrives; it appears when it is complete, or not at all.

        Raises TooLargeError as soon as there are more than `max_bytes`, and what `chunks` raises.
        """
        digest = hashlib.sha256()
        size = 0
        with _translated(key), _no_store():
            # Left by an error or a cancellation, the writer removes what it has written.
            async with obstore.open_writer_async(
                self._store, _checked(key), buffer_size=self._part_bytes, max_concurrency=_PARTS_AT_ONCE
            ) as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > max_bytes:
                        raise TooLargeError(
                            f"the file is larger than {max_bytes / 1_000_000:g} MB; make it smaller, or raise"
                            " limits.file_mb"
                        )
                    digest.update(chunk)
                    await file.write(chunk)
            await self._settle(key)
        return StoredFile(size, digest.hexdigest())

    async def put(self, key: str, data: bytes) -> None:
        """Write a file, over what may be there."""

        async def whole() -> AsyncIterator[bytes]:
            yield data

        await self.put_stream(key, whole(), max_bytes=len(data))

    async def put_once(self, key: str, data: bytes) -> bool:
        """Write a file unless there is one; whether it was written."""
        with _translated(key), _no_store():
            key = _checked(key)
            # In a folder, a file must be settled before it has its key: after a power cut, a key with nothing
            # behind it would be the first and stay.
            incoming = f"{_INCOMING}{uuid4()}"
            try:
                if self._root is None:
                    await obstore.put_async(self._store, key, data, mode="create", use_multipart=False)
                else:
                    await obstore.put_async(self._store, incoming, data, use_multipart=False)
                    await self._settle(incoming)
                    await obstore.rename_async(self._store, incoming, key, overwrite=False)
                    await self._settle_name(key)
            except exceptions.AlreadyExistsError:
                if self._root is not None:
                    await self.delete(incoming)
                return False
        return True

    async def copy(self, key: str, target: str) -> None:
        """Have a file under another key too, over what may be there. In a folder it is not written again."""
        with _translated(key):
            await obstore.copy_async(self._store, _checked(key), _checked(target))
            await self._settle_name(target)

    async def get(self, key: str) -> bytes:
        """A file's content. Raises CorruptError if there is none."""
        with _translated(key):
            file = await obstore.get_async(self._store, _checked(key))
            return bytes(await file.bytes_async())

    async def find(self, key: str) -> bytes | None:
        """A file's content, or None if there is none."""
        try:
            return await self.get(key)
        except CorruptError:
            return None

    async def stream(self, key: str, *, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes]:
        """A file's bytes from `start` to `stop` (exclusive), in chunks.

        Raises CorruptError if there is no such file.
        """
        options: GetOptions = {}
        if stop is not None:
            options["range"] = (start, stop)
        elif start:
            options["range"] = {"offset": start}
        with _translated(key):
            file = await obstore.get_async(self._store, _checked(key), options=options)
            async for chunk in file.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)

    async def download(self, key: str, path: Path) -> str:
        """Copy a file to `path` on this machine; the SHA-256 hash of its content. Raises as `stream` does."""
        digest = hashlib.sha256()
        file = await asyncio.to_thread(path.open, "wb")
        try:
            async for chunk in self.stream(key):
                digest.update(chunk)
                await asyncio.to_thread(file.write, chunk)
        finally:
            await asyncio.to_thread(file.close)
        return digest.hexdigest()

    async def size(self, key: str) -> int:
        """The size of a file in bytes. Raises CorruptError if there is none."""
        with _translated(key):
            return (await obstore.head_async(self._store, _checked(key)))["size"]

    async def keys(self, prefix: str) -> list[str]:
        """The keys below `prefix`, sorted."""
        return sorted([entry.key async for entry in self.entries(prefix)])

    async def entries(self, prefix: str) -> AsyncGenerator[FileEntry]:
        """The files below `prefix` as they are found, in no order; one that is still written is not."""
        with _translated(prefix):
            batches = obstore.list(  # pyright: ignore[reportUnknownMemberType]  of Arrow, which is not installed
                self._store, _checked(prefix)
            )
            async for batch in batches:
                for entry in batch:
                    yield FileEntry(entry["path"], entry["last_modified"], entry["size"])

    async def delete(self, key: str) -> None:
        """Remove a file, if it is there."""
        with _translated(key), suppress(FileNotFoundError):
            await obstore.delete_async(self._store, _checked(key))

    async def drop_unfinished(self, before: datetime) -> int:
        """Remove files half-written before that time, which no listing shows; their number.

        In a bucket, a lifecycle rule does that.
        """
        return 0 if self._root is None else await asyncio.to_thread(_drop_unfinished, self._root, before)

    async def _settle(self, key: str) -> None:
        """Sync a new file of a folder to disk: its content, and its name unless that is temporary."""
        if self._root is not None:
            await asyncio.to_thread(_sync, self._root / key)
            if not key.startswith(_INCOMING):
                await self._settle_name(key)

    async def _settle_name(self, key: str) -> None:
        if self._root is not None:
            folders = [self._root / folder for folder in Path(key).parents]
            await asyncio.to_thread(_sync, *folders)


def _sync(*paths: Path) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _drop_unfinished(root: Path, before: datetime) -> int:
    # A file being written is named by its key, `#` and a number, and no key has a `#`.
    dropped = 0
    for file in root.rglob("*#*"):
        with suppress(FileNotFoundError):  # its writer has just finished
            if file.stat().st_mtime < before.timestamp():
                file.unlink()
                dropped += 1
    return dropped


def is_key(key: str) -> bool:
    """True if a file of a store may have this key."""
    return _KEY.fullmatch(key) is not None


def _checked(key: str) -> str:
    if not is_key(key):
        raise ValueError(f"{key!r} cannot be a key")
    return key


# These stand on every page while reading or writing is paused, whosever the document is: they name no key.
_DENIED = "no permission in the file store; let docmill read and write in it"
_ABSENT = "there is no file store; is its bucket or folder gone?"


@contextmanager
def _translated(key: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CorruptError(f"the stored file {key!r} is gone") from error
    except (PermissionError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise MisconfiguredError(_DENIED) from error
    except (OSError, exceptions.BaseError) as error:
        # Keys of files that are being written mean nothing to a person.
        raise ServerError("the file store cannot be used now: is it full or out of reach?") from error


@contextmanager
def _no_store() -> Generator[None]:
    """Translate "not found" while a new file is written: it is the store that is missing."""
    try:
        yield
    except FileNotFoundError as error:
        raise MisconfiguredError(_ABSENT) from error


class NewerTranscriptionError(ServerError):
    """A newer release of docmill wrote the transcription."""


async def load_transcription(blobs: Blobs, path: str) -> Document:
    """The document whose text is stored at `path`.

    Raises CorruptError if the file is gone or cannot be read, NewerTranscriptionError, and what `Blobs.get`
    raises.
    """
    data = await blobs.get(path)
    try:
        return await off_loop(codec.loads, data, size=len(data) / STORED_BYTES)
    except codec.NewerFormatError as error:
        raise NewerTranscriptionError(
            "the document was read by a newer release of docmill; update this one, then try again"
        ) from error
    except ValueError as error:
        raise CorruptError(f"the stored transcription {path!r} cannot be read") from error
