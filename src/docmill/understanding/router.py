"""Judges an extraction and has doubted fields read again: by free readers first, then by language models."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from docmill.errors import DocumentError, SetupError, TimeLimitError, TransientError
from docmill.model.document import Document
from docmill.model.result import Extraction, Schema, StepTaken, Verdict
from docmill.ports import Gate, Judged, Original
from docmill.resilience.spending import Meter
from docmill.resilience.time_limits import inner_limit
from docmill.understanding.gate import judge_off_loop
from docmill.understanding.gate.dates import AMBIGUOUS_CHECK, other_days
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.second_readers import Question, SecondReader
from docmill.understanding.withholding import still_failed, withhold, withhold_ambiguous

log = logging.getLogger(__name__)

_INDEX = re.compile(r"\[\d+\].*")


class GateRouter:
    """`Router` that asks one second reader after another until the gate trusts the extraction.

    What is still believed too little in the end is withheld, and the rest is judged.

    readers: free ones are asked before paid ones, otherwise in this order; paid ones as long as the budget
    lasts. Their values are taken if the gate then doubts fewer fields. limit_s: for all paid readers
    together; it ends before the limits of step and document. confirmers: asked first, also about values that
    are not doubted; only the confidences that they give are used.
    """

    def __init__(
        self,
        gate: Gate,
        readers: Sequence[SecondReader] = (),
        *,
        confirmers: Sequence[SecondReader] = (),
        budget: Decimal | None = None,
        limit_s: float | None = None,
    ) -> None:
        self.readers = tuple(readers)
        self.confirmers = tuple(confirmers)
        self._gate = gate
        self._budget = budget
        self._limit_s = limit_s

    async def judge(
        self, first: Extraction, document: Document, schema: Schema, original: Original | None = None
    ) -> Judged:
        """See `Router.judge`. The steps record which reader was asked for which fields, and the outcome.

        If a model fails, the next is asked. `model_error` is set if fields are doubted in the end and it can
        be asked for them later, perhaps only after somebody has repaired the setup.
        """
        state = _State(first, await judge_off_loop(self._gate, document, first, schema))
        question = Question(document, schema, original, Meter(self._budget, document.usage))
        for confirmer in self.confirmers:
            await self._confirm(confirmer, state, question)
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
        believed = withhold(state.best, schema)
        is_whole = believed.data is state.best.data  # nothing was withheld, so the verdict is the same
        verdict = state.verdict
        if not is_whole:
            judged = await judge_off_loop(self._gate, document, believed, schema)
            verdict = still_failed(verdict, judged, believed)
        if any(failure.check == AMBIGUOUS_CHECK for failure in verdict.failures):
            days = other_days(GateInput(document, believed, schema))
            believed = withhold_ambiguous(believed, schema, days)
        extraction = believed.model_copy(
            update={
                "usage": first.usage.plus(meter.usage),
                "steps": (*first.steps, *state.steps),
                "model_error": (None if meter.is_spent else state.model_error) or first.model_error,
            }
        )
        return Judged(extraction, verdict)

    async def _confirm(self, confirmer: SecondReader, state: "_State", question: Question) -> None:
        """Take the confidences that a confirmer gives; its step is recorded if it names fields."""
        reading = await confirmer.read_again(state.best, state.doubted, question)
        if reading is None:
            return
        state.best = reading.best
        state.verdict = await judge_off_loop(self._gate, question.document, state.best, question.schema)
        if reading.step.fields:
            state.steps.append(reading.step)

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
        """Ask for the doubted fields, and take values that leave fewer doubted, or as many but more found."""
        document, schema = question.document, question.schema
        before = state.doubted
        reading = await reader.read_again(state.best, before, question)
        if reading is None:
            return
        if reading.best is not state.best:
            state.best = reading.best
            state.verdict = await judge_off_loop(self._gate, document, state.best, schema)
        is_better = False
        for alternative in reading.alternatives:
            new = _State(alternative, await judge_off_loop(self._gate, document, alternative, schema))
            if (len(new.doubted), -len(new.best.evidence)) < (len(state.doubted), -len(state.best.evidence)):
                state.best, state.verdict, is_better = new.best, new.verdict, True
                break
        mended = tuple(path for path in before if path not in state.doubted)
        state.steps.append(reading.step.model_copy(update={"mended": mended, "is_better": is_better}))


@dataclass
class _State:
    """The best extraction so far, its verdict and its steps. errors: of models that may succeed later."""

    best: Extraction
    verdict: Verdict
    steps: list[StepTaken] = field(default_factory=list[StepTaken])
    errors: list[TransientError | SetupError] = field(default_factory=list[TransientError | SetupError])

    @property
    def doubted(self) -> tuple[str, ...]:
        """The fields of the failures that the gate found, without those of the extractor itself."""
        extractors = set(self.best.failures)
        failures = (failure for failure in self.verdict.failures if failure not in extractors)
        paths = (path for failure in failures for path in failure.fields)
        return tuple(dict.fromkeys(_INDEX.sub("[]", path) for path in paths))

    @property
    def model_error(self) -> TransientError | SetupError | None:
        """The reason to ask models again later: an error of one that was called, else any error."""
        if not self.doubted:
            return None
        return next((error for error in self.errors if error.attempted), next(iter(self.errors), None))
