"""Real `docmill` processes, and what is seen of them from outside."""

import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import psutil

DOCMILL = Path(sys.executable).with_name("docmill")
PATIENCE_S = 60


@dataclass
class DocmillProcess:
    """A process and its log."""

    process: subprocess.Popen[str]
    log_file: Path
    said: str = ""

    @property
    def address(self) -> str:
        """The one that it printed when it was ready."""
        return "http://" + self.said.partition("http://")[2].strip()

    def until_ready(self) -> "DocmillProcess":
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        assert self.said, self.log_file.read_text()
        return self

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def exit_code(self) -> int:
        """Waits for its end."""
        return self.process.wait(PATIENCE_S)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.address + path, timeout=PATIENCE_S)

    def until_answered(self, path: str, status: int) -> None:
        """Ask again and again."""
        deadline = time.monotonic() + PATIENCE_S
        while self.get(path).status_code != status:
            assert time.monotonic() < deadline, self.log_file.read_text()

    def upload(self, file: Path) -> str:
        """The id of its document."""
        with file.open("rb") as stream:
            answer = httpx.post(f"{self.address}api/v1/documents", files={"file": stream}, timeout=PATIENCE_S)
        return str(answer.json()["results"][0]["document_id"])

    @contextmanager
    def events(self) -> Generator[Iterator[dict[str, str]]]:
        """All that has happened and happens to documents; ends when the server ends it."""
        url = f"{self.address}api/v1/events"
        with httpx.stream("GET", url, params={"after": 0}, timeout=PATIENCE_S) as stream:
            yield (
                cast("dict[str, str]", json.loads(line.removeprefix("data: ")))
                for line in stream.iter_lines()
                if line.startswith("data: ")
            )

    def until(self, document_id: str, kind: str) -> None:
        """Follow live events until this happens to the document."""
        with self.events() as events:
            next(event for event in events if (event["document_id"], event["kind"]) == (document_id, kind))


@dataclass
class Machine:
    """A data folder and the processes on it."""

    folder: Path
    running: list[DocmillProcess] = field(default_factory=list[DocmillProcess])

    def start(self, *arguments: str) -> DocmillProcess:
        """Begin a process; `until_ready` waits for it."""
        log_file = self.folder / f"log-{len(self.running)}"
        with log_file.open("w") as log:
            process = subprocess.Popen(
                [DOCMILL, *arguments, "--data-dir", self.folder],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.running.append(DocmillProcess(process, log_file))
        return self.running[-1]

    @property
    def postmaster(self) -> Path:
        """The file that exists while the database runs; its first line is the number of the process."""
        return self.folder / "postgres" / "data" / "postmaster.pid"

    @contextmanager
    def database_killed(self) -> Generator[None]:
        """End it without a word to those who use it, and keep them from starting it during the block."""
        with (self.folder / "postgres" / "start.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._kill_database()
            yield

    def _kill_database(self) -> None:
        server = psutil.Process(int(self.postmaster.read_text().split("\n", 1)[0]))
        children = server.children()
        server.kill()
        psutil.wait_procs([server, *children], PATIENCE_S)

    def close(self) -> None:
        """Whatever a failed test left."""
        for running in self.running:
            running.process.terminate()
        for running in self.running:
            try:
                running.exit_code()
            except subprocess.TimeoutExpired:
                running.process.kill()
            running.process.communicate()
