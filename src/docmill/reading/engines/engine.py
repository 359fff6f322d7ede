"""Engines that recognise pages, and the choice between them for each page."""

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from docmill.errors import DocmillError, DocumentError, SetupError, TransientError
from docmill.model.document import Page, Usage
from docmill.reading.child import tasks
from docmill.reading.child.tasks import broken_page
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.kept_scans import KeptScans
from docmill.resilience.spending import count
from docmill.resilience.time_limits import Guard
from docmill.workers.pool import Pool
from docmill.workers.replies import OutOfMemoryError

OVER_MEMORY = "the page needs more memory than is allowed; reduce its size"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class UsageMeter:
    """Meter of the cost of a document so far."""

    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Count one call."""
        count(usage)
        self.add_earlier_cost(usage)

    def add_earlier_cost(self, usage: Usage) -> None:
        """Add usage that was counted when it was spent, by an earlier attempt."""
        self.usage = self.usage.plus(usage)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Request to recognise a page of a file, or a picture within one. number: from 1.

    meter, scans: of the whole file.
    """

    source: tasks.Source
    media_type: str
    number: int
    meter: UsageMeter = field(default_factory=UsageMeter)
    scans: KeptScans = field(default_factory=KeptScans)


class PageReader(Protocol):
    """Recognises pages. name: as in `ocr.engines`; at_once: how many pages of a document it can take."""

    name: str
    at_once: int

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        """The page, which names this engine. so_far: its reading by earlier engines.

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
        self.at_once = pool.workers
        self._pool = pool
        self._options = options
        self._guard = guard

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        """See `PageReader.read`. Out of memory, a page gets a second chance in a fresh process."""
        del so_far
        arguments = (request.source, request.media_type, request.number, self._options, self.name)
        limit_s = self._options.ocr_limit_s
        try:
            async with self._guard():
                try:
                    page, scan = await self._pool.run(tasks.recognise_picture, *arguments, limit_s=limit_s)
                except OutOfMemoryError:
                    log.info("reading a page again in a fresh process")
                    page, scan = await self._pool.run(tasks.recognise_picture, *arguments, limit_s=limit_s)
        except OutOfMemoryError:
            return tasks.broken_page(request.number, OVER_MEMORY)
        if scan is not None:
            request.scans.add(page, scan)
        return page


@dataclass(slots=True)
class EngineChoice:
    """Choice among the engines for one document. An engine that is not set up is asked only once.

    readers: in the order in which they are asked; threshold: the quality from which a page is good enough.
    meter: of the document's cost. scans: the preprocessed pictures in which engines read its pages.
    refusal: error of a page that was refused for its content.
    """

    readers: Sequence[PageReader]
    threshold: float
    meter: UsageMeter = field(default_factory=UsageMeter)
    scans: KeptScans = field(default_factory=KeptScans)
    refusal: DocumentError | None = None
    _unusable: dict[str, SetupError] = field(default_factory=dict[str, SetupError], init=False)

    async def best(self, request: PageRequest, so_far: Page | None = None) -> Page:
        """Recognise the page with the best engine. so_far: an earlier reading.

        If all of them fail it raises the most hopeful error: one that may pass before one that a person must
        mend. A page that every engine refuses for its content has that as its `problem`.
        """
        best = so_far
        failures: list[DocmillError] = []
        for reader in self.readers:
            if (unusable := self._unusable.get(reader.name)) is not None:
                failures.append(unusable)
                continue
            try:
                page = await reader.read(request, best)
            except DocmillError as error:
                log.warning("an engine failed on a page", extra={"engine": reader.name, "code": error.code})
                failures.append(error)
                if isinstance(error, SetupError):
                    self._unusable[reader.name] = error
                continue
            # The better page, the earlier if they are equal.
            best = max(best or page, page, key=lambda page: (page.source != "none", page.quality))
            if best.source != "none" and best.quality >= self.threshold:
                break
        if best is not None:
            return best
        error = min(failures, key=_hopelessness)
        if isinstance(error, DocumentError):
            self.refusal = self.refusal or error
            return broken_page(request.number, error.message)
        raise error


def _hopelessness(error: DocmillError) -> int:
    """Rank of an error: transient before setup errors, attempted calls before refused ones."""
    if isinstance(error, TransientError):
        return 0 if error.attempted else 1
    return 2 if isinstance(error, SetupError) else 3
