"""Calibration of the confidences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.evaluation.metrics import JudgedDocument, share

PRECISION = 0.99
_BINS = 10
_NEVER = 2.0
_POINTS = 20
"""Of the curve; confidences that are equal can make them fewer."""


class _Answers(NamedTuple):
    """belief: of a value that was not read it is below any threshold."""

    belief: NDArray[np.float64]
    right: NDArray[np.bool_]
    second: NDArray[np.bool_]


def score_confidences(documents: Sequence[JudgedDocument]) -> dict[str, Any] | None:
    """Compute coverage, precision and calibration error; None where nothing was read.

    coverage: the share of all values, missing ones too, above a threshold that lets through 99 % right ones;
    it is found on one half of the groups and used on the other, both ways round. ece: over ten ranges of
    confidence, of the values that were read. curve: from the surest to all that were read, the threshold, the
    share of all values taken above it and the share of these that is wrong.
    """
    answers = _answers(documents)
    read = answers.belief >= 0
    if not read.any():
        return None
    taken = _taken(answers)
    return {
        "values": int(read.sum()),
        "precision_wanted": PRECISION,
        "coverage": share(int(taken.sum()), len(taken)),
        "precision": share(int((taken & answers.right).sum()), int(taken.sum())),
        "ece": _calibration_error(answers.belief[read], answers.right[read]),
        "curve": _curve(answers),
    }


def _answers(documents: Sequence[JudgedDocument]) -> _Answers:
    halves = {name: index % 2 for index, name in enumerate(sorted({one.group for one in documents}))}
    rows = [
        (_belief(one, cell.path), cell.is_right, halves[one.group] == 1)
        for one in documents
        for cell in one.cells
    ]
    belief, right, second = zip(*rows, strict=True) if rows else ((), (), ())
    return _Answers(np.array(belief, float), np.array(right, bool), np.array(second, bool))


def _belief(document: JudgedDocument, path: str | None) -> float:
    if path is None:
        return -1.0
    return float(document.evidence.get(path, {}).get("confidence", 0.0))


def _taken(answers: _Answers) -> NDArray[np.bool_]:
    taken = np.zeros(len(answers.belief), bool)
    for half in (answers.second, ~answers.second):
        learnt = half & (answers.belief >= 0)
        threshold = _threshold(answers.belief[learnt], answers.right[learnt])
        taken |= ~half & (answers.belief >= threshold)
    return taken


def _threshold(belief: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """The lowest confidence from which enough are right."""
    levels = np.unique(belief)
    fine = [level for level in levels if right[belief >= level].mean() >= PRECISION]
    return float(min(fine, default=_NEVER))


def _curve(answers: _Answers) -> list[dict[str, float]]:
    """Risk and coverage (El-Yaniv and Wiener, 2010), at shares of what was read that are even."""
    read = np.sort(answers.belief[answers.belief >= 0])[::-1]
    lasts = np.ceil(np.arange(1, _POINTS + 1) / _POINTS * len(read)).astype(int) - 1
    levels = np.unique(read[lasts])[::-1]
    points: list[dict[str, float]] = []
    for level in levels.tolist():
        taken = answers.belief >= level
        risk = float(1 - answers.right[taken].mean())
        points.append({"threshold": level, "coverage": float(taken.mean()), "risk": risk})
    return points


def _calibration_error(belief: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    bins = np.minimum((belief * _BINS).astype(int), _BINS - 1)
    return float(
        sum(
            abs(belief[bins == one].mean() - right[bins == one].mean()) * (bins == one).mean()
            for one in np.unique(bins)
        )
    )
