"""Who is told of a run."""

import io
import json
import logging
from typing import Any

import pytest
from tests.runs.components import text_pipeline

from docmill.errors import MisconfiguredError, UnknownRunError
from docmill.runs.events import Event, RunEnded
from docmill.runs.reporting import listeners
from docmill.runs.reporting.listeners import ShownProgress
from docmill.runs.stores.memory import MemoryStore


def test_a_log_goes_to_standard_error_beside_a_function_of_ones_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events: list[Event] = []

    text_pipeline().run("ab", run_id="logged", store=MemoryStore(), progress="json", on_event=events.append)

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines][-1] == "run_ended"
    assert isinstance(events[-1], RunEnded)


async def test_resumed_runs_are_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    store = MemoryStore()
    await text_pipeline().arun("ab", run_id="logged", store=store)
    assert capsys.readouterr().err == ""

    await text_pipeline().aresume("logged", "abc", store=store, progress="json")

    first, *_, last = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert first["is_resumed"] is True
    assert last["completed"] == 3


def test_an_unknown_kind_of_progress_is_refused_before_the_run_begins() -> None:
    store = MemoryStore()
    wrong: Any = "fancy"

    with pytest.raises(MisconfiguredError, match=r"'fancy', but as auto, bar, notebook, json or None"):
        text_pipeline().run("ab", run_id="never", store=store, progress=wrong)
    with pytest.raises(UnknownRunError):
        text_pipeline().resume("never", store=store)


@pytest.mark.parametrize("progress", ["auto", "bar", "json"])
def test_a_program_without_streams_runs_too(progress: ShownProgress, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr("sys.stderr", stream)

        assert text_pipeline().run("ab", store=MemoryStore(), progress=progress).completed == 2


class BrokenBar:
    """A bar that can neither be drawn nor closed."""

    def __call__(self, event: Event) -> None:
        raise OSError("the terminal is gone")

    def close(self) -> None:
        raise OSError("the terminal is gone")


def test_progress_that_cannot_be_shown_harms_neither_the_run_nor_others_who_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listeners, "NotebookProgress", BrokenBar)
    monkeypatch.setitem(vars(listeners)["_MAKERS"], "notebook", BrokenBar)
    events: list[Event] = []

    with caplog.at_level(logging.ERROR):
        report = text_pipeline().run("ab", store=MemoryStore(), progress="notebook", on_event=events.append)

    assert report.completed == 2
    assert isinstance(events[-1], RunEnded)
    assert [record.message for record in caplog.records] == [
        "the function that is told of events failed; the run goes on",
        "the progress of the run cannot be shown to its end",
    ]


def test_nobody_is_told_where_there_is_no_listener() -> None:
    assert listeners.guarded() is None
    assert listeners.guarded(None, None) is None
    with listeners.listening(None, None) as notify:
        assert notify is None


@pytest.mark.parametrize("count", [1, 2])
def test_errors_of_listeners_reach_nobody(count: int) -> None:
    def fail(event: Event) -> None:
        raise ValueError(event)

    events: list[Event] = []
    notify = listeners.guarded(*[fail, events.append][:count])

    assert notify is not None
    notify(RunEnded("run", 1, 0, is_interrupted=False))
    assert len(events) == count - 1
