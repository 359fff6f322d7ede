import io
import json
import logging
from collections.abc import Iterator

import pytest
from structlog.contextvars import bound_contextvars

from docmill.service.logs import configure_logs


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


def test_an_exception_tells_its_type_and_place_and_no_words(stream: io.StringIO) -> None:
    try:
        fail_twice()
    except KeyError:
        logging.getLogger("docmill.test").exception("a fault")

    assert "text" not in stream.getvalue()
    links = json.loads(stream.getvalue())["exception"]
    assert [link["type"] for link in links] == ["KeyError", "ValueError"]
    assert "test_logs.py" in links[0]["at"][0]
