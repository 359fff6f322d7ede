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
from typing import Any


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
    import_module("moto.server").main(["-H", "127.0.0.1", "-p", port])


RUN = {"ministack": run_ministack, "moto": run_moto}

if __name__ == "__main__":
    main()
