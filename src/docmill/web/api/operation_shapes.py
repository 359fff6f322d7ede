"""Responses of the API about the processing of documents."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from docmill.service.store.dead_letters import DeadLetterRow
from docmill.web.api.shapes import Fault


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class QueueDepth(_Shape):
    """The organisation's documents in a queue. oldest_age_s: since the oldest fell due."""

    due: int
    delayed: int
    in_flight: int
    oldest_age_s: float


class Waiting(_Shape):
    """Documents that no worker holds, and those in work. oldest_at: the request of the oldest that waits."""

    waiting: int
    in_work: int
    oldest_at: datetime | None


class Hour(_Shape):
    """Documents that ended in one hour, from `start` on."""

    start: datetime
    completed: int
    failed: int


class StepTime(_Shape):
    """The time of a step in seconds: of half of the documents, and of 95 % of them, at most so much."""

    step: str
    count: int
    p50_s: float
    p95_s: float


class BusyWorker(_Shape):
    """A worker that holds documents now. progress_at: its last sign of progress."""

    worker_id: str
    documents: int
    steps: list[str]
    progress_at: datetime


class ModelSpend(_Shape):
    """The cost of one model, in US dollars."""

    model: str
    documents: int
    input_tokens: int
    output_tokens: int
    cost: Decimal


class FailureGroup(_Shape):
    """Documents that failed for good with one error at one step. message: of the latest."""

    error_code: str
    step: str | None
    count: int
    message: str
    latest_at: datetime


class Matching(_Shape):
    """Documents to be matched. stuck: in progress for over 10 minutes; oldest_at: of the pending ones."""

    pending: int
    in_progress: int
    stuck: int
    oldest_at: datetime | None


class OperationsReport(_Shape):
    """How the processing goes. failure_rate: of the last 24 hours; null without any document that ended.

    matching_queue: null where documents are not matched.
    """

    queue: QueueDepth
    matching_queue: QueueDepth | None
    waiting: Waiting
    matching: Matching
    completed: int
    failed: int
    failure_rate: float | None
    hours: list[Hour]
    steps: list[StepTime]
    workers: list[BusyWorker]
    spend: list[ModelSpend]
    failures: list[FailureGroup]


FIGURES = OperationsReport.model_fields.keys() - {"queue", "matching_queue"}


class DeadLetter(_Shape):
    """A document that has failed for good. step: at which; attempts: how often it was tried.

    queue: `ingestion`, or `matching` for one that could not be matched, which has no ingestion_id here.
    """

    id: UUID
    queue: str
    document_id: UUID
    ingestion_id: UUID | None
    file_name: str
    error: Fault
    step: str | None
    attempts: int
    died_at: datetime

    @classmethod
    def of(cls, row: DeadLetterRow) -> "DeadLetter":
        """The row as the API shows it."""
        error = Fault(code=row.error_code, message=row.error_message)
        return cls.model_validate({**vars(row), "error": error})


class DeadLetterList(_Shape):
    """Dead letters, newest first. next: the address of those that follow, null on the last page."""

    dead_letters: list[DeadLetter]
    next: str | None
