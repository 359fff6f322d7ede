"""Circuit breaker: a provider that is down is left alone, and documents wait for it instead of failing.

Wrap calls over a network; one breaker per provider, shared by all that ask the same one. Engines on this
machine are not wrapped: their errors come from the document at hand and say nothing about the next one.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from docmill.errors import (
    LONGEST_DELAY_S,
    AiQuotaError,
    DocmillError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TransientError,
)

DOWN = (NetworkError, TimeLimitError, RateLimitedError, AiQuotaError, ServerError)
"""Errors that say that the provider is down; any other answer says that it is up."""

State = Literal["closed", "open", "half-open"]

_ONE_PROBE_S = 5.0
"""Wait while the call of another document probes whether the provider is up again."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """Leave to make one call. epoch: the breaker's when it was given; older ones prove nothing."""

    epoch: int
    is_probe: bool = False


class Breaker:
    """A circuit breaker for one provider.

    Closed, all calls go. After `threshold` failures in a row it opens: none goes for `recovery_s`, or for as
    long as the provider asks, but never longer than a document may wait. Then one goes; if it fails the wait
    doubles, up to `longest_s`; if not, the breaker closes. clock: seconds, never going back. jitter: in
    [0, 1); spreads the return of those who wait.
    """

    def __init__(
        self,
        provider: str,
        *,
        threshold: int = 5,
        recovery_s: float = 30,
        longest_s: float = 900,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.provider = provider
        self._threshold = threshold
        self._first_s = recovery_s
        self._recovery_s = recovery_s
        self._longest_s = longest_s
        self._clock = clock
        self._jitter = jitter
        self._failures = 0
        self._epoch = 0
        self._open_until = 0.0
        self._reason: TransientError | None = None
        self._probing = False
        self.on_change: Callable[[], None] = lambda: None
        """Called when it has opened, or closed again."""

    @property
    def reason(self) -> TransientError | None:
        """The last error of the provider while it is left alone, or only probed; None if it is asked."""
        return self._reason

    @property
    def state(self) -> State:
        """`closed`: asked; `open`: left alone; `half-open`: the next call, or the one under way, decides."""
        if self._reason is None:
            return "closed"
        return "half-open" if self._probing or self._clock() >= self._open_until else "open"

    def admit(self) -> Ticket:
        """Leave for one call, whose end is told to `note_end` or `note_abandoned`.

        Raises an error of the class that opened the breaker, with `attempted` false, while it is open.
        """
        if self._reason is None:
            return Ticket(self._epoch)
        if self._probing or self._clock() < self._open_until:
            raise self.refusal(self._reason)
        self._probing = True
        return Ticket(self._epoch, is_probe=True)

    def note_end(self, ticket: Ticket, error: DocmillError | None) -> None:
        """Count the end of a call; None is success."""
        if ticket.epoch != self._epoch:
            return
        if not isinstance(error, DOWN):
            self._failures = 0
            if self._reason is not None:
                self._reason = None
                self._probing = False
                self._recovery_s = self._first_s
                self._epoch += 1
                self.on_change()
            return
        self._failures += 1
        if ticket.is_probe:
            self._recovery_s = min(2 * self._recovery_s, self._longest_s)
        if ticket.is_probe or self._failures >= self._threshold:
            wait_s = max(self._recovery_s, min(error.retry_after_s or 0, LONGEST_DELAY_S))
            self._open_until = self._clock() + wait_s
            was_asked, self._reason = self._reason is None, error
            self._probing = False
            self._epoch += 1
            if was_asked:
                self.on_change()

    def note_abandoned(self, ticket: Ticket) -> None:
        """The call was cancelled, which tells nothing; another may go in its place."""
        if ticket.epoch == self._epoch and ticket.is_probe:
            self._probing = False

    def refusal(self, reason: TransientError) -> TransientError:
        """The error of a document that must wait: of the class of `reason`, and no attempt."""
        left_s = max(self._open_until - self._clock(), min(_ONE_PROBE_S, self._recovery_s))
        return type(reason)(
            f"{self.provider!r} fails and is left alone for now ({reason.code}); the document waits for it",
            retry_after_s=left_s + self._jitter() * self._recovery_s / 2,
            attempted=False,
        )


@asynccontextmanager
async def guarded(breaker: Breaker, *, limit_s: float | None = None) -> AsyncGenerator[None]:
    """One call to the breaker's provider.

    limit_s: how long it may take before TimeLimitError is raised. Shorter than the limit of the pipeline's
    step, so that the breaker learns of a provider that never answers.
    """
    ticket = breaker.admit()
    limit = asyncio.timeout(limit_s)
    try:
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TimeLimitError(f"{breaker.provider!r} did not answer within {limit_s:g} s") from error
    except DocmillError as error:
        breaker.note_end(ticket, error)
        if ticket.is_probe and isinstance(error, DOWN):
            raise breaker.refusal(error) from error  # it asked for all; the failure is not its own
        raise
    except BaseException:
        breaker.note_abandoned(ticket)
        raise
    breaker.note_end(ticket, None)
