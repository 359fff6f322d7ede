"""One value for each field of a user's schema: period ends together, and no place for two fields."""

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.candidates import AnyCandidate
from docmill.understanding.fields.findings import Finding, finding_of, share_of_value
from docmill.understanding.fields.meaning import FieldMeaning, words_of
from docmill.understanding.fields.scoring import CHECKED, Scored, is_whole

_NAMED = 0.15
"""The least label strength of a value whose form does not tell the field."""
_SURE = 4.0
"""A score that needs no label."""
_PAIR = 1.0
_ALONE = 1.0
"""What it counts for the ends of a period to be written together, and against others."""
_RIVALS = 8

Scores = NDArray[np.float64]
Place = tuple[int, int, int]
"""The index of a segment, and the first and last character (exclusive) in it."""


def find_periods(meanings: Sequence[FieldMeaning]) -> dict[str, str]:
    """The fields that are the two ends of one period: path of the start to path of the end."""

    def stem(meaning: FieldMeaning) -> list[str]:
        words = words_of(meaning.path.replace("_", " "))
        return [word for word in words if word not in ("start", "end")]

    starts = [meaning for meaning in meanings if meaning.role == "start" and meaning.form == "date"]
    ends = [meaning for meaning in meanings if meaning.role == "end" and meaning.form == "date"]
    periods: dict[str, str] = {}
    for start in starts:
        matches = [end for end in ends if stem(end) == stem(start)]
        if not matches and len(starts) == len(ends) == 1:
            matches = ends
        if matches:
            periods[start.path] = matches[0].path
    return periods


def score_period(candidates: Sequence[AnyCandidate], starts: Scores, ends: Scores) -> tuple[Scores, Scores]:
    """The scores of both ends of a period: a pair written as one shares what speaks for either."""
    starts, ends = starts.copy(), ends.copy()
    together = np.zeros(len(candidates), np.bool_)
    for index, (candidate, following) in enumerate(pairwise(candidates)):
        if candidate.role == "start" and following.role == "end":
            starts[index] = ends[index + 1] = 0.5 * (starts[index] + ends[index + 1]) + _PAIR
            together[index : index + 2] = True
    starts[~together] -= _ALONE
    ends[~together] -= _ALONE
    return starts, ends


def choose_values(fields: Mapping[str, Scored], periods: Mapping[str, str]) -> dict[str, Finding]:
    """The findings, by path. periods: see `find_periods`; their scores are those of `score_period`."""
    best = {path: int(field.scores.argmax()) for path, field in fields.items() if field.candidates}
    for start, end in periods.items():
        if start in best and end in best:
            best[start], best[end] = _in_order(fields[start], fields[end], best[start], best[end])
    partners = {**periods, **{end: start for start, end in periods.items()}}
    taken: dict[Place, str] = {}
    findings: dict[str, Finding] = {}
    for path in sorted(best, key=lambda path: -float(fields[path].labels[best[path]])):
        field, index = fields[path], best[path]
        places = [(each.segment.index, each.start, each.stop) for each in field.candidates]
        is_free = [taken.get(place) in (None, partners.get(path)) for place in places]
        if not is_free[index]:
            index = int(np.where(is_free, field.scores, -np.inf).argmax())
        if is_free[index] and field.scores[index] > field.meaning.null and _is_named(field, index):
            taken[places[index]] = path
            scores: list[float] = field.scores.tolist()
            share = share_of_value(field.candidates, scores, index, null=field.meaning.null)
            findings[path] = finding_of(field.candidates[index], share)
    return findings


def _is_named(field: Scored, index: int) -> bool:
    """True if a label, the form of the value or corrections tell that the value is the field's."""
    return bool(
        field.is_taught
        or field.meaning.form in CHECKED
        or (is_whole(field.meaning) and not field.candidates[index].plain)
        or field.scores[index] > _SURE
        or field.labels[index] >= _NAMED
    )


def _in_order(start: Scored, end: Scored, first: int, last: int) -> tuple[int, int]:
    """The best start and end, of which the start is not later."""

    def is_ordered(first: int, last: int) -> bool:
        begin, stop = start.candidates[first].value, end.candidates[last].value
        return not (isinstance(begin, date) and isinstance(stop, date)) or begin <= stop

    if is_ordered(first, last):
        return first, last
    leading: list[list[int]] = [
        np.argsort(-field.scores, kind="stable")[:_RIVALS].tolist() for field in (start, end)
    ]
    fitting = [
        (float(start.scores[begin] + end.scores[stop]), begin, stop)
        for begin, stop in product(*leading)
        if is_ordered(begin, stop)
    ]
    return max(fitting)[1:] if fitting else (first, last)
