"""Engines that work elsewhere: a page's picture goes out, and what was seen on it comes back."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from typing import NamedTuple, Protocol, TypeAlias

from docmill.errors import TooLargeError
from docmill.limits import waiting_for_a_turn
from docmill.model import Page, Usage
from docmill.reading.engines.aligning import aligned
from docmill.reading.engines.drawing import Drawn, draw, page_of
from docmill.reading.engines.reader import PageReader, Sight
from docmill.reading.ocr import Recognised
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool

Guard: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Around every call: a time limit, and leaving alone who is down (`docmill.breaker.guarded`)."""


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


class Slots:
    """How many calls may be under way at once; who waits is not timed."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None]:
        """One of them, for the length of the block."""
        with waiting_for_a_turn():
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()


class RemoteReader:
    """`PageReader` by a remote engine. Drawing and arranging are done in the pool."""

    def __init__(
        self,
        name: str,
        engine: RemoteEngine,
        pool: Pool,
        options: ReadingOptions,
        *,
        guard: Guard,
        slots: Slots,
    ) -> None:
        self.name = name
        self._engine = engine
        self._pool = pool
        self._options = options
        self._guard = guard
        self._slots = slots

    @property
    def at_once(self) -> int:
        """As many as calls may be under way."""
        return self._slots.count

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """See `PageReader.read`."""
        del so_far
        async with self._slots.taken():
            drawn = await drawn_by(self._pool, sight, self._options)
            async with self._guard():
                recognised = await self._engine.recognise(drawn)
        arguments = (recognised, drawn._replace(jpeg=b""), sight.number, self.name)
        return await self._pool.run(page_of, *arguments, limit_s=self._options.render_limit_s)


class TranscribingReader:
    """`PageReader` by who reads lines and sees no places: these come from an engine of this machine.

    local: asked first, where no engine has been. budget: US dollars that a document may cost.
    """

    def __init__(
        self,
        name: str,
        transcriber: Transcriber,
        local: PageReader,
        pool: Pool,
        options: ReadingOptions,
        *,
        budget: Decimal,
        guard: Guard,
        slots: Slots,
    ) -> None:
        self.name = name
        self._transcriber = transcriber
        self._local = local
        self._pool = pool
        self._options = options
        self._budget = budget
        self._guard = guard
        self._slots = slots

    @property
    def at_once(self) -> int:
        """As many as calls may be under way."""
        return self._slots.count

    async def read(self, sight: Sight, so_far: Page | None) -> Page:
        """See `PageReader.read`. Raises TooLargeError once the document has cost its budget."""
        known = so_far if so_far is not None and len(so_far.words) else await self._local.read(sight, None)
        async with self._slots.taken():
            if sight.meter.usage.cost >= self._budget:
                raise TooLargeError(
                    f"the document has cost its budget of ${self._budget}; raise llm.budget_usd"
                )
            drawn = await drawn_by(self._pool, sight, self._options)
            async with self._guard():
                reading = await self._transcriber.transcribe(drawn)
        sight.meter.add(reading.usage)
        arguments = (reading.lines, known, self.name)
        return await self._pool.run(aligned, *arguments, limit_s=self._options.render_limit_s)


async def drawn_by(pool: Pool, sight: Sight, options: ReadingOptions) -> Drawn:
    """The picture of a page. Raises CorruptError, TooLargeError, TimeLimitError, CrashedError."""
    arguments = (sight.path, sight.media_type, sight.number, options)
    return await pool.run(draw, *arguments, limit_s=options.render_limit_s)
