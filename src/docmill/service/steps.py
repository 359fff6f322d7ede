"""What is told of the steps of an attempt: to those who watch the document, and in the log."""

import logging
from typing import Any

from docmill.errors import DocmillError, InternalError, UnsupportedFileTypeError
from docmill.service.lease import Lease
from docmill.service.protocol import ClaimLostError

log = logging.getLogger(__name__)


class StepObserver:
    """`Observer` of one attempt: notes the step in the database and logs its start and end."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def step_started(self, step: str) -> None:
        """See `Observer.step_started`."""
        await self._lease.step_started(step)
        log.debug("step started", extra={"step": step})

    def step_ended(self, step: str, *, seconds: float, error: BaseException | None) -> None:
        """See `Observer.step_ended`. A failure is a warning, whatever follows from it."""
        code = failure_code(error)
        if code is None and not log.isEnabledFor(logging.DEBUG):
            return
        extra: dict[str, Any] = {"step": step, "duration_ms": round(seconds * 1000)}
        if code is None:
            log.debug("step ended", extra=extra)
        else:
            log.warning("step failed", extra={**extra, "code": code})


def failure_code(error: BaseException | None) -> str | None:
    """The code of the error that made a step or an attempt fail; None if it did not fail.

    An unsupported type is a result; who lost the claim or was told to stop has not failed.
    """
    match error:
        case None | UnsupportedFileTypeError() | ClaimLostError():
            return None
        case DocmillError():
            return error.code
        case Exception():
            return InternalError.code
        case _:
            return None
