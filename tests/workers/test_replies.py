import pickle
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from docmill.errors import CorruptError
from docmill.model.document import Page, Words
from docmill.reading.child import tasks
from docmill.reading.child.tasks import OpenedFile
from docmill.reading.engines.document_ai import DocumentAiEngine
from docmill.understanding import pooled
from docmill.workers import replies, sandbox

HUGE = b"\xff\xff\xff\x3f"


def dumps(content: object) -> bytes:
    return pickle.dumps(content, protocol=5)


@pytest.mark.parametrize(
    "content",
    [
        *(None, True, 7, 70_000, -1, 10**30, 0.5),
        *("text", "x" * 70_000, b"bytes", b"x" * 70_000, bytearray(b"b")),
        *((1, 2, 3, 4), ("error", "one"), [], {"a": [1]}, {1}, frozenset({1})),
    ],
)
def test_plain_values_come_through(content: object) -> None:
    assert replies.loads(dumps(content)) == content


def test_a_page_comes_through() -> None:
    words = Words(
        texts=["Total"] * 300,
        boxes=np.ones((300, 4), np.float32),
        confidences=np.ones(300, np.float32),
        lines=np.zeros(300, np.int32),
        blocks=np.zeros(300, np.int32),
    )
    page = Page(number=1, width_pt=595, height_pt=842, words=words, source="text", quality=1.0)

    (kind, [found]) = replies.loads(dumps(("result", [page])))

    assert kind == "result"
    assert list(found.words.texts) == list(words.texts)
    assert np.array_equal(found.words.boxes, words.boxes)


def test_an_error_comes_through() -> None:
    _, error = replies.loads(dumps(("error", CorruptError("it ends too early"))))

    assert isinstance(error, CorruptError)


def test_a_lack_of_memory_comes_through() -> None:
    _, error = replies.loads(dumps(("error", replies.OutOfMemoryError("too much"))))

    assert isinstance(error, replies.OutOfMemoryError)


def test_a_room_gets_its_own_records_back() -> None:
    opened = OpenedFile("text/plain", 0, [])

    assert replies.loads(dumps(opened), replies.package_of(tasks.open_original)) == opened


@pytest.mark.parametrize("function", [len, sandbox.in_force, pooled.PooledUnderstanding])
def test_the_records_of_other_rooms_are_refused(function: object) -> None:
    with pytest.raises(ValueError, match="reply"):
        replies.loads(dumps(OpenedFile("text/plain", 0, [])), replies.package_of(function))


def test_no_room_gets_objects_that_act_when_they_are_made() -> None:
    engine = (
        b"\x80\x05\x8c" + bytes([len(DocumentAiEngine.__module__)]) + DocumentAiEngine.__module__.encode()
    )
    engine += b"\x8c\x10DocumentAiEngine\x93."

    with pytest.raises(ValueError, match="reply"):
        replies.loads(engine, "docmill.reading")


@pytest.mark.parametrize("content", [Path("/tmp"), Decimal(1), len, TypeError("not ours")])
def test_classes_of_others_are_refused(content: object) -> None:
    with pytest.raises(ValueError, match="reply"):
        replies.loads(dumps(content))


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x05Nr" + HUGE + b".",  # stores at a number of its choice
        b"cos\nsystem\n.",
        b"\x80\x05\x8e" + b"\xff" * 8,
        b"\x80\x05\x95" + b"\xff" * 8 + b"N.",
        b"\x80\x05X" + HUGE + b"text.",
        b"\x80\x05j" + HUGE + b".",
        b"\x80\x05R.",
        b"",
        b"N",
    ],
)
def test_what_was_made_to_harm_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="reply"):
        replies.loads(content)
