"""What goes wrong during a soak: a series of faults that a seed decides."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from docmill.errors import DocmillError
from docmill.service.ports import Queue
from faults.proxy import Loss, PostgresProxy
from faults.server import KillableServer
from soak.uploads import UploadProcess
from soak.workers import Crew
from support.aws_emulators import Emulator

Fault = Callable[[], Awaitable[str]]

COMMITS = {
    "an upload": "INSERT INTO ingestion",
    "a claim": "SET started_at",
    "a result": "SET status = 'completed'",
}


@dataclass
class Nemesis:
    """Faults, one after the other. lease_s: pauses are up to twice as long. emulator: of AWS, if used."""

    chance: Random
    crew: Crew
    uploading: UploadProcess
    server: KillableServer
    proxy: PostgresProxy
    queue: Queue
    emulator: Emulator | None
    lease_s: float
    done: Counter[str] = field(default_factory=Counter[str])

    async def rage(self, *, for_s: float) -> None:
        """Do harm for so long, and leave everything working."""
        begin = asyncio.get_running_loop().time()
        faults: dict[str, tuple[int, Fault]] = {
            "kill a worker": (8, self._kill_worker),
            "kill the uploads": (3, self._kill_uploading),
            "pause a worker": (4, self._pause_worker),
            "stop a worker": (3, self._stop_worker),
            "kill the database": (2, self._kill_database),
            "cut connections": (4, self._cut),
            "swallow the network": (2, self._swallow),
            "lose a commit": (6, self._lose_commit),
            "lose messages": (3, self._lose_messages),
        }
        if self.emulator is not None:
            faults["pause AWS"] = (4, partial(self._pause_aws, self.emulator))
        names = list(faults)
        weights = [weight for weight, _ in faults.values()]
        while (now := asyncio.get_running_loop().time() - begin) < for_s:
            (name,) = self.chance.choices(names, weights)
            detail = await faults[name][1]()
            self.done[name] += 1
            say(f"{now:6.1f} s  {name:20} {detail}")
            await asyncio.sleep(self.chance.uniform(0.5, 4))
        self.proxy.heal()

    async def _kill_worker(self) -> str:
        return self._send(signal.SIGKILL)

    async def _kill_uploading(self) -> str:
        return self.uploading.kill()

    async def _stop_worker(self) -> str:
        return self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> str:
        worker = self.crew.one(self.chance)
        if worker is None:
            return "none is alive"
        worker.send(number)
        return str(worker.pid)

    async def _pause_worker(self) -> str:
        worker = self.crew.one(self.chance)
        if worker is None:
            return "none is alive"
        pause_s = self.chance.uniform(0.2, 2) * self.lease_s
        worker.send(signal.SIGSTOP)
        await asyncio.sleep(pause_s)
        worker.send(signal.SIGCONT)
        return f"{worker.pid} for {pause_s:.1f} s"

    async def _kill_database(self) -> str:
        self.server.kill()
        away_s = self.chance.uniform(0, 3)
        await asyncio.sleep(away_s)
        await asyncio.to_thread(self.server.restart)
        return f"away for {away_s:.1f} s and its recovery"

    async def _cut(self) -> str:
        self.proxy.reset()
        return ""

    async def _swallow(self) -> str:
        silence_s = self.chance.uniform(0.5, 2) * self.lease_s
        self.proxy.swallow()
        await asyncio.sleep(silence_s)
        self.proxy.heal()
        return f"for {silence_s:.1f} s"

    async def _lose_commit(self) -> str:
        losses: tuple[Loss, Loss] = ("request", "reply")
        loss = self.chance.choice(losses)
        what = self.chance.choice(list(COMMITS))
        self.proxy.lose(loss, of=COMMITS[what])
        return f"the {loss} of {what}"

    async def _lose_messages(self) -> str:
        try:
            messages = await self.queue.receive(limit=10, wait_s=0)
            await self.queue.delete(messages)
        except DocmillError:
            return "none could be had"
        return str(len(messages))

    async def _pause_aws(self, emulator: Emulator) -> str:
        pause_s = self.chance.uniform(0.5, 2) * self.lease_s
        emulator.pause()
        await asyncio.sleep(pause_s)
        emulator.resume()
        return f"for {pause_s:.1f} s"


def say(line: str) -> None:
    """Print at once: a soak that is killed has said what it saw."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
