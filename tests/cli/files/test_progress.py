import json

import pytest

from docmill.cli.files.run import RunProgress
from docmill.runs.events import RetryScheduled

WAITS = RetryScheduled("in/a.pdf", "read", "[read] the store [x] cannot be reached", 1, 4, 61.7)


def test_a_run_says_which_document_is_tried_again_when_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    RunProgress(quiet=False).on_event(WAITS)
    RunProgress(quiet=True).on_event(WAITS)

    lines = capsys.readouterr().out.splitlines()
    assert lines == ["… in/a.pdf  tried again in 62 s: [read] the store [x] cannot be reached"]


def test_a_log_of_json_is_in_place_of_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    RunProgress(quiet=False, json_log=True).on_event(WAITS)

    printed = capsys.readouterr()
    assert printed.out == ""
    assert json.loads(printed.err)["event"] == "retry_scheduled"
