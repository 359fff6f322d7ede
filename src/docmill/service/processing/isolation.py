"""Isolation of a job: nothing else is in work, so that the worker's death shows its cause."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any


class Isolation:
    """Knows a worker's jobs, and lets one at a time wait until it is the only one.

    jobs: those under way. on_open: called when the worker may begin others again.
    """

    def __init__(self) -> None:
        self.jobs: set[asyncio.Task[Any]] = set()
        self.on_open: Callable[[], None] = lambda: None
        self._reservation: object | None = None
        self._ended = asyncio.Event()

    @property
    def closed(self) -> bool:
        """True while a job is alone or waits to be; the worker then begins nothing new."""
        return self._reservation is not None

    def add(self, job: asyncio.Task[Any]) -> None:
        """Count a job, which may not have begun yet, until it has ended."""
        self.jobs.add(job)
        job.add_done_callback(self._remove)

    def _remove(self, job: asyncio.Task[Any]) -> None:
        self.jobs.discard(job)
        self._ended.set()

    @asynccontextmanager
    async def reserved(self) -> AsyncGenerator["Reservation | None"]:
        """Reserve the worker for a job during the block. None if another job has reserved it."""
        if self.closed:
            yield None
            return
        reservation = Reservation(self)
        self._reservation = reservation
        try:
            yield reservation
        finally:
            reservation.end()

    def end(self, reservation: "Reservation") -> None:
        """Let the worker begin others again, unless another job has reserved it meanwhile."""
        if self._reservation is reservation:
            self._reservation = None
            self.on_open()

    async def is_alone(self, *, within_s: float) -> bool:
        """Wait until every other job has ended; False if that takes longer than `within_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while len(self.jobs) > 1:
                    self._ended.clear()
                    await self._ended.wait()
        return len(self.jobs) <= 1


class Reservation:
    """One job's right to be alone."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation
        self._timer: asyncio.TimerHandle | None = None

    def end_after(self, seconds: float) -> None:
        """Let others begin beside the job from then on, should it take so long."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self.end)

    def end(self) -> None:
        """Let others begin; the job itself may go on."""
        if self._timer is not None:
            self._timer.cancel()
        self._isolation.end(self)
