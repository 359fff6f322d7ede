"""What a run tells while it goes on."""

from dataclasses import dataclass
from typing import TypeAlias

from docmill.runs.states import DocumentStatus


@dataclass(frozen=True, slots=True)
class Cause:
    """What an error is, without its message.

    code: see `docmill.errors`. error_type: the class of the original error. is_quoting: whether the message
    has words of an error that is not docmill's own, and thus perhaps words of the document.
    """

    stage: str
    code: str
    error_type: str
    is_quoting: bool


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run begins, or goes on. is_resumed: it was begun earlier. is_changed: by another pipeline."""

    run_id: str
    is_resumed: bool = False
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class DocumentStarted:
    """An attempt at a document begins. attempt: from 1."""

    path: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StageEnded:
    """A stage of a document is over. error: what ended it, as `[stage] message`; None for success."""

    path: str
    stage: str
    seconds: float
    error: str | None = None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """A document waits for its next attempt. error: of the last one, as `[stage] message`."""

    path: str
    stage: str
    error: str
    attempt: int
    max_attempts: int
    delay_s: float
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class DocumentEnded:
    """A document has come to its end. is_unchanged: it was done before, and its content is the same."""

    path: str
    status: DocumentStatus
    attempts: int
    seconds: float
    error: str | None = None
    is_unchanged: bool = False
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is, at most ten times a second.

    total: documents listed so far; is_total_final: whether the list is complete. rate: documents a second of
    this runner, of late. eta_s: seconds left at that rate; None if it cannot be said. current_document: the
    last one that was begun. waiting: documents whose next attempt this runner has put off.
    """

    total: int
    completed: int
    failed: int
    in_progress: int
    is_total_final: bool
    rate: float
    eta_s: float | None
    current_document: str | None = None
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over. is_interrupted: there is work left, and it can be resumed."""

    run_id: str
    completed: int
    failed: int
    is_interrupted: bool


Event: TypeAlias = (
    RunStarted | DocumentStarted | StageEnded | RetryScheduled | DocumentEnded | Progress | RunEnded
)
