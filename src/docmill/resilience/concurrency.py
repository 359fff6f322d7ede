"""Tasks, signals, threads and group commits beside the event loop."""

import asyncio
import contextvars
import logging
import signal
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, TypeVarTuple

from docmill.errors import DocmillError, SetupError

log = logging.getLogger(__name__)


class BrokenWorkerError(BaseException):
    """A fault in docmill that leaves a worker unable to keep its promises.

    No `Exception`, so that nothing handles it as the fault of one document: it ends the worker, and the log
    says why.
    """


FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


async def keep_doing(work: Callable[[], Awaitable[object]], *, what: str, pause_s: float = 0.0) -> None:
    """Do `work` again and again, for ever, with a pause after each time; without one, it waits by itself.

    When it fails, it is tried again after a pause that doubles. That is logged when it begins and when it is
    over, and not each time. what: the work's name in the log.
    """
    retry_s = 0.0
    while True:
        try:
            await work()
        except Exception as error:
            # Any fault, also one of our own: this is the outermost loop of what repairs the others.
            if not retry_s:
                foreseen = isinstance(error, DocmillError | TimeoutError)
                # Such a message names settings and places, and says what to do; others may quote documents.
                message = {"detail": error.message} if isinstance(error, SetupError) else {}
                log.error(  # noqa: TRY400  with its traceback only if it is a fault of ours
                    "does not work now",
                    extra={"what": what, "reason": type(error).__name__, **message},
                    exc_info=None if foreseen else error,
                )
            retry_s = min(2 * retry_s or FIRST_PAUSE_S, LONGEST_PAUSE_S)
        else:
            if retry_s:
                log.warning("works again", extra={"what": what})
            retry_s = 0.0
        if retry_s or pause_s:
            await asyncio.sleep(retry_s or pause_s)


async def see_through(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` to its end even when this task is cancelled, and only then be cancelled."""
    task = asyncio.create_task(work)
    cancelled = await wait_until_ended(task)
    if cancelled and not task.cancelled():
        task.exception()  # seen, so that asyncio does not report it as forgotten
    if cancelled:
        raise asyncio.CancelledError
    task.result()


async def wait_until_ended(task: asyncio.Task[Any]) -> bool:
    """Wait until `task` has ended, even if cancelled meanwhile; True if that happened."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


async def cancel_and_wait(tasks: Collection[asyncio.Task[Any]], *, again_s: float = 5.0) -> None:
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


Item = TypeVar("Item")
Answer = TypeVar("Answer")

LINGER_S = 0.02


class Batches(Generic[Item, Answer]):
    """Group commit: gathers the questions that arrive while the last batch is under way.

    work: answers a batch, in its order. With nothing under way an item goes at once; what comes meanwhile
    waits for the batch to end and `linger_s` more, so that under load a batch holds many. A batch that holds
    `limit` items waits for nothing more: it goes as soon as fewer than `at_once` are under way.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Coroutine[Any, Any, Sequence[Answer]]],
        *,
        limit: int = 40,
        linger_s: float = LINGER_S,
        at_once: int = 1,
    ) -> None:
        self._work = work
        self._limit = limit
        self._linger_s = linger_s
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._at_once = at_once
        self._running: list[asyncio.Task[None]] = []
        # Not that of who asks first: what is logged in a batch must not name one document of many.
        self._context = contextvars.copy_context()

    def ask(self, item: Item) -> asyncio.Future[Answer]:
        """The answer for `item`, or what `work` raised. Cancelled, the item may be worked on even so.

        Raises BrokenWorkerError if the batch ended without an answer.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        self._running = [running for running in self._running if not running.done()]
        if not self._running or (len(self._running) < self._at_once and len(self._waiting) >= self._limit):
            self._running.append(asyncio.create_task(self._run(), context=self._context))
        return answer

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            try:
                await self._answer(batch)
            except Exception as error:
                log.exception("a fault in docmill: a batch was not answered")
                for _, answer in batch:
                    if not answer.done():  # its caller would wait for ever
                        broken = BrokenWorkerError("a batch was not answered")
                        broken.__cause__ = error
                        answer.set_exception(broken)
            if self._linger_s and len(self._waiting) < self._limit:
                await asyncio.sleep(self._linger_s)

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        working = asyncio.create_task(self._work([item for item, _ in batch]))  # noqa: RUF006  awaited in the next line
        await asyncio.wait({working})
        error = working.exception()
        if error is None:
            for (_, answer), value in zip(batch, working.result(), strict=True):
                if not answer.done():
                    answer.set_result(value)
        elif len(batch) > 1 and not isinstance(error, DocmillError):
            for question in batch:  # one of them is at fault; the others shall not pay for it
                await self._answer([question])
        else:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)


LARGE = 5_000
"""Words of a document. To store, load or judge more takes 5 to 10 ms and longer (measured), for which all
other documents and requests of the process would wait. To use a thread costs 0.15 ms."""

VALUE = 16
"""A value with its evidence takes as long to judge or to store as this many words."""

STORED_BYTES = 16
"""Bytes of a stored transcription that take as long to load as a word."""

RESULT_CHARACTERS = 40
"""Characters of a result's JSON that take as long to load and to check as a word."""

TEXT_CHARACTERS = 200
"""Characters of plain text that take as long to write as JSON as a word takes."""

_Arguments = TypeVarTuple("_Arguments")
_Value = TypeVar("_Value")


async def off_loop(function: Callable[[*_Arguments], _Value], *args: *_Arguments, size: float) -> _Value:
    """The result of `function`, called in a thread if `size` is above `LARGE`.

    size: of the input, in words of a document.
    """
    if size > LARGE:
        return await asyncio.to_thread(function, *args)
    return function(*args)
