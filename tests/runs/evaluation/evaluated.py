"""Small examples and evaluators for tests of evaluations."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.runs.components import Letter, text_pipeline

from docmill.ports import Ref
from docmill.runs.context import Context
from docmill.runs.evaluation.evaluating import Evaluation
from docmill.runs.evaluation.evaluators import FieldEvaluator
from docmill.runs.roles import Example, Score
from docmill.runs.stores.memory import MemoryStore


class ListLoader:
    """Loads the examples that it is given; of a text, the true sender is what a dictionary says."""

    def __init__(self, senders: Mapping[str, str | None] | Sequence[Example[Letter]]) -> None:
        self.senders = senders

    def load(self, context: Context[Any]) -> Iterator[Example[Letter]]:
        del context
        if not isinstance(self.senders, Mapping):
            yield from self.senders
            return
        for key, sender in self.senders.items():
            yield Example(Ref(key, key), Letter(sender=sender))


class ListExporter:
    def __init__(self) -> None:
        self.reports: list[Mapping[str, Any]] = []

    async def export_evaluation(self, report: Mapping[str, Any], context: Context[Any]) -> None:
        del context
        self.reports.append(report)


class CallEvaluator:
    """One score by a function of the key and the number of the call; with what was extracted kept."""

    def __init__(
        self, score: Callable[[str, int], float] = lambda _key, _call: 1.0, name: str = "own"
    ) -> None:
        self.score = score
        self.name = name
        self.calls: Counter[str] = Counter()
        self.extracted: dict[str, Letter | None] = {}

    def evaluate(self, expected: Letter, extracted: Letter | None, context: Context[Any]) -> Sequence[Score]:
        del expected
        key = context.document.ref.key
        self.calls[key] += 1
        self.extracted[key] = extracted
        return [Score(self.name, self.score(key, self.calls[key]))]


def letter_evaluation(
    folder: Path, senders: Any, *evaluators: Any, pipeline: Any = None, **parts: Any
) -> Evaluation[Letter]:
    """An evaluation of the pipeline of the tests, which takes the first word for the sender."""
    return Evaluation(
        pipeline=pipeline or text_pipeline(),
        loader=ListLoader(senders),
        evaluators=evaluators or (FieldEvaluator(),),
        predictions=folder / "predictions.jsonl",
        **parts,
    )


__all__ = ["CallEvaluator", "ListExporter", "ListLoader", "MemoryStore", "letter_evaluation"]
