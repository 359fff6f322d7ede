"""Runs an AWS emulator whose clock the tests can set. Runs in the emulator's environment, not in ours.

Called with the emulator's name, its port and a file of eight bytes: the seconds its clock is ahead, a double.
"""

import mmap
import os
import struct
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Protocol


def main() -> None:
    name, port, clock = sys.argv[1:]
    with Path(clock).open("rb") as file:
        shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    RUN[name](port, lambda: struct.unpack_from("d", shared)[0])


def run_ministack(port: str, ahead_s: Callable[[], float]) -> None:
    real = time.time
    time.time = lambda: real() + ahead_s()
    os.environ |= {"BIND_HOST": "127.0.0.1", "MINISTACK_HOST": "127.0.0.1", "GATEWAY_PORT": port}
    sys.argv = ["ministack"]
    import_module("ministack.app").main()


def run_moto(port: str, ahead_s: Callable[[], float]) -> None:
    utils: Any = import_module("moto.core.utils")
    utils.utcnow = lambda: datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=ahead_s())
    _receive_one_at_a_time(import_module("moto.sqs.models").SQSBackend, utils.unix_time)
    import_module("moto.server").main(["-H", "127.0.0.1", "-p", port])


class Backend(Protocol):
    """Of SQS in moto."""

    receive_message: Callable[..., list[object]]
    get_queue: Callable[[str], Any]


def _receive_one_at_a_time(backend: type["Backend"], now: Callable[[], float]) -> None:
    """Moto 5.2 takes no lock here: two receivers at the same time got the same message."""
    receive = backend.receive_message
    lock = Lock()

    def receive_message(
        self: "Backend", queue_name: str, count: int, wait_s: int, *rest: object
    ) -> list[object]:
        until = now() + wait_s
        while True:
            with lock:
                messages = receive(self, queue_name, count, 0, *rest)
            if messages or now() >= until:
                return messages
            self.get_queue(queue_name).wait_for_messages(0.05)

    backend.receive_message = receive_message


RUN = {"ministack": run_ministack, "moto": run_moto}

if __name__ == "__main__":
    main()
