"""Working on one document with nothing else in work, so that a worker's death tells what it died of."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any


class Isolation:
    """Knows a worker's jobs, and lets one at a time wait until it is the only one.

    jobs: those under way. closed: whether a job waits to be alone or is; the worker then begins nothing new.
    """

    def __init__(self) -> None:
        self.closed = False
        self.jobs: set[asyncio.Task[Any]] = set()
        self._ended = asyncio.Event()

    def add(self, job: asyncio.Task[Any]) -> None:
        """Count a job, which may not have begun yet, until it has ended."""
        self.jobs.add(job)
        job.add_done_callback(self._remove)

    def _remove(self, job: asyncio.Task[Any]) -> None:
        self.jobs.discard(job)
        self._ended.set()

    @asynccontextmanager
    async def reserved(self) -> AsyncGenerator[bool]:
        """Around what a job is to do alone. False if another job has come first."""
        if self.closed:
            yield False
            return
        self.closed = True
        try:
            yield True
        finally:
            self.closed = False

    async def is_alone(self, *, within_s: float) -> bool:
        """Whether every other job has ended by then; returns as soon as that is so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while len(self.jobs) > 1:
                    self._ended.clear()
                    await self._ended.wait()
        return len(self.jobs) <= 1
