"""Files by key: originals, transcriptions. In a local folder or in memory."""

import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore import exceptions
from obstore.store import LocalStore, MemoryStore

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError

if TYPE_CHECKING:
    from obstore import GetOptions  # exists for type checkers only

CHUNK_BYTES = 1 << 20
_KEY = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")


@dataclass(frozen=True, slots=True)
class Stored:
    """What was written. content_hash: SHA-256, lower-case hexadecimal."""

    byte_size: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a listing. modified_at: when it was written (in a bucket also: moved), by its clock."""

    key: str
    modified_at: datetime
    byte_size: int


class Blobs:
    """Files of any size under keys such as `documents/ab12`.

    A key is made of letters, digits, `.`, `_` and `-`, parted by `/`; anything else raises ValueError, so
    that no key leads out of the store. All methods raise ServerError if the store fails or is full,
    MisconfiguredError if it denies access.
    """

    def __init__(self, store: LocalStore | MemoryStore) -> None:
        self._store = store

    @classmethod
    def in_folder(cls, root: Path) -> "Blobs":
        """Below `root`, which is made if it does not exist."""
        root.mkdir(parents=True, exist_ok=True)
        return cls(LocalStore(prefix=root, automatic_cleanup=True))

    @classmethod
    def in_memory(cls) -> "Blobs":
        """Gone with the process."""
        return cls(MemoryStore())

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes], *, max_bytes: int) -> Stored:
        """Write a file as it arrives; it appears when it is complete, or not at all.

        Raises TooLargeError as soon as there are more than `max_bytes`, and what `chunks` raises.
        """
        digest = hashlib.sha256()
        size = 0

        async def counted() -> AsyncGenerator[bytes]:
            nonlocal size
            async for chunk in chunks:
                size += len(chunk)
                if size > max_bytes:
                    raise TooLargeError(
                        f"the file is larger than {max_bytes / 1_000_000:g} MB; make it smaller, or raise "
                        "limits.file_mb"
                    )
                digest.update(chunk)
                if chunk:
                    yield chunk

        with _translated(key):
            await obstore.put_async(self._store, _checked(key), counted(), chunk_size=CHUNK_BYTES)
        return Stored(size, digest.hexdigest())

    async def put_once(self, key: str, data: bytes) -> bool:
        """Write a file unless there is one; whether it was written."""
        with _translated(key):
            try:
                await obstore.put_async(self._store, _checked(key), data, mode="create")
            except exceptions.AlreadyExistsError:
                return False
        return True

    async def move(self, key: str, target: str) -> None:
        """Give a file another key, in one step, over what may be there."""
        with _translated(key):
            await obstore.rename_async(self._store, _checked(key), _checked(target))

    async def get(self, key: str) -> bytes:
        """A file's content. Raises CorruptError if there is none."""
        with _translated(key):
            found = await obstore.get_async(self._store, _checked(key))
            return bytes(await found.bytes_async())

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
            found = await obstore.get_async(self._store, _checked(key), options=options)
            async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)

    async def size(self, key: str) -> int:
        """How many bytes a file has. Raises CorruptError if there is none."""
        with _translated(key):
            return (await obstore.head_async(self._store, _checked(key)))["size"]

    async def keys(self, prefix: str) -> list[str]:
        """The keys below `prefix`, sorted."""
        return sorted([entry.key async for entry in self.entries(prefix)])

    async def entries(self, prefix: str) -> AsyncGenerator[Entry]:
        """The files below `prefix` as they are found, in no order; one that is still written is not."""
        with _translated(prefix):
            batches = obstore.list(  # pyright: ignore[reportUnknownMemberType]  of Arrow, which is not installed
                self._store, _checked(prefix)
            )
            async for batch in batches:
                for entry in batch:
                    yield Entry(entry["path"], entry["last_modified"], entry["size"])

    async def delete(self, key: str) -> None:
        """Remove a file, if it is there."""
        with _translated(key), suppress(FileNotFoundError):
            await obstore.delete_async(self._store, _checked(key))


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} cannot be a key")
    return key


@contextmanager
def _translated(key: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CorruptError(f"the stored file {key!r} is gone") from error
    except (PermissionError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise MisconfiguredError(f"no permission for {key!r} in the file store") from error
    except (OSError, exceptions.BaseError) as error:
        raise ServerError(f"the file store failed on {key!r}; is it full?") from error
