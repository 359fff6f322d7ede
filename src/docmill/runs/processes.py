"""Processes that do the long computations of components."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from docmill.errors import CrashedError
from docmill.runs.context import CurrentDocument, set_current


class Processes:
    """Calls functions in processes, so many at a time. These are not locked up as those that open documents.

    A process is ended when its call is cancelled, and used again otherwise.
    """

    def __init__(self, count: int) -> None:
        self._limiter = CapacityLimiter(count)
        # The name that the program's own module has there: its classes come back by it.
        sys.modules.setdefault("__mp_main__", sys.modules["__main__"])

    async def call(self, current: CurrentDocument, method: Callable[..., Any], *args: object) -> object:
        """The result of `method(*args)`; the component, arguments and result are pickled.

        current: the document at work; there, it has neither its journal nor its bytes. What the method counts
        as used is counted here. Raises CrashedError if the process ends.
        """
        sent = replace(current, journal=None, document_bytes=None, tokens=0, cost=current.cost * 0)
        try:
            result, used = await to_process.run_sync(
                _call, method, sent, args, cancellable=True, limiter=self._limiter
            )
        except BrokenWorkerProcess as error:
            raise CrashedError("the process of the component ended: it may need more memory") from error
        current.tokens += used.tokens
        current.cost += used.cost
        return result


def _call(
    method: Callable[..., Any], current: CurrentDocument, args: tuple[object, ...]
) -> tuple[object, CurrentDocument]:
    set_current(current)
    return method(*args), current
