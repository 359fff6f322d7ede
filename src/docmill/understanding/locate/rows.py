"""Rows of lists on a page: each item is placed on the row on which most of its values stand together."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, Self

import numpy as np

from docmill.understanding.locate.labels import LabelScorer
from docmill.understanding.locate.searched_pages import Occurrence

SAME_ROW = 0.7
"""Text heights by which the middles of two values on one row may differ."""
FARTHEST = 6.0
"""Text heights from its row at which a value of an item still belongs to it."""
PLAIN = 0.25
"""The weight of a short value in the choice of a row, against a telling one."""
_COLUMN = 3.0
"""The score for standing in the column of the field's other values."""
_LABEL = 0.2

Item = Mapping[str, Sequence[Occurrence]]
"""The places of each value of an item, by the value's path."""


class _Row(NamedTuple):
    """A printed line."""

    page_index: int
    middle: float
    height: float

    @classmethod
    def of(cls, place: Occurrence) -> Self:
        return cls(place.sheet.page_index, place.middle, max(place.segment.height, place.sheet.text_height))

    def holds(self, place: Occurrence) -> bool:
        is_near = abs(place.middle - self.middle) <= SAME_ROW * self.height
        return is_near and place.sheet.page_index == self.page_index


def place_items(items: Sequence[Item], labels: LabelScorer) -> dict[str, Occurrence]:
    """For each path a place on its item's row, or between the rows of the items before and after."""
    row_of_item = _align(items)
    options: list[dict[str, list[Occurrence]]] = []
    columns: dict[str, list[float]] = defaultdict(list)
    for index, (item, row) in enumerate(zip(items, row_of_item, strict=True)):
        if row is None:
            continue
        before = next((other for other in reversed(row_of_item[:index]) if other is not None), None)
        after = next((other for other in row_of_item[index + 1 :] if other is not None), None)
        places = {path: near for path, near in _near_row(item, row, before, after).items() if near}
        options.append(places)
        for path, near in places.items():
            if len(near) == 1:
                columns[_leaf(path)].append(near[0].centre)
    centres = {leaf: median(column) for leaf, column in columns.items()}
    result: dict[str, Occurrence] = {}
    for places in options:
        result.update(_assign(places, centres, labels))
    return result


def _align(items: Sequence[Item]) -> list[_Row | None]:
    """One row for each item, the items from top to bottom; those that fit in no such order have none."""
    every = {id(place): place for item in items for among in item.values() for place in among}
    rows: list[_Row] = []
    row_of: dict[int, int] = {}
    for place in sorted(every.values(), key=lambda place: (place.sheet.page_index, place.middle)):
        if not rows or not rows[-1].holds(place):
            rows.append(_Row.of(place))
        row_of[id(place)] = len(rows) - 1
    scores = np.zeros((len(items), len(rows)))  # the number of the item's values on each row
    for index, item in enumerate(items):
        for among in item.values():
            of_value = np.zeros(len(rows))
            for place in among:
                row = row_of[id(place)]
                of_value[row] = max(of_value[row], PLAIN if place.is_plain else place.trust)
            scores[index] += of_value
    bests = [np.zeros(len(rows) + 1)]
    for of_item in scores:
        with_it = np.where(of_item > 0, of_item + bests[-1][:-1], 0.0)
        bests.append(np.maximum(bests[-1], np.concatenate([[0.0], np.maximum.accumulate(with_it)])))
    chosen: list[_Row | None] = [None] * len(items)
    top = len(rows)
    for index in range(len(items) - 1, -1, -1):
        if bests[index + 1][top] > bests[index][top]:
            of_item = scores[index][:top]
            top = int(np.argmax(np.where(of_item > 0, of_item + bests[index][:top], 0.0)))
            chosen[index] = rows[top]
    return chosen


def _near_row(item: Item, row: _Row, before: _Row | None, after: _Row | None) -> dict[str, list[Occurrence]]:
    """The places of an item's values on its row, or on a line near it that shows more of the item.

    before, after: the rows of the items before and after it.
    """
    low = before.middle if before is not None and before.page_index == row.page_index else -math.inf
    high = after.middle if after is not None and after.page_index == row.page_index else math.inf
    places: dict[str, list[Occurrence]] = {}
    lines: list[_Row] = []
    for path, among in item.items():
        places[path] = [place for place in among if row.holds(place)]
        if not places[path]:
            telling = [
                place
                for place in among
                if not place.is_plain
                and place.sheet.page_index == row.page_index
                and abs(place.middle - row.middle) <= FARTHEST * row.height
                and low < place.middle < high
            ]
            places[path] = sorted(telling, key=lambda place: abs(place.middle - row.middle))[:1]
            lines.extend(_Row.of(place) for place in places[path])
    for path, among in item.items():
        places[path] = places[path] or [place for place in among if any(line.holds(place) for line in lines)]
    return places


def _assign(
    places: Mapping[str, list[Occurrence]], centres: Mapping[str, float], labels: LabelScorer
) -> dict[str, Occurrence]:
    """One place for each value of a row, each place for one value as far as there are enough.

    centres: of the columns, by the name of the field.
    """
    scored: list[tuple[float, int, str, Occurrence]] = []
    for order, (path, among) in enumerate(places.items()):
        centre = centres.get(_leaf(path), math.inf)
        for place in among:
            column = _COLUMN * max(0.0, 1 - 20 * abs(place.centre - centre))
            scored.append((column + _LABEL * labels.score(path, place) + place.trust, -order, path, place))
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
