"""What a worker tells of its attempts: one line of the log each, and its counters."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from docmill.errors import DocmillError
from docmill.model import Result
from docmill.service.metrics import NO_TIMINGS, Metrics, Outcome
from docmill.service.protocol import ClaimLostError

log = logging.getLogger(__name__)


@dataclass
class Report:
    """An attempt as far as it is known. outcome: what followed from it; None if it could not be settled."""

    result: Result | None = None
    error: DocmillError | ClaimLostError | None = None
    outcome: Outcome | None = None

    @property
    def status(self) -> Outcome:
        """How it ended, for those who watch. What was stored stands, whatever came of its message."""
        stored = self.outcome == "completed" or (self.outcome is None and self.result is not None)
        if not stored:
            return self.outcome or "unsettled"
        verdict = self.result.verdict if self.result else None
        return "completed" if verdict is None or verdict.passed else "needs_review"


class Reports:
    """Reports on the attempts of one worker."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    @contextmanager
    def attempt(self, number: int) -> Generator[Report]:
        """The report of attempt `number`, to be filled in during the block and told at its end."""
        report = Report()
        started = time.monotonic()
        self._metrics.attempt_started()
        try:
            yield report
        finally:
            self._tell(report, number, time.monotonic() - started)

    def _tell(self, report: Report, number: int, seconds: float) -> None:
        code = report.error.code if isinstance(report.error, DocmillError) else None
        timings_s = report.result.timings_s if report.result else NO_TIMINGS
        self._metrics.attempt_ended(
            report.status,
            attempt=number,
            duration_s=seconds,
            code=code,
            timings_s=timings_s,
            usage=report.result.usage if report.result else None,
        )
        if not log.isEnabledFor(logging.INFO):
            return
        extra: dict[str, Any] = {"status": report.status, "duration_ms": _ms(seconds)}
        if timings_s:
            extra["durations_ms"] = {step: _ms(step_s) for step, step_s in timings_s.items()}
        if report.result and report.result.extraction and report.result.extraction.reason:
            extra["reason"] = report.result.extraction.reason
        if isinstance(report.error, DocmillError):
            extra |= {"code": code, "step": report.error.step}
        log.info("attempt ended", extra=extra)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
