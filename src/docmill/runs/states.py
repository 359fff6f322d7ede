"""States of runs and of their documents, and the interface of the stores that keep them."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal, NamedTuple, Protocol
from uuid import uuid4

from pydantic import JsonValue

RunStatus = Literal["running", "interrupted", "completed"]

DocumentStatus = Literal["pending", "in_progress", "completed", "needs_review", "failed", "vanished"]
"""`vanished`: it was listed before it was processed, and is not listed any more."""

DONE: frozenset[DocumentStatus] = frozenset({"completed", "needs_review"})

NO_METADATA: Mapping[str, JsonValue] = {}


@dataclass(frozen=True, slots=True)
class Run:
    """A named run. fingerprint: of the pipeline that it was begun with, or was last resumed with.

    configuration: of the pipeline, as it can be loaded again; None if it was put together in Python.
    listing: the number of times that its inputs were listed.
    """

    run_id: str
    started_at: datetime
    fingerprint: str = ""
    status: RunStatus = "running"
    completed_at: datetime | None = None
    configuration: JsonValue = None
    listing: int = 0


def new_run_id() -> str:
    """A name for a run that has none."""
    return str(uuid4())[:8]


@dataclass(frozen=True, slots=True)
class DocumentState:
    """The state of a document in a run.

    path: the key of its reference. error: `[stage] message` of the last attempt; None once it succeeded.
    version: see `Ref.version`. is_uncertain: a runner left it unfinished, so that its result may have been
    exported already. done_as: its status before it was listed again, if it was done; it is processed only if
    its content has changed. timings_s: seconds by stage, of the last attempt. tokens, cost: of all attempts,
    in US dollars.
    """

    path: str
    name: str
    status: DocumentStatus = "pending"
    content_hash: str | None = None
    error: str | None = None
    attempts: int = 0
    last_attempt: datetime | None = None
    completed_at: datetime | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    version: str = ""
    is_uncertain: bool = False
    done_as: DocumentStatus | None = None
    timings_s: Mapping[str, float] = field(default_factory=dict[str, float])
    tokens: int = 0
    cost: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A listed document. version: changes with its content, see `Ref.version`; empty if unknown."""

    path: str
    name: str
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    version: str = ""


class Added(NamedTuple):
    """What a batch of listed documents has changed: the number of new ones, and of those to look at again."""

    new: int
    changed: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A document that failed for good.

    stage: in which it failed. error_type: the class of the error. code: see `docmill.errors`; metadata: of
    the document.
    """

    path: str
    stage: str
    error_type: str
    code: str
    message: str
    traceback: str
    attempts: int
    failed_at: datetime
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Settlement:
    """The end of one attempt at a document, for better or worse.

    status: `pending` if it is tried again, not before `retry_at`. attempts: so far. dead_letter: with status
    `failed`. is_unchanged: its content is that of before, and all but its status and version stays. tokens,
    cost: of this attempt.
    """

    path: str
    status: DocumentStatus
    attempts: int
    at: datetime
    content_hash: str | None = None
    error: str | None = None
    retry_at: datetime | None = None
    dead_letter: DeadLetter | None = None
    is_unchanged: bool = False
    timings_s: Mapping[str, float] = field(default_factory=dict[str, float])
    tokens: int = 0
    cost: Decimal = Decimal(0)


class StageResult(NamedTuple):
    """The kept result of a finished stage of a document."""

    path: str
    stage: str
    content: bytes


class StateStore(Protocol):
    """Keeps runs, and in them the state of every document.

    Everything that a call has changed is durable when it returns, as far as the store is durable at all, and
    each call costs time by what it is given, not by the size of the run. A document in progress belongs to
    its owner, a runner, until its lease ends. All methods raise ServerError if the store cannot be reached,
    MisconfiguredError if it cannot be used as it is; those with a run_id UnknownRunError for one that it does
    not have.
    """

    async def create_run(self, run: Run) -> None:
        """Keep a new run. Raises RunExistsError if there is one of that id."""
        ...

    async def find_run(self, run_id: str) -> Run:
        """The run of that id."""
        ...

    async def list_runs(self) -> Sequence[Run]:
        """All runs, the newest first."""
        ...

    async def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        completed_at: datetime | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """Change the run. fingerprint: None to leave it."""
        ...

    async def remove_run(self, run_id: str) -> None:
        """Forget the run and everything in it."""
        ...

    async def begin_listing(self, run_id: str) -> int:
        """The number of a new listing of the run's inputs, from 1."""
        ...

    async def add(self, run_id: str, documents: Sequence[NewDocument], *, listing: int) -> Added:
        """Add listed documents. Unknown ones are pending.

        A known one that is done or vanished, and whose version differs or is empty, becomes pending again
        and keeps its hash, so that it is processed only if its content has changed; one that failed becomes
        pending if its version differs. The metadata of a known one stay unless new ones are given.
        """
        ...

    async def end_listing(self, run_id: str, *, listing: int) -> int:
        """Mark as vanished what is not done and was not in this listing; the number of such documents."""
        ...

    async def claim(self, run_id: str, *, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
        """Give some pending documents to a runner, in the order in which they were listed.

        Also those whose lease has ended; they come with `is_uncertain`. No document is given to two at a
        time.
        """
        ...

    async def settle(self, run_id: str, settlements: Sequence[Settlement], *, owner: str) -> Collection[str]:
        """Keep the outcome of attempts, all or none.

        The stage results of what is done are removed, and its dead letter. Returns the paths that did not
        belong to the owner any more, whose outcome is dropped.
        """
        ...

    async def renew(self, run_id: str, *, owner: str, lease_s: float) -> None:
        """Extend the leases of everything that this runner has in progress."""
        ...

    async def release(self, run_id: str, *, owner: str) -> None:
        """Make pending again what this runner has in progress, with `is_uncertain`; no attempt is counted."""
        ...

    async def next_due_s(self, run_id: str) -> float | None:
        """Seconds until a document may be claimed, 0 if one may now; None if all have reached their end."""
        ...

    async def count(self, run_id: str) -> Mapping[DocumentStatus, int]:
        """The number of documents by status."""
        ...

    def documents(self, run_id: str, *, status: DocumentStatus | None = None) -> AsyncIterator[DocumentState]:
        """The documents of a run, in the order in which they were listed."""
        ...

    async def find_document(self, run_id: str, path: str) -> DocumentState | None:
        """The state of one document; None if the run does not have it."""
        ...

    async def requeue(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """Make failed documents pending, all or those given, with no attempt so far; returns their number.

        Their dead letters stay until they are done or fail again.
        """
        ...

    async def keep_stages(self, run_id: str, results: Sequence[StageResult]) -> None:
        """Keep results of stages. A later result of a stage replaces an earlier one."""
        ...

    async def stages(self, run_id: str, path: str, *, prefix: str = "") -> Mapping[str, bytes]:
        """The kept stage results of a document whose names begin with `prefix`, by name, sorted."""
        ...

    async def remove_stages(self, run_id: str, path: str, *, prefix: str = "") -> None:
        """Remove the kept stage results of a document whose names begin with `prefix`."""
        ...

    def dead_letters(self, run_id: str) -> AsyncIterator[DeadLetter]:
        """The dead letters of a run, the oldest first."""
        ...

    async def purge(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """Remove dead letters, all or those of these documents, which stay failed; returns their number."""
        ...

    async def close(self) -> None:
        """Release what the store holds open."""
        ...
