"""The processes of a cluster: started, watched from outside, killed, stopped."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.data.shared import ROOT

DOCMILL = Path(sys.executable).with_name("docmill")
MINISTACK = ROOT / ".emulators" / "ministack" / "bin" / "python"
PATIENCE_S = 60

_RUN_MINISTACK = "import sys; sys.argv = ['ministack']; from ministack.app import main; main()"


@dataclass
class Member:
    """One process. address: where it answers."""

    name: str
    process: asyncio.subprocess.Process
    log_file: Path
    address: str = ""
    killed: bool = False

    async def until_ready(self) -> None:
        """Wait until it prints that it is ready."""
        assert self.process.stdout is not None
        line = (await asyncio.wait_for(self.process.stdout.readline(), PATIENCE_S)).decode()
        if "http://" not in line:
            raise RuntimeError(f"{self.name} does not start: {self.log_file.read_text()}")
        self.address = "http://" + line.partition("http://")[2].strip()

    async def jobs_in_flight(self, client: httpx.AsyncClient) -> int:
        """Return how many documents it processes now, by its metrics."""
        text = (await client.get(f"{self.address}metrics")).text
        return round(
            sum(
                sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == "docmill_jobs_in_flight"
            )
        )

    def attempts(self) -> Counter[str]:
        """Count the ends of its attempts by kind, from its log."""
        lines = (json.loads(line) for line in self.log_file.read_text().splitlines())
        return Counter(line["status"] for line in lines if line["event"] == "attempt ended")

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.killed = True
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """Ask it to end; return its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)


@dataclass
class Cluster:
    """Processes on one data folder. settings: environment variables that all of them get."""

    folder: Path
    settings: dict[str, str]
    members: list[Member] = field(default_factory=list[Member])

    async def start(self, name: str, kind: str) -> Member:
        """A `docmill web` or `docmill worker` that answers."""
        log_file = self.folder / f"{name}.log"
        with log_file.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                DOCMILL, kind, "--port", "0", "--data-dir", self.folder / "data",
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **self.settings},
                start_new_session=True,  # Ctrl-C is for us; we stop them in order
            )  # fmt: skip
        member = Member(name, process, log_file)
        self.members.append(member)
        await member.until_ready()
        return member

    async def stop(self) -> list[str]:
        """Stop what runs; return the names of those that did not end well."""
        codes = await asyncio.gather(*(member.stop() for member in self.members))
        ended = zip(self.members, codes, strict=True)
        return [f"{member.name} ended with {code}" for member, code in ended if code and not member.killed]


class Emulator:
    """SQS and S3 on this machine. It forgets everything when it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = probe.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self._port}"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Return when it answers."""
        with (self._folder / "emulator.log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                MINISTACK, "-c", _RUN_MINISTACK,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self._folder),
                    "TMPDIR": str(self._folder),
                    "BIND_HOST": "127.0.0.1",
                    "MINISTACK_HOST": "127.0.0.1",
                    "GATEWAY_PORT": str(self._port),
                },
                start_new_session=True,
            )  # fmt: skip
        async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient() as client:
            while not await self._answers(client):  # noqa: ASYNC110  another process knows
                await asyncio.sleep(0.1)

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        try:
            return (await client.get(f"{self.endpoint}/_ministack/ready")).is_success
        except httpx.TransportError:
            return False

    async def stop(self) -> None:
        """End it at once: it has nothing to keep."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
