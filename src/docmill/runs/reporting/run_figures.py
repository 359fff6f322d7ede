"""The figures of a run, and its documents that need a person, read from its state store in one pass."""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from docmill.runs.states import DeadLetter, DocumentState, StateStore

MOST_LISTED = 1000
"""Most documents of a status that a report lists; all are counted."""
_ORDER = ("read", "convert", "transcribe", "unpack", "classify", "extract", "export")
"""Stages of pipelines and steps of runs over folders, as they follow each other; others come last."""
_AT_A_TIME = 500
"""So many documents are counted before the event loop is given a turn."""


class StageFigures(NamedTuple):
    """Seconds that a stage took, of the last attempt at each document."""

    stage: str
    documents: int
    median_s: float
    p95_s: float
    longest_s: float


class Reason(NamedTuple):
    """Why documents failed. code: see `docmill.errors`."""

    stage: str
    error_type: str
    code: str


class Failure(NamedTuple):
    """A failed document. letter: None if its dead letter was purged."""

    document: DocumentState
    letter: DeadLetter | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Of all documents; failures, reviews: the first `MOST_LISTED`. cost: in US dollars."""

    stages: Sequence[StageFigures]
    tokens: int
    cost: Decimal
    reasons: Mapping[Reason, int]
    failures: Sequence[Failure]
    reviews: Sequence[DocumentState]


async def read_figures(store: StateStore, run_id: str) -> RunFigures:
    """The figures of a run, without holding all of its documents in memory. Raises as `StateStore`."""
    tally = _Tally()
    count = 0
    async for document in store.documents(run_id):
        tally.add(document)
        count += 1
        if count % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    listed = {document.path for document in tally.failed}
    letters: dict[str, DeadLetter] = {}
    reasons = Counter[Reason]()
    async for letter in store.dead_letters(run_id):
        reasons[Reason(letter.stage, letter.error_type, letter.code)] += 1
        if letter.path in listed:
            letters[letter.path] = letter
    return RunFigures(
        [durations.figures(stage) for stage, durations in tally.durations.items() if durations.count],
        tally.tokens,
        tally.cost,
        dict(reasons.most_common()),
        [Failure(document, letters.get(document.path)) for document in tally.failed],
        tally.reviews,
    )


@dataclass
class _Tally:
    tokens: int = 0
    cost: Decimal = Decimal(0)
    failed: list[DocumentState] = field(default_factory=list[DocumentState])
    reviews: list[DocumentState] = field(default_factory=list[DocumentState])
    durations: "dict[str, Durations]" = field(default_factory=lambda: {name: Durations() for name in _ORDER})

    def add(self, document: DocumentState) -> None:
        self.tokens += document.tokens
        self.cost += document.cost
        for stage, seconds in document.timings_s.items():
            self.durations.setdefault(stage, Durations()).add(seconds)
        listed = {"failed": self.failed, "needs_review": self.reviews}.get(document.status)
        if listed is not None and len(listed) < MOST_LISTED:
            listed.append(document)


class Durations:
    """Counts durations in classes that are 1 % wide, so that any number of them takes the same memory."""

    _WIDTH = 1.01
    _LEAST_S = 1e-6

    def __init__(self) -> None:
        self.count = 0
        self._longest_s = 0.0
        self._classes = Counter[int]()

    def add(self, seconds: float) -> None:
        """Count one."""
        self.count += 1
        self._longest_s = max(self._longest_s, seconds)
        self._classes[math.ceil(math.log(max(seconds, self._LEAST_S), self._WIDTH))] += 1

    def quantile(self, share: float) -> float:
        """The shortest duration that is not exceeded by this share of all, to within 1 %."""
        wanted = max(1, math.ceil(share * self.count))
        seen = 0
        for number in sorted(self._classes):
            seen += self._classes[number]
            if seen >= wanted:
                return min(self._longest_s, self._WIDTH**number)
        return 0.0

    def figures(self, stage: str) -> StageFigures:
        """What a report says of a stage."""
        return StageFigures(stage, self.count, self.quantile(0.5), self.quantile(0.95), self._longest_s)
