"""Points at which a process stops until a test has decided what becomes of it."""

import asyncio
import json
import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_PATIENCE_S = 30


@dataclass(frozen=True, slots=True)
class Stop:
    """A process that has reached `point` and waits there."""

    point: str
    pid: int
    writer: asyncio.StreamWriter

    def go(self) -> None:
        """Let it go on."""
        self.writer.write(b"go\n")

    async def ended(self) -> None:
        """Wait until the process is dead."""
        ended = asyncio.Event()
        process = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(process, ended.set)
        try:
            await asyncio.wait_for(ended.wait(), _PATIENCE_S)
        finally:
            asyncio.get_running_loop().remove_reader(process)
            os.close(process)


class Control:
    """The test's side: a socket on which processes report the points they reach."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stops: defaultdict[str, asyncio.Queue[Stop]] = defaultdict(asyncio.Queue)
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._report, self.path)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def reached(self, point: str) -> Stop:
        """The next process that has stopped at `point`."""
        return await asyncio.wait_for(self._stops[point].get(), _PATIENCE_S)

    async def _report(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        report = json.loads(await reader.readline())
        self._stops[report["point"]].put_nowait(Stop(report["point"], report["pid"], writer))


async def stop_at(control: str, point: str, pid: int) -> None:
    """The process's side: report and wait."""
    reader, writer = await asyncio.open_unix_connection(control)
    writer.write(json.dumps({"point": point, "pid": pid}).encode() + b"\n")
    await reader.readline()
    writer.close()
