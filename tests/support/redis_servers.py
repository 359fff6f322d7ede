"""Redis servers of tests: programs of the Debian package redis-server, on a free port of this machine."""

import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

_STARTS_WITHIN_S = 20.0


class RedisServer:
    """A server whose files are in a folder. options: of its command line."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers; its append-only file is loaded then."""
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed: scripts/system-packages redis-server")
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--dir", str(self.folder)]
        self._process = subprocess.Popen([program, *options, *self._options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.kill()
                message = f"redis-server on port {self.port} does not start"
                raise RuntimeError(message)
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def kill(self) -> None:
        """End it at once, as a lack of memory does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def ask(self, *words: str) -> bytes:
        """The answer to a command, as the protocol has it, of which no more than its beginning."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(_command(words))
            return connection.recv(1 << 16)

    def _answers(self) -> bool:
        try:
            answer = self.ask("PING")
        except OSError:
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH"))


class RedisCluster:
    """Three servers that share all keys among them."""

    def __init__(self, folder: Path) -> None:
        self.nodes = [_cluster_node(folder / str(number)) for number in range(3)]

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.nodes[0].port}"

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        places = [f"127.0.0.1:{node.port}" for node in self.nodes]
        subprocess.run(
            ["redis-cli", "--cluster", "create", *places, "--cluster-yes"],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.nodes):
            assert time.monotonic() < deadline, "the cluster does not come together"
            time.sleep(0.05)

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


def _cluster_node(folder: Path) -> RedisServer:
    folder.mkdir()
    return RedisServer(folder, "--cluster-enabled", "yes", "--cluster-port", str(free_port()))


def _command(words: Sequence[str]) -> bytes:
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
