"""Calls evaluators for documents, and collects their scores."""

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from docmill.errors import (
    DocmillError,
    InternalError,
    MisconfiguredError,
    SetupError,
    TransientError,
    ungrouped,
)
from docmill.runs.context import Context, set_current
from docmill.runs.evaluation.predictions import Prediction
from docmill.runs.evaluation.score_figures import check_score
from docmill.runs.evaluation.typed_examples import TypedExample
from docmill.runs.failures import as_docmill_error
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import Evaluator, Score
from docmill.runs.stages import call_anywhere, call_if_there

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ScoredDocument:
    """The scores of a document.

    errors: of evaluators that could not judge it, by their names. tokens, cost: that evaluators spent, in US
    dollars; see `CurrentDocument.count_usage`.
    """

    prediction: Prediction
    tokens: int = 0
    cost: Decimal = Decimal(0)
    scores: dict[str, Score] = field(default_factory=dict[str, Score])
    errors: dict[str, str] = field(default_factory=dict[str, str])


class Scorer:
    """Has evaluators judge documents, as many at a time as the policy of the pipeline allows.

    Transient errors are tried again as the policy says. An evaluator that fails for a document, or says
    nothing of one that failed, gives it 0 in all its figures.
    """

    def __init__(
        self, evaluators: Sequence[Evaluator[Any]], context: Context[Any], policy: RunPolicy
    ) -> None:
        self._evaluators = evaluators
        self._context = context
        self._policy = policy
        self._slots = asyncio.Semaphore(policy.concurrency)

    async def prepare(self, examples: Sequence[TypedExample]) -> None:
        """Give the true values of all examples to the evaluators that ask for them."""
        expected = [example.expected for example in examples]
        for evaluator in self._evaluators:
            await call_if_there(evaluator, "prepare", expected)

    async def score(self, predictions: Sequence[Prediction]) -> list[ScoredDocument]:
        """The scores of all documents, in their order.

        Raises SetupError, the error of an evaluator that fails for all that was extracted, and
        MisconfiguredError if two evaluators have a figure of the same name.
        """
        documents = [ScoredDocument(prediction) for prediction in predictions]
        owners: dict[str, str] = {}
        for index, evaluator in enumerate(self._evaluators):
            name = type(evaluator).__name__
            label = f"{name} {index + 1}"
            scores = await self._score_all(evaluator, label, documents)
            figures = list(dict.fromkeys(figure for of_document in scores for figure in of_document))
            for figure in figures:
                if figure in owners:
                    raise MisconfiguredError(
                        f"{owners[figure]} and {name} both have a figure {figure!r}; name one differently"
                    )
                owners[figure] = name
            _count_misses(documents, scores, figures, label)
        return documents

    async def _score_all(
        self, evaluator: Evaluator[Any], label: str, documents: Sequence[ScoredDocument]
    ) -> list[dict[str, Score]]:
        first_error: list[DocmillError] = []

        async def score(document: ScoredDocument) -> dict[str, Score]:
            async with self._slots:
                current = document.prediction.current_document()
                set_current(current)
                try:
                    return await self._call(evaluator, document.prediction)
                except SetupError:
                    raise
                except DocmillError as error:
                    first_error.append(error)
                    document.errors[label] = f"{error.code}: {error.message}"
                    return {}
                finally:
                    document.tokens += current.tokens
                    document.cost += current.cost

        with ungrouped(DocmillError):
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(score(document)) for document in documents]
        failed = [document for document in documents if label in document.errors]
        extracted = [document for document in documents if document.prediction.extracted is not None]
        if extracted and all(label in document.errors for document in extracted):
            raise first_error[0]
        if failed:
            log.warning("an evaluator failed for documents", extra={"evaluator": label, "count": len(failed)})
        return [task.result() for task in running]

    async def _call(self, evaluator: Evaluator[Any], prediction: Prediction) -> dict[str, Score]:
        """The scores of an evaluator, by their names. Raises DocmillError, whatever it raised."""
        attempt = 1
        while True:
            try:
                return await self._evaluate(evaluator, prediction)
            except Exception as raised:
                error = as_docmill_error(raised, "evaluate")
                if (
                    not isinstance(error, TransientError)
                    or isinstance(error, InternalError)  # a fault in its code, most likely
                    or attempt > self._policy.max_retries
                ):
                    if error is raised:
                        raise
                    raise error from raised
                delay_s = self._policy.delay_s(error, attempt=attempt, jitter=random.random())  # noqa: S311
                await asyncio.sleep(delay_s)
                attempt += 1

    async def _evaluate(self, evaluator: Evaluator[Any], prediction: Prediction) -> dict[str, Score]:
        arguments = (prediction.example.expected, prediction.extracted, self._context)
        async with asyncio.timeout(self._policy.limit_s("extract")):
            answer = await call_anywhere(evaluator.evaluate, *arguments)
        name = type(evaluator).__name__
        if not isinstance(answer, list | tuple):  # pyright: ignore[reportUnnecessaryIsInstance]  of others
            raise MisconfiguredError(f"{name} returned {type(answer).__name__}; it must be a list of scores")
        return {score.name: score for score in (check_score(item, name) for item in answer)}


def _count_misses(
    documents: Sequence[ScoredDocument],
    scores: Sequence[dict[str, Score]],
    figures: Sequence[str],
    label: str,
) -> None:
    """Put the scores to their documents, with 0 for what failed and has none."""
    misses = {figure: _miss(figure, [row[figure] for row in scores if figure in row]) for figure in figures}
    for document, of_document in zip(documents, scores, strict=True):
        has_failed = document.prediction.extracted is None or label in document.errors
        document.scores.update({**misses, **of_document} if has_failed else of_document)


def _miss(figure: str, scores: Sequence[Score]) -> Score:
    """The score of a document that has none of a figure: 0 in everything, with the mean weights of others."""
    parts: dict[str, float] = {}
    for score in scores:
        for part in score.parts:
            parts[part] = parts.get(part, 0.0) + score.part_weights.get(part, 1.0) / len(scores)
    weight = sum(score.weight for score in scores) / len(scores)
    return Score(figure, 0.0, dict.fromkeys(parts, 0.0), weight or 1.0, parts)
