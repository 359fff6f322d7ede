"""Rows of lists on a page: each item is placed on the row on which most of its values stand together."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.locate.labels import LabelScorer
from docmill.understanding.locate.occurrences import Occurrence

SAME_ROW = 0.7
"""Text heights by which the middles of two values on one row may differ."""
FARTHEST = 6.0
"""Text heights from its row at which a value of an item still belongs to it."""
PLAIN = 0.25
"""What a short value says about the row it stands on, against a telling one."""
_COLUMN = 3.0
"""What it counts to stand in the column of the field's other values."""
_LABEL = 0.2

Numbers: TypeAlias = NDArray[np.float64]
Item = Mapping[str, Sequence[Occurrence]]
"""The places of each value of an item, by the value's path."""


class _Row(NamedTuple):
    """A printed line."""

    page_index: int
    middle: float
    height: float

    def holds(self, place: Occurrence) -> bool:
        is_near = abs(place.middle - self.middle) <= SAME_ROW * self.height
        return is_near and place.sheet.page_index == self.page_index


def place_items(items: Sequence[Item], labels: LabelScorer) -> dict[str, Occurrence]:
    """For each path a place on its item's row, or between the rows of the items before and after."""
    rows, row_of = _rows(items)
    row_of_item = _align([_row_scores(item, row_of, len(rows)) for item in items], rows)
    options: list[dict[str, list[Occurrence]]] = []
    columns: dict[str, list[float]] = defaultdict(list)
    for index, item in enumerate(items):
        row = row_of_item[index]
        if row is None:
            continue
        before = next((other for other in reversed(row_of_item[:index]) if other is not None), None)
        after = next((other for other in row_of_item[index + 1 :] if other is not None), None)
        places = {path: near for path, near in _near_row(item, row, before, after).items() if near}
        options.append(places)
        for path, near in places.items():
            if len(near) == 1:
                columns[_leaf(path)].append(near[0].centre)
    result: dict[str, Occurrence] = {}
    for places in options:
        result.update(_assign(places, columns, labels))
    return result


def _rows(items: Sequence[Item]) -> tuple[list[_Row], dict[int, int]]:
    """The rows on which any value of any item stands, and the row of each place, by its id."""
    places = {id(place): place for item in items for among in item.values() for place in among}
    rows: list[_Row] = []
    row_of: dict[int, int] = {}
    for place in sorted(places.values(), key=lambda place: (place.sheet.page_index, place.middle)):
        if not rows or not rows[-1].holds(place):
            height = max(place.segment.height, place.sheet.text_height)
            rows.append(_Row(place.sheet.page_index, place.middle, height))
        row_of[id(place)] = len(rows) - 1
    return rows, row_of


def _row_scores(item: Item, row_of: Mapping[int, int], count: int) -> Numbers:
    """The number of the item's values on each row, short ones counting less."""
    total = np.zeros(count)
    for among in item.values():
        scores = np.zeros(count)
        for place in among:
            row = row_of[id(place)]
            scores[row] = max(scores[row], PLAIN if place.is_plain else place.trust)
        total += scores
    return total


def _align(scores: Sequence[Numbers], rows: Sequence[_Row]) -> list[_Row | None]:
    """One row for each item, the items from top to bottom; those that fit in no such order have none."""
    bests = [np.zeros(len(rows) + 1)]
    for of_item in scores:
        with_it = np.where(of_item > 0, of_item + bests[-1][:-1], 0.0)
        bests.append(np.maximum(bests[-1], np.concatenate([[0.0], np.maximum.accumulate(with_it)])))
    chosen: list[_Row | None] = [None] * len(scores)
    top = len(rows)
    for index in range(len(scores) - 1, -1, -1):
        before, after = bests[index], bests[index + 1]
        if after[top] > before[top]:
            of_item = scores[index][:top]
            top = int(np.argmax(np.where(of_item > 0, of_item + before[:top], 0.0)))
            chosen[index] = rows[top]
    return chosen


def _near_row(item: Item, row: _Row, before: _Row | None, after: _Row | None) -> dict[str, list[Occurrence]]:
    """The places of an item's values on its row, or on a line near it that shows more of the item.

    before, after: the rows of the items before and after it.
    """

    def is_between(place: Occurrence) -> bool:
        page_index, middle = place.sheet.page_index, place.middle
        return (
            page_index == row.page_index
            and abs(middle - row.middle) <= FARTHEST * row.height
            and (before is None or before.page_index != page_index or middle > before.middle)
            and (after is None or after.page_index != page_index or middle < after.middle)
        )

    places: dict[str, list[Occurrence]] = {}
    lines: list[_Row] = []
    for path, among in item.items():
        places[path] = [place for place in among if row.holds(place)]
        if not places[path]:
            telling = [place for place in among if not place.is_plain and is_between(place)]
            places[path] = sorted(telling, key=lambda place: abs(place.middle - row.middle))[:1]
            for place in places[path]:
                height = max(place.segment.height, place.sheet.text_height)
                lines.append(_Row(place.sheet.page_index, place.middle, height))
    for path, among in item.items():
        places[path] = places[path] or [place for place in among if any(line.holds(place) for line in lines)]
    return places


def _assign(
    places: Mapping[str, list[Occurrence]], columns: Mapping[str, list[float]], labels: LabelScorer
) -> dict[str, Occurrence]:
    """One place for each value of a row, each place for one value as far as there are enough."""

    def fit(path: str, place: Occurrence) -> float:
        known = columns.get(_leaf(path))
        column = _COLUMN * max(0.0, 1 - 20 * abs(place.centre - median(known))) if known else 0.0
        return column + _LABEL * labels.score(path, place) + place.trust

    scored = [
        (fit(path, place), -order, path, place)
        for order, (path, among) in enumerate(places.items())
        for place in among
    ]
    result: dict[str, Occurrence] = {}
    used: set[tuple[int, int]] = set()
    for _, _, path, place in sorted(scored, key=lambda entry: entry[:2], reverse=True):
        where = (id(place.segment), place.spans[0].start)
        if path not in result and where not in used:
            result[path] = place
            used.add(where)
    for path, among in places.items():  # a number that is printed once and says two things
        if path not in result and not among[0].is_plain:
            result[path] = among[0]
    return result


def _leaf(path: str) -> str:
    return path.rpartition(".")[2]
