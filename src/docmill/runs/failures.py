"""What an exception of a component means: try again, give the document up, or stop the run."""

import traceback
from concurrent.futures import BrokenExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import ValidationError as SchemaError

from docmill.errors import (
    BadModelOutputError,
    CorruptError,
    CrashedError,
    DocmillError,
    InternalError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    UnauthorizedError,
    ValidationError,
)

_CLIENT_ERRORS = range(400, 500)
_SERVER_ERRORS = range(500, 600)
_UNAUTHORIZED = (401, 403)
_TOO_EARLY = (408, 425)
_TOO_MANY = 429
_MEANINGS: tuple[tuple[tuple[type[Exception], ...], type[DocmillError]], ...] = (
    ((FileNotFoundError, PermissionError, IsADirectoryError), CorruptError),
    ((TimeoutError,), TimeLimitError),
    ((ConnectionError,), NetworkError),
    ((BrokenExecutor,), CrashedError),
    ((OSError,), ServerError),
)
"""The first that fits counts: what is above is a subclass of `OSError`."""


def as_docmill_error(error: Exception, stage: str) -> DocmillError:
    """The error in the terms of docmill, decided by class and HTTP status and never by its message.

    What is not known to be permanent is tried again. The original is its cause, and its message is kept. An
    error with a `status_code`, or with a `response` that has one, is taken for one of HTTP, as those of
    httpx, requests, OpenAI and Anthropic are.
    """
    if isinstance(error, DocmillError):
        error.step = error.step or stage
        return error
    message = str(error) or type(error).__name__
    translated = _translate(error, message)
    translated.step = stage
    translated.__cause__ = error
    return translated


def _translate(error: Exception, message: str) -> DocmillError:
    status = _status_of(error)
    if status is not None:
        return _of_status(status, error, message)
    if isinstance(error, SchemaError):
        return BadModelOutputError(f"the data does not fit the schema: {error.error_count()} errors")
    for kinds, meaning in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(message)
    return InternalError(f"{type(error).__name__}: {message}")


def _status_of(error: Exception) -> int | None:
    response: Any = getattr(error, "response", None)
    for holder in (error, response):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _of_status(status: int, error: Exception, message: str) -> DocmillError:
    if status in _UNAUTHORIZED:
        return UnauthorizedError(message)
    if status == _TOO_MANY:
        return RateLimitedError(message, retry_after_s=_retry_after_s(error))
    if status in _SERVER_ERRORS or status in _TOO_EARLY:
        return ServerError(message, retry_after_s=_retry_after_s(error))
    if status in _CLIENT_ERRORS:
        return ValidationError(message)
    return NetworkError(message)


def _retry_after_s(error: Exception) -> float | None:
    """The seconds that the other side asks to wait (RFC 9110, section 10.2.3)."""
    response: Any = getattr(error, "response", None)
    headers: Any = getattr(response, "headers", None) or getattr(error, "headers", None)
    if not hasattr(headers, "get"):
        return None
    value = headers.get("retry-after") or headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        pass
    try:
        moment = parsedate_to_datetime(str(value))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def traceback_of(error: BaseException) -> str:
    """The traceback of the original error, as Python prints it."""
    original = error.__cause__ if isinstance(error, DocmillError) and error.__cause__ else error
    return "".join(traceback.format_exception(original))


def is_quoting(error: DocmillError) -> bool:
    """True if the message has the words of the original error, which may have those of the document."""
    cause = error.__cause__
    return cause is not None and (words := str(cause).strip()) != "" and words in error.message


def error_type_of(error: DocmillError) -> str:
    """The class of the original error, with its module unless it is one of Python or docmill."""
    kind = type(error.__cause__) if error.__cause__ is not None else type(error)
    if kind.__module__ in ("builtins", "docmill.errors"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
