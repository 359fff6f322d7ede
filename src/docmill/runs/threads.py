"""Threads that do the blocking work of a run."""

import asyncio
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class Threads:
    """A fixed number of threads that call functions for one event loop.

    Cheaper than `concurrent.futures`, which wakes the loop for every result by itself: here, results that
    come together wake it once.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._loop = asyncio.get_running_loop()
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._ended: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._wakes = False
        self._started = 0
        self._busy = 0

    def call(self, function: Callable[..., Any], *args: object) -> asyncio.Future[Any]:
        """The result of `function(*args)`, called in a thread with the context variables of this task.

        Cancelling the future does not stop the function; its result is then dropped.
        """
        self._busy += 1
        if self._started < min(self._busy, self._count):
            threading.Thread(target=self._work, name=f"docmill-{self._started}", daemon=True).start()
            self._started += 1
        future: asyncio.Future[Any] = self._loop.create_future()
        self._calls.put((future, contextvars.copy_context(), function, args))
        return future

    def replace_one(self) -> None:
        """Allow another thread in place of one whose call is no longer waited for and may never end."""
        self._count += 1

    def close(self) -> None:
        """Let the threads end once they have done what they were given."""
        for _ in range(self._started):
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, context, function, args = call
            result, error = None, None
            try:
                if not future.cancelled():
                    result = context.run(function, *args)
            except BaseException as raised:  # noqa: BLE001  whatever it is, it belongs to the caller
                error = raised
            self._ended.append((future, result, error))
            del call, future, context, function, args, result, error  # not kept until the next call comes
            if not self._wakes:
                self._wakes = True
                try:
                    self._loop.call_soon_threadsafe(self._deliver)
                except RuntimeError:  # the loop is closed, and nobody waits any more
                    return

    def _deliver(self) -> None:
        self._wakes = False  # first, so that a result that comes from now on wakes the loop again
        while self._ended:
            future, result, error = self._ended.popleft()
            self._busy -= 1
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):  # a future cannot carry it
                future.set_exception(RuntimeError("a component raised StopIteration"))
            else:
                future.set_exception(error)


_Call = tuple[asyncio.Future[Any], contextvars.Context, Callable[..., Any], tuple[Any, ...]]
