"""A ZIP archive that is sent while it is made: files of any size, in the memory of a chunk."""

import asyncio
import io
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from typing import IO, Any, cast

_MODE = 0o100644
_FIRST_YEAR = 1980
"""ZIP knows no earlier time."""


class ZipStream:
    """Entries are written one after the other; the bytes that are ready are taken on the way.

    Entries and archives of more than 4 GB, and archives of more than 65,535 entries, are written as Zip64.
    """

    def __init__(self) -> None:
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._sink), "w", allowZip64=True)

    async def add(
        self,
        name: str,
        chunks: AsyncIterator[bytes],
        *,
        byte_size: int,
        modified_at: datetime,
        is_compressed: bool = False,
    ) -> AsyncGenerator[bytes]:
        """Add a file, and yield what is ready of the archive. is_compressed: or stored as it is."""
        info = _info(name, modified_at, byte_size)
        info.compress_type = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
        with self._zip.open(info, "w") as entry:
            async for chunk in chunks:
                await asyncio.to_thread(entry.write, chunk)
                if ready := self._sink.take():
                    yield ready
        yield self._sink.take()

    def add_bytes(self, name: str, data: bytes, *, modified_at: datetime) -> bytes:
        """Add a small file, compressed; what is ready of the archive."""
        info = _info(name, modified_at, len(data))
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, data)
        return self._sink.take()

    def end(self) -> bytes:
        """The end of the archive, with its directory."""
        self._zip.close()
        return self._sink.take()


def _info(name: str, modified_at: datetime, byte_size: int) -> zipfile.ZipInfo:
    moment = modified_at.astimezone(UTC)
    info = zipfile.ZipInfo(name, (max(moment.year, _FIRST_YEAR), *moment.timetuple()[1:6]))
    info.external_attr = _MODE << 16
    info.file_size = byte_size  # by which zipfile chooses between Zip and Zip64
    return info


class _Sink:
    """The file that zipfile writes to, without `tell` and `seek`: zipfile counts the bytes itself."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()

    def write(self, data: Any) -> int:  # noqa: ANN401  whatever has bytes
        return self._buffer.write(data)

    def flush(self) -> None:
        """Do nothing: bytes are taken."""

    def take(self) -> bytes:
        data = self._buffer.getvalue()
        self._buffer = io.BytesIO()
        return data
