"""Starting worker processes, reading their logs and ending them."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

TESTS = Path(__file__).parent.parent
_PATIENCE_S = 30


class Mother:
    """A process that has loaded docmill and forks workers. environment: on top of ours."""

    def __init__(self, **environment: str) -> None:
        self._turn = Lock()
        self._socket, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "faults.worker_process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path, **environment},
            )

    def fork(self, orders: dict[str, Any], log_fd: int) -> int:
        """The number of a new process."""
        with self._turn:
            socket.send_fds(self._socket, [json.dumps(orders).encode()], [log_fd])
            return int(self._socket.recv(32))

    def close(self) -> None:
        self._socket.close()
        self._process.wait(_PATIENCE_S)


@dataclass(eq=False)
class WorkerProcess:
    """A worker that can be killed."""

    pid: int
    log: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _over: bool = False
    _reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        mother: Mother,
        settings: dict[str, Any],
        control: Path,
        *,
        points: Collection[str] = (),
        hurry: float = 0.02,
    ) -> "WorkerProcess":
        """A worker that stops at `points`; `hurry` shortens the waits that no setting shortens."""
        orders = {"settings": settings, "control": str(control), "points": list(points), "hurry": hurry}
        ours, theirs = os.pipe()
        pid = await asyncio.to_thread(mother.fork, orders, theirs)
        os.close(theirs)
        process = cls(pid)
        process._reading = asyncio.create_task(process._read(ours))
        return process

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if not self._over:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self.send(signal.SIGTERM)
        await self.ended()

    async def kill(self) -> None:
        """End it on the spot, and wait until the kernel has cleaned up after it."""
        self.send(signal.SIGKILL)
        await self.ended()

    async def ended(self, *, within_s: float | None = _PATIENCE_S) -> None:
        """Wait for its end."""
        assert self._reading is not None
        await asyncio.wait_for(asyncio.shield(self._reading), within_s)

    async def logged(self, event: str) -> dict[str, Any]:
        """The first log record of this message, once it is there."""
        async with asyncio.timeout(_PATIENCE_S), self._changed:
            while True:
                for record in self.log:
                    if record["event"] == event:
                        return record
                assert not self._over, f"it ended without saying {event!r}: {self.log}"
                await self._changed.wait()

    async def _read(self, fd: int) -> None:
        reader = asyncio.StreamReader(limit=1 << 20)
        loop = asyncio.get_running_loop()
        with os.fdopen(fd, "rb") as pipe:
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
            while line := await reader.readline():
                async with self._changed:
                    self.log.append(json.loads(line))
                    self._changed.notify_all()
            async with self._changed:
                self._over = True
                self._changed.notify_all()
