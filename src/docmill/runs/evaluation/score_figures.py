"""Scores of documents added up to figures with intervals, and compared with those of an earlier report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from docmill.errors import MisconfiguredError
from docmill.evaluation.metrics import Floats, Interval, bootstrap_interval, draw_weights, share
from docmill.evaluation.report import SIGNIFICANCE, Ratio, compare_ratios, documents_of, pair_documents
from docmill.runs.roles import Score

ScoresOfDocument = Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Figure:
    """A score over all documents. value: None if there is nothing to compare. interval: of 95 %.

    documents: the number of those that have the score. parts: by field or name.
    """

    value: float | None
    interval: Interval
    documents: int
    parts: Mapping[str, "Figure"] = field(default_factory=dict[str, "Figure"])


@dataclass(frozen=True, slots=True)
class Regression:
    """A figure that has fallen. name: of the score; for a part of it, `score: part`.

    interval: of the difference, at the level at which it is told.
    """

    name: str
    before: float
    now: float
    difference: float
    interval: tuple[float, float]


def check_score(score: object, evaluator: str) -> Score:
    """The score. Raises MisconfiguredError if it is none, or has values that cannot be added up."""
    if not isinstance(score, Score):
        raise MisconfiguredError(f"{evaluator} returned {type(score).__name__}; it must be a list of scores")
    values = [score.value, score.weight, *score.parts.values(), *score.part_weights.values()]
    weights = [score.weight, *score.part_weights.values()]
    if not all(map(math.isfinite, values)) or min(weights) < 0:
        raise MisconfiguredError(
            f"{evaluator} returned a score {score.name!r} with a value that cannot be used"
        )
    return score


def add_up(scores: Sequence[ScoresOfDocument], groups: Sequence[str]) -> dict[str, Figure]:
    """The figures of all scores, in the order in which they come. groups: of the documents."""
    weights = draw_weights(groups)
    figures: dict[str, Figure] = {}
    for name in _names(scores):
        parts = {part: _figure(_ratio(scores, name, part), weights) for part in _part_names(scores, name)}
        whole = _figure(_ratio(scores, name), weights)
        figures[name] = Figure(whole.value, whole.interval, whole.documents, parts)
    return figures


def compare_scores(before: Mapping[str, Any], now: Mapping[str, Any], *, tolerance: float) -> dict[str, Any]:
    """The changes of all figures since an earlier report, over the documents that both have.

    tolerance: by how much a figure may fall. A greater fall is a regression only if the 95 % interval of the
    paired difference is below zero, too; the parts of a score share its significance level. not_compared:
    figures that only one report has. Raises MisconfiguredError if there is nothing to compare.
    """
    paired = pair_documents(documents_of(before), documents_of(now))
    weights = draw_weights([new.group for _, new in paired.pairs])
    sources = [new.source for _, new in paired.pairs]
    old, new = ([scores_of(report)[source] for source in sources] for report in (before, now))
    names = [name for name in _names(new) if name in _names(old)]
    if not names:
        raise MisconfiguredError("the baseline has none of these figures; nothing can be compared")
    changes: dict[str, dict[str, Any]] = {}
    for name in names:
        ratios = _ratio(old, name), _ratio(new, name)
        changes[name] = compare_ratios(*ratios, weights, significance=SIGNIFICANCE, allowed=tolerance)
        parts = list(dict.fromkeys([*_part_names(old, name), *_part_names(new, name)]))
        for part in parts:
            first, second = _ratio(old, name, part), _ratio(new, name, part)
            if all(map(np.array_equal, first, second)):
                continue
            changes[f"{name}: {part}"] = compare_ratios(
                first, second, weights, significance=SIGNIFICANCE / len(parts), allowed=tolerance
            )
    return {
        **paired.describe(),
        "tolerance": tolerance,
        "scores": changes,
        "not_compared": sorted({*_names(old)} ^ {*_names(new)}),
        "regressions": [name for name, change in changes.items() if change["is_regression"]],
    }


def regressions_of(comparison: Mapping[str, Any]) -> list[Regression]:
    """The regressions of a comparison, as it stands in a report."""
    changes = comparison["scores"]
    return [
        Regression(
            name,
            changes[name]["before"],
            changes[name]["now"],
            changes[name]["difference"],
            (changes[name]["interval"][0], changes[name]["interval"][1]),
        )
        for name in comparison["regressions"]
    ]


def describe_score(score: Score) -> dict[str, Any]:
    """A score of a document as JSON."""
    return {
        "value": score.value,
        "weight": score.weight,
        "parts": {
            name: {"value": value, "weight": score.part_weights.get(name, 1.0)}
            for name, value in score.parts.items()
        },
    }


def scores_of(report: Mapping[str, Any]) -> dict[str, ScoresOfDocument]:
    """The scores of the documents of a report, by source; of a document without scores, none."""
    return {
        row["source"]: {
            name: Score(
                name,
                score["value"],
                {part: value["value"] for part, value in score["parts"].items()},
                score["weight"],
                {part: value["weight"] for part, value in score["parts"].items()},
            )
            for name, score in row.get("scores", {}).items()
        }
        for row in report["documents"]
    }


def describe_figure(figure: Figure) -> dict[str, Any]:
    """A figure as JSON."""
    content: dict[str, Any] = {
        "value": figure.value,
        "interval": figure.interval,
        "documents": figure.documents,
    }
    if figure.parts:
        content["parts"] = {name: describe_figure(part) for name, part in figure.parts.items()}
    return content


def figure_of(content: Mapping[str, Any]) -> Figure:
    """The figure that `describe_figure` wrote."""
    interval = content["interval"]
    return Figure(
        content["value"],
        None if interval is None else (interval[0], interval[1]),
        content["documents"],
        {name: figure_of(part) for name, part in content.get("parts", {}).items()},
    )


def _names(scores: Sequence[ScoresOfDocument]) -> list[str]:
    return list(dict.fromkeys(name for of_document in scores for name in of_document))


def _part_names(scores: Sequence[ScoresOfDocument], name: str) -> list[str]:
    rows = [of_document[name].parts for of_document in scores if name in of_document]
    return list(dict.fromkeys(part for row in rows for part in row))


def _ratio(scores: Sequence[ScoresOfDocument], name: str, part: str | None = None) -> Ratio:
    """What is above and below the line of a score, or of a part of it, in each document."""
    values, weights = np.zeros(len(scores)), np.zeros(len(scores))
    for index, of_document in enumerate(scores):
        score = of_document.get(name)
        if score is None or (part is not None and part not in score.parts):
            continue
        values[index] = score.value if part is None else score.parts[part]
        weights[index] = score.weight if part is None else score.part_weights.get(part, 1.0)
    return values * weights, weights


def _figure(ratio: Ratio, weights: Floats) -> Figure:
    above, below = ratio
    return Figure(
        share(above.sum(), below.sum()), bootstrap_interval(above, below, weights), int((below > 0).sum())
    )
