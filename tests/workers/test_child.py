"""The child's loop, in this process: what it answers to what."""

import errno
import io
import logging
import os
import pickle
from typing import Any

from docmill.errors import InternalError, ServerError, TooLargeError, UnsupportedFileTypeError
from docmill.workers import child


def ask(*requests: tuple[Any, tuple[Any, ...]]) -> list[tuple[str, Any]]:
    """The messages that the child sends in answer."""
    framed = b"".join(child.LENGTH.pack(len(request)) + request for request in map(pickle.dumps, requests))
    replies = io.BytesIO()
    child.serve(io.BytesIO(framed), replies)
    content, messages = io.BytesIO(replies.getvalue()), list[tuple[str, Any]]()
    while header := content.read(child.LENGTH.size):
        message = content.read(child.LENGTH.unpack(header)[0])
        messages.append(pickle.loads(message))  # noqa: S301 - made by this test
    return messages


def refuse() -> None:
    raise UnsupportedFileTypeError("a Word document cannot be read", media_type="application/word")


def run_out() -> None:
    raise MemoryError


def fill_the_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def quote(text: str) -> None:
    raise ValueError(text)


def test_each_request_has_one_outcome() -> None:
    assert ask((len, ("four",)), (max, (1, 2))) == [("result", 4), ("result", 2)]


def test_an_error_of_docmill_crosses_whole() -> None:
    ((kind, error),) = ask((refuse, ()))

    assert kind == "error"
    assert isinstance(error, UnsupportedFileTypeError)
    assert (error.message, error.media_type) == ("a Word document cannot be read", "application/word")


def test_lack_of_memory_is_a_file_too_large() -> None:
    ((_, error),) = ask((run_out, ()))

    assert isinstance(error, TooLargeError)


def test_a_full_disk_is_tried_again_later() -> None:
    ((_, error),) = ask((fill_the_disk, ()))

    assert isinstance(error, ServerError)
    assert error.message == "the temporary folder (TMPDIR) is full; free some space, then it is tried again"


def test_any_other_error_says_where_but_does_not_quote() -> None:
    (kind, record), (_, error) = ask((quote, ("the secret",)))

    assert kind == "log"
    name, level, message, extra = record
    assert (name, level, message) == ("docmill.workers.child", logging.ERROR, "a task failed")
    assert "in quote" in extra["traceback"]
    assert "secret" not in f"{record} {error}"
    assert isinstance(error, InternalError)
