"""SIGTERM and SIGINT as events."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def stop_signals() -> Generator[tuple[asyncio.Event, asyncio.Event]]:
    """Two events: the first signal asks to stop, a second to stop at once."""
    stop, abort = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        (abort if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop, abort
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
