"""What the log tells of the steps of an attempt."""

import logging
from typing import Any

import pytest

from docmill.errors import CorruptError
from docmill.ports import Original
from support.scripted_steps import AtOnceError, Observer, RunWorker, ScriptedSteps, Upload

STEPS = ["read", "transcribe", "classify", "extract", "export"]


def lines(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.message == event]


async def test_start_and_end_of_each_step_are_told_at_debug_level(
    upload: Upload, working: RunWorker, observer: Observer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="docmill.service.processing.process")
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    started, ended = lines(caplog, "step started"), lines(caplog, "step ended")
    assert [line["step"] for line in started] == [line["step"] for line in ended] == STEPS
    assert {line["levelname"] for line in (*started, *ended)} == {"DEBUG"}
    assert all(isinstance(line["duration_ms"], int) for line in ended)


async def test_without_debug_level_an_attempt_that_succeeds_is_one_line(
    upload: Upload, working: RunWorker, observer: Observer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    assert lines(caplog, "step started") == lines(caplog, "step ended") == []
    (line,) = lines(caplog, "attempt ended")
    assert line["reason"] == "rules; asked small model: scripted for number: number mended"


async def test_a_step_that_fails_is_a_warning_with_its_code_and_no_words(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def convert(_original: Original) -> None:
        raise CorruptError("words of the document")

    script.convert = convert
    accepted = await upload()

    async with working():
        await observer.until(accepted, "failed")

    (line,) = lines(caplog, "step failed")
    assert (line["levelname"], line["step"], line["code"]) == ("WARNING", "transcribe", "corrupt")
    assert "words of the document" not in caplog.text


async def test_a_fault_of_ours_is_a_failed_step_too(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script.extract_errors = [ZeroDivisionError("words of the document")]
    accepted = await upload()

    async with working():
        await observer.when(accepted, lambda document: document.error_code is not None)

    (line,) = lines(caplog, "step failed")
    assert (line["step"], line["code"]) == ("extract", "internal")


async def test_a_classification_that_fails_is_a_warning_though_the_document_is_done(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script.classify_error = AtOnceError("away")
    accepted = await upload()

    async with working():
        await observer.until(accepted, "needs_classification")

    failed = lines(caplog, "step failed")
    attempts = (await observer.ingestion(accepted)).attempt_count
    assert attempts > 1
    assert [(line["step"], line["code"]) for line in failed] == [("classify", "server_error")] * attempts
