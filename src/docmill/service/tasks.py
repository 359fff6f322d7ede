"""Ending tasks."""

import asyncio
from collections.abc import Collection
from typing import Any


async def end(tasks: Collection[asyncio.Task[Any]], *, again_s: float = 5.0) -> None:
    """Cancel `tasks` and wait until they have cleaned up. What came of them is no longer of interest.

    again_s: cancel once more after so long. `asyncio.wait_for` of Python 3.11 loses a cancellation that comes
    together with its result (https://github.com/python/cpython/issues/86296), and psycopg waits with it.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again_s)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not report it as forgotten
