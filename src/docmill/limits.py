"""Time limits that really cancel, and that do not count time spent waiting for one's turn."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self


class TimeLimit:
    """Cancels its block after `seconds` and raises TimeoutError, as `asyncio.timeout` does.

    Tasks started in the block share the limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self._timeout = asyncio.timeout(seconds)
        self._waiting = 0
        self._left_s: float | None = None
        self._token: Token[tuple[TimeLimit, ...]] | None = None

    @property
    def expired(self) -> bool:
        """Whether the block was cancelled by this limit."""
        return self._timeout.expired()

    @property
    def running(self) -> bool:
        """Whether its clock runs: not without seconds, and not while its work waits for a turn."""
        return self._timeout.when() is not None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._token = _limits.set((*_limits.get(), self))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._token is not None:
            _limits.reset(self._token)
        return await self._timeout.__aexit__(kind, error, trace)

    def stop(self) -> None:
        """Stop the clock; it runs again after as many calls of `go`."""
        when = self._timeout.when()
        if not self._waiting and when is not None:
            self._left_s = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)
        self._waiting += 1

    def go(self) -> None:
        """See `stop`."""
        self._waiting -= 1
        if not self._waiting and self._left_s is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)
            self._left_s = None


_limits: ContextVar[tuple[TimeLimit, ...]] = ContextVar("limits", default=())


@contextmanager
def waiting_for_a_turn() -> Generator[None]:
    """Stop the clock of every limit around this block: a document must not fail because others came first."""
    limits = _limits.get()
    for limit in limits:
        limit.stop()
    try:
        yield
    finally:
        for limit in limits:
            limit.go()
