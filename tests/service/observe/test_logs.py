import io
import json
import logging
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator

import pytest
import stamina
from structlog.contextvars import bound_contextvars

from docmill.service.observe.logs import configure_logs


def fail_twice() -> None:
    try:
        int("text of a document")
    except ValueError as error:
        raise KeyError("more text") from error


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    configure_logs(stream=stream)
    yield stream
    root.handlers, root.level = handlers, level
    logging.getLogger("docmill").setLevel(logging.NOTSET)
    logging.captureWarnings(capture=False)
    sys.excepthook = sys.__excepthook__


def test_a_record_is_a_json_line_with_the_work_it_belongs_to(stream: io.StringIO) -> None:
    with bound_contextvars(ingestion_id="i", attempt=2):
        logging.getLogger("docmill.test").info(
            "attempt ended", extra={"duration_ms": 5, "status": "completed"}
        )

    record = json.loads(stream.getvalue())
    assert record["event"] == "attempt ended"
    assert (record["ingestion_id"], record["attempt"]) == ("i", 2)
    assert (record["duration_ms"], record["status"], record["level"]) == (5, "completed", "info")
    assert record["logger"] == "docmill.test"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_plain_lines_and_warnings_unless_a_setting_says_otherwise(stream: io.StringIO) -> None:
    terminal, by_setting = Terminal(), Terminal()
    talk = logging.getLogger("docmill.test")

    configure_logs(stream=terminal)
    talk.info("attempt ended")
    talk.warning("trying again")
    configure_logs(stream=by_setting, level="info", form="json")
    talk.info("attempt ended")

    assert terminal.getvalue().endswith(" warning: trying again\n")
    assert "attempt ended" not in terminal.getvalue()
    assert json.loads(by_setting.getvalue())["event"] == "attempt ended"
    assert not stream.getvalue()


def test_a_plain_line_is_for_a_person_and_tells_no_words_of_an_exception(stream: io.StringIO) -> None:
    configure_logs(stream=stream, form="plain")

    logging.getLogger("docmill.test").warning("trying again", extra={"what": "store"})
    try:
        fail_twice()
    except KeyError:
        logging.getLogger("docmill.test").exception("a fault")

    first, second, *places = stream.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d warning: trying again \(what store\)", first)
    assert re.fullmatch(r"\d\d:\d\d:\d\d error: a fault", second)
    assert [place.split()[0] for place in places] == ["KeyError", "ValueError"]
    assert "text" not in stream.getvalue()


def test_what_a_library_adds_for_itself_is_left_out(stream: io.StringIO) -> None:
    logging.getLogger("docmill.test").warning("trying again", extra={"_library_ns": 1, "what": "store"})

    line = json.loads(stream.getvalue())
    assert line["what"] == "store"
    assert not [key for key in line if key.startswith("_")]


def test_an_exception_tells_its_type_and_place_and_no_words(stream: io.StringIO) -> None:
    try:
        fail_twice()
    except KeyError:
        logging.getLogger("docmill.test").exception("a fault")

    assert "text" not in stream.getvalue()
    links = json.loads(stream.getvalue())["exception"]
    assert [link["type"] for link in links] == ["KeyError", "ValueError"]
    assert "test_logs.py" in links[0]["at"][0]


def test_warnings_of_libraries_are_records_too(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)

    record = json.loads(stream.getvalue())
    assert (record["logger"], record["level"]) == ("py.warnings", "warning")


def test_libraries_that_talk_of_themselves_are_heard_from_warnings_on(stream: io.StringIO) -> None:
    logging.getLogger("alembic.runtime.migration").info("Context impl PostgresqlImpl.")
    logging.getLogger("httpx2").info("HTTP Request: POST http://user:secret@host/v1")
    logging.getLogger("opentelemetry.exporter.otlp").warning("the receiver is away, retrying in 0.9 s")
    logging.getLogger("uvicorn.error").warning("too many")

    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "too many"


def test_at_debug_level_only_our_own_records_are_added(stream: io.StringIO) -> None:
    configure_logs(level="debug", stream=stream)

    logging.getLogger("openai._base_client").debug("Request options: text of a document")
    logging.getLogger("docmill.service.processing.attempt_report").debug(
        "step started", extra={"step": "read"}
    )

    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["step"] == "read"


def test_a_forgotten_task_is_told_without_what_it_raised(stream: io.StringIO) -> None:
    logging.getLogger("asyncio").error(
        "Task exception was never retrieved\nfuture: <Task exception=ValueError('text of a document')>"
    )

    assert json.loads(stream.getvalue())["event"] == "Task exception was never retrieved"


def test_the_fault_that_ends_a_process_tells_no_words() -> None:
    code = (
        "import asyncio; from docmill.service.observe.logs import configure_logs; configure_logs()\n"
        "async def work(): raise {}('text of a document')\n"
        "asyncio.run(work())"
    )

    fault, interrupted = (
        subprocess.run([sys.executable, "-c", code.format(kind)], capture_output=True, text=True, check=False)
        for kind in ("ValueError", "KeyboardInterrupt")
    )

    assert fault.returncode == 1
    record = json.loads(fault.stderr)
    assert (record["level"], record["exception"][0]["type"]) == ("critical", "ValueError")
    assert "text" not in fault.stderr
    assert interrupted.stderr.startswith("Traceback")


def test_a_retry_is_logged_without_what_was_to_be_done(stream: io.StringIO) -> None:
    once = [ValueError("text of a document")]

    @stamina.retry(on=ValueError, attempts=2, wait_initial=0)
    def store(_text: str) -> None:
        if once:
            raise once.pop()

    store("text of a document")

    record = json.loads(stream.getvalue())
    assert (record["event"], record["reason"]) == ("trying again", "ValueError")
    assert "text of a document" not in stream.getvalue()
