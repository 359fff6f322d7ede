"""Work on a large input runs in a thread, on a small one at once."""

import threading

from docmill.resilience.concurrency import LARGE, off_loop


def thread_of(_: str) -> threading.Thread:
    return threading.current_thread()


async def test_a_small_input_is_worked_on_at_once() -> None:
    assert await off_loop(thread_of, "a letter", size=LARGE) is threading.current_thread()


async def test_a_large_input_does_not_hold_up_the_event_loop() -> None:
    assert await off_loop(thread_of, "a book", size=LARGE + 1) is not threading.current_thread()
