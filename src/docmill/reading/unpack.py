"""Unlocking and unpacking of files in the processes of a pool."""

import asyncio
from pathlib import Path

from docmill.errors import ServerError
from docmill.model.document import Document
from docmill.ports import Original, PartFile
from docmill.reading.child import tasks
from docmill.reading.child.tasks import CONTAINERS
from docmill.reading.containers import MemberBatch
from docmill.reading.files.options import ReadingOptions
from docmill.workers.pool import Pool


class PooledUnlocker:
    """Takes the protection off files. The password goes to a child process and is kept nowhere."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def unlock(self, original: Path, password: str) -> bytes | None:
        """See `docmill.service.ports.Unlocker.unlock`."""
        limit_s = self._options.unlock_limit_s
        return await self._pool.run(tasks.unlock, original, password, limit_s=limit_s)


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
            parts, contents, is_last = await self._taken(original.path, document, len(files), room)
            for part, content in zip(parts, contents, strict=True):
                path = None
                if content is not None:
                    path = folder / str(len(files))
                    room -= len(content)
                    await asyncio.to_thread(_write, path, content)
                files.append(PartFile(part, path))
        return files

    async def _taken(self, path: Path, document: Document, first: int, room: int) -> MemberBatch:
        """The parts from index `first` on, as many as one task may give back."""
        options = self._options
        if document.media_type in CONTAINERS:
            arguments = (path, document.media_type, first, room, options)
            return await self._pool.run(tasks.take_parts, *arguments, limit_s=options.unpack_limit_s)
        sections = list(document.parts[first:])
        return await self._pool.run(
            tasks.take_sections, path, sections, room, options, limit_s=options.unpack_limit_s
        )


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ServerError(f"cannot write the parts of a document: {error.strerror}") from error
