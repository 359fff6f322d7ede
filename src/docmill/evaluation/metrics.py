"""From judged values to figures with intervals."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.evaluation.judge import JudgedValue
from docmill.evaluation.values import HEADLINE, TIERS, Tier

Floats = NDArray[np.float64]
Interval = tuple[float, float] | None

DRAWS = 2000
_TAIL = 0.025
_Z = 1.96
_SURE = 1e-12


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document's values, judged. group: what is drawn together for intervals: a vendor, say, or itself.

    evidence: by path, as in its record. true_type: None where the truth does not say it. is_labelled: whether
    it names any field, if only to say that the document has none.
    """

    source: str
    group: str
    status: str
    cells: Sequence[JudgedValue]
    evidence: Mapping[str, Any]
    true_type: str | None = None
    said_type: str | None = None
    error: str | None = None
    is_labelled: bool = True

    @property
    def is_right(self) -> bool:
        """True if all its values are right, and there are none too many."""
        return all(cell.is_right for cell in self.cells)


def compute_scores(documents: Sequence[JudgedDocument]) -> dict[str, Any]:
    """Precision, recall and F1 per tier, accuracy per field and the share of documents all right."""
    labelled = [document for document in documents if document.is_labelled]
    drawn = draws([document.group for document in labelled])
    return {
        "documents": len(labelled),
        "groups": len({document.group for document in labelled}),
        "tiers": {tier: _tier(labelled, tier, drawn) for tier in TIERS},
        "fields": {field: _field(labelled, field, drawn) for field in fields_of(labelled)},
        "lists": _lists(labelled),
    }


def fields_of(documents: Sequence[JudgedDocument]) -> list[str]:
    """The fields that have a true value anywhere, or one that was read where there is none."""
    return list(dict.fromkeys(cell.field for document in documents for cell in document.cells))


def draws(groups: Sequence[str]) -> Floats:
    """Draw the bootstrap weights of the documents, by groups; shape (draws, documents).

    A group's documents are drawn together: those of one vendor are right or wrong together.
    """
    names = {name: index for index, name in enumerate(dict.fromkeys(groups))}
    generator = np.random.default_rng(0)
    if not names:
        return np.zeros((DRAWS, 0))
    shares = np.full(len(names), 1 / len(names))
    counts = generator.multinomial(len(names), shares, size=DRAWS).astype(np.float64)
    return counts[:, [names[group] for group in groups]]


def ratio(tops: Floats, bottoms: Floats, drawn: Floats) -> Interval:
    """The 95 % interval of the sum of tops over that of bottoms, by drawing documents."""
    if not len(tops) or not bottoms.sum():
        return None
    above, below = drawn @ tops, drawn @ bottoms
    values = above[below > 0] / below[below > 0]
    low, high = (float(value) for value in np.quantile(values, [_TAIL, 1 - _TAIL]))
    share = float(tops.sum() / bottoms.sum())
    if high - low < _SURE and (share < _SURE or share > 1 - _SURE):
        # All are alike, and so is every drawing: what the next ones will be is open all the same.
        return wilson(share, int((bottoms > 0).sum()))
    return low, high


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of independent trials."""
    scale = 1 + _Z**2 / count
    middle = (share + _Z**2 / (2 * count)) / scale
    half = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def counts(document: JudgedDocument, tier: Tier = HEADLINE) -> tuple[int, int, int]:
    """Right values, wrong or needless ones, missing or wrong ones."""
    right = sum(tier in cell.tiers for cell in document.cells)
    said = sum(cell.said is not None for cell in document.cells)
    true = sum(cell.true is not None for cell in document.cells)
    return right, said - right, true - right


def _tier(documents: Sequence[JudgedDocument], tier: Tier, drawn: Floats) -> dict[str, Any]:
    table = np.array([counts(document, tier) for document in documents], np.float64).reshape(-1, 3)
    right, surplus, lacking = table.T
    whole = column(documents, lambda one: all(tier in cell.tiers for cell in one.cells))
    return {
        "precision": share(right.sum(), (right + surplus).sum()),
        "recall": share(right.sum(), (right + lacking).sum()),
        "f1": share(2 * right.sum(), (2 * right + surplus + lacking).sum()),
        "f1_interval": ratio(2 * right, 2 * right + surplus + lacking, drawn),
        "values": int((right + lacking).sum()),
        "documents_right": share(whole.sum(), len(documents)),
        "documents_right_interval": ratio(whole, np.ones(len(documents)), drawn),
    }


def _field(documents: Sequence[JudgedDocument], field: str, drawn: Floats) -> dict[str, Any]:
    right, true, surplus = (
        column(documents, lambda one, test=test: sum(test(cell) for cell in one.cells if cell.field == field))
        for test in (_right, _true, _surplus)
    )
    return {
        "values": int(true.sum()),
        "right": int(right.sum()),
        "accuracy": share(right.sum(), true.sum()),
        "interval": ratio(right, true, drawn),
        "missing": sum(
            cell.said is None for document in documents for cell in document.cells if cell.field == field
        ),
        "surplus": int(surplus.sum()),
    }


def _right(cell: JudgedValue) -> bool:
    return cell.is_right


def _true(cell: JudgedValue) -> bool:
    return cell.true is not None


def _surplus(cell: JudgedValue) -> bool:
    return cell.true is None


def _lists(documents: Sequence[JudgedDocument]) -> dict[str, Any]:
    """Of each list the values of all its items together."""
    found: dict[str, list[int]] = {}
    for cell in (cell for document in documents for cell in document.cells if "[]" in cell.field):
        tally = found.setdefault(cell.field.partition("[]")[0], [0, 0, 0])
        tally[0] += cell.is_right
        tally[1] += cell.said is not None
        tally[2] += cell.true is not None
    return {
        name: {
            "precision": share(right, said),
            "recall": share(right, true),
            "f1": share(2 * right, said + true),
            "values": true,
        }
        for name, (right, said, true) in found.items()
    }


def column(documents: Sequence[JudgedDocument], figure: Callable[[JudgedDocument], float]) -> Floats:
    """A figure of every document."""
    return np.array([figure(document) for document in documents], np.float64)


def share(part: float, whole: float) -> float | None:
    """None of nothing is no figure."""
    return float(part) / float(whole) if whole else None


NOT_READ = "not read"
"""What stands for the type of a document that failed."""


def score_types(documents: Sequence[JudgedDocument]) -> dict[str, Any] | None:
    """Macro-F1 over the true types and the confusion matrix; None where the truth names no types.

    confusion: by true type, how many were taken for which.
    """
    pairs = Counter(
        (one.true_type, one.said_type or NOT_READ) for one in documents if one.true_type is not None
    )
    if not pairs:
        return None
    names = sorted({true for true, _ in pairs})
    by_type = {name: _of_type(pairs, name) for name in names}
    return {
        "documents": pairs.total(),
        "accuracy": share(sum(count for (true, said), count in pairs.items() if true == said), pairs.total()),
        "macro_f1": sum(of_type["f1"] for of_type in by_type.values()) / len(names),
        "types": by_type,
        "confusion": {
            name: {said: count for (true, said), count in sorted(pairs.items(), key=str) if true == name}
            for name in names
        },
    }


def _of_type(pairs: Counter[tuple[str, str]], name: str) -> dict[str, Any]:
    right = pairs[name, name]
    true = sum(count for (one, _), count in pairs.items() if one == name)
    said = sum(count for (_, one), count in pairs.items() if one == name)
    return {
        "documents": true,
        "precision": share(right, said),
        "recall": share(right, true),
        "f1": 2 * right / (true + said),
    }
