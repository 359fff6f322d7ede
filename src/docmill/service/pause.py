"""Taking no documents while the installation is wrong, but one at a time to see whether it is mended."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from docmill.errors import DocmillError, DocumentError, SetupError
from docmill.service.protocol import ClaimLostError

log = logging.getLogger(__name__)

_LONGEST = 16
"""The longest wait between two probes, as a multiple of the first."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What a person must mend: the error's code and message, and the step it came from."""

    code: str
    step: str | None
    message: str


class Pause:
    """Whether a worker takes documents.

    A setup error begins a pause. After `first_s` one document is taken as a probe; the wait doubles with each
    probe that meets a setup error. The first probe that gets past the step where it began ends the pause.
    told: called with code and seconds whenever documents are not taken for so long. clock: seconds, never
    going back.
    """

    def __init__(
        self,
        first_s: float,
        *,
        told: Callable[[str, float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_s = first_s
        self._interval_s = first_s
        self._told = told
        self._clock = clock
        self._probe_at = 0.0
        self.cause: Cause | None = None
        """Why documents are not taken now; None while they are."""

    @property
    def active(self) -> bool:
        """Whether documents are taken as probes only."""
        return self.cause is not None

    @property
    def wait_s(self) -> float:
        """Seconds until the next probe; 0 when one may be taken now, and without a pause."""
        return max(0.0, self._probe_at - self._clock()) if self.active else 0.0

    def most(self, concurrency: int) -> int:
        """How many documents may be under way at once."""
        return min(1, concurrency) if self.active else concurrency

    def attempt_ended(self, outcome: DocmillError | ClaimLostError | None, *, began_at: float) -> None:
        """Draw the conclusion from an attempt that began at `began_at` by the clock; None is success.

        What began before the pause, or while it waits, proves nothing about the installation as it is now.
        """
        is_probe = self.active and began_at >= self._probe_at
        match outcome:
            case SetupError() if self.cause is None:
                self._begin(outcome)
            case SetupError() if is_probe:
                self._interval_s = min(2 * self._interval_s, _LONGEST * self._first_s)
                self._wait(outcome)
            case _ if is_probe and self._passed(outcome):
                self._resume()
            case _ if is_probe:
                self._probe_at = self._clock() + self._interval_s
            case _:
                pass

    def _begin(self, error: SetupError) -> None:
        self._interval_s = self._first_s
        self._wait(error)

    def _wait(self, error: SetupError) -> None:
        self.cause = Cause(error.code, error.step, error.message)
        self._probe_at = self._clock() + self._interval_s
        log.critical(
            "a person must act: no documents are taken",
            extra={"code": error.code, "step": error.step, "retry_s": round(self._interval_s, 1)},
        )
        if self._told is not None:
            self._told(error.code, self._interval_s)

    def _passed(self, outcome: DocmillError | ClaimLostError | None) -> bool:
        """Whether the step works again: it gave a result, or found fault with the document itself."""
        if outcome is None:
            return True
        return (
            self.cause is not None and isinstance(outcome, DocumentError) and outcome.step == self.cause.step
        )

    def _resume(self) -> None:
        log.info("documents are taken again", extra={"code": self.cause.code if self.cause else None})
        self.cause = None
