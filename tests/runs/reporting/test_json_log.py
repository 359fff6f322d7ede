"""The log of a run, as lines of JSON."""

import asyncio
import io
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.runs.components import QUICK, FirstWordExtractor, Letter, text_pipeline

from docmill.errors import CorruptError, ServerError
from docmill.model.document import Document
from docmill.runs.context import Context
from docmill.runs.events import Event, Progress, RunEnded, RunStarted
from docmill.runs.policy import RunPolicy
from docmill.runs.reporting.json_log import JsonLog
from docmill.runs.stores.memory import MemoryStore

SECRET = "the patient is ill"


def lines_of(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


async def run_with_log(
    error: Exception, *, times: int = 99, has_messages: bool = False, policy: RunPolicy = QUICK
) -> list[dict[str, Any]]:
    """The lines of a run of two documents, the second of which meets the error."""
    stream = io.StringIO()

    def fail(key: str, call: int) -> None:
        if key == "bad.pdf" and call <= times:
            raise error

    await text_pipeline(extractor=FirstWordExtractor(fail), policy=policy).arun(
        ["good.pdf", "bad.pdf"],
        run_id="logged",
        store=MemoryStore(),
        on_event=JsonLog(stream, has_messages=has_messages),
    )
    return lines_of(stream)


def events_of(lines: list[dict[str, Any]], path: str) -> Iterator[str]:
    return (line["event"] for line in lines if line.get("path") == path)


async def test_every_step_of_a_document_is_a_line() -> None:
    lines = await run_with_log(ServerError("busy"), times=1)

    assert list(events_of(lines, "good.pdf")) == [
        "document_started",
        *["stage_ended"] * 4,
        "document_ended",
    ]
    assert list(events_of(lines, "bad.pdf")) == [
        "document_started",
        *["stage_ended"] * 3,
        "retry_scheduled",
        "document_started",
        *["stage_ended"] * 3,  # what was converted is kept: the second attempt begins with its extraction
        "document_ended",
    ]
    assert [line["event"] for line in (lines[0], lines[-2], lines[-1])] == [
        "run_started",
        "progress",
        "run_ended",
    ]


async def test_every_line_has_the_time_and_the_run() -> None:
    lines = await run_with_log(ServerError("busy"), times=1)

    assert {line["run_id"] for line in lines} == {"logged"}
    moments = [datetime.fromisoformat(line["timestamp"]) for line in lines]
    assert moments == sorted(moments)
    assert all(moment.utcoffset() is not None for moment in moments)


async def test_the_fields_of_lines_are_those_of_states_and_dead_letters() -> None:
    lines = await run_with_log(CorruptError("'bad.pdf' is torn"))

    (failed,) = [line for line in lines if line["event"] == "document_ended" and line["status"] == "failed"]
    assert isinstance(failed.pop("seconds"), float)
    del failed["timestamp"]
    assert failed == {
        "run_id": "logged",
        "event": "document_ended",
        "path": "bad.pdf",
        "status": "failed",
        "attempts": 1,
        "is_unchanged": False,
        "stage": "extract",
        "error": "[extract] 'bad.pdf' is torn",
        "code": "corrupt",
        "error_type": "CorruptError",
    }
    stages = [line for line in lines if line["event"] == "stage_ended" and line["path"] == "bad.pdf"]
    assert [(line["stage"], line["status"]) for line in stages] == [
        ("read", "completed"),
        ("convert", "completed"),
        ("extract", "failed"),
    ]
    told = lines[-2]
    assert {name: told[name] for name in ("total", "completed", "failed", "in_progress", "waiting")} == {
        "total": 2,
        "completed": 1,
        "failed": 1,
        "in_progress": 0,
        "waiting": 0,
    }
    assert lines[-1]["is_interrupted"] is False


async def test_words_of_a_document_in_an_error_stay_out_of_the_log() -> None:
    lines = await run_with_log(ValueError(f"no sender in {SECRET!r}"))

    assert SECRET not in json.dumps(lines)
    errors = {line["error"] for line in lines if line.get("error")}
    assert errors == {"[extract] ValueError"}
    assert {line["event"] for line in lines if line.get("error")} == {
        "stage_ended",
        "retry_scheduled",
        "document_ended",
    }


async def test_messages_are_written_where_they_are_asked_for() -> None:
    lines = await run_with_log(ValueError(f"no sender in {SECRET!r}"), has_messages=True)

    (ended,) = [line for line in lines if line["event"] == "document_ended" and line["path"] == "bad.pdf"]
    assert ended["error"] == f"[extract] ValueError: no sender in {SECRET!r}"


class EndlessExtractor(FirstWordExtractor):
    async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        await asyncio.sleep(60)
        raise AssertionError


async def test_a_stage_that_takes_too_long_ends_with_an_error() -> None:
    stream = io.StringIO()
    policy = RunPolicy(max_retries=0, limits_s={"extract": 0.05})

    await text_pipeline(extractor=EndlessExtractor(), policy=policy).arun(
        ["slow.pdf"], store=MemoryStore(), on_event=JsonLog(stream)
    )

    (ended,) = [line for line in lines_of(stream) if line["event"] == "stage_ended" and line["error"]]
    assert (ended["stage"], ended["code"], ended["status"]) == ("extract", "timeout", "failed")
    assert ended["seconds"] >= 0.05


def progress_of(completed: int) -> Progress:
    return Progress(100, completed, 0, 1, is_total_final=True, rate=1.23456789, eta_s=None)


def test_progress_is_written_every_few_seconds_and_once_more_at_the_end() -> None:
    stream, now = io.StringIO(), 0.0
    log = JsonLog(stream, progress_s=10, clock=lambda: now)

    def tell(*events: Event) -> None:
        for event in events:
            log(event)

    tell(RunStarted("timed"))
    for second in range(1, 25):
        now = float(second)
        tell(progress_of(second))
    tell(RunEnded("timed", 24, 0, is_interrupted=True))

    lines = lines_of(stream)
    assert [line["completed"] for line in lines if line["event"] == "progress"] == [10, 20, 24]
    assert lines[1]["rate"] == 1.234568
    assert lines[-1]["event"] == "run_ended"


def test_a_line_is_one_line_whatever_a_file_is_called() -> None:
    stream = io.StringIO()
    name = 'a\nb\u2028c"\x1b[31m'

    JsonLog(stream)(RunStarted(name))

    assert stream.getvalue().isascii()
    assert stream.getvalue().count("\n") == 1
    assert lines_of(stream)[0]["run_id"] == name
