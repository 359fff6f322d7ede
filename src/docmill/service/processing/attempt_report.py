"""Reports on a worker's attempts and their steps: in the database, the log, the metrics and the trace."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    TraceSpan,
    failure_code,
)
from docmill.service.processing.lease import Lease
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.protocol.pause import current_passage

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
    """AttemptReports on the attempts of one worker."""

    def __init__(self, metrics: Metrics, tracer: Tracer = NO_TRACER) -> None:
        self._metrics = metrics
        self._tracer = tracer

    @contextmanager
    def attempt(
        self, number: int, *, attributes: Attributes = NO_ATTRIBUTES, parent: str | None = None
    ) -> Generator[AttemptReport]:
        """The report of attempt `number`, to be filled in during the block and told at its end.

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
                self._tell(report, number, time.monotonic() - started)
                if self._tracer.enabled:
                    _describe(span, report, number)

    def _tell(self, report: AttemptReport, number: int, seconds: float) -> None:
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


def _describe(span: TraceSpan, report: AttemptReport, number: int) -> None:
    usage = report.usage
    attributes: dict[str, str | int | float] = {"docmill.attempt": number, "docmill.outcome": report.status}
    if usage is not None:
        attributes["gen_ai.usage.input_tokens"] = usage.input_tokens
        attributes["gen_ai.usage.output_tokens"] = usage.output_tokens
        attributes["docmill.cost_usd"] = float(usage.cost)
    span.describe(attributes)
    if isinstance(report.error, DocmillError):
        span.fail(report.error.code)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class StepObserver:
    """`Observer` of one attempt: notes steps in the database, logs them, and makes spans of them.

    Raises the setup error of a step that is paused.
    """

    def __init__(self, lease: Lease, tracer: Tracer = NO_TRACER) -> None:
        self._lease = lease
        self._tracer = tracer
        self._spans: dict[str, AbstractContextManager[TraceSpan]] = {}

    async def step_started(self, step: str) -> None:
        """See `Observer.step_started`."""
        if (passage := current_passage()) is not None:
            passage.enter_step(step)
        await self._lease.step_started(step)
        log.debug("step started", extra={"step": step})
        if self._tracer.enabled:
            span = self._spans[step] = self._tracer.span(step)
            span.__enter__()

    def step_ended(self, step: str, *, seconds: float, error: BaseException | None) -> None:
        """See `Observer.step_ended`. A failure is a warning, whatever follows from it."""
        if (passage := current_passage()) is not None:
            passage.leave(step, error)
        if span := self._spans.pop(step, None):
            # With its traceback, which a context manager would take from the error otherwise.
            span.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
        code = failure_code(error)
        if code is None and not log.isEnabledFor(logging.DEBUG):
            return
        extra: dict[str, Any] = {"step": step, "duration_ms": round(seconds * 1000)}
        if code is None:
            log.debug("step ended", extra=extra)
        else:
            log.warning("step failed", extra={**extra, "code": code})
