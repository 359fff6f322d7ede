import pytest

from docmill.cli.files.run import show_progress
from docmill.runs.events import DocumentStarted, RetryScheduled

WAITS = RetryScheduled("in/a.pdf", "read", "[read] the store [x] cannot be reached", 1, 4, 61.7)


def test_a_run_says_which_document_is_tried_again_when_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(2, quiet=False) as told:
        told.on_event(WAITS)

    lines = capsys.readouterr().out.splitlines()
    assert lines == ["… in/a.pdf  tried again in 62 s: [read] the store [x] cannot be reached"]


def test_the_bar_says_how_many_wait(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(2, quiet=True) as told:
        told.on_event(WAITS)
        (task,) = told.bar.tasks
        waiting = task.description
        told.on_event(DocumentStarted("in/a.pdf", 2))
        working = task.description

    assert (waiting, working) == ("reading (1 waiting to be tried again)", "reading")
    assert capsys.readouterr().out == ""
