"""Reports on a worker's attempts and their steps: in the database, the log, the metrics and the trace."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from structlog.contextvars import bind_contextvars

from docmill.errors import DocmillError
from docmill.model.document import Usage
from docmill.model.result import Result
from docmill.service.observe.metrics import NO_TIMINGS, Metrics, Outcome
from docmill.service.observe.tracing import (
    NO_ATTRIBUTES,
    NO_TRACER,
    Attributes,
    Tracer,
)
from docmill.service.protocol.claim_rules import ClaimLostError

log = logging.getLogger(__name__)


@dataclass
class AttemptReport:
    """An attempt as far as it is known.

    outcome: what followed from it; None if it could not be settled. usage: what it cost.
    """

    result: Result | None = None
    error: DocmillError | ClaimLostError | None = None
    outcome: Outcome | None = None
    usage: Usage | None = None

    @property
    def status(self) -> Outcome:
        """The end of the attempt. A stored result counts, whatever became of its message."""
        stored = self.outcome == "completed" or (self.outcome is None and self.result is not None)
        if not stored:
            return self.outcome or "unsettled"
        return self.result.status if self.result else "completed"


class AttemptReports:
    """Reports on the attempts of one worker, recorded in its metrics, its log and its traces."""

    def __init__(self, metrics: Metrics, tracer: Tracer = NO_TRACER) -> None:
        self._metrics = metrics
        self._tracer = tracer

    @contextmanager
    def attempt(
        self, number: int, *, attributes: Attributes = NO_ATTRIBUTES, parent: str | None = None
    ) -> Generator[AttemptReport]:
        """The report of attempt `number`, to be filled in during the block and recorded at its end.

        attributes: of its span; parent: where its trace goes on from.
        """
        report = AttemptReport()
        started = time.monotonic()
        self._metrics.attempt_started()
        with self._tracer.span(
            "process ingestion", kind="consumer", attributes=attributes, parent=parent
        ) as span:
            if traceparent := self._tracer.traceparent():
                bind_contextvars(trace_id=traceparent.split("-")[1])  # until this task ends
            try:
                yield report
            finally:
                self._record(report, number, time.monotonic() - started)
                if self._tracer.enabled:
                    attributes = {"docmill.attempt": number, "docmill.outcome": report.status}
                    if (usage := report.usage) is not None:
                        attributes |= {
                            "gen_ai.usage.input_tokens": usage.input_tokens,
                            "gen_ai.usage.output_tokens": usage.output_tokens,
                            "docmill.cost_usd": float(usage.cost),
                        }
                    span.describe(attributes)
                    if isinstance(report.error, DocmillError):
                        span.fail(report.error.code)

    def _record(self, report: AttemptReport, number: int, seconds: float) -> None:
        code = report.error.code if isinstance(report.error, DocmillError) else None
        timings_s = report.result.timings_s if report.result else NO_TIMINGS
        self._metrics.attempt_ended(
            report.status,
            attempt=number,
            duration_s=seconds,
            code=code,
            timings_s=timings_s,
            usage=report.usage,
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
