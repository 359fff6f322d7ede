"""Lists of things on a page: which row shows which item, found by the values that stand on it together."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.locate.labels import Labels
from docmill.understanding.locate.sheets import Sighting

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
Item = Mapping[str, Sequence[Sighting]]
"""The places of each value of an item, by the value's path."""


class _Row(NamedTuple):
    """A line of print."""

    page_index: int
    middle: float
    height: float

    def holds(self, one: Sighting) -> bool:
        return (
            one.sheet.page_index == self.page_index
            and abs(one.middle - self.middle) <= SAME_ROW * self.height
        )


def placed(items: Sequence[Item], labels: Labels) -> dict[str, Sighting]:
    """For each path the place that shows it, on its item's row or between the rows of its neighbours."""
    rows, row_of = _rows(items)
    chosen = _aligned([_scores(item, row_of, len(rows)) for item in items], rows)
    options: list[dict[str, list[Sighting]]] = []
    columns: dict[str, list[float]] = defaultdict(list)
    for index, item in enumerate(items):
        row = chosen[index]
        found = _of_item(item, row, _neighbours(chosen, index)) if row else {}
        options.append({path: near for path, near in found.items() if near})
        for path, near in options[-1].items():
            if len(near) == 1:
                columns[_leaf(path)].append(near[0].centre)
    result: dict[str, Sighting] = {}
    for found in options:
        result.update(_assigned(found, columns, labels))
    return result


def _rows(items: Sequence[Item]) -> tuple[list[_Row], dict[int, int]]:
    """The rows on which any value of any item stands, and which row each place is on."""
    sightings = {id(one): one for item in items for among in item.values() for one in among}
    rows: list[_Row] = []
    row_of: dict[int, int] = {}
    for one in sorted(sightings.values(), key=lambda one: (one.sheet.page_index, one.middle)):
        if not rows or not rows[-1].holds(one):
            height = max(one.segment.height, one.sheet.text_height)
            rows.append(_Row(one.sheet.page_index, one.middle, height))
        row_of[id(one)] = len(rows) - 1
    return rows, row_of


def _scores(item: Item, row_of: Mapping[int, int], count: int) -> Numbers:
    """How many of the item's values stand on each row, plain ones counting less."""
    total = np.zeros(count)
    for among in item.values():
        own = np.zeros(count)
        for one in among:
            own[row_of[id(one)]] = max(own[row_of[id(one)]], PLAIN if one.is_plain else one.trust)
        total += own
    return total


def _aligned(scores: Sequence[Numbers], rows: Sequence[_Row]) -> list[_Row | None]:
    """One row for each item, the items from top to bottom; those that fit in no such order have none."""
    bests = [np.zeros(len(rows) + 1)]
    for own in scores:
        with_it = np.where(own > 0, own + bests[-1][:-1], 0.0)
        bests.append(np.maximum(bests[-1], np.concatenate([[0.0], np.maximum.accumulate(with_it)])))
    chosen: list[_Row | None] = [None] * len(scores)
    top = len(rows)
    for index in range(len(scores) - 1, -1, -1):
        before, after = bests[index], bests[index + 1]
        if after[top] > before[top]:
            own = scores[index][:top]
            top = int(np.argmax(np.where(own > 0, own + before[:top], 0.0)))
            chosen[index] = rows[top]
    return chosen


def _of_item(item: Item, row: _Row, between: tuple[_Row | None, _Row | None]) -> dict[str, list[Sighting]]:
    """The places of an item's values: on its row, or on a line near it that shows more of the item."""
    found = {path: _near(among, row, between) for path, among in item.items()}
    lines = [one for near in found.values() for one in near if not row.holds(one)]
    for path, among in item.items():
        found[path] = found[path] or [one for one in among if any(_on_line(one, line) for line in lines)]
    return found


def _on_line(one: Sighting, other: Sighting) -> bool:
    same_page = one.sheet.page_index == other.sheet.page_index
    height = max(other.segment.height, other.sheet.text_height)
    return same_page and abs(one.middle - other.middle) <= SAME_ROW * height


def _near(among: Sequence[Sighting], row: _Row, between: tuple[_Row | None, _Row | None]) -> list[Sighting]:
    """Those on the row; else, of a telling value, the nearest before the rows of the neighbours."""
    on_it = [one for one in among if row.holds(one)]
    if on_it:
        return on_it
    around = [one for one in among if not one.is_plain and _is_between(one, row, between)]
    return sorted(around, key=lambda one: abs(one.middle - row.middle))[:1]


def _is_between(one: Sighting, row: _Row, between: tuple[_Row | None, _Row | None]) -> bool:
    before, after = between
    if one.sheet.page_index != row.page_index or abs(one.middle - row.middle) > FARTHEST * row.height:
        return False
    below = before is None or before.page_index != row.page_index or one.middle > before.middle
    above = after is None or after.page_index != row.page_index or one.middle < after.middle
    return below and above


def _neighbours(chosen: Sequence[_Row | None], index: int) -> tuple[_Row | None, _Row | None]:
    before = next((row for row in reversed(chosen[:index]) if row is not None), None)
    after = next((row for row in chosen[index + 1 :] if row is not None), None)
    return before, after


def _assigned(
    found: Mapping[str, list[Sighting]], columns: Mapping[str, list[float]], labels: Labels
) -> dict[str, Sighting]:
    """One place for each value of a row, each place for one value as far as there are enough."""
    scored = [
        (_fit(path, one, columns, labels), -order, path, one)
        for order, (path, among) in enumerate(found.items())
        for one in among
    ]
    result: dict[str, Sighting] = {}
    used: set[tuple[int, int]] = set()
    for _, _, path, one in sorted(scored, key=lambda entry: entry[:2], reverse=True):
        where = (id(one.segment), one.spans[0].start)
        if path not in result and where not in used:
            result[path] = one
            used.add(where)
    for path, among in found.items():  # a number that is printed once and says two things
        if path not in result and not among[0].is_plain:
            result[path] = among[0]
    return result


def _fit(path: str, one: Sighting, columns: Mapping[str, list[float]], labels: Labels) -> float:
    known = columns.get(_leaf(path))
    column = _COLUMN * max(0.0, 1 - 20 * abs(one.centre - median(known))) if known else 0.0
    return column + _LABEL * labels.score(path, one) + one.trust


def _leaf(path: str) -> str:
    return path.rpartition(".")[2]
