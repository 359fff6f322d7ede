"""One value for each field: the ends of a period together, and no place for two fields."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.findings import Finding, probabilities
from docmill.understanding.fields.meaning import FieldMeaning, words_of
from docmill.understanding.fields.schema_candidates import AnyCandidate
from docmill.understanding.fields.scoring import CHECKED, Scored, is_whole

_NAMED = 0.15
_SURE = 4.0
_PAIR = 1.0
_ALONE = 1.0
_RIVALS = 8

Scores = NDArray[np.float64]
Place = tuple[int, int, int]


def paired(meanings: Sequence[FieldMeaning]) -> dict[str, str]:
    """The fields that are the two ends of one period: path of the start to path of the end."""
    starts = [one for one in meanings if one.role == "start" and one.form == "date"]
    ends = [one for one in meanings if one.role == "end" and one.form == "date"]
    found: dict[str, str] = {}
    for start in starts:
        match = [end for end in ends if _stem(end) == _stem(start)]
        if not match and len(starts) == len(ends) == 1:
            match = ends
        if match:
            found[start.path] = match[0].path
    return found


def _stem(meaning: FieldMeaning) -> tuple[str, ...]:
    words = words_of(meaning.path.replace("_", " "))
    return tuple(word for word in words if word not in ("start", "end"))


def joined(candidates: Sequence[AnyCandidate], starts: Scores, ends: Scores) -> tuple[Scores, Scores]:
    """The scores of both ends of a period: a pair written as one shares what speaks for either."""
    starts, ends = starts.copy(), ends.copy()
    together = np.zeros(len(candidates), np.bool_)
    for index, (one, other) in enumerate(pairwise(candidates)):
        if one.role == "start" and other.role == "end":
            starts[index] = ends[index + 1] = 0.5 * (starts[index] + ends[index + 1]) + _PAIR
            together[index : index + 2] = True
    starts[~together] -= _ALONE
    ends[~together] -= _ALONE
    return starts, ends


def chosen(fields: Mapping[str, Scored], pairs: Mapping[str, str]) -> dict[str, Finding]:
    """The findings, by path. pairs: see `paired`; their scores are `joined`."""
    best = {path: _best(one) for path, one in fields.items()}
    for start, end in pairs.items():
        best[start], best[end] = _in_order(fields[start], fields[end], best[start], best[end])
    partner = {**pairs, **{end: start for start, end in pairs.items()}}
    taken: dict[Place, str] = {}
    found: dict[str, Finding] = {}
    by_label = sorted(best, key=lambda path: -_label(fields[path], best[path]))
    for path in by_label:
        one = fields[path]
        free = [taken.get(_place(candidate)) in (None, partner.get(path)) for candidate in one.candidates]
        index = best[path] if best[path] >= 0 and free[best[path]] else _best(one, free)
        if index >= 0 and one.scores[index] > one.meaning.null and _is_named(one, index):
            candidate = one.candidates[index]
            taken[_place(candidate)] = path
            found[path] = Finding(candidate.value, candidate.spans, _share(one, index))
    return found


def _is_named(one: Scored, index: int) -> bool:
    """Whether anything beside the value says that it is the field's, where its form does not."""
    if (
        one.is_taught
        or one.meaning.form in CHECKED
        or (is_whole(one.meaning) and not one.candidates[index].plain)
    ):
        return True
    return bool(one.scores[index] > _SURE or one.labels[index] >= _NAMED)


def _place(candidate: AnyCandidate) -> Place:
    span = candidate.spans[0]
    return (span.segment.index, span.start, span.stop)


def _label(one: Scored, index: int) -> float:
    return float(one.labels[index]) if index >= 0 else -1.0


def _best(one: Scored, free: Sequence[bool] | None = None) -> int:
    """The index of the best candidate; -1 if there is none."""
    if not one.candidates or (free is not None and not any(free)):
        return -1
    scores = one.scores if free is None else np.where(free, one.scores, -np.inf)
    return int(scores.argmax())


def _in_order(start: Scored, end: Scored, first: int, last: int) -> tuple[int, int]:
    """The best start and end, of which the start is not later."""
    if first < 0 or last < 0 or _before(start.candidates[first], end.candidates[last]):
        return first, last
    firsts, lasts = _leading(start), _leading(end)
    fitting: list[tuple[float, int, int]] = [
        (float(start.scores[one] + end.scores[other]), one, other)
        for one in firsts
        for other in lasts
        if _before(start.candidates[one], end.candidates[other])
    ]
    if not fitting:
        return first, last
    _, first, last = max(fitting)
    return first, last


def _leading(one: Scored) -> list[int]:
    order: list[int] = np.argsort(-one.scores, kind="stable")[:_RIVALS].tolist()
    return order


def _before(start: AnyCandidate, end: AnyCandidate) -> bool:
    return not (isinstance(start.value, date) and isinstance(end.value, date)) or start.value <= end.value


def _share(one: Scored, index: int) -> float:
    """The share of belief of a value among all others and none."""
    best: dict[object, float] = {}
    for candidate, score in zip(one.candidates, one.scores.tolist(), strict=True):
        best[candidate.key] = max(best.get(candidate.key, -math.inf), score)
    keys = list(best)
    shares = probabilities(list(best.values()), null=one.meaning.null)
    return shares[keys.index(one.candidates[index].key)]
