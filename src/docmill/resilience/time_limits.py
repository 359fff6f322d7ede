"""Time limits that really cancel, and the steps they limit.

Time spent waiting for a turn does not count; of work in child processes, their processor time does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

from docmill.errors import DocmillError, TimeLimitError
from docmill.ports import Findings, Observer

Guard: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Around every call: a time limit, and leaving alone who is down (`docmill.resilience.breaker.guarded`)."""


class TimeLimit:
    """Cancels its block after `seconds` and raises TimeoutError, as `asyncio.timeout` does.

    Tasks started in the block share the limit. Not built on `asyncio.timeout`, because every step of every
    document has a limit, and two objects and their awaits for each took a sixth of a worker's time.
    """

    def __init__(self, seconds: float | None) -> None:
        self._left_s = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancellations = 0
        self._waiting = 0
        self._token: Token[tuple[TimeLimit, ...]] | None = None
        self.expired = False
        """True if this limit cancelled the block."""

    @property
    def running(self) -> bool:
        """True while its clock runs: not without seconds, and not while its work waits for a turn."""
        return self._timer is not None

    @property
    def left_s(self) -> float | None:
        """Seconds until it expires, without the time that its work waits for a turn; None without a limit."""
        if self._timer is not None:
            return max(0.0, self._timer.when() - asyncio.get_running_loop().time())
        return 0.0 if self.expired else self._left_s

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        assert self._task is not None  # a coroutine runs in a task
        self._cancellations = self._task.cancelling()
        self._start()
        self._token = _limits.set((*_limits.get(), self))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._token is not None:
            _limits.reset(self._token)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._left_s = None  # a task that outlives the block may end its wait for a turn after it
        # Somebody else's cancellation that came as well is passed on.
        if (
            self.expired
            and self._task is not None
            and self._task.uncancel() <= self._cancellations
            and kind is asyncio.CancelledError
        ):
            raise TimeoutError from error
        return None

    def prolong(self, seconds: float) -> None:
        """Expire so much later; nothing where there is no limit or it has expired."""
        if self._timer is not None:
            later = self._timer.when() + seconds
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_at(later, self._expire)
        elif self._left_s is not None:
            self._left_s += seconds

    def charge(self, seconds: float) -> None:
        """Count seconds of work that the clock, which was stopped for it, does not count itself."""
        if self._waiting and self._left_s is not None and not self.expired:
            self._left_s -= seconds
            if self._left_s <= 0:
                self._expire()

    def stop(self) -> None:
        """Stop the clock; it runs again after as many calls of `go`."""
        if self._timer is not None:
            self._left_s = self._timer.when() - asyncio.get_running_loop().time()
            self._timer.cancel()
            self._timer = None
        self._waiting += 1

    def go(self) -> None:
        """See `stop`."""
        self._waiting -= 1
        if not self._waiting and not self.expired:
            self._start()

    def _start(self) -> None:
        if self._left_s is not None:
            self._timer = asyncio.get_running_loop().call_later(max(0, self._left_s), self._expire)

    def _expire(self) -> None:
        self._timer = None
        self.expired = True
        assert self._task is not None  # the clock runs only within the block
        self._task.cancel()


_limits: ContextVar[tuple[TimeLimit, ...]] = ContextVar("limits", default=())

RESERVE = 0.1
"""The share of the time left that an inner limit leaves for what comes after it."""
LONGEST_RESERVE_S = 10.0


def inner_limit(seconds: float | None) -> TimeLimit:
    """A limit of at most `seconds` that expires before every limit around it.

    Its caller has time to go on with what there is. No limit where neither it nor one around it has seconds.
    """
    around = [left_s for limit in _limits.get() if (left_s := limit.left_s) is not None]
    if not around:
        return TimeLimit(seconds)
    left_s = min(around)
    left_s -= min(RESERVE * left_s, LONGEST_RESERVE_S)
    return TimeLimit(left_s if seconds is None else min(seconds, left_s))


@contextmanager
def waiting_for_a_turn() -> Generator[None]:
    """Stop the clock of every limit around this block: a document must not fail because others came first."""
    limits = _limits.get()
    for limit in limits:
        limit.stop()
    try:
        yield
    finally:
        for limit in limits:
            limit.go()


@contextmanager
def charged() -> Generator[Callable[[float], None]]:
    """Stop the clock of every limit around this block, which says itself what counts.

    The block is given a function that counts seconds against all these limits.
    """
    limits = _limits.get()

    def charge(seconds: float) -> None:
        for limit in limits:
            limit.charge(seconds)

    with waiting_for_a_turn():
        yield charge


class Slots:
    """A limit on concurrent calls; waiting is not timed."""

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


@dataclass
class StepClock:
    """Announces and times the steps of one document, and tells what they found."""

    observer: Observer | None
    timings_s: dict[str, float] = field(default_factory=dict[str, float])

    async def record(self, findings: Findings) -> None:
        """Tell the observer what was found."""
        if self.observer is not None:
            await self.observer.record(findings)

    def step(self, name: str, limit_s: float | None = None) -> "TimedStep":
        """The step as a block: announced, timed and limited."""
        return TimedStep(self, name, limit_s)


class LimitedStep(TimeLimit):
    """A block that is cancelled after `limit_s`, and whose errors are marked with the step they came from."""

    def __init__(self, step: str, limit_s: float | None) -> None:
        super().__init__(limit_s)
        self._step = step
        self._limit_s = limit_s

    def prolong(self, seconds: float) -> None:
        """See `TimeLimit.prolong`."""
        super().prolong(seconds)
        if self._limit_s is not None:
            self._limit_s += seconds

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except TimeoutError as expiry:
            late = TimeLimitError(
                f"{self._step!r} took longer than {self._limit_s:g} s and was stopped; it will be tried again"
            )
            late.step = self._step
            raise late from expiry
        if isinstance(error, DocmillError):
            error.step = error.step or self._step


class TimedStep(LimitedStep):
    """One step of a document, announced and timed by its clock."""

    def __init__(self, clock: StepClock, name: str, limit_s: float | None) -> None:
        super().__init__(name, limit_s)
        self._clock = clock
        self._started = 0.0

    async def __aenter__(self) -> Self:
        if self._clock.observer is not None:
            await self._clock.observer.step_started(self._step)
        self._started = time.perf_counter()
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raised = error
        try:
            await super().__aexit__(kind, error, trace)
        except BaseException as other:
            raised = other
            raise
        finally:
            seconds = self._clock.timings_s[self._step] = time.perf_counter() - self._started
            if self._clock.observer is not None:
                self._clock.observer.step_ended(self._step, seconds=seconds, error=raised)
