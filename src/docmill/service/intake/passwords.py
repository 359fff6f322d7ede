"""Files protected by a password: a copy without it is stored beside the original, and read instead."""

import hashlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from docmill.errors import CorruptError, ValidationError
from docmill.service.storage.blobs import Blobs

Unlock: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Gives the readable copy of the stored file of this key, None if the file itself is readable."""


async def already_readable(_: str) -> None:
    """`Unlock` where no password was given."""


_HEAD_BYTES = 1024
_OFFICE = b"\xd0\xcf\x11\xe0"


class Unlocker(Protocol):
    """Takes the protection off files."""

    async def unlock(self, original: Path, password: str) -> bytes | None:
        """The file without its password; None for one that needs none, or that no password would open.

        Raises EncryptedError if the password is wrong, CorruptError, TimeLimitError or CrashedError.
        """
        ...


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


def readable_key(file_path: str, copy: bytes) -> str:
    """The key of an original's readable copy; as with originals, it ends in the hash of the content."""
    return f"readable/{file_path.removeprefix('documents/')}/{hashlib.sha256(copy).hexdigest()}"


async def takes_password(blobs: Blobs, file_path: str) -> bool:
    """True for a protected file that a password can open here: a PDF or an Office file."""
    head = b""
    try:
        async for chunk in blobs.stream(file_path, start=0, stop=_HEAD_BYTES):
            head += chunk
    except CorruptError:  # the file is gone
        return False
    return head.startswith(_OFFICE) or b"%PDF" in head
