"""The retry policy: what follows from a failed attempt, for a run and for the service alike."""

from dataclasses import dataclass
from typing import TypeAlias

from docmill.errors import DocmillError, InternalError, SetupError, TransientError, retry_delay_s


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the document again after `delay_s`. counts: whether the failure was an attempt."""

    error: TransientError | SetupError
    delay_s: float
    counts: bool = True


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The document has failed; a person must look at it."""

    error: DocmillError


AfterFailure: TypeAlias = Retry | GiveUp


def after_failure(
    error: DocmillError,
    *,
    attempt: int,
    max_attempts: int,
    jitter: float,
    pause_s: float | None = None,
    may_wait: bool = True,
) -> AfterFailure:
    """The consequence of an error, by its class alone.

    attempt: the number of the failed one, from 1. jitter: in [0, 1), see `retry_delay_s`. pause_s: how long a
    document with a setup error waits for the installation to be mended; None if the error is the document's
    own and counts. may_wait: whether the document may go on waiting for what fails and is left alone; False
    once it has waited for too long.
    """
    match error:
        case SetupError() if pause_s is not None:
            return Retry(error, pause_s, counts=False)
        case TransientError(attempted=False) if not may_wait:
            return GiveUp(_waited_in_vain(error))
        case TransientError(attempted=False):
            return Retry(error, retry_delay_s(error, attempt=attempt, jitter=jitter), counts=False)
        case TransientError() | SetupError() if attempt < max_attempts:
            return Retry(error, retry_delay_s(error, attempt=attempt, jitter=jitter))
        case _:
            return GiveUp(error)


def is_asked_again(error: TransientError | SetupError, *, is_last: bool, may_wait: bool) -> bool:
    """True if another attempt follows, in which a model is asked again, though there is a result without it.

    is_last: whether this was the last attempt that counts. The model is waited for as long as it takes where
    a person must act, and for as long as the document may wait where it was left alone.
    """
    if isinstance(error, SetupError):
        return not (error.attempted and error.is_own and is_last)
    return not is_last if error.attempted else may_wait


def _waited_in_vain(error: TransientError) -> TransientError:
    """The error of a document that has waited for too long for what fails and is left alone."""
    final = type(error)(f"it was waited for in vain, for as long as a document may: {error.message}")
    final.step, final.__cause__ = error.step, error
    return final


def internal_error(fault: Exception, document: str = "this document") -> InternalError:
    """The error of a document whose processing ended by a fault in docmill, to be raised or stored."""
    error = InternalError(f"docmill failed on {document} ({type(fault).__name__}); it is in the log")
    error.__cause__ = fault
    return error
