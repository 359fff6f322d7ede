"""Errors of docmill, grouped by what the caller does next.

DocmillError
├── TransientError              try again later; the worker requeues
│   ├── NetworkError            network
│   ├── TimeLimitError          timeout
│   ├── CrashedError            crashed
│   ├── RateLimitedError        rate_limited
│   ├── AiQuotaError            ai_quota
│   ├── ServerError             server_error
│   ├── BadModelOutputError     bad_model_output
│   └── InternalError           internal
├── DocumentError               this file never works; its owner is told
│   ├── AiContentBlockedError   ai_content_blocked
│   ├── ContextTooLongError     context_too_long
│   ├── EncryptedError          encrypted
│   ├── CorruptError            corrupt
│   ├── TooLargeError           too_large
│   ├── ValidationError         validation
│   ├── ChangedError            changed
│   │   └── OutdatedError       changed
│   ├── UnsupportedFileTypeError  unsupported_file_type
│   ├── UnknownRunError         unknown_run
│   ├── RunExistsError          run_exists
│   ├── FailedDocumentsError    failed_documents
│   └── RegressionError         regression
└── SetupError                  a person must act; no attempt is burnt
    ├── UnauthorizedError       unauthorized
    └── MisconfiguredError      misconfigured
"""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

LONGEST_DELAY_S = 3600.0
"""Nobody waits longer, whatever the other side asks for."""


class DocmillError(Exception):
    """Everything docmill raises on purpose.

    `code` is stable: it is stored, logged and shown. `step` is the pipeline step that failed, set by the
    pipeline. The message says what failed, on what, and what to do; it never quotes the document.
    """

    code: ClassVar[str]
    step: str | None = None

    @property
    def message(self) -> str:
        """The sentence a person reads."""
        return str(self)


_DELAYS_S = (5.0, 60.0, 300.0)


class TransientError(DocmillError):
    """Trying again later may work.

    delays_s: the waits before the second attempt, the third and so on; the last one holds for all further
    attempts. has_jitter: whether up to half of a wait is added to it at random.
    `attempted` is false when it was known beforehand that an attempt could not work: none is counted then.
    """

    delays_s: ClassVar[tuple[float, ...]] = _DELAYS_S
    has_jitter: ClassVar[bool] = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, attempted: bool = True) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.attempted = attempted


class NetworkError(TransientError):
    """The other side could not be reached or the connection broke."""

    code = "network"


class TimeLimitError(TransientError):
    """A step took longer than its limit and was cancelled."""

    code = "timeout"


class CrashedError(TransientError):
    """The process doing the work died: killed, out of memory or a fault in a native library."""

    code = "crashed"


class RateLimitedError(TransientError):
    """The other side asked us to slow down."""

    code = "rate_limited"
    delays_s = (30.0,)
    has_jitter = False


class AiQuotaError(TransientError):
    """The model provider's quota is used up for now."""

    code = "ai_quota"
    delays_s = (60.0,)
    has_jitter = False


class ServerError(TransientError):
    """The other side failed (HTTP 5xx, database gone)."""

    code = "server_error"


class BadModelOutputError(TransientError):
    """A model answered with something that is not the form asked for."""

    code = "bad_model_output"


class InternalError(TransientError):
    """A fault in docmill itself; the log has the traceback."""

    code = "internal"


class DocumentError(DocmillError):
    """This document never works as it is. media_type: of its file, if that was found out before it failed."""

    media_type: str | None = None


class AiContentBlockedError(DocumentError):
    """The model provider refuses this content."""

    code = "ai_content_blocked"


class ContextTooLongError(DocumentError):
    """The document does not fit the model's context."""

    code = "context_too_long"


class EncryptedError(DocumentError):
    """The file is protected by a password."""

    code = "encrypted"


class CorruptError(DocumentError):
    """The file is damaged beyond what readers can repair."""

    code = "corrupt"


class TooLargeError(DocumentError):
    """The file, a page or its pixels exceed a limit."""

    code = "too_large"


class ValidationError(DocumentError):
    """A request or schema breaks a rule."""

    code = "validation"


class ChangedError(DocumentError):
    """The document is not any more what the person saw."""

    code = "changed"


class OutdatedError(ChangedError):
    """The request names a version of the document that is not the current one."""


class UnsupportedFileTypeError(DocumentError):
    """A type that no reader takes. The document is kept, under its file name."""

    code = "unsupported_file_type"

    def __init__(self, message: str, *, media_type: str = "application/octet-stream") -> None:
        super().__init__(message)
        self.media_type = media_type


class UnknownRunError(DocumentError):
    """A run that the store does not know."""

    code = "unknown_run"


class RunExistsError(DocumentError):
    """The id of a new run that another run has already."""

    code = "run_exists"


class FailedDocumentsError(DocumentError):
    """Some documents of a run have failed; the message names the first of them."""

    code = "failed_documents"


class RegressionError(DocumentError):
    """An evaluation is worse than an earlier one; the message names the figures."""

    code = "regression"


class SetupError(DocmillError):
    """The installation must be changed by a person before this can work.

    `part` is what must be changed: an engine, a model, the file store, or else a step; None while nobody has
    said so. `attempted` is false when it was known beforehand that an attempt could not work. `is_own`: other
    documents get past that part, so that the error is this document's own; the delays are for that case.
    """

    delays_s: ClassVar[tuple[float, ...]] = _DELAYS_S
    has_jitter: ClassVar[bool] = True
    retry_after_s: ClassVar[float | None] = None
    part: str | None = None
    attempted: bool = True
    is_own: bool = False


class UnauthorizedError(SetupError):
    """Credentials are missing, wrong or lack a permission."""

    code = "unauthorized"


class MisconfiguredError(SetupError):
    """A setting is missing or contradicts another, or a needed program is absent."""

    code = "misconfigured"


def retry_delay_s(error: TransientError | SetupError, *, attempt: int, jitter: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1).

    What the other side asked for is waited, up to `LONGEST_DELAY_S`. jitter: in [0, 1); half of it is added
    as a share of the delay, so that many documents that failed together do not return together.
    """
    if error.retry_after_s is not None:
        return min(max(0.0, error.retry_after_s), LONGEST_DELAY_S)
    delay_s = error.delays_s[min(attempt, len(error.delays_s)) - 1]
    return delay_s * (1 + jitter / 2) if error.has_jitter else delay_s


def codes() -> frozenset[str]:
    """Every code that an error can have."""
    found = [DocmillError]
    for error in found:
        found += error.__subclasses__()
    return frozenset(error.code for error in found if "code" in vars(error))


E = TypeVar("E", bound=DocmillError)


def first_of(errors: BaseExceptionGroup[E]) -> E:
    """The first error of a task group, however deep: it is the one that cancelled the others."""
    error = errors.exceptions[0]
    return first_of(error) if isinstance(error, BaseExceptionGroup) else error


@contextmanager
def ungrouped(kind: type[E]) -> Generator[None]:
    """Raise the first error of a task group that ended by errors of this kind alone, without the group.

    Not by `except*`, which in Python 3.11 before 3.11.4 wraps what is raised within it.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        of_kind, others = group.split(kind)
        if of_kind is None or others is not None:
            raise
        raise first_of(of_kind) from of_kind


def is_full_disk(error: OSError) -> bool:
    """True for the error of a disk, or of a user's share of it, that has no room left."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def room_in(place: str) -> Generator[None]:
    """Writing in `place`: a full disk is a ServerError that says so, other errors stay what they are."""
    try:
        yield
    except OSError as error:
        if not is_full_disk(error):
            raise
        raise ServerError(f"{place} is full; free some space, then it is tried again") from error
