"""How far a run is, as a bar in a terminal."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Display
from rich.table import Column
from rich.text import Text

from docmill.runs.events import Event, Progress, RunEnded, RunStarted
from docmill.runs.reporting.progress_words import counts_text, duration_text, name_text, rate_text

_BAR_WIDTH = 20


def is_terminal(stream: TextIO | None) -> bool:
    """True if the stream is there, open and a terminal. Programs without a console have no streams."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


class ProgressBar:
    """A bar on standard error, with counts, rate and time left; nothing where that is no terminal.

    It is a function for `on_event`, to be used for one run at a time. It appears when the run begins, and
    ends with it; as a context manager, it ends even if the run does not tell its end. console: in place of
    standard error. is_transient: whether the bar is removed at the end.
    """

    def __init__(
        self,
        *,
        console: Console | None = None,
        is_transient: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # A console calls a file a terminal where FORCE_COLOR is set, as in some build services.
        may_show = is_terminal(sys.stderr) if console is None else console.is_terminal
        self._console = console or Console(stderr=True)
        self._is_shown = may_show and not self._console.is_dumb_terminal
        self._is_transient = is_transient
        self._clock = clock
        self._display: Display | None = None
        self._time = _TimeColumn(clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, event: Event) -> None:
        """Show what the event tells."""
        match event:
            case RunStarted():
                self._open()
            case Progress():
                self._update(event)
            case RunEnded():
                self._end(event)
            case _:
                pass

    def print_above(self, line: str) -> bool:
        """Print a line, with markup, above the bar; False if none is shown."""
        if self._display is None:
            return False
        self._display.console.print(line)
        return True

    def close(self) -> None:
        """Leave the bar as it is, or remove it if it is transient."""
        display, self._display = self._display, None
        if display is not None:
            display.stop()

    def _open(self) -> None:
        self.close()
        if not self._is_shown:
            return
        self._time.begin()
        self._display = Display(
            BarColumn(_BAR_WIDTH),
            _column("counts"),
            _column("failed", style="red"),
            _column("waiting", style="yellow"),
            _column("rate"),
            self._time,
            _column("current", style="dim", is_last=True),
            console=self._console,
            transient=self._is_transient,
            # What is written to standard output goes above the bar, unless it goes elsewhere.
            redirect_stdout=is_terminal(sys.stdout),
            expand=True,
        )
        empty = dict.fromkeys(("counts", "failed", "waiting", "rate", "current"), "")
        self._display.add_task("", total=None, **empty)
        self._display.start()

    def _update(self, progress: Progress) -> None:
        if self._display is None:
            return
        (task,) = self._display.task_ids
        self._time.ends_in(progress.eta_s)
        self._display.update(
            task,
            completed=progress.completed + progress.failed,
            total=progress.total if progress.is_total_final else None,
            counts=counts_text(progress),
            failed=f"{progress.failed:,} failed" if progress.failed else "",
            waiting=f"{progress.waiting:,} waiting" if progress.waiting else "",
            rate=rate_text(progress),
            current=name_text(progress.current_document),
        )

    def _end(self, event: RunEnded) -> None:
        if self._display is not None:
            (task,) = self._display.task_ids
            self._time.stop()
            self._display.update(task, waiting="", current="interrupted" if event.is_interrupted else "")
        self.close()


class _TimeColumn(ProgressColumn):
    """The time left, which runs down between two events; the time taken while that is not known."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(Column(no_wrap=True))
        self._clock = clock
        self._started = clock()
        self._ends: float | None = None
        self._ended: float | None = None

    def begin(self) -> None:
        """The run begins now."""
        self._started, self._ends, self._ended = self._clock(), None, None

    def ends_in(self, seconds: float | None) -> None:
        """The run ends after so many seconds; None if that is not known."""
        self._ends = None if seconds is None else self._clock() + seconds

    def stop(self) -> None:
        """The run has ended."""
        self._ended = self._clock()

    def render(self, task: Task) -> Text:
        """See `ProgressColumn.render`."""
        del task
        now = self._clock()
        if self._ended is not None:
            return Text(duration_text(self._ended - self._started))
        if self._ends is not None:
            return Text(f"{duration_text(max(0.0, self._ends - now))} left")
        return Text(duration_text(now - self._started))


def _column(name: str, *, style: str = "", is_last: bool = False) -> TextColumn:
    """A column of the bar's own text. Nothing in it is taken for markup."""
    shape = Column(no_wrap=True, overflow="ellipsis", ratio=1 if is_last else None)
    return TextColumn(f"{{task.fields[{name}]}}", style=style, markup=False, table_column=shape)
