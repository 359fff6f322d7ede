"""Taking documents out of documents, in the processes of a pool."""

import asyncio
from pathlib import Path

from docmill.errors import ServerError
from docmill.model import Document
from docmill.ports import Original, PartFile
from docmill.reading import tasks
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool


class PooledUnpacker:
    """`Unpacker` on the processes of a pool. They give bytes back and write nothing: this process does."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        """See `Unpacker.unpack`."""
        options = self._options
        files: list[PartFile] = []
        room = options.max_unpacked_bytes
        is_last = False
        while not is_last:
            parts, contents, is_last = await self._pool.run(
                tasks.take_parts,
                original.path,
                document.media_type,
                len(files),
                room,
                options,
                limit_s=options.unpack_limit_s,
            )
            for part, content in zip(parts, contents, strict=True):
                path = None
                if content is not None:
                    path = folder / str(len(files))
                    room -= len(content)
                    await asyncio.to_thread(_write, path, content)
                files.append(PartFile(part, path))
        return files


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ServerError(f"cannot write the parts of a document: {error.strerror}") from error
