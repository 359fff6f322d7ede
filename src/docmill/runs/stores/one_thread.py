"""A thread of its own for a database whose driver blocks."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

_Arguments = TypeVarTuple("_Arguments")
_Value = TypeVar("_Value")


class OneThread:
    """Calls functions in one thread, one after the other, from whatever event loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._executor: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[[*_Arguments], _Value], *args: *_Arguments) -> _Value:
        """The result of the function. It goes on to its end even if the caller is cancelled."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)

    def close(self) -> None:
        """Wait for what was given, and end the thread; a later call starts another."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None
