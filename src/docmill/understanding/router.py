"""Judging an extraction, and having doubted fields read again: first for free, then by models."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from docmill.errors import DocumentError, SetupError, TimeLimitError, TransientError
from docmill.model.document import Document
from docmill.model.result import Extraction, Schema, Verdict
from docmill.model.steps_taken import StepTaken
from docmill.ports import Gate, Judged, Original
from docmill.resilience.spending import Meter
from docmill.resilience.time_limits import inner_limit
from docmill.understanding.gate import judge_off_loop
from docmill.understanding.ports import Question, SecondReader

log = logging.getLogger(__name__)

_INDEX = re.compile(r"\[\d+\].*")


class GateRouter:
    """`Router` that asks one second reader after the other until the gate believes the extraction.

    readers: those that cost nothing are asked before the others, else in this order; those that cost money as
    long as the budget lasts. What they read is taken if the gate then objects to less. limit_s: for all paid
    ones together; it ends before the limits of step and document.
    """

    def __init__(
        self,
        gate: Gate,
        readers: Sequence[SecondReader] = (),
        *,
        budget: Decimal | None = None,
        limit_s: float | None = None,
    ) -> None:
        self.readers = tuple(readers)
        self._gate = gate
        self._budget = budget
        self._limit_s = limit_s

    async def judge(
        self, first: Extraction, document: Document, schema: Schema, original: Original | None = None
    ) -> Judged:
        """See `Router.judge`. The steps tell who was asked for what, and what came of it.

        A model that fails leaves what there is to the next; `model_error` says that it can be asked later
        for what is still doubted in the end, perhaps only once somebody has mended the setup.
        """
        state = _State(first, await judge_off_loop(self._gate, document, first, schema))
        question = Question(document, schema, original, Meter(self._budget, document.usage))
        for reader in self.readers:
            if state.doubted and not reader.is_paid:
                await self._ask(reader, state, question)
        limit = inner_limit(self._limit_s)
        limit_s = limit.left_s or 0
        try:
            async with limit:
                await self._ask_models(state, question)
        except TimeoutError:
            given_up = f"after {round(limit_s, 2):g} s"
            state.steps.append(StepTaken(kind="given_up", note=given_up))
            state.errors.append(TimeLimitError(f"the models were given up {given_up}"))
        meter = question.meter
        extraction = state.best.model_copy(
            update={
                "usage": first.usage.plus(meter.usage),
                "steps": (*first.steps, *state.steps),
                "model_error": (None if meter.is_spent else state.model_error) or first.model_error,
            }
        )
        return Judged(extraction, state.verdict)

    async def _ask_models(self, state: "_State", question: Question) -> None:
        for reader in (reader for reader in self.readers if reader.is_paid):
            doubted = state.doubted
            if not doubted:
                return
            if question.meter.is_spent:
                note = f"the budget of ${self._budget} is spent"
                state.steps.append(StepTaken(kind="not_asked", by=reader.name, note=note))
                return
            try:
                await self._ask(reader, state, question)
            except (TransientError, DocumentError, SetupError) as error:
                if not isinstance(error, DocumentError):
                    state.errors.append(error)
                log.warning(
                    "a model read no fields: %s",
                    error.message,
                    extra={"code": error.code, "model": reader.name},
                )
                note = f"({error.code}): {error.message}"
                state.steps.append(StepTaken(kind="failed", by=reader.name, note=note, fields=doubted))

    async def _ask(self, reader: SecondReader, state: "_State", question: Question) -> None:
        """Ask for what is doubted, and take what the gate doubts less, or as much of which more was found."""
        document, schema = question.document, question.schema
        before = state.doubted
        found = await reader.read_again(state.best, before, question)
        if found is None:
            return
        if found.best is not state.best:
            state.best = found.best
            state.verdict = await judge_off_loop(self._gate, document, state.best, schema)
        is_better = False
        for other in found.alternatives:
            tried = _State(other, await judge_off_loop(self._gate, document, other, schema))
            if (len(tried.doubted), -len(other.evidence)) < (len(state.doubted), -len(state.best.evidence)):
                state.best, state.verdict, is_better = tried.best, tried.verdict, True
                break
        mended = tuple(path for path in before if path not in state.doubted)
        state.steps.append(found.step.model_copy(update={"mended": mended, "is_better": is_better}))


@dataclass
class _State:
    """The best extraction so far, its verdict, and how it came about.

    errors: of models that failed and can be asked later.
    """

    best: Extraction
    verdict: Verdict
    steps: list[StepTaken] = field(default_factory=list[StepTaken])
    errors: list[TransientError | SetupError] = field(default_factory=list[TransientError | SetupError])

    @property
    def doubted(self) -> tuple[str, ...]:
        """The fields of checks that failed; not of those that the extractor itself found to fail."""
        own = set(self.best.failures)
        paths = (path for failure in self.verdict.failures if failure not in own for path in failure.fields)
        return tuple(dict.fromkeys(_INDEX.sub("[]", path) for path in paths))

    @property
    def model_error(self) -> TransientError | SetupError | None:
        """Why to ask models again later: the first failure of one that was asked, if any was."""
        if not self.doubted:
            return None
        return next((error for error in self.errors if error.attempted), next(iter(self.errors), None))
