"""Counts of a run that is going on, and its rate."""

import heapq
import time
from collections import deque
from collections.abc import Callable, Mapping

from docmill.runs.events import Event, Progress
from docmill.runs.states import DONE, DocumentStatus

WINDOW_S = 30.0
"""The rate is that of so many seconds."""


class ProgressMeter:
    """Counts what a runner does, and tells it when asked to, if anything has changed.

    notify: told of it; None for nobody.
    """

    def __init__(
        self, notify: Callable[[Event], None] | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._notify = notify
        self._clock = clock
        self._total = self._completed = self._failed = self._in_progress = 0
        self._is_total_final = False
        self._has_changed = False
        self._current: str | None = None
        self._ended = 0
        self._samples: deque[tuple[float, int]] = deque()
        self._due_times: list[float] = []
        """When documents that wait may be tried again; a heap."""

    @property
    def rate(self) -> float:
        """Documents a second of this runner, of late."""
        if not self._samples:
            return 0.0
        since, before = self._samples[0]
        passed_s = self._clock() - since
        return (self._ended - before) / passed_s if passed_s > 0 else 0.0

    def begin(self, counts: Mapping[DocumentStatus, int]) -> None:
        """Start from what the store has counted."""
        self._total = sum(counts.values()) - counts.get("vanished", 0)
        self._completed = sum(counts.get(status, 0) for status in DONE)
        self._failed = counts.get("failed", 0)
        self._samples.append((self._clock(), 0))

    def add(self, new: int, *, again: int = 0) -> None:
        """Count listed documents. again: of those that were done, to be looked at again."""
        self._total += new
        self._completed = max(0, self._completed - again)
        self._has_changed = True

    def end_listing(self, counts: Mapping[DocumentStatus, int]) -> None:
        """All documents are listed."""
        self._total = sum(counts.values()) - counts.get("vanished", 0)
        self._is_total_final = self._has_changed = True

    def start(self, path: str) -> None:
        """Count a document that is begun."""
        self._in_progress += 1
        self._current = path
        self._has_changed = True

    def abandon(self) -> None:
        """Count a document that is left as it is."""
        self._in_progress -= 1
        self._has_changed = True

    def finish(self, status: DocumentStatus) -> None:
        """Count the end of an attempt."""
        self._in_progress -= 1
        self._ended += status != "pending"
        self._completed += status in DONE
        self._failed += status == "failed"
        self._has_changed = True

    def postpone(self, delay_s: float) -> None:
        """Count a document as waiting for so long."""
        heapq.heappush(self._due_times, self._clock() + delay_s)
        self._has_changed = True

    def tell(self) -> None:
        """Send an event if anything has changed since the last one."""
        now = self._clock()
        while self._due_times and self._due_times[0] <= now:
            heapq.heappop(self._due_times)
            self._has_changed = True
        self._samples.append((now, self._ended))
        while len(self._samples) > 1 and self._samples[0][0] < now - WINDOW_S:
            self._samples.popleft()
        if self._notify is None or not self._has_changed:
            return
        self._has_changed = False
        left = self._total - self._completed - self._failed
        rate = self.rate
        self._notify(
            Progress(
                total=self._total,
                completed=self._completed,
                failed=self._failed,
                in_progress=self._in_progress,
                is_total_final=self._is_total_final,
                rate=rate,
                eta_s=left / rate if rate > 0 and self._is_total_final else None,
                current_document=self._current,
                waiting=len(self._due_times),
            )
        )

    def end(self) -> None:
        """Tell how the run has ended."""
        self._has_changed = True
        self.tell()
