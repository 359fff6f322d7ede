"""People who put documents in while everything breaks, and the process that takes them."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from faults.processes import TESTS
from faults.steps import paper

_AGAIN_S = 0.5


class UploadProcess:
    """Takes uploads in a process of its own; one that dies is replaced. settings: as plain values."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._process: Process | None = None
        self._answers: dict[str, asyncio.Future[str | None]] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self.started = 0

    def start(self) -> None:
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self.kill()

    def kill(self) -> str:
        """SIGKILL; its number."""
        if self._process is None or self._process.returncode is not None:
            return "none is alive"
        self._process.kill()
        return str(self._process.pid)

    async def put(self, name: str, data: bytes) -> str | None:
        """The ingestion of an upload; None if it ended in an error, or with the process."""
        await self._up.wait()
        assert self._process is not None
        assert self._process.stdin is not None
        answer = asyncio.get_running_loop().create_future()
        self._answers[name] = answer
        self._process.stdin.write(json.dumps({"name": name, "paper": data.decode()}).encode() + b"\n")
        return await answer

    async def _keep(self) -> None:
        while True:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "soak.intake_process",
                json.dumps(self._settings),
                stdin=PIPE,
                stdout=PIPE,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
            )
            self.started += 1
            self._up.set()
            assert self._process.stdout is not None
            while line := await self._process.stdout.readline():
                answer = json.loads(line)
                self._answers.pop(answer["name"]).set_result(answer["ingestion_id"])
            self._up.clear()
            await self._process.wait()
            for answer in self._answers.values():
                answer.set_result(None)
            self._answers.clear()
            await asyncio.sleep(_AGAIN_S)


@dataclass
class Uploads:
    """What was put in. accepted: ingestions that were promised.

    indeterminate: names of papers whose upload ended in an error; they may have been taken or not.
    """

    process: UploadProcess
    chance: Random
    accepted: dict[UUID, str] = field(default_factory=dict[UUID, str])
    indeterminate: set[str] = field(default_factory=set[str])

    async def put_in(self, count: int, *, within_s: float, at_once: int = 8) -> None:
        """Upload `count` papers, spread over the time."""
        room = asyncio.Semaphore(at_once)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                await room.acquire()
                uploading = tasks.create_task(self._put(number))
                uploading.add_done_callback(lambda _: room.release())
                await asyncio.sleep(begin + within_s * number / count - loop.time())

    async def _put(self, number: int) -> None:
        name = f"paper {number}"
        taken = await self.process.put(name, paper(name, work_s=round(self.chance.expovariate(10), 3)))
        if taken is None:
            self.indeterminate.add(name)
        else:
            self.accepted[UUID(taken)] = name
