"""The context of a run, which every component is given."""

import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, TypeVar

from pydantic import JsonValue

from docmill.errors import MisconfiguredError
from docmill.model.document import Usage
from docmill.model.result import Classification
from docmill.ports import Journal, Ref
from docmill.resilience.time_limits import TimeLimit
from docmill.runs.document_bytes import DocumentBytes

Shared = TypeVar("Shared")


@dataclass(slots=True)
class CurrentDocument:
    """The document that a component is at work on.

    key: names its result whatever happens: the same run, content and schema always give the same one.
    attempt: counts from 1, to `max_attempts`. may_be_exported: an earlier attempt may have come to the
    export. is_changed: it was exported before, with other content. classification: once it is known. journal:
    keeps results of parts of a stage, such as pages, for the next attempt. document_bytes: what was read, for
    who looks at the original once more. tokens, cost: spent in this attempt, in US dollars; see
    `count_usage`. extra_s: time that the stage at work may take beyond its limit; see `allow_time`.
    stopped_at: since when its clock is stopped, by `time.monotonic`; see `StageClock`.
    """

    ref: Ref
    content_hash: str = ""
    key: str = ""
    attempt: int = 1
    max_attempts: int = 1
    may_be_exported: bool = False
    is_changed: bool = False
    classification: Classification | None = None
    journal: Journal | None = None
    document_bytes: DocumentBytes | None = None
    tokens: int = 0
    cost: Decimal = Decimal(0)
    extra_s: float = 0.0
    stopped_at: float | None = None

    @property
    def allowed_s(self) -> float:
        """Time that the stage at work may take beyond its limit, as things stand."""
        return self.extra_s + (0.0 if self.stopped_at is None else time.monotonic() - self.stopped_at)

    def count_usage(self, usage: Usage) -> None:
        """Add what a call of a model has cost to what the document costs."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost += usage.cost

    def allow_time(self, seconds: float) -> None:
        """Extend the time limit of the stage at work, for a document that is longer than most."""
        self.extra_s += seconds


class StageClock(TimeLimit):
    """Time of a stage, whose limit is the engine's to keep.

    While docmill's pool works for the stage, the clock is stopped and processor time counts, as for
    docmill's own steps.
    """

    def __init__(self, document: CurrentDocument) -> None:
        super().__init__(None)
        self._document = document

    def stop(self) -> None:
        """See `TimeLimit.stop`."""
        if not self._waiting:
            self._document.stopped_at = time.monotonic()
        super().stop()

    def go(self) -> None:
        """See `TimeLimit.stop`."""
        super().go()
        if not self._waiting:
            self._document.extra_s = self._document.allowed_s
            self._document.stopped_at = None

    def charge(self, seconds: float) -> None:
        """See `TimeLimit.charge`."""
        self._document.allow_time(-seconds)


_current: ContextVar[CurrentDocument] = ContextVar("docmill_current_document")


@dataclass(frozen=True, slots=True)
class Context(Generic[Shared]):
    """What all components of a run know.

    shared: an object of the caller's own, the same for all: clients, vocabularies, counters. metadata: of the
    run. fingerprint: of the pipeline. runner: names this process among others that work on the run.
    """

    run_id: str
    shared: Shared
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    fingerprint: str = ""
    runner: str = ""

    @property
    def document(self) -> CurrentDocument:
        """The document at work in this task or thread. Raises MisconfiguredError where there is none."""
        document = _current.get(None)
        if document is None:
            raise MisconfiguredError("no document is being processed here; `context.document` is for stages")
        return document


def set_current(document: CurrentDocument) -> None:
    """Name the document at work in this task."""
    _current.set(document)


def context_of_one() -> Context[None]:
    """A context for components that are used by themselves, outside of a run."""
    return Context("none", None)
