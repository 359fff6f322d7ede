"""Engines that work elsewhere: a page's picture goes out, and what was seen on it comes back."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Protocol, TypeVar, TypeVarTuple

from docmill.errors import DocmillError, TooLargeError
from docmill.model.document import Page, Usage
from docmill.reading.child.tasks import Recognition
from docmill.reading.engines.align import aligned
from docmill.reading.engines.engine import PageReader, Sight
from docmill.reading.engines.page_image import (
    Drawn,
    Improved,
    draw,
    draw_preprocessed,
    page_in_preprocessed,
    page_of,
    print_of,
)
from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr.page import Recognised
from docmill.reading.ocr.recognition import characters_right
from docmill.resilience.spending import spent
from docmill.resilience.time_limits import Guard, Slots
from docmill.workers.pool import Pool

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


class RemoteEngine(Protocol):
    """Recognises pictures somewhere else."""

    async def recognise(self, drawn: Drawn) -> Recognised:
        """The lines or words in a picture, in its pixels. Ends soon when it is cancelled.

        Raises any TransientError, SetupError or DocumentError.
        """
        ...


class Reading(NamedTuple):
    """The lines of a page, and what they cost."""

    lines: list[str]
    usage: Usage


class Transcriber(Protocol):
    """Reads a picture without saying where on it."""

    async def transcribe(self, drawn: Drawn) -> Reading:
        """The lines, top to bottom. Raises any TransientError, SetupError or DocumentError."""
        ...


@dataclass(frozen=True, slots=True)
class Calling:
    """How pages are read elsewhere: drawn and arranged in the pool, and asked about between."""

    pool: Pool
    options: ReadingOptions
    guard: Guard
    slots: Slots

    async def drawn(self, sight: Sight) -> Drawn:
        """The picture of a page. Raises CorruptError, TooLargeError, TimeLimitError, CrashedError."""
        return await self.in_child(draw, sight.source, sight.media_type, sight.number, self.options)

    async def preprocessed(self, sight: Sight, turn: int = 0) -> Improved:
        """The preprocessed picture of a page, turned clockwise. Raises what `drawn` raises."""
        arguments = (sight.source, sight.media_type, sight.number, self.options, turn)
        return await self.pool.run(draw_preprocessed, *arguments, limit_s=self.options.ocr_limit_s)

    async def in_child(self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments) -> _Result:
        """What the function gives in a process of the pool. Raises TimeLimitError, CrashedError."""
        return await self.pool.run(function, *arguments, limit_s=self.options.render_limit_s)

    def reads_well(self, page: Page) -> bool:
        """Whether its quality is good enough as it is."""
        return page.quality >= self.options.quality_threshold

    async def better(self, first: Page, again: Awaitable[Recognition], sight: Sight) -> Page:
        """The better of a page and its reading in the preprocessed picture, which is kept with the page.

        A second reading that fails costs nothing of the first.
        """
        try:
            second, picture = await again
        except DocmillError as error:
            details = {"engine": first.engine, "code": error.code}
            log.warning("an engine failed on a preprocessed page", extra=details)
            return first
        if characters_right(second) <= characters_right(first):
            return first
        if picture is not None and self.options.keep_preprocessed:
            sight.prints.add(second, picture)
        return second


class RemoteReader:
    """`PageReader` by a remote engine."""

    def __init__(self, name: str, engine: RemoteEngine, calling: Calling) -> None:
        self.name = name
        self.at_once = calling.slots.count
        self._engine = engine
        self._calling = calling

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """See `PageReader.read`. A page that is read badly is preprocessed and asked about once more."""
        del so_far
        calling = self._calling
        async with calling.slots.taken():
            drawn = await calling.drawn(sight)
            recognised = await self._asked(drawn)
        drawn = drawn._replace(jpeg=b"")
        page = await calling.in_child(page_of, recognised, drawn, sight.number, self.name)
        if calling.reads_well(page) or _is_silent(recognised):
            return page
        return await calling.better(page, self._again(sight, drawn), sight)

    async def _asked(self, drawn: Drawn) -> Recognised:
        async with self._calling.guard():
            return await self._engine.recognise(drawn)

    async def _again(self, sight: Sight, drawn: Drawn) -> Recognition:
        calling = self._calling
        async with calling.slots.taken():
            improved = await calling.preprocessed(sight)
            recognised = await self._asked(improved.drawn)
        return await calling.in_child(
            page_in_preprocessed, recognised, improved, drawn, sight.number, self.name
        )


def _is_silent(recognised: Recognised) -> bool:
    """Whether words came without any confidence: then nothing tells which of two readings is the better."""
    return bool(recognised.texts) and not recognised.scores.any()


class TranscribingReader:
    """`PageReader` by who reads lines and sees no places: these come from an engine of this machine.

    local: asked first, where no engine has been. budget: US dollars that a document may cost.
    """

    def __init__(
        self, name: str, transcriber: Transcriber, local: PageReader, *, calling: Calling, budget: Decimal
    ) -> None:
        self.name = name
        self.at_once = calling.slots.count
        self._transcriber = transcriber
        self._local = local
        self._calling = calling
        self._budget = budget

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """See `PageReader.read`. Raises TooLargeError once the document has cost its budget.

        A page on which the two readings hardly agree is preprocessed and asked about once more, as long as
        the budget lasts.
        """
        calling = self._calling
        known = so_far if so_far is not None and len(so_far.words) else await self._local.read(sight, None)
        async with calling.slots.taken():
            self._check_budget(sight)
            drawn = await calling.drawn(sight)
            lines = await self._asked(drawn, sight)
        page = await calling.in_child(aligned, lines, known, self.name)
        is_blank = not lines and not len(known.words)
        if calling.reads_well(page) or is_blank or self._is_spent(sight):
            return page
        turn = (known.rotation - drawn.rotation) % 360
        return await calling.better(page, self._again(sight, known, turn), sight)

    async def _asked(self, drawn: Drawn, sight: Sight) -> list[str]:
        async with self._calling.guard():
            reading = await self._transcriber.transcribe(drawn)
        sight.meter.add(reading.usage)
        return reading.lines

    async def _again(self, sight: Sight, known: Page, turn: int) -> Recognition:
        """The page as it is read in the preprocessed picture, which stands as the known page does."""
        calling = self._calling
        async with calling.slots.taken():
            self._check_budget(sight)
            improved = await calling.preprocessed(sight, turn)
            lines = await self._asked(improved.drawn, sight)
        page = await calling.in_child(aligned, lines, known, self.name)
        return Recognition(page, await calling.in_child(print_of, improved))

    def _is_spent(self, sight: Sight) -> bool:
        return max(sight.meter.usage.cost, spent().cost) >= self._budget

    def _check_budget(self, sight: Sight) -> None:
        if self._is_spent(sight):
            raise TooLargeError(f"the document has cost its budget of ${self._budget}; raise llm.budget_usd")
