"""Who recognises a page: an engine of this machine in the pool's children, or somebody else's."""

import logging
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from docmill.model.document import Page, Usage
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.kept_scans import Prints
from docmill.resilience.spending import count
from docmill.resilience.time_limits import Guard
from docmill.workers.pool import Pool
from docmill.workers.replies import OutOfMemoryError

OVER_MEMORY = "the page needs more memory than is allowed; reduce its size"

log = logging.getLogger(__name__)


class Meter:
    """What a document has cost so far."""

    def __init__(self) -> None:
        self.usage = Usage()

    def add(self, usage: Usage) -> None:
        """Count one call."""
        count(usage)
        self.assume(usage)

    def assume(self, usage: Usage) -> None:
        """Take in what was counted when it was spent, by an earlier attempt."""
        self.usage = self.usage.plus(usage)


@dataclass(frozen=True, slots=True)
class Sight:
    """A page of a file, or a picture in one, as it can be seen. number: from 1.

    meter, prints: of the whole file.
    """

    source: tasks.Source
    media_type: str
    number: int
    meter: Meter = field(default_factory=Meter)
    prints: Prints = field(default_factory=Prints)


class PageReader(Protocol):
    """Recognises pages. name: as in `ocr.engines`; at_once: how many pages of a document it can take."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def at_once(self) -> int: ...  # noqa: D102

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """The page, which names this engine. so_far: what earlier engines made of it.

        A page that cannot be drawn has source `none` and says why. Raises any TransientError, SetupError,
        AiContentBlockedError, ContextTooLongError or TooLargeError.
        """
        ...


class LocalReader:
    """`PageReader` by an engine of this machine. guard: around every page."""

    def __init__(
        self, name: str, pool: Pool, options: ReadingOptions, guard: Guard = nullcontext[None]
    ) -> None:
        self.name = name
        self._pool = pool
        self._options = options
        self._guard = guard

    @property
    def at_once(self) -> int:
        """As many as there are processes."""
        return self._pool.workers

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """See `PageReader.read`. Out of memory, a page gets a second chance in a fresh process."""
        del so_far
        try:
            async with self._guard():
                page, picture = await self._recognised(sight)
        except OutOfMemoryError:
            return tasks.broken_page(sight.number, OVER_MEMORY)
        if picture is not None:
            sight.prints.add(page, picture)
        return page

    async def _recognised(self, sight: Sight) -> tasks.Recognition:
        arguments = (sight.source, sight.media_type, sight.number, self._options, self.name)
        limit_s = self._options.ocr_limit_s
        try:
            return await self._pool.run(tasks.recognise, *arguments, limit_s=limit_s)
        except OutOfMemoryError:
            log.info("reading a page again in a fresh process")
            return await self._pool.run(tasks.recognise, *arguments, limit_s=limit_s)
