"""Scores of candidates for a user's fields: a linear model of how well each matches, learned for each form.

The weights come from `bench.fit.field_scorer`. A score is on the scale of natural logarithms: the softmax
over the candidates of a field and its `null`, the score of no value, gives their probabilities.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import AnyCandidate, Candidates
from docmill.understanding.fields.match_features import match_features
from docmill.understanding.fields.meaning import FieldMeaning
from docmill.understanding.fields.name_candidates import find_names

_DASH = re.compile(r"[-\u2013] ")
_LETTER_BEFORE = re.compile(r"[^\W\d_]\)? $")

Weights = Mapping[str, float]
"""By the name of a feature."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The scored candidates of a field.

    labels: the label strength of each. is_taught: the scores contain learned weights.
    """

    meaning: FieldMeaning
    candidates: Sequence[AnyCandidate]
    labels: NDArray[np.float64]
    scores: NDArray[np.float64]
    is_taught: bool = False

    def only(self, indices: Sequence[int]) -> "Scored":
        """The field with these of its candidates."""
        return replace(
            self,
            candidates=[self.candidates[index] for index in indices],
            labels=self.labels[list(indices)],
            scores=self.scores[list(indices)],
        )


@cache
def _weights_of_forms() -> Mapping[str, Weights]:
    content = resources.files(__package__ or "").joinpath("scorer.json").read_text(encoding="utf-8")
    return json.loads(content)


def weights_of(form: str) -> Weights:
    """The weights for fields of a form; those of forms that nothing was learned for are alike."""
    forms = _weights_of_forms()
    return forms.get(form) or forms["other"]


def linear_score(features: Mapping[str, float], weights: Weights) -> float:
    """The weighted sum of the features of a candidate, with the offset."""
    return weights.get("offset", 0.0) + sum(
        weights.get(name, 0.0) * value for name, value in features.items()
    )


@once
def score_candidates(candidates: Candidates, meaning: FieldMeaning) -> Scored:
    """The candidates of a field with their scores by label, place and form."""
    offered = offered_candidates(candidates, meaning)
    labels, rows = match_features(candidates, meaning, offered)
    weights = weights_of(meaning.form)
    scores = [linear_score(features, weights) for features in rows]
    return Scored(meaning, offered, np.array(labels, np.float64), np.array(scores, np.float64))


def offered_candidates(candidates: Candidates, meaning: FieldMeaning) -> Sequence[AnyCandidate]:
    """The candidates that have the form of a field's values."""
    match meaning.form:
        case "name":
            return find_names(candidates, meaning)
        case "text":
            return [*candidates.codes, *candidates.short_texts, *find_names(candidates, meaning)]
        case "choice":
            return candidates.choices(meaning.choices)
        case "standard number":
            return [*candidates.standard_numbers(meaning.formats), *candidates.codes]
        case _:
            return [_without_dash(candidate) for candidate in candidates.of_form(meaning.form)]


def _without_dash(candidate: AnyCandidate) -> AnyCandidate:
    """A number without the dash that parts it from its label: `Meter reading - 4,120` is no negative one."""
    value = candidate.value
    if not isinstance(value, Decimal) or value >= 0:
        return candidate
    is_dash = _DASH.match(candidate.text) and _LETTER_BEFORE.search(candidate.segment.text[: candidate.start])
    return replace(candidate, value=-value) if is_dash else candidate
