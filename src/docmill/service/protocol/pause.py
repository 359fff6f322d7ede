"""Pauses: keep documents away from a part that has a setup error, while everything else goes on.

What can be paused is a part of the installation: an engine, a model, the file store (`guarded_part`), and
each step of the pipeline for the errors that no such part has claimed.
"""

import logging
import random
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import UUID

from docmill.errors import DocmillError, DocumentError, MisconfiguredError, SetupError, UnauthorizedError
from docmill.resilience.breaker import Breaker, guarded

log = logging.getLogger(__name__)

WHOLE = "process"
"""The part that stands for all of an attempt: of errors outside of any step."""

_LONGEST = 16
"""The longest wait between two probes, as a multiple of the first."""
_PROBED_S = 5.0
"""Longest wait of a document while another one probes whether the part works again."""
_SPREAD = 0.25
"""By how much of a wait it is prolonged, so that those who wait do not return together. Who was refused by
the part itself waits longest, so that another document tries next."""
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a pause: the part to mend, the step in which it failed, the error's code and message."""

    part: str
    step: str | None
    code: str
    message: str


@dataclass(slots=True)
class _Part:
    """A part that has had a setup error. Times are of the clock.

    probe: the document that finds out whether it works again. passed_from: when the newest call began that
    got through. failed_at: when documents that were refused were so first.
    """

    name: str
    first_s: float
    clock: Callable[[], float]
    cause: Cause | None = None
    interval_s: float = 0.0
    probe_at: float = 0.0
    probe: UUID | None = None
    resumed_at: float = float("-inf")
    passed_from: float = float("-inf")
    failed_at: OrderedDict[UUID, float] = field(default_factory=OrderedDict[UUID, float])

    def admits(self, document: UUID) -> bool:
        """True if the document may go on. While the part is paused, one at a time may, as a probe."""
        if self.cause is None or self.probe == document:
            return True
        if self.probe is not None or self.clock() < self.probe_at:
            return False
        self.probe = document
        return True

    @property
    def wait_s(self) -> float:
        """Seconds to wait before asking to be admitted."""
        return max(self.probe_at - self.clock(), min(_PROBED_S, self.first_s))

    def note_success(self, document: UUID, began_at: float) -> None:
        """A call got through: it gave a result, or found fault with the document itself."""
        self.passed_from = max(self.passed_from, began_at)
        if self.cause is not None and self.probe == document:
            log.info("a paused part works again", extra={"part": self.name, "code": self.cause.code})
            self.cause = self.probe = None
            self.resumed_at = self.clock()

    def note_refusal(self, document: UUID, error: SetupError, began_at: float, step: str | None) -> bool:
        """A call met a setup error; whether that begins or prolongs a pause.

        What began before the pause, or before the last one ended, proves nothing about how it is now.
        """
        if self.is_own(document):
            self.give_back(document)
            return False
        is_probe = self.cause is not None and self.probe == document
        is_news = self.cause is None and began_at >= self.resumed_at
        self.failed_at.setdefault(document, self.clock())
        if len(self.failed_at) > _REMEMBERED:
            self.failed_at.popitem(last=False)
        if not (is_probe or is_news):
            return False
        doubled_s = min(2 * self.interval_s, _LONGEST * self.first_s)
        self.interval_s = doubled_s if is_probe else self.first_s
        self.cause = Cause(self.name, error.step or step, error.code, error.message)
        self.probe = None
        self.probe_at = self.clock() + self.interval_s
        return True

    def is_own(self, document: UUID) -> bool:
        """True if another document got through after this one was refused, so that the error is its own."""
        return self.failed_at.get(document, float("inf")) < self.passed_from

    def give_back(self, document: UUID) -> None:
        """Release the document from being the probe; another one probes after a wait."""
        if self.probe == document:
            self.probe = None
            self.probe_at = self.clock() + self.interval_s


class Pauses:
    """The parts that one worker keeps its documents away from.

    A setup error pauses its part. After `first_s` one document is let through as a probe; the wait doubles
    with each probe that is refused. One that gets through ends the pause. A document that is refused again
    after another one got through has an error of its own, which pauses nothing.

    on_pause: called with code and seconds whenever a pause begins or is prolonged. on_change: called when
    `causes` or `outages` have changed. clock: seconds, never going back. jitter: in [0, 1).
    """

    def __init__(
        self,
        first_s: float,
        *,
        on_pause: Callable[[str, float], None] = lambda _code, _seconds: None,
        on_change: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.clock = clock
        self._first_s = first_s
        self._on_pause = on_pause
        self._on_change = on_change
        self._jitter = jitter
        self._parts: dict[str, _Part] = {}
        self._waiting: OrderedDict[UUID, str] = OrderedDict()
        self._breakers: set[Breaker] = set()

    @property
    def outages(self) -> Mapping[str, str]:
        """The parts that fail by themselves and are left alone for now, with the codes of their errors."""
        reasons = [(breaker.provider, breaker.reason) for breaker in self._breakers]
        return {name: reason.code for name, reason in reasons if reason is not None}

    def watch(self, breaker: Breaker) -> None:
        """Have `outages` name the breaker's part while that is left alone."""
        if breaker not in self._breakers:
            self._breakers.add(breaker)
            breaker.on_change = self._on_change

    @property
    def causes(self) -> list[Cause]:
        """The causes of all present pauses."""
        return [part.cause for part in self._parts.values() if part.cause is not None]

    def retry_s(self, part: str) -> float:
        """Seconds until the next document finds out whether the part works; 0 if it is not paused."""
        state = self._parts.get(part)
        return state.wait_s if state is not None and state.cause is not None else 0.0

    def passage(self, document: UUID) -> "Passage":
        """An attempt of the document, named by its ingestion; `give_back` ends it."""
        return Passage(self, document)

    def may_begin_in_s(self, document: UUID) -> float:
        """Seconds that a document should go on waiting for the part that turned it back last; 0 for none."""
        part = self._parts.get(self._waiting.get(document, ""))
        if part is None:
            return 0.0
        if part.cause is None:
            del self._waiting[document]
        if part.admits(document):
            return 0.0
        return self._spread(part.wait_s)

    def enter(self, name: str, document: UUID) -> None:
        """Let a document use a part. Raises the part's setup error, unattempted, while it is paused."""
        part = self._parts.get(name)
        if part is None or part.admits(document):
            return
        assert part.cause is not None  # else it admits
        self._note_waiting(document, name)
        error_class = UnauthorizedError if part.cause.code == UnauthorizedError.code else MisconfiguredError
        error = error_class(part.cause.message)
        error.step, error.part, error.attempted = part.cause.step, name, False
        raise error

    def note_success(self, name: str, document: UUID, began_at: float) -> None:
        """A document got through a part."""
        part = self._parts.get(name)
        if part is None:
            return
        was_paused = part.cause is not None
        part.note_success(document, began_at)
        if was_paused and part.cause is None:
            self._on_change()

    def note_refusal(
        self, name: str, document: UUID, error: SetupError, *, began_at: float, step: str | None
    ) -> None:
        """A part has a setup error."""
        part = self._parts.setdefault(name, _Part(name, self._first_s, self.clock))
        self._note_waiting(document, name)
        error.is_own = part.is_own(document)
        if not part.note_refusal(document, error, began_at, step):
            return
        log.critical(
            "a person must act: documents that need this part wait",
            extra={
                "part": name,
                "code": error.code,
                "step": error.step or step,
                "retry_s": round(part.interval_s, 1),
            },
        )
        self._on_pause(error.code, part.interval_s)
        self._on_change()

    def wait_s(self, error: SetupError) -> float | None:
        """Seconds that a document with this error waits; None if the error is the document's own."""
        part = self._parts.get(error.part or WHOLE)
        if part is None:
            return self._first_s
        if error.is_own:
            return None
        return self._spread(part.wait_s) if not error.attempted else (1 + 2 * _SPREAD) * part.wait_s

    def give_back(self, document: UUID) -> None:
        """Nothing more is done for the document now; after a probe that proved nothing, another follows."""
        for part in self._parts.values():
            part.give_back(document)

    def _spread(self, seconds: float) -> float:
        return seconds * (1 + _SPREAD * self._jitter())

    def _note_waiting(self, document: UUID, part: str) -> None:
        self._waiting[document] = part
        if len(self._waiting) > _REMEMBERED:
            self._waiting.popitem(last=False)


class Passage:
    """One attempt of one document through the parts that it needs."""

    def __init__(self, pauses: Pauses, document: UUID) -> None:
        self._pauses = pauses
        self._document = document
        self._began_at: dict[str, float] = {}
        self._step: str | None = None

    def watch(self, breaker: Breaker) -> None:
        """See `Pauses.watch`."""
        self._pauses.watch(breaker)

    def enter_step(self, step: str) -> None:
        """Let the document begin a step of the pipeline. Raises as `enter`."""
        self._step = step
        self.enter(step)

    def enter(self, part: str) -> float:
        """Let the document use a part; the time. Raises the part's error, unattempted, while it is paused."""
        self._pauses.enter(part, self._document)
        now = self._began_at[part] = self._pauses.clock()
        return now

    def leave(self, part: str, error: BaseException | None, *, began_at: float | None = None) -> None:
        """Note the result of a call. began_at: of this call, if others of the document may be under way."""
        since = self._began_at.get(part, self._pauses.clock()) if began_at is None else began_at
        match error:
            case None | DocumentError():
                self._pauses.note_success(part, self._document, since)
            case SetupError(part=None):
                error.part = part
                self._pauses.note_refusal(part, self._document, error, began_at=since, step=self._step)
            case _:
                pass  # says nothing of this part: another one's, or one that passes by itself

    def pause_s(self, error: DocmillError | Exception | None) -> float | None:
        """Seconds that a document with this error waits; see `claim_rules.settlement`."""
        return self._pauses.wait_s(error) if isinstance(error, SetupError) else 0.0

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Make this the current passage of the block, and of the tasks started in it."""
        token = _passage.set(self)
        try:
            yield
        finally:
            _passage.reset(token)


_passage: ContextVar[Passage | None] = ContextVar("passage", default=None)


def current_passage() -> Passage | None:
    """The passage of the attempt that is under way here; None outside of a worker."""
    return _passage.get()


@asynccontextmanager
async def paused_part(name: str) -> AsyncGenerator[None]:
    """One call of a part of the installation. Raises its setup error at once while it is paused."""
    passage = _passage.get()
    if passage is None:
        yield
        return
    began_at = passage.enter(name)
    try:
        yield
    except BaseException as error:
        passage.leave(name, error, began_at=began_at)
        raise
    passage.leave(name, None, began_at=began_at)


@asynccontextmanager
async def guarded_part(breaker: Breaker, *, limit_s: float | None = None) -> AsyncGenerator[None]:
    """One call of a part that has a breaker, too: see `docmill.resilience.breaker.guarded`."""
    if (passage := _passage.get()) is not None:
        passage.watch(breaker)
    async with paused_part(breaker.provider), guarded(breaker, limit_s=limit_s):
        yield
