"""AWS on this machine: emulators as processes of their own, one per test process."""

import mmap
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Any, Literal
from uuid import uuid4

REPOSITORY = Path(__file__).parents[2]
LAUNCHER = Path(__file__).with_name("aws_emulator_process.py")
READY = {"ministack": "/_ministack/ready", "moto": "/moto-api/"}
STARTS_WITHIN_S = 60
ENDS_WITHIN_S = 20
LOOKS_EVERY_S = 0.05

Name = Literal["ministack", "moto"]

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Made up, and none of this machine's: an emulator wants some."""


class Emulator:
    """One emulator. Stopped and started again, ministack remembers everything and moto nothing."""

    def __init__(self, name: Name, folder: Path) -> None:
        self.name = name
        self.port = _free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._clock_file = folder / "clock"
        self._clock_file.write_bytes(bytes(8))
        with self._clock_file.open("r+b") as file:
            self._clock = mmap.mmap(file.fileno(), 8)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def settings(self) -> dict[str, Any]:
        """Of a service with a queue and a bucket of its own here, as plain values."""
        name = f"test-{uuid4()}"
        return {
            "aws": {"enabled": True, "endpoint": self.endpoint, "create": True},
            "queues": {"ingestion": name},
            "buckets": {"storage": name},
        }

    @property
    def ahead_s(self) -> float:
        """How far its clock is ahead of ours."""
        return struct.unpack_from("d", self._clock)[0]

    @ahead_s.setter
    def ahead_s(self, seconds: float) -> None:
        struct.pack_into("d", self._clock, 0, seconds)

    def start(self) -> None:
        """Return when it answers."""
        python = REPOSITORY / ".emulators" / self.name / "bin" / "python"
        command = [python, LAUNCHER, self.name, str(self.port), self._clock_file]
        self._log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            command,
            cwd=self._folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._folder),
                "TMPDIR": str(self._folder),
                "PERSIST_STATE": "1",
                "STATE_DIR": str(self._folder / "state"),
                "S3_PERSIST": "1",
                "S3_DATA_DIR": str(self._folder / "s3"),
            },
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        for _ in range(round(STARTS_WITHIN_S / LOOKS_EVERY_S)):
            if self._answers():
                return
            try:
                self._process.wait(LOOKS_EVERY_S)
            except subprocess.TimeoutExpired:
                continue
            break
        raise AssertionError(f"{self.name} does not start: {(self._folder / 'log').read_text()}")

    def stop(self) -> None:
        """Return when it has ended."""
        if self._process is not None and self._log is not None:
            self._process.terminate()
            try:
                self._process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._log.close()
            self._process = None

    def pause(self) -> None:
        """Answer nothing until `resume`."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", READY[self.name])
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


@contextmanager
def running(name: Name, folder: Path) -> Generator[Emulator]:
    """The emulator, installed if it is not yet, for the length of the block."""
    subprocess.run([REPOSITORY / "scripts" / "emulators"], check=True)
    emulator = Emulator(name, folder)
    emulator.start()
    try:
        yield emulator
    finally:
        emulator.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
