"""The `Converter` of this machine: text layers as they are, everything else by OCR."""

import asyncio
import logging
from pathlib import Path

from docmill.errors import CorruptError, DocmillError, first_of
from docmill.model import Document, Page
from docmill.ports import Original
from docmill.reading import tasks
from docmill.reading.memory import OutOfMemoryError
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool

OVER_MEMORY = "the page needs more memory than is allowed; reduce its size"

log = logging.getLogger(__name__)


class LocalConverter:
    """`Converter` on the processes of a pool. No file is opened in this process."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def convert(self, original: Original) -> Document:
        """See `Converter.convert`."""
        path, options = original.path, self._options
        opened = await self._pool.run(tasks.open_original, path, options, limit_s=options.open_limit_s)
        pages = list(opened.pages)
        while len(pages) < opened.page_count:
            first, last = len(pages) + 1, min(len(pages) + options.pages_per_task, opened.page_count)
            pages += await self._pool.run(tasks.read_text, path, first, last, limit_s=options.open_limit_s)
        read = await self._recognised(path, opened.media_type, pages)
        if all(page.source == "none" for page in read):
            raise CorruptError(f"no page can be read: {read[0].problem}")
        return Document(original.content_hash, opened.media_type, read)

    async def _recognised_page(self, path: Path, media_type: str, number: int) -> Page:
        """One page; a second time in a fresh process if one that has done much else runs out of memory."""
        arguments = (path, media_type, number, self._options)
        try:
            return await self._pool.run(tasks.recognise, *arguments, limit_s=self._options.ocr_limit_s)
        except OutOfMemoryError:
            log.info("reading a page again in a fresh process")
        try:
            return await self._pool.run(tasks.recognise, *arguments, limit_s=self._options.ocr_limit_s)
        except OutOfMemoryError:
            return tasks.broken_page(number, OVER_MEMORY)

    async def _recognised(self, path: Path, media_type: str, pages: list[Page | None]) -> list[Page]:
        """The pages, those that are missing recognised, as many at a time as there are processes."""
        ahead = asyncio.Semaphore(self._pool.workers)

        async def fill(number: int, page: Page | None) -> Page:
            if page is not None:
                return page
            async with ahead:
                return await self._recognised_page(path, media_type, number)

        try:
            async with asyncio.TaskGroup() as group:
                filling = [group.create_task(fill(number, page)) for number, page in enumerate(pages, 1)]
        except* DocmillError as errors:
            raise first_of(errors) from errors
        return [task.result() for task in filling]
