"""Processor time of child processes, and the limits on it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from docmill.errors import TimeLimitError

CLOCK_FACTOR = 10
"""By the clock, a task may take so many times its limit: on a busy machine it waits for processors, and a
task that is blocked must end, too."""
LOOKS_EVERY_S = 0.5
"""Interval at which a running task is looked at."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class TaskTimer:
    """Timer of one task in a child. limit_s: of processor time.

    A second counts if the child has used it, whoever of its threads and programs did, and `CLOCK_FACTOR`
    seconds of the clock count as one at least. charge: is told each second that counts, once.
    """

    def __init__(self, limit_s: float, charge: Callable[[float], None]) -> None:
        self._limit_s = limit_s
        self._charge = charge
        self._counted_s = 0.0
        self._began = self._processor_before_s = self._processor_s = 0.0
        self.look_after_s = min(LOOKS_EVERY_S, CLOCK_FACTOR * limit_s)

    def start(self, processor_s: float) -> None:
        """The task begins. processor_s: that its child has used before."""
        self._began = time.monotonic()
        self._processor_before_s = processor_s

    def note(self, processor_s: float) -> None:
        """Count what has been used since the last call. processor_s: of the child, in all."""
        self._processor_s = processor_s - self._processor_before_s
        counted_s = max(self._counted_s, self._processor_s, self._clock_s / CLOCK_FACTOR)
        self._charge(counted_s - self._counted_s)
        self._counted_s = counted_s

    def check(self) -> None:
        """Raise TimeLimitError if the limit has been reached."""
        if self._processor_s >= self._limit_s:
            raise TimeLimitError(
                f"reading took more than {self._limit_s:g} s of processor time and was stopped; another "
                "attempt may succeed"
            )
        if self._clock_s >= CLOCK_FACTOR * self._limit_s:
            limit_s = CLOCK_FACTOR * self._limit_s
            raise TimeLimitError(
                f"reading took longer than {limit_s:g} s and was stopped; another attempt may succeed"
            )

    @property
    def _clock_s(self) -> float:
        return time.monotonic() - self._began


def processor_seconds(pid: int) -> float:
    """Processor time of a process and of all programs that it has started; 0 if it has ended.

    Source: proc(5), fields 14 to 17 of `stat`, whose second field may hold any character.
    """
    process = Path("/proc", str(pid))
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    try:
        children = (process / "task" / str(pid) / "children").read_text().split()
    except OSError:  # not every kernel tells
        children = []
    own_s = sum(map(int, fields[11:15])) / _TICKS_PER_S
    return own_s + sum(processor_seconds(int(child)) for child in children)
