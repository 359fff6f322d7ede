import pytest

from docmill.batch.runner import Delay
from docmill.cli.files.run import show_progress
from docmill.errors import NetworkError
from docmill.ports import Ref

BUSY = Delay(Ref("in/a.pdf", "a.pdf"), NetworkError("the store [x] cannot be reached"), 61.7)
REFUSED = Delay(Ref("in/b.pdf", "b.pdf"), NetworkError("left alone", attempted=False), 30)


def test_a_run_says_which_document_is_tried_again_when_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(2, quiet=False) as told:
        told.on_delay(BUSY)
        told.on_delay(REFUSED)

    lines = capsys.readouterr().out.splitlines()
    assert lines == ["… in/a.pdf  tried again in 62 s: the store [x] cannot be reached"]


def test_the_bar_says_how_many_wait(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(2, quiet=True) as told:
        told.on_delay(BUSY)
        told.on_waiting(1)
        (task,) = told.bar.tasks
        waiting = task.description
        told.on_waiting(0)
        working = task.description

    assert (waiting, working) == ("reading (1 waiting to be tried again)", "reading")
    assert capsys.readouterr().out == ""
