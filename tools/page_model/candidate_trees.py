"""Boosted trees over docmill's candidates of a field: features of each candidate, training, answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from docmill.training.receipts import Prepared
from docmill.understanding.fields.candidates import AnyCandidate
from docmill.understanding.text.folding import token_texts
from docmill.understanding.vocabulary import Concept
from tools.page_model.judging import FORMS, PATHS, judge, places, shown
from tools.page_model.samples import Sample

PARAMETERS: Mapping[str, Any] = {
    "objective": "binary", "learning_rate": 0.06, "num_leaves": 15, "feature_fraction": 0.4,
    "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 2, "verbosity": -1, "num_threads": 1, "seed": 1,
}  # fmt: skip
_FIELD_OF = {path: name for name, path in PATHS.items()}
_FREQUENT = 200
_ROUNDS = 150
_KEPT = 5


class FieldCandidates:
    """The candidates of a page for a field: values, features, texts around, and whether they are right."""

    def __init__(self, sample: Sample, item: Prepared, path: str) -> None:
        found = item.candidates.of_form(FORMS[path])
        placed = places(found)
        self.values = [shown(one.value) for one in placed]
        self.words = [one.words for one in placed]
        self.numbers = np.array(
            [_numbers(candidate, index, found, item) for index, candidate in enumerate(found)], np.float32
        )
        self.around = [_around(candidate) for candidate in found]
        is_right = judge(sample.source, sample.key).get(_FIELD_OF[path])
        self.is_labelled = is_right is not None
        self.right = np.array([is_right is not None and is_right(value) for value in self.values], np.int64)


def _numbers(
    candidate: AnyCandidate, index: int, found: Sequence[AnyCandidate], item: Prepared
) -> list[float]:
    segment = candidate.segment
    sheet = item.candidates.layout.sheet(segment)
    amounts = sorted({_amount(other) for other in found}, reverse=True)
    amount = _amount(candidate)
    largest = max(amounts, default=0.0) or 1.0
    return [
        *(candidate.clues.get(concept, 0.0) for concept in Concept),
        index / max(1, len(found)), len(found), segment.box.x0, segment.box.x1, segment.middle,
        segment.line / max(1, sheet.segments[-1].line), segment.height / sheet.text_height,
        candidate.plain, candidate.marked, len(candidate.text), candidate.start,
        candidate.stop == len(segment.text),
        sum(map(str.isdecimal, candidate.text)), sum(map(str.isalpha, candidate.text)),
        sum(other.value == candidate.value for other in found),
        amounts.index(amount), amount,
        amount / largest,
    ]  # fmt: skip


def _amount(candidate: AnyCandidate) -> float:
    return float(candidate.value) if isinstance(candidate.value, Decimal) else 0.0


def _around(candidate: AnyCandidate) -> set[str]:
    around = candidate.around
    texts = {
        "<": f"{around.before} {around.left}",
        "-": around.row,
        "^": f"{around.above} {around.head}",
        ">": around.right,
    }
    return {sign + word for sign, text in texts.items() for word in token_texts(text)}


class CandidateTrees:
    """Boosted trees over candidates, with the frequent words around them as features."""

    def __init__(self, samples: Sequence[FieldCandidates]) -> None:
        samples = [sample for sample in samples if sample.is_labelled and sample.values]
        counts = Counter(word for sample in samples for words in sample.around for word in words)
        self._words = [word for word, _ in counts.most_common(_FREQUENT)]
        rows = np.vstack([self._rows(sample) for sample in samples])
        truth = np.concatenate([sample.right for sample in samples])
        # its types leave a parameter open
        self._booster = lightgbm.train(dict(PARAMETERS), lightgbm.Dataset(rows, truth), _ROUNDS)  # pyright: ignore[reportUnknownMemberType]

    def _rows(self, sample: FieldCandidates) -> NDArray[np.float32]:
        seen = np.array([[word in words for word in self._words] for words in sample.around], np.float32)
        return np.hstack([sample.numbers, seen])

    def answers(self, sample: FieldCandidates) -> list[tuple[str, float]]:
        """The values with their probability, the best first."""
        if not sample.values:
            return []
        scores: Any = self._booster.predict(self._rows(sample))
        return best_values(sample.values, scores.tolist())


def best_values(values: Sequence[str], scores: Sequence[float]) -> list[tuple[str, float]]:
    """The values with their highest score, the best first."""
    best: dict[str, float] = {}
    for value, score in zip(values, scores, strict=True):
        best[value] = max(best.get(value, 0.0), score)
    return sorted(best.items(), key=lambda pair: -pair[1])[:_KEPT]
