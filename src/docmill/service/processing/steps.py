"""Reports the steps of an attempt to the database, the log and the trace."""

import logging
from typing import TYPE_CHECKING, Any

from docmill.service.observe.tracing import NO_TRACER, Tracer, TraceSpan, failure_code
from docmill.service.processing.lease import Lease
from docmill.service.protocol.pause import current_passage

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

log = logging.getLogger(__name__)


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
