"""Regions of a page that are read one after the other: columns of text, a side bar, what stands above them.

A page is cut where a river of white parts two texts that have nothing to do with each other. A label and its
value, or the cells of a table's row, are parted by a river too; they stay together: without a reason to cut,
there is no cut.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]

BINS_PER_HEIGHT = 4
"""Across the page, whiteness is looked at in steps of a quarter of the text's height."""
MAX_BINS = 600
LEAST_ROWS = 3
"""On each side of a river; two rows side by side prove nothing."""
MOST_RIVERS = 8
"""The longest rivers of a region that are looked at."""
MOST_CUTS = 40
NARROWEST = 0.8
"""River between two columns of running text, in text heights."""
NARROWEST_APART = 2.0
"""River between texts whose lines stand at different heights."""
FILLED = 0.7
"""Share of its column's width that a line of running text fills, except at the end of a paragraph."""
RUNNING_ROWS = 4
RUNNING_SHARE = 0.55
"""Share of lines that are filled where text runs."""
RUNNING_LENGTH = 14
"""Characters of a line of running text."""
SAME_HEIGHT = 0.2
"""Lines whose lower edges or middles differ by less, in text heights, stand side by side."""
INDEPENDENT = 0.6
"""Two texts are sides of which fewer of the shorter one's lines stand beside a line of the other."""
DENSE = 2.3
"""Lines of one text follow each other within that many text heights."""
DENSE_SHARE = 0.7
"""Share of lines that must follow so closely."""
TABLE_PIECES = 3
"""A row of so many pieces, all but one short, at a river's end is a table's that begins or ends there."""
PLAIN = 1.25
"""Pieces per row of a text; a table has more."""
MOST_DIGITS = 0.4
LABELLED = 0.6
"""Share of lines that begin with a label and a colon where the right side is a list of fields."""
LEFT_LABELS = 0.2
"""Share of lines on the left side that may end in a colon: those would lose their value."""
WIDE_COLON = "\uff1a"


class Traits(NamedTuple):
    """What is known of each piece: its length, its digits, whether a colon stands in it or at its end."""

    lengths: NDArray[np.intp]
    digits: NDArray[np.intp]
    colon_within: NDArray[np.bool_]
    colon_last: NDArray[np.bool_]


def traits(texts: Sequence[str]) -> Traits:
    """Of pieces with these texts."""
    return Traits(
        np.array([len(text) for text in texts], np.intp),
        np.array([sum(map(str.isdigit, text)) for text in texts], np.intp),
        np.array([":" in text or WIDE_COLON in text for text in texts], np.bool_),
        np.array([text.endswith((":", WIDE_COLON)) for text in texts], np.bool_),
    )


@dataclass(frozen=True, slots=True)
class _River:
    """White from x0 to x1 through rows `first` to `last`, which have text on both sides."""

    first: int
    last: int
    x0: float
    x1: float


def regions(boxes: NDArray[np.float32], row_of: Indices, texts: Callable[[], Sequence[str]]) -> list[Indices]:
    """Indices of the pieces of each region, in reading order.

    boxes: shape (n, 4), any unit. row_of: the row of each piece over the page's whole width, from the top.
    texts: gives those of the pieces; few pages need it.
    """
    height = max(float(np.median(boxes[:, 3] - boxes[:, 1])), 1e-6)
    page = _Region(boxes, row_of, texts, height)
    found: list[Indices] = []
    waiting = [np.arange(len(boxes))]
    cuts = 0
    while waiting:
        part = waiting.pop()
        parts = page.cut(part) if cuts < MOST_CUTS else None
        if parts is None:
            found.append(part)
        else:
            cuts += 1
            waiting.extend(reversed(parts))
    return found


class _Region:
    """The pieces of a page, and how to cut a part of them."""

    def __init__(
        self,
        boxes: NDArray[np.float32],
        row_of: Indices,
        texts: Callable[[], Sequence[str]],
        height: float,
    ) -> None:
        self._boxes = boxes
        self._row_of = row_of
        self._texts = texts
        self._height = height

    @cached_property
    def _known(self) -> Traits:
        return traits(self._texts())

    def cut(self, part: Indices) -> list[Indices] | None:
        """Above, left, right and below of the longest river that parts two texts; None if there is none."""
        row_of = self._row_of[part]
        if len(part) < 2 * LEAST_ROWS or row_of.max() - row_of.min() < LEAST_ROWS - 1:
            return None
        middles = (self._boxes[part, 0] + self._boxes[part, 2]) / 2
        for river in self._rivers(part):
            within = (row_of >= river.first) & (row_of <= river.last)
            is_left = middles < (river.x0 + river.x1) / 2
            left, right = part[within & is_left], part[within & ~is_left]
            if self._apart(left, right, river.x1 - river.x0):
                parts = [part[row_of < river.first], left, right, part[row_of > river.last]]
                return [one for one in parts if len(one)]
        return None

    def _rivers(self, part: Indices) -> Iterator[_River]:
        """The part's rivers, those with most text on both sides first."""
        boxes, row_of = self._boxes[part], self._row_of[part]
        first_row = int(row_of.min())
        low, high = float(boxes[:, 0].min()), float(boxes[:, 2].max())
        bins = min(MAX_BINS, int((high - low) / self._height * BINS_PER_HEIGHT)) + 1
        step = max((high - low) / bins, 1e-9)
        taken = _taken(boxes, row_of - first_row, (low, step), bins)
        starts, stops, columns = _white_runs(taken)
        beside = _beside(taken, starts, stops, columns)
        enough = np.flatnonzero(beside >= LEAST_ROWS)
        order = enough[np.argsort(-beside[enough], kind="stable")]
        found: set[tuple[int, int]] = set()
        for index in order.tolist():
            first, stop = int(starts[index]), int(stops[index])
            if (first, stop) in found:
                continue
            found.add((first, stop))
            if len(found) > MOST_RIVERS:
                return
            river = _widened(taken, first, stop, int(columns[index]))
            if (river[1] - river[0]) * step < NARROWEST * self._height:
                continue
            yield self._trimmed(
                part,
                (first + first_row, stop - 1 + first_row),
                (low + river[0] * step, low + river[1] * step),
            )

    def _trimmed(self, part: Indices, rows: tuple[int, int], edges: tuple[float, float]) -> _River:
        """A river from where both sides have begun to where one ends, without a table's rows there."""
        count = rows[1] - rows[0] + 1
        row_of = self._row_of[part] - rows[0]
        within = (row_of >= 0) & (row_of < count)
        is_left = self._boxes[part, 0] < (edges[0] + edges[1]) / 2
        left = np.bincount(row_of[within & is_left], minlength=count)
        right = np.bincount(row_of[within & ~is_left], minlength=count)
        short = within & (self._known.lengths[part] < RUNNING_LENGTH)
        few_short = np.bincount(row_of[short], minlength=count) < TABLE_PIECES - 1
        text = np.flatnonzero((left == 0) | (right == 0) | (left + right < TABLE_PIECES) | few_short)
        kept = np.zeros(count, np.bool_)
        if len(text):
            kept[text[0] : text[-1] + 1] = True
        on_left, on_right = np.flatnonzero(kept & (left > 0)), np.flatnonzero(kept & (right > 0))
        if not len(on_left) or not len(on_right):
            return _River(rows[0], rows[0], *edges)
        first, last = max(on_left[0], on_right[0]), min(on_left[-1], on_right[-1])
        return _River(rows[0] + int(first), rows[0] + int(last), *edges)

    def _apart(self, left: Indices, right: Indices, width: float) -> bool:
        """Whether two sides are texts of their own."""
        if not all(len(side) >= LEAST_ROWS and self._has_letters(side) for side in (left, right)):
            return False
        sides = _Side(self, left), _Side(self, right)
        if min(len(side.tops) for side in sides) < LEAST_ROWS or not all(side.reads() for side in sides):
            return False
        if all(side.runs() for side in sides):
            return True
        if width < NARROWEST_APART * self._height:
            return False
        plain = all(side.is_plain() for side in sides)
        return (plain and sides[0].share_beside(sides[1]) < INDEPENDENT) or self._labelled(*sides)

    def _has_letters(self, pieces: Indices) -> bool:
        digits, length = self._known.digits[pieces].sum(), self._known.lengths[pieces].sum()
        return bool(digits <= MOST_DIGITS * length)

    def _labelled(self, left: "_Side", right: "_Side") -> bool:
        """Whether fields stand right of something that needs no value."""
        return bool(
            self._known.colon_within[right.firsts].mean() >= LABELLED
            and self._known.colon_last[left.lasts].mean() <= LEFT_LABELS
        )

    def side(self, pieces: Indices) -> tuple[NDArray[np.float32], Indices, Indices, float]:
        """What a side is made of."""
        return self._boxes[pieces], self._row_of[pieces], self._known.lengths[pieces], self._height


class _Side:
    """The rows on one side of a river."""

    def __init__(self, region: _Region, pieces: Indices) -> None:
        boxes, row_of, lengths, self._height = region.side(pieces)
        order = np.lexsort((boxes[:, 0], row_of))
        rows = row_of[order]
        starts = np.concatenate([[0], np.flatnonzero(rows[1:] != rows[:-1]) + 1])
        ends = np.append(starts[1:], len(order)) - 1
        self._order, self._starts = order, starts
        self.firsts = pieces[order[starts]]
        self.lasts = pieces[order[ends]]
        self.tops = np.minimum.reduceat(boxes[order, 1], starts)
        self.bottoms = np.maximum.reduceat(boxes[order, 3], starts)
        self._left = np.minimum.reduceat(boxes[order, 0], starts)
        self._right = np.maximum.reduceat(boxes[order, 2], starts)
        self._lengths = np.add.reduceat(lengths[order], starts)
        self._count = len(pieces)

    def runs(self) -> bool:
        """Whether lines of text fill the column."""
        if len(self.tops) < RUNNING_ROWS:
            return False
        count = len(self.tops)
        if self._count > 2 * count or sorted(self._lengths.tolist())[count // 2] < RUNNING_LENGTH:
            return False
        left, right = sorted(self._left.tolist())[count // 10], sorted(self._right.tolist())[-1 - count // 10]
        filled = np.count_nonzero((self._right - self._left) >= FILLED * (right - left))
        return bool(filled >= RUNNING_SHARE * count)

    def reads(self) -> bool:
        """Whether the rows stand close enough to each other to be one text."""
        near = (np.diff(self.tops) <= DENSE * self._height).tolist()
        return sum(near) >= DENSE_SHARE * len(near)

    def is_plain(self) -> bool:
        """Whether most rows are one piece."""
        return self._count <= PLAIN * len(self.tops)

    def share_beside(self, other: "_Side") -> float:
        """The share of the shorter side's rows that stand at the height of a row of the other."""
        few, many = sorted((self, other), key=lambda side: len(side.tops))
        low = np.abs(few.bottoms[:, None] - many.bottoms)
        middle = np.abs(few.tops[:, None] + few.bottoms[:, None] - many.tops - many.bottoms) / 2
        return float((np.minimum(low, middle).min(axis=1) < SAME_HEIGHT * self._height).mean())


def _taken(
    boxes: NDArray[np.float32], row_of: Indices, scale: tuple[float, float], bins: int
) -> NDArray[np.bool_]:
    """Where text stands: shape (rows, bins)."""
    low, step = scale
    begin = np.clip(((boxes[:, 0] - low) / step).astype(int), 0, bins - 1)
    end = np.clip(np.ceil((boxes[:, 2] - low) / step).astype(int), begin + 1, bins)
    edges = np.zeros((int(row_of.max()) + 1, bins + 1), np.int32)
    np.add.at(edges, (row_of, begin), 1)
    np.add.at(edges, (row_of, end), -1)
    return edges.cumsum(axis=1)[:, :bins] > 0


def _white_runs(taken: NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
    """First row, row after the last, and bin of every stretch of white from top to bottom."""
    rows, bins = taken.shape
    padded = np.ones((bins, rows + 2), np.int8)
    padded[:, 1:-1] = taken.T
    steps = np.diff(padded, axis=1)
    columns, starts = np.nonzero(steps == -1)
    _, stops = np.nonzero(steps == 1)
    return starts, stops, columns


def _beside(taken: NDArray[np.bool_], starts: Indices, stops: Indices, columns: Indices) -> Indices:
    """For each stretch of white, on how many rows text stands at the side that has fewer."""
    rows, bins = taken.shape
    left = np.zeros((rows + 1, bins), np.int32)
    right = np.zeros((rows + 1, bins), np.int32)
    left[1:] = np.logical_or.accumulate(taken, axis=1).cumsum(axis=0)
    right[1:] = np.logical_or.accumulate(taken[:, ::-1], axis=1)[:, ::-1].cumsum(axis=0)
    return np.minimum(
        left[stops, columns] - left[starts, columns], right[stops, columns] - right[starts, columns]
    ).astype(np.intp)


def _widened(taken: NDArray[np.bool_], first: int, stop: int, column: int) -> tuple[int, int]:
    """The bins around `column` that are white through the same rows."""
    blocked = np.flatnonzero(taken[first:stop].any(axis=0))
    at = int(np.searchsorted(blocked, column))
    return int(blocked[at - 1]) + 1, int(blocked[at])
