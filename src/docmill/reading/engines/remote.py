"""Engines that work elsewhere: a page's picture goes out, and what was seen on it comes back."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Protocol, TypeVarTuple

from docmill.errors import TooLargeError
from docmill.limits import Guard, Slots
from docmill.model import Page, Usage
from docmill.reading.engines.aligning import aligned
from docmill.reading.engines.drawing import Drawn, draw, page_of
from docmill.reading.engines.reader import PageReader, Sight
from docmill.reading.ocr import Recognised
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool
from docmill.spending import spent

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
        arguments = (sight.source, sight.media_type, sight.number, self.options)
        return await self.pool.run(draw, *arguments, limit_s=self.options.render_limit_s)

    async def arranged(self, arrange: Callable[[*_Arguments], Page], *arguments: *_Arguments) -> Page:
        """The page that `arrange` makes in a child. Raises TimeLimitError, CrashedError."""
        return await self.pool.run(arrange, *arguments, limit_s=self.options.render_limit_s)


class RemoteReader:
    """`PageReader` by a remote engine."""

    def __init__(self, name: str, engine: RemoteEngine, calling: Calling) -> None:
        self.name = name
        self.at_once = calling.slots.count
        self._engine = engine
        self._calling = calling

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """See `PageReader.read`."""
        del so_far
        calling = self._calling
        async with calling.slots.taken():
            drawn = await calling.drawn(sight)
            async with calling.guard():
                recognised = await self._engine.recognise(drawn)
        return await calling.arranged(page_of, recognised, drawn._replace(jpeg=b""), sight.number, self.name)


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
        """See `PageReader.read`. Raises TooLargeError once the document has cost its budget."""
        calling = self._calling
        known = so_far if so_far is not None and len(so_far.words) else await self._local.read(sight, None)
        async with calling.slots.taken():
            if max(sight.meter.usage.cost, spent().cost) >= self._budget:
                raise TooLargeError(
                    f"the document has cost its budget of ${self._budget}; raise llm.budget_usd"
                )
            drawn = await calling.drawn(sight)
            async with calling.guard():
                reading = await self._transcriber.transcribe(drawn)
        sight.meter.add(reading.usage)
        return await calling.arranged(aligned, reading.lines, known, self.name)
