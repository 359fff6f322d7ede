"""Figures of an evaluation, with intervals: of values, fields, document types and confidences."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.evaluation.judge import HEADLINE, TIERS, JudgedValue, Tier

Floats = NDArray[np.float64]
Interval = tuple[float, float] | None

DRAWS = 2000
PRECISION = 0.99
NOT_READ = "not read"
"""The type of a document that failed."""
_TAIL = 0.025
_Z = 1.96
_EPSILON = 1e-12
_BINS = 10
_NEVER = 2.0
_POINTS = 20
"""Most points of the curve; equal confidences share one."""


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document and its judged values.

    group: of documents that are drawn together for intervals: of a vendor, say, or itself. evidence: by path,
    as in its record. true_type: None if the truth does not name it. is_labelled: whether the truth names any
    field, if only to say that the document has none.
    """

    source: str
    group: str
    status: str
    cells: Sequence[JudgedValue]
    evidence: Mapping[str, Any]
    true_type: str | None = None
    read_type: str | None = None
    error: str | None = None
    is_labelled: bool = True

    @property
    def is_right(self) -> bool:
        """True if all its values are correct, and no other was read."""
        return all(cell.is_right for cell in self.cells)


def compute_scores(documents: Sequence[JudgedDocument]) -> dict[str, Any]:
    """Precision, recall and F1 per tier, accuracy per field and the share of documents all correct."""
    labelled = [document for document in documents if document.is_labelled]
    weights = draw_weights([document.group for document in labelled])
    fields: dict[str, dict[str, Any]] = {}
    for field in fields_of(labelled):
        of_field = select_field(labelled, field)
        correct, _, missing = count_values(of_field)
        true = correct + missing
        cells = [cell for document in of_field for cell in document.cells]
        fields[field] = {
            "values": int(true.sum()),
            "right": int(correct.sum()),
            "accuracy": share(correct.sum(), true.sum()),
            "interval": bootstrap_interval(correct, true, weights),
            "missing": sum(cell.read is None for cell in cells),
            "surplus": sum(cell.true is None for cell in cells),
        }
    return {
        "documents": len(labelled),
        "groups": len({document.group for document in labelled}),
        "tiers": {tier: _score_tier(labelled, tier, weights) for tier in TIERS},
        "fields": fields,
        "lists": _score_lists(labelled),
    }


def fields_of(documents: Sequence[JudgedDocument]) -> list[str]:
    """The fields with a value in the truth of any document, or with one that was read where there is none."""
    return list(dict.fromkeys(cell.field for document in documents for cell in document.cells))


def select_field(documents: Sequence[JudgedDocument], field: str) -> list[JudgedDocument]:
    """The documents with their values of one field alone."""
    return [
        replace(document, cells=[cell for cell in document.cells if cell.field == field])
        for document in documents
    ]


def draw_weights(groups: Sequence[str]) -> Floats:
    """Draw the bootstrap weights of the documents, by groups; shape (draws, documents).

    A group's documents are drawn together: those of one vendor are correct or wrong together.
    """
    names = {name: index for index, name in enumerate(dict.fromkeys(groups))}
    generator = np.random.default_rng(0)
    if not names:
        return np.zeros((DRAWS, 0))
    shares = np.full(len(names), 1 / len(names))
    weights = generator.multinomial(len(names), shares, size=DRAWS).astype(np.float64)
    return weights[:, [names[group] for group in groups]]


def bootstrap_interval(tops: Floats, bottoms: Floats, weights: Floats) -> Interval:
    """The 95 % bootstrap interval of the sum of tops over that of bottoms."""
    if not len(tops) or not bottoms.sum():
        return None
    above, below = weights @ tops, weights @ bottoms
    values = above[below > 0] / below[below > 0]
    low, high = (float(value) for value in np.quantile(values, [_TAIL, 1 - _TAIL]))
    mean = float(tops.sum() / bottoms.sum())
    if high - low < _EPSILON and (mean < _EPSILON or abs(mean - 1) < _EPSILON):
        # All documents are alike, and so is every draw; the next document may still be different.
        return wilson_interval(mean, int((bottoms > 0).sum()))
    return low, high


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of independent trials."""
    scale = 1 + _Z**2 / count
    middle = (share + _Z**2 / (2 * count)) / scale
    half = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def count_values(documents: Sequence[JudgedDocument], tier: Tier = HEADLINE) -> tuple[Floats, Floats, Floats]:
    """The numbers of correct, of wrong or surplus, and of wrong or missing values of each document."""
    correct = np.array([sum(tier in cell.tiers for cell in row.cells) for row in documents], np.float64)
    read = np.array([sum(cell.read is not None for cell in row.cells) for row in documents], np.float64)
    true = np.array([sum(cell.true is not None for cell in row.cells) for row in documents], np.float64)
    return correct, read - correct, true - correct


def _score_tier(documents: Sequence[JudgedDocument], tier: Tier, weights: Floats) -> dict[str, Any]:
    correct, surplus, missing = count_values(documents, tier)
    whole = np.array([all(tier in cell.tiers for cell in row.cells) for row in documents], np.float64)
    return {
        "precision": share(correct.sum(), (correct + surplus).sum()),
        "recall": share(correct.sum(), (correct + missing).sum()),
        "f1": share(2 * correct.sum(), (2 * correct + surplus + missing).sum()),
        "f1_interval": bootstrap_interval(2 * correct, 2 * correct + surplus + missing, weights),
        "values": int((correct + missing).sum()),
        "documents_right": share(whole.sum(), len(documents)),
        "documents_right_interval": bootstrap_interval(whole, np.ones(len(documents)), weights),
    }


def _score_lists(documents: Sequence[JudgedDocument]) -> dict[str, Any]:
    """The scores of each list, over the values of all its items."""
    counts: dict[str, list[int]] = {}
    for cell in (cell for document in documents for cell in document.cells if "[]" in cell.field):
        count = counts.setdefault(cell.field.partition("[]")[0], [0, 0, 0])
        count[0] += cell.is_right
        count[1] += cell.read is not None
        count[2] += cell.true is not None
    return {
        name: {
            "precision": share(correct, read),
            "recall": share(correct, true),
            "f1": share(2 * correct, read + true),
            "values": true,
        }
        for name, (correct, read, true) in counts.items()
    }


def share(part: float, whole: float) -> float | None:
    """The quotient; None if there is nothing to divide by."""
    return float(part) / float(whole) if whole else None


def score_types(documents: Sequence[JudgedDocument]) -> dict[str, Any] | None:
    """Macro-F1 over the true types and the confusion matrix; None if the truth names no types.

    confusion: by true type, the number of documents classified as each type.
    """
    pairs = Counter(
        (document.true_type, document.read_type or NOT_READ)
        for document in documents
        if document.true_type is not None
    )
    if not pairs:
        return None
    types: dict[str, dict[str, Any]] = {}
    confusion: dict[str, dict[str, int]] = {}
    for name in sorted({true for true, _ in pairs}):
        confusion[name] = {read: count for (true, read), count in sorted(pairs.items()) if true == name}
        true_count = sum(confusion[name].values())
        read_count = sum(count for (_, read), count in pairs.items() if read == name)
        types[name] = {
            "documents": true_count,
            "precision": share(pairs[name, name], read_count),
            "recall": share(pairs[name, name], true_count),
            "f1": 2 * pairs[name, name] / (true_count + read_count),
        }
    return {
        "documents": pairs.total(),
        "accuracy": share(sum(pairs[name, name] for name in types), pairs.total()),
        "macro_f1": sum(scores["f1"] for scores in types.values()) / len(types),
        "types": types,
        "confusion": confusion,
    }


def score_confidences(documents: Sequence[JudgedDocument]) -> dict[str, Any] | None:
    """Coverage, precision and calibration error of the confidences; None if nothing was read.

    coverage: the share of all values, missing ones too, above a threshold from which 99 % are correct; it is
    chosen on one half of the groups and used on the other, both ways round. ece: over ten ranges of
    confidence, of the values that were read. curve: from the most confident to all that were read, the
    threshold, the share of all values taken above it and the share of these that is wrong.
    """
    halves = {name: index % 2 for index, name in enumerate(sorted({row.group for row in documents}))}
    cells = [(document, cell) for document in documents for cell in document.cells]
    proofs = [document.evidence.get(cell.path or "", {}) for document, cell in cells]
    # The confidence in a value that was not read is below any threshold.
    confidences = np.array(
        [
            -1.0 if cell.path is None else float(proof.get("confidence", 0.0))
            for (_, cell), proof in zip(cells, proofs, strict=True)
        ]
    )
    correct = np.array([cell.is_right for _, cell in cells], np.bool_)
    second = np.array([halves[document.group] == 1 for document, _ in cells], np.bool_)
    read = confidences >= 0
    if not read.any():
        return None
    taken = np.zeros(len(cells), np.bool_)
    for half in (second, ~second):
        levels = np.unique(confidences[half & read])
        precise = [level for level in levels if correct[half & (confidences >= level)].mean() >= PRECISION]
        taken |= ~half & (confidences >= min(precise, default=_NEVER))
    return {
        "values": int(read.sum()),
        "precision_wanted": PRECISION,
        "coverage": share(int(taken.sum()), len(taken)),
        "precision": share(int((taken & correct).sum()), int(taken.sum())),
        "ece": calibration_error(confidences[read], correct[read]),
        "curve": risk_coverage_curve(confidences, correct),
    }


def calibration_error(confidences: Floats, correct: NDArray[np.bool_]) -> float:
    """The expected calibration error over ten ranges of confidence."""
    bins = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    members = [bins == index for index in np.unique(bins)]
    gaps = [abs(confidences[member].mean() - correct[member].mean()) * member.mean() for member in members]
    return float(sum(gaps))


def risk_coverage_curve(confidences: Floats, correct: NDArray[np.bool_]) -> list[dict[str, float]]:
    """Risk and coverage (El-Yaniv and Wiener, 2010) at even shares of the values that were read.

    Those with a confidence below zero were not.
    """
    read = np.sort(confidences[confidences >= 0])[::-1]
    lasts = np.ceil(np.arange(1, _POINTS + 1) / _POINTS * len(read)).astype(int) - 1
    points: list[dict[str, float]] = []
    for level in np.unique(read[lasts])[::-1].tolist():
        taken = confidences >= level
        risk = float(1 - correct[taken].mean())
        points.append({"threshold": level, "coverage": float(taken.mean()), "risk": risk})
    return points
