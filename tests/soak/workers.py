"""A crew of worker processes: who dies is replaced."""

import asyncio
import signal
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from faults.processes import Mother, WorkerProcess


class Crew:
    """`size` workers, always. hurry: by which the waits that no setting shortens are multiplied."""

    def __init__(self, mother: Mother, settings: dict[str, Any], control: Path, *, size: int) -> None:
        self._mother = mother
        self._settings = settings
        self._control = control
        self._size = size
        self._workers: set[WorkerProcess] = set()
        self._keepers: list[asyncio.Task[None]] = []
        self._open = True
        self.events: Counter[str] = Counter()
        self.started = 0

    async def start(self) -> None:
        self._keepers = [asyncio.create_task(self._keep()) for _ in range(self._size)]

    async def come_and_go(self) -> None:
        """One more worker, which takes away what the killed have left on this machine."""
        worker = await WorkerProcess.start(self._mother, self._settings, self._control)
        await worker.logged("worker started")
        await worker.stop()

    def one(self, chance: Random) -> WorkerProcess | None:
        """Any of those alive."""
        alive = sorted(self._workers, key=lambda worker: worker.pid)
        return chance.choice(alive) if alive else None

    async def stop(self) -> None:
        """Ask all to end, and wait until they have."""
        self._open = False
        for worker in self._workers:
            worker.send(signal.SIGCONT)
            worker.send(signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(*self._keepers), 60)

    async def kill(self) -> None:
        """End what is left."""
        self._open = False
        for worker in list(self._workers):
            await worker.kill()

    async def _keep(self) -> None:
        while self._open:
            worker = await WorkerProcess.start(self._mother, self._settings, self._control, hurry=0.1)
            self.started += 1
            self._workers.add(worker)
            await worker.ended(within_s=None)
            self._workers.discard(worker)
            self.events.update(record["event"] for record in worker.log)
