"""Runs an AWS emulator whose clock the tests can set. Runs in the emulator's environment, not in ours.

Called with the emulator's name, its port and a file of eight bytes: the seconds its clock is ahead, a double.
"""

import mmap
import os
import struct
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypeVar

Answer = TypeVar("Answer")


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
    models = import_module("moto.sqs.models")
    lock = RLock()  # receiving may move a message to another queue
    _receive_one_at_a_time(models.SQSBackend, utils.unix_time, lock)
    _change_one_at_a_time(models.Queue, lock)
    _write_one_at_a_time(import_module("moto.s3.responses").S3Response)
    import_module("moto.server").main(["-H", "127.0.0.1", "-p", port])


class Backend(Protocol):
    """Of SQS in moto."""

    receive_message: Callable[..., list[object]]
    get_queue: Callable[[str], Any]


def _receive_one_at_a_time(
    backend: type["Backend"], now: Callable[[], float], lock: AbstractContextManager[object]
) -> None:
    """Moto 5.2 takes no lock here: two receivers at the same time got the same message."""
    receive = backend.receive_message

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


def _change_one_at_a_time(queue: type[object], lock: AbstractContextManager[object]) -> None:
    """Moto 5.2 puts a new list in the place of its messages: of two deletions at once, one was undone."""
    for name in ("add_message", "delete_message"):
        setattr(queue, name, _locked(getattr(queue, name), lock))


def _write_one_at_a_time(bucket: type[Any]) -> None:
    """Moto 5.2 looks whether an object is there, then writes it: of writers at once, two were the first."""
    bucket.put_object = _locked(bucket.put_object, RLock())


def _locked(method: Callable[..., Answer], lock: AbstractContextManager[object]) -> Callable[..., Answer]:
    def locked(*arguments: object) -> Answer:
        with lock:
            return method(*arguments)

    return locked


RUN = {"ministack": run_ministack, "moto": run_moto}

if __name__ == "__main__":
    main()
