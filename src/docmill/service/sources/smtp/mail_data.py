"""Receiving the content of a mail into a file, within limits of size, line and time."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from docmill.errors import room_in
from docmill.service.sources.mail.mail_item import HEADER_BYTES, header_of
from docmill.service.store.database import new_id

LONGEST_LINE = 65_536
"""Of a stream; a longer line is read in pieces. RFC 5321 asks for 1,000; programs do not keep to that."""
_PIECE_BYTES = 1 << 18
_MOST_EXCESS = 20_000_000
"""So much of a mail that is too large is read, to answer when the client listens again."""


class EndlessMailError(Exception):
    """A mail that is larger than anything a client sends that has been told the limit."""


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """A mail in a file. digest: SHA-256 of the content. is_too_large: only its size is known."""

    path: Path
    size: int
    header: bytes
    digest: str
    is_too_large: bool = False


@asynccontextmanager
async def received_mail(
    reader: asyncio.StreamReader, folder: Path, *, max_bytes: int
) -> AsyncGenerator[ReceivedMail]:
    """A mail that is read from a stream, as DATA of SMTP; its file is gone after the block.

    Raises EndlessMailError, IncompleteReadError if the stream ends before the mail does, ServerError for a
    full disk.
    """
    path = folder / f"{new_id()}.eml"
    with room_in("the work folder"):
        file = await asyncio.to_thread(path.open, "xb")
    try:
        try:
            mail = await _receive(reader, file, path, max_bytes)
        finally:
            await asyncio.to_thread(file.close)
        yield mail
    finally:
        await asyncio.to_thread(path.unlink, missing_ok=True)


async def _receive(reader: asyncio.StreamReader, file: IO[bytes], path: Path, max_bytes: int) -> ReceivedMail:
    """Read up to the line with a dot alone; it and the line before it end in CR LF (RFC 5321, 4.5.2).

    A dot between other line ends is content: taken for the end, it would let a mail smuggle commands.
    """
    digest, head, pending, size = hashlib.sha256(), bytearray(), bytearray(), 0
    at_start = True
    while True:
        try:
            line = await reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError as overrun:
            line = await reader.readexactly(overrun.consumed)
        if at_start and line.startswith(b"."):
            if line == b".\r\n":
                break
            line = line[1:]
            at_start = line.endswith(b"\r\n")
        else:
            at_start = line.endswith(b"\r\n")
        size += len(line)
        if size > max_bytes:
            if size > max_bytes + _MOST_EXCESS:
                raise EndlessMailError
            pending.clear()
            continue
        pending += line
        if len(pending) >= _PIECE_BYTES:
            await _write(file, pending, digest, head)
    await _write(file, pending, digest, head)
    return ReceivedMail(path, size, header_of(bytes(head)), digest.hexdigest(), is_too_large=size > max_bytes)


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


async def _write(file: IO[bytes], pending: bytearray, digest: _Digest, head: bytearray) -> None:
    piece = bytes(pending)
    pending.clear()
    head += piece[: HEADER_BYTES - len(head)]

    def write() -> None:
        digest.update(piece)
        file.write(piece)
        file.flush()

    with room_in("the work folder"):
        await asyncio.to_thread(write)
