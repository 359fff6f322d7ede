"""Tasks that go on through every outage, work that is not left half done, and ending tasks."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from docmill.errors import DocmillError

log = logging.getLogger(__name__)


class BrokenWorkerError(BaseException):
    """A fault in docmill that leaves a worker unable to keep its promises.

    No `Exception`, so that nothing handles it as the fault of one document: it ends the worker, and the log
    says why.
    """


FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


async def keep_doing(work: Callable[[], Awaitable[None]], *, what: str) -> None:
    """Do `work` again and again, for ever; it waits by itself when there is nothing to do.

    When it fails, it is tried again after a pause that doubles. That is logged when it begins and when it is
    over, and not each time. what: the work's name in the log.
    """
    pause_s = 0.0
    while True:
        fault = await _fault_of(work)
        if fault is None:
            if pause_s:
                log.warning("works again", extra={"what": what})
            pause_s = 0.0
            continue
        if not pause_s:
            foreseen = isinstance(fault, DocmillError | TimeoutError)
            log.error(
                "does not work now",
                extra={"what": what, "reason": type(fault).__name__},
                exc_info=None if foreseen else fault,
            )
        pause_s = min(2 * pause_s or FIRST_PAUSE_S, LONGEST_PAUSE_S)
        await asyncio.sleep(pause_s)


async def _fault_of(work: Callable[[], Awaitable[None]]) -> Exception | None:
    """The error that made `work` fail; None if it succeeded.

    Any fault, also one of our own: this is the outermost loop of what repairs the others.
    """
    try:
        await work()
    except Exception as error:  # noqa: BLE001  it is logged by the caller
        return error
    return None


async def see_through(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` to its end even when this task is cancelled, and only then be cancelled."""
    task = asyncio.create_task(work)
    cancelled = await ended(task)
    if cancelled and not task.cancelled():
        task.exception()  # seen, so that asyncio does not report it as forgotten
    if cancelled:
        raise asyncio.CancelledError
    task.result()


async def ended(task: asyncio.Task[Any]) -> bool:
    """Wait until `task` has ended, come what may; whether we were cancelled meanwhile."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


async def end(tasks: Collection[asyncio.Task[Any]], *, again_s: float = 5.0) -> None:
    """Cancel `tasks` and wait until they have cleaned up. What came of them is no longer of interest.

    again_s: cancel once more after so long. `asyncio.wait_for` of Python 3.11 loses a cancellation that comes
    together with its result (https://github.com/python/cpython/issues/86296), and psycopg waits with it.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again_s)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not report it as forgotten


@contextmanager
def stop_signals() -> Generator[tuple[asyncio.Event, asyncio.Event]]:
    """Two events: the first signal asks to stop, a second to stop at once."""
    stop, abort = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        (abort if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop, abort
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
