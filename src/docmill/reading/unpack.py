"""Unlocking and unpacking of files in the processes of a pool."""

import asyncio
from pathlib import Path

from docmill.errors import ServerError
from docmill.model.document import Document
from docmill.ports import Original, PartFile
from docmill.reading.child import tasks
from docmill.reading.child.tasks import CONTAINERS
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
    """`Unpacker` on the processes of a pool. They return bytes; this process writes them."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        """See `Unpacker.unpack`."""
        options, is_container = self._options, document.media_type in CONTAINERS
        files: list[PartFile] = []
        room = options.max_unpacked_bytes
        is_last = False
        while not is_last:
            if is_container:
                arguments = (original.path, document.media_type, len(files), room, options)
                batch = await self._pool.run(tasks.take_parts, *arguments, limit_s=options.unpack_limit_s)
            else:
                sections = (original.path, list(document.parts[len(files) :]), room, options)
                batch = await self._pool.run(tasks.take_sections, *sections, limit_s=options.unpack_limit_s)
            is_last = batch.is_last
            for part, content in zip(batch.parts, batch.contents, strict=True):
                path = None
                if content is not None:
                    path = folder / str(len(files))
                    room -= len(content)
                    try:
                        await asyncio.to_thread(path.write_bytes, content)
                    except OSError as error:
                        raise ServerError(
                            f"cannot write the parts of a document: {error.strerror}"
                        ) from error
                files.append(PartFile(part, path))
        return files
