"""Reading order by geometry alone: regions of a page, their rows, lines and blocks.

A page is cut into regions (columns of text, a side bar, a heading above them) where a river of white parts
two unrelated texts. A label and its value, or the cells of a table's row, are parted by a river too; they
stay together: without a reason to cut, there is no cut.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Words

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
"""Two texts are independent if fewer of the shorter one's lines stand beside a line of the other."""
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
SAME_ROW = 0.5
"""Largest distance between two centres of one row, in heights of the lower piece."""
SIDE_BY_SIDE = 0.3
"""Largest share of the narrower of two pieces of one row that may be above or below the other."""
ROW_WINDOW = 8
"""A piece belongs to one of the last rows, this many at most, since pieces are sorted by height."""
BLOCK_GAP = 0.9
"""A vertical gap of more than this many row heights starts a new block."""


class _Traits(NamedTuple):
    """Features of each piece: length, number of digits, a colon within or at its end."""

    lengths: NDArray[np.intp]
    digits: NDArray[np.intp]
    colon_within: NDArray[np.bool_]
    colon_last: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _River:
    """White from x0 to x1 through rows `first` to `last`, which have text on both sides."""

    first: int
    last: int
    x0: float
    x1: float


@dataclass
class _PagePieces:
    """The pieces of a page, and how to cut a part of them.

    boxes: shape (n, 4), any unit. row_of: the row of each piece over the page's whole width, from the top.
    words: of the page; starts, stops: of each piece among them.
    """

    boxes: NDArray[np.float32]
    row_of: Indices
    words: Sequence[str]
    starts: Sequence[int]
    stops: Sequence[int]

    def __post_init__(self) -> None:
        self.height = max(float(np.median(self.boxes[:, 3] - self.boxes[:, 1])), 1e-6)

    @cached_property
    def traits(self) -> _Traits:
        """Computed when first needed, which few pages do."""
        texts = [
            " ".join(self.words[start:stop]) for start, stop in zip(self.starts, self.stops, strict=True)
        ]
        return _Traits(
            np.array([len(text) for text in texts], np.intp),
            np.array([sum(map(str.isdigit, text)) for text in texts], np.intp),
            np.array([":" in text or WIDE_COLON in text for text in texts], np.bool_),
            np.array([text.endswith((":", WIDE_COLON)) for text in texts], np.bool_),
        )

    def cut(self, part: Indices) -> list[Indices] | None:
        """Cut at the longest river between two texts: above, left, right, below; None if there is none."""
        row_of = self.row_of[part]
        if len(part) < 2 * LEAST_ROWS or row_of.max() - row_of.min() < LEAST_ROWS - 1:
            return None
        middles = (self.boxes[part, 0] + self.boxes[part, 2]) / 2
        for river in self._rivers(part):
            within = (row_of >= river.first) & (row_of <= river.last)
            is_left = middles < (river.x0 + river.x1) / 2
            left, right = part[within & is_left], part[within & ~is_left]
            if self._are_independent(left, right, river.x1 - river.x0):
                parts = [part[row_of < river.first], left, right, part[row_of > river.last]]
                return [indices for indices in parts if len(indices)]
        return None

    def _rivers(self, part: Indices) -> Iterator[_River]:
        """The part's rivers, those with most text on both sides first."""
        boxes, row_of = self.boxes[part], self.row_of[part]
        first_row = int(row_of.min())
        low, high = float(boxes[:, 0].min()), float(boxes[:, 2].max())
        bins = min(MAX_BINS, int((high - low) / self.height * BINS_PER_HEIGHT)) + 1
        step = max((high - low) / bins, 1e-9)
        # Mask of the places with text: shape (rows, bins).
        begin = np.clip(((boxes[:, 0] - low) / step).astype(int), 0, bins - 1)
        end = np.clip(np.ceil((boxes[:, 2] - low) / step).astype(int), begin + 1, bins)
        edges = np.zeros((int(row_of.max()) - first_row + 1, bins + 1), np.int32)
        np.add.at(edges, (row_of - first_row, begin), 1)
        np.add.at(edges, (row_of - first_row, end), -1)
        taken = edges.cumsum(axis=1)[:, :bins] > 0
        starts, stops, columns, beside = _white_runs(taken)
        enough = np.flatnonzero(beside >= LEAST_ROWS)
        order = enough[np.argsort(-beside[enough], kind="stable")]
        seen: set[tuple[int, int]] = set()
        for index in order.tolist():
            first, stop = int(starts[index]), int(stops[index])
            if (first, stop) in seen:
                continue
            seen.add((first, stop))
            if len(seen) > MOST_RIVERS:
                return
            # The bins around the column that are white through the same rows.
            blocked = np.flatnonzero(taken[first:stop].any(axis=0))
            at = int(np.searchsorted(blocked, int(columns[index])))
            left, right = int(blocked[at - 1]) + 1, int(blocked[at])
            if (right - left) * step >= NARROWEST * self.height:
                rows = first + first_row, stop - 1 + first_row
                yield self._trimmed_river(part, rows, (low + left * step, low + right * step))

    def _trimmed_river(self, part: Indices, rows: tuple[int, int], edges: tuple[float, float]) -> _River:
        """A river from where both sides have begun to where one ends, without a table's rows there."""
        count = rows[1] - rows[0] + 1
        row_of = self.row_of[part] - rows[0]
        within = (row_of >= 0) & (row_of < count)
        is_left = self.boxes[part, 0] < (edges[0] + edges[1]) / 2
        left = np.bincount(row_of[within & is_left], minlength=count)
        right = np.bincount(row_of[within & ~is_left], minlength=count)
        short = within & (self.traits.lengths[part] < RUNNING_LENGTH)
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

    def _are_independent(self, left: Indices, right: Indices, width: float) -> bool:
        """True if the two sides of a river of this width are texts of their own."""
        traits = self.traits
        for side in (left, right):
            if len(side) < LEAST_ROWS or traits.digits[side].sum() > MOST_DIGITS * traits.lengths[side].sum():
                return False
        sides = _Side(self, left), _Side(self, right)
        if any(len(side.tops) < LEAST_ROWS or not side.is_dense for side in sides):
            return False
        if all(side.is_running() for side in sides):
            return True
        if width < NARROWEST_APART * self.height:
            return False
        if all(side.is_plain for side in sides) and sides[0].share_beside(sides[1]) < INDEPENDENT:
            return True
        # A list of fields to the right of text that needs no value.
        return bool(
            traits.colon_within[sides[1].firsts].mean() >= LABELLED
            and traits.colon_last[sides[0].lasts].mean() <= LEFT_LABELS
        )


class _Side:
    """The rows on one side of a river.

    is_dense: they are close enough to each other to be one text. is_plain: most rows are one piece.
    """

    def __init__(self, page: _PagePieces, pieces: Indices) -> None:
        boxes, row_of = page.boxes[pieces], page.row_of[pieces]
        order = np.lexsort((boxes[:, 0], row_of))
        rows = row_of[order]
        starts = np.concatenate([[0], np.flatnonzero(rows[1:] != rows[:-1]) + 1])
        ends = np.append(starts[1:], len(order)) - 1
        self.firsts = pieces[order[starts]]
        self.lasts = pieces[order[ends]]
        self.tops = np.minimum.reduceat(boxes[order, 1], starts)
        self.bottoms = np.maximum.reduceat(boxes[order, 3], starts)
        self._left = np.minimum.reduceat(boxes[order, 0], starts)
        self._right = np.maximum.reduceat(boxes[order, 2], starts)
        self._lengths = np.add.reduceat(page.traits.lengths[pieces][order], starts)
        self._count = len(pieces)
        self._height = page.height
        near = (np.diff(self.tops) <= DENSE * page.height).tolist()
        self.is_dense = sum(near) >= DENSE_SHARE * len(near)
        self.is_plain = len(pieces) <= PLAIN * len(self.tops)

    def is_running(self) -> bool:
        """True if lines of running text fill the column."""
        count = len(self.tops)
        if count < RUNNING_ROWS:
            return False
        if self._count > 2 * count or sorted(self._lengths.tolist())[count // 2] < RUNNING_LENGTH:
            return False
        left, right = sorted(self._left.tolist())[count // 10], sorted(self._right.tolist())[-1 - count // 10]
        filled = np.count_nonzero((self._right - self._left) >= FILLED * (right - left))
        return bool(filled >= RUNNING_SHARE * count)

    def share_beside(self, other: "_Side") -> float:
        """The share of the shorter side's rows that stand at the height of a row of the other."""
        few, many = sorted((self, other), key=lambda side: len(side.tops))
        low = np.abs(few.bottoms[:, None] - many.bottoms)
        middle = np.abs(few.tops[:, None] + few.bottoms[:, None] - many.tops - many.bottoms) / 2
        return float((np.minimum(low, middle).min(axis=1) < SAME_HEIGHT * self._height).mean())


def _white_runs(taken: NDArray[np.bool_]) -> tuple[Indices, Indices, Indices, Indices]:
    """Stretches of white from top to bottom: first row, row after the last, bin, and rows with text beside.

    The last is the number of rows with text at the side that has fewer.
    """
    rows, bins = taken.shape
    padded = np.ones((bins, rows + 2), np.int8)
    padded[:, 1:-1] = taken.T
    steps = np.diff(padded, axis=1)
    columns, starts = np.nonzero(steps == -1)
    _, stops = np.nonzero(steps == 1)
    left = np.zeros((rows + 1, bins), np.int32)
    right = np.zeros((rows + 1, bins), np.int32)
    left[1:] = np.logical_or.accumulate(taken, axis=1).cumsum(axis=0)
    right[1:] = np.logical_or.accumulate(taken[:, ::-1], axis=1)[:, ::-1].cumsum(axis=0)
    beside = np.minimum(
        left[stops, columns] - left[starts, columns], right[stops, columns] - right[starts, columns]
    )
    return starts, stops, columns, beside.astype(np.intp)


@dataclass(slots=True)
class _Row:
    """Pieces side by side, and what decides whether another belongs to them."""

    centre: float
    height: float
    members: list[int]
    spans: list[tuple[float, float]]

    def takes(self, x0: float, x1: float) -> bool:
        """True if a piece from x0 to x1 stands beside all members."""
        for left, right in self.spans:
            if right <= x0 or x1 <= left:
                continue
            if min(right, x1) - max(left, x0) > SIDE_BY_SIDE * min(x1 - x0, right - left):
                return False
        return True


def group_rows(boxes: NDArray[np.float32]) -> list[list[int]]:
    """Indices of pieces row by row, top to bottom, each row from left to right.

    boxes: shape (n, 4), any unit, upright pieces that do not span columns.
    """
    heights = np.maximum(boxes[:, 3] - boxes[:, 1], 1e-6)
    centres = (boxes[:, 1] + boxes[:, 3]) / 2
    order: list[int] = np.argsort(centres, kind="stable").tolist()
    rows: list[_Row] = []
    edges = zip(
        boxes[order, 0].tolist(), boxes[order, 2].tolist(), centres[order].tolist(), heights[order].tolist(),
        strict=True,
    )  # fmt: skip
    for piece, (x0, x1, centre, height) in zip(order, edges, strict=True):
        nearest, least_distance = None, SAME_ROW
        for row in rows[-ROW_WINDOW:]:
            distance = abs(centre - row.centre)
            if distance >= least_distance * height:
                continue  # the lower of the two is not higher than the piece
            distance /= min(height, row.height)
            if distance < least_distance and row.takes(x0, x1):
                nearest, least_distance = row, distance
        if nearest is None:
            rows.append(_Row(centre, height, [piece], [(x0, x1)]))
        else:
            count = len(nearest.members)
            nearest.centre = (nearest.centre * count + centre) / (count + 1)
            nearest.height = min(nearest.height, height)
            nearest.members.append(piece)
            nearest.spans.append((x0, x1))
    rows.sort(key=lambda row: row.centre)
    lefts: list[float] = boxes[:, 0].tolist()
    return [sorted(row.members, key=lefts.__getitem__) for row in rows]


def arrange_words(
    pieces: NDArray[np.float32],
    owners: NDArray[np.int32],
    texts: Sequence[str],
    boxes: NDArray[np.float32],
    *,
    confidences: NDArray[np.float32],
) -> Words:
    """Words in reading order.

    pieces: shape (m, 4), upright boxes of stretches of words that belong together, any unit.
    owners: shape (n,), the piece of each word; words of a piece are adjacent and ordered.
    boxes: shape (n, 4), of each word in fractions of the page.
    """
    if not len(texts):
        return Words.none()
    starts = np.searchsorted(owners, np.arange(len(pieces)), side="left").tolist()
    stops = np.searchsorted(owners, np.arange(len(pieces)), side="right").tolist()
    order: list[int] = []
    lines: list[int] = []
    blocks: list[int] = []
    for region in _regions(pieces, starts, stops, texts):
        line_blocks = _block_numbers(region, pieces) + (blocks[-1] + 1 if blocks else 0)
        for members, block in zip(region, line_blocks.tolist(), strict=True):
            before = len(order)
            for piece in members:
                order.extend(range(starts[piece], stops[piece]))
            count = len(order) - before
            lines.extend([lines[-1] + 1 if lines else 0] * count)
            blocks.extend([block] * count)
    return Words(
        texts=[texts[word] for word in order],
        boxes=np.clip(boxes[order], 0, 1).astype(np.float32),
        confidences=confidences[order].astype(np.float32),
        lines=np.array(lines, np.int32),
        blocks=np.array(blocks, np.int32),
    )


def _regions(
    pieces: NDArray[np.float32], starts: Sequence[int], stops: Sequence[int], words: Sequence[str]
) -> list[list[list[int]]]:
    """The rows of each region of the page, in reading order."""
    rows = group_rows(pieces)
    if len(rows) < LEAST_ROWS:
        return [rows]
    row_of = np.empty(len(pieces), np.intp)
    for row, members in enumerate(rows):
        row_of[members] = row
    page = _PagePieces(pieces, row_of, words, starts, stops)
    regions: list[Indices] = []
    waiting = [np.arange(len(pieces))]
    cuts = 0
    while waiting:
        part = waiting.pop()
        parts = page.cut(part) if cuts < MOST_CUTS else None
        if parts is None:
            regions.append(part)
        else:
            cuts += 1
            waiting.extend(reversed(parts))
    if len(regions) == 1:
        return [rows]
    return [[part[row].tolist() for row in group_rows(pieces[part])] for part in regions]


def _block_numbers(rows: list[list[int]], pieces: NDArray[np.float32]) -> NDArray[np.int32]:
    """The block of each row: rows follow each other closely in one block."""
    ordered = pieces[[piece for members in rows for piece in members]]
    starts = np.cumsum([0, *(len(members) for members in rows[:-1])])
    tops, bottoms = np.minimum.reduceat(ordered[:, 1], starts), np.maximum.reduceat(ordered[:, 3], starts)
    gaps = tops[1:] - np.maximum.accumulate(bottoms)[:-1]
    height = float(np.median(bottoms - tops))
    return np.concatenate([[0], np.cumsum(gaps > BLOCK_GAP * height)]).astype(np.int32)
