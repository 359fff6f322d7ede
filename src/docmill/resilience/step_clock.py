"""The steps of one document as blocks: announced to an observer, timed, limited, their errors marked."""

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from docmill.errors import DocmillError, TimeLimitError
from docmill.ports import Findings, Observer
from docmill.resilience.time_limits import TimeLimit


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
