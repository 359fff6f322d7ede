"""How far a run is, shown in a terminal."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from tests.runs.components import FirstWordExtractor, text_pipeline

from docmill.errors import CorruptError
from docmill.runs.events import Progress, RunEnded, RunStarted
from docmill.runs.reporting.progress_bar import ProgressBar
from docmill.runs.stores.memory import MemoryStore

ROOT = Path(__file__).parents[3]


class Terminal(Console):
    """A terminal of so many columns, whose last line can be seen."""

    def __init__(self, width: int = 120) -> None:
        self.written = io.StringIO()
        super().__init__(file=self.written, force_terminal=True, width=width, color_system=None)

    @property
    def last_line(self) -> str:
        frames = self.written.getvalue().replace("\x1b[?25h", "").split("\r")
        return next(line for frame in reversed(frames) if (line := frame.rpartition("\x1b[2K")[2].strip()))


def shown(progress: Progress, *, width: int = 120) -> str:
    """What the bar shows half a minute after the run has begun."""
    terminal, now = Terminal(width), 0.0
    with ProgressBar(console=terminal, clock=lambda: now) as bar:
        bar(RunStarted("shown"))
        now = 32.0
        bar(progress)
    return " ".join(terminal.last_line.strip(" \n━╸╺").split())


def progress_of(completed: int = 90, failed: int = 3, **parts: object) -> Progress:
    fields: dict[str, object] = {
        "total": 1200,
        "completed": completed,
        "failed": failed,
        "in_progress": 4,
        "is_total_final": True,
        "rate": 4.25,
        "eta_s": 260.0,
        **parts,
    }
    return Progress(**fields)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_bar_shows_counts_rate_time_left_and_the_current_document() -> None:
    line = shown(progress_of(waiting=2, current_document="scans/2026/invoice 7.pdf"))

    assert line == "93 of 1,200 3 failed 2 waiting 4.2/s 4:20 left invoice 7.pdf"


def test_while_documents_are_listed_neither_the_total_nor_the_time_left_is_claimed() -> None:
    line = shown(progress_of(failed=0, is_total_final=False, eta_s=None))

    assert line == "90 of 1,200+ 4.2/s 0:32"


def test_the_bar_shows_no_share_until_the_total_is_known() -> None:
    with ProgressBar(console=Terminal()) as bar:
        bar(RunStarted("shown"))
        bar(progress_of(is_total_final=False))
        (listing,) = vars(bar)["_display"].tasks
        assert listing.total is None

        bar(progress_of())
        (listed,) = vars(bar)["_display"].tasks
        assert (listed.completed, listed.total) == (93, 1200)


def test_slow_documents_are_counted_by_the_minute() -> None:
    assert "6.0/min" in shown(progress_of(rate=0.1))
    assert shown(progress_of(rate=0.0, eta_s=None)) == "93 of 1,200 3 failed 0:32"
    assert "2:46:40 left" in shown(progress_of(eta_s=10_000.0))


def test_the_time_left_runs_down_between_two_events() -> None:
    terminal, now = Terminal(), 0.0
    with ProgressBar(console=terminal, clock=lambda: now) as bar:
        bar(RunStarted("shown"))
        bar(progress_of(eta_s=60.0))
        now = 25.0

    assert "0:35 left" in terminal.last_line


def test_a_name_cannot_command_the_terminal_and_is_no_markup() -> None:
    line = shown(progress_of(current_document="a\x1b]0;owned\x07[bold]\nb.pdf"))

    assert line.endswith("a\ufffd]0;owned\ufffd[bold]\ufffdb.pdf")


def test_a_narrow_terminal_keeps_the_counts_on_one_line() -> None:
    line = shown(progress_of(current_document="a" * 300), width=60)

    assert line.startswith("93 of 1,200 3 failed 4.2/s 4:20 left")
    assert len(line) < 60


def test_the_end_says_whether_the_run_was_interrupted() -> None:
    terminal = Terminal()
    bar = ProgressBar(console=terminal)
    for event in (RunStarted("shown"), progress_of(waiting=7), RunEnded("shown", 90, 3, is_interrupted=True)):
        bar(event)

    assert "interrupted" in terminal.last_line
    assert "waiting" not in terminal.last_line
    assert terminal.written.getvalue().endswith("\x1b[?25h")  # the cursor is shown again


def test_a_transient_bar_leaves_nothing() -> None:
    terminal = Terminal()
    with ProgressBar(console=terminal, is_transient=True) as bar:
        bar(RunStarted("shown"))
        bar(progress_of())

    assert terminal.written.getvalue().endswith("\x1b[2K")


async def test_a_real_run_ends_with_all_counts() -> None:
    def fail(key: str, _call: int) -> None:
        if key == "b":
            raise CorruptError("torn")

    terminal = Terminal()
    await text_pipeline(extractor=FirstWordExtractor(fail)).arun(
        "abc", store=MemoryStore(), on_event=ProgressBar(console=terminal)
    )

    assert "3 of 3 1 failed" in terminal.last_line


def test_nothing_is_shown_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    text_pipeline().run("abc", store=MemoryStore(), progress="bar")
    text_pipeline().run("abc", store=MemoryStore())

    assert capsys.readouterr() == ("", "")


SCRIPT = """
from tests.runs.components import text_pipeline
from docmill.runs.stores.memory import MemoryStore

class Printer:
    def list(self, context):
        print("listed")
        return list("abc")

print(text_pipeline(lister=Printer()).run(run_id="shown", store=MemoryStore(), **OPTIONS))
"""


def run_in_terminal(options: str) -> tuple[str, str]:
    """What a run writes: to standard output, which is a pipe, and to the terminal, its standard error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.replace("OPTIONS", options)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as process:
        os.close(theirs)
        parts: list[bytes] = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux reports the end of a terminal as an error
            pass
        os.close(ours)
        output = process.stdout.read() if process.stdout else ""
    assert process.returncode == 0, b"".join(parts).decode()
    return output, b"".join(parts).decode()


def test_a_run_in_a_terminal_shows_a_bar_unless_told_otherwise() -> None:
    output, terminal = run_in_terminal("{}")

    assert "3 of 3" in terminal
    assert output.startswith("listed\nrun shown: 3 completed")  # output that is redirected stays so

    assert run_in_terminal("{'progress': None}")[1] == ""
