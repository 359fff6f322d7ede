"""Tables by their headings: where the columns part, which lines are rows, and where a table ends."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.page.labels import CARRIED, LABELS
from docmill.understanding.page.layout import Segment
from docmill.understanding.tables.headings import Heading, HeadingRow, heading_row
from docmill.understanding.tables.printed_lines import PrintedLine, Word, joined
from docmill.understanding.vocabulary import Column, Concept

IsNumber = Callable[[Sequence[Word]], bool]

_BINS = 1000
"""Across the page, where columns part is looked for in thousandths."""
_HEADING_WEIGHT = 2
_GAP = 9.0
"""Line heights without anything that end a table."""
_WRAPPED = 1.3
"""Line heights between a row and a line of text that still belongs to it."""
_ONE_ROW = 0.9
"""Line heights between lines whose numbers are of one row."""
_MOST_TEXT = 4
"""Lines of text below a row that belong to it."""
_MOST_STRAYS = 2
"""Lines in a row that belong to no item, after which only a row with all usual cells is one."""
_ITEM_FIGURES = 3
"""Numbers of an item that no sum has: quantity, price and amount."""
_SUM_LETTERS = 0.5
"""Share of a text's letters that the words of a sum take in a row of sums."""
_REMARK = re.compile(r"^\W*(?:\S+\s+){0,4}?\S*[^\W\d]\s?:(?:\s|\d|$)")
"""A line that says something of its own, such as `Batch: 4711`."""
_SUMS = frozenset(
    {
        Concept.TOTAL,
        Concept.SUBTOTAL,
        Concept.GRAND,
        Concept.GROSS,
        Concept.NET,
        Concept.TAX,
        Concept.DUE,
        Concept.INCLUDING,
        Concept.EXCLUDING,
        Concept.ROUNDING,
        Concept.PAID,
        Concept.OPENING_BALANCE,
        Concept.CLOSING_BALANCE,
    }
)
"""What begins a row of sums."""
_AMOUNTS = frozenset({Column.NET_AMOUNT, Column.GROSS_AMOUNT, Column.DEBIT, Column.CREDIT})
_FIGURES = _AMOUNTS | {
    Column.QUANTITY,
    Column.UNIT_PRICE,
    Column.DISCOUNT,
    Column.TAX_RATE,
    Column.TAX_AMOUNT,
    Column.BALANCE,
}
_TEXTS = (Column.DESCRIPTION, Column.COUNTERPARTY, Column.ARTICLE, Column.REFERENCE)


@dataclass(slots=True)
class Row:
    """A row by columns. figures: those with a number. first: those that have one on its first line.

    above, below: lines of text around its numbers.
    """

    cells: list[list[Word]]
    first: frozenset[int]
    figures: set[int]
    top: float
    bottom: float
    above: list[list[Word]] = field(default_factory=list[list[Word]])
    below: list[list[Word]] = field(default_factory=list[list[Word]])


@dataclass(slots=True)
class Grid:
    """A table. text: the column of the items' names; None if it has none. segments: of its headings."""

    headings: tuple[Heading, ...]
    text: int | None = None
    segments: frozenset[int] = frozenset()
    rows: list[Row] = field(default_factory=list[Row])

    def says(self, column: Column) -> bool:
        """Whether a heading can mean this."""
        return any(column in heading.meanings for heading in self.headings)


class GridReader:
    """Reads the tables of pages one after the other; a table may go on over pages."""

    def __init__(self, is_number: IsNumber) -> None:
        self.grids: list[Grid] = []
        self._is_number = is_number
        self._columns: _Columns | None = None
        self._last: HeadingRow | None = None

    def read(self, lines: Sequence[PrintedLine]) -> bool:
        """Whether the page has rows of a table; they are in `grids`."""
        heads = {at: row for at in range(len(lines)) if (row := heading_row(lines, at)) is not None}
        found, at = self._continued(lines[: min(heads, default=len(lines))]), 0
        while (first := min((head for head in heads if head >= at), default=None)) is not None:
            row = heads[first]
            stop = min((head for head in heads if head >= row.stop), default=len(lines))
            body = _body(lines, row.stop, stop)
            self._table(row, body)
            found |= bool(self.grids[-1].rows)
            at = row.stop + len(body)
        return found

    def _continued(self, lines: Sequence[PrintedLine]) -> bool:
        """Rows at the head of a page on which the table before goes on without headings."""
        columns = self._columns
        if self._last is not None:
            self._table(self._last, _body(lines, 0, len(lines)))
            return bool(self.grids[-1].rows)
        if columns is None or not self.grids[-1].rows:
            return False
        known = [row.figures for row in self.grids[-1].rows]
        least, most = set[int].intersection(*known), set[int].union(*known)
        rows = [row for row in _rows(columns, _body(lines, 0, len(lines))) if least <= row.figures <= most]
        self.grids[-1].rows += rows
        return bool(rows)

    def _table(self, row: HeadingRow, body: Sequence[PrintedLine]) -> None:
        """Take the rows below these headings; the same headings as before go on with their table.

        Headings at the very end of a page are those of the rows on the next.
        """
        self._last = None if body else row
        meanings = [heading.meanings for heading in row.headings]
        columns = _Columns(row, body, self._is_number)
        known = self.grids[-1] if self.grids else None
        if known is None or meanings != [heading.meanings for heading in known.headings]:
            known = Grid(row.headings, columns.text)
            self.grids.append(known)
        known.segments |= row.segments
        self._columns = columns
        known.rows += _rows(columns, body)


def _body(lines: Sequence[PrintedLine], start: int, stop: int) -> list[PrintedLine]:
    """The lines from `start` to `stop` (exclusive) or a large gap."""
    body: list[PrintedLine] = []
    for at in range(start, stop):
        line, before = lines[at], lines[max(0, at - 1)]
        if line.top - before.bottom > _GAP * (line.bottom - line.top):
            break
        body.append(line)
    return body


class _Columns:
    """Where a table's columns part, and what a line is by them."""

    def __init__(self, row: HeadingRow, body: Sequence[PrintedLine], is_number: IsNumber) -> None:
        self._headings = row.headings
        self._is_number = is_number
        filled = [line for line in body if any(map(str.isdecimal, line.text)) and len(line.segments) > 1]
        filled = filled[: next((at for at, line in enumerate(filled) if is_sum(line)), len(filled)) or None]
        self._parts = _partings(row.headings, filled)
        self.text: int | None = None
        cells = [self.cells(line) for line in filled]
        self.text = self._chosen_text(cells)
        self.anchors = self._chosen_anchors([self.cells(line) for line in body])

    def cells(self, line: PrintedLine) -> list[list[Word]]:
        """A line's words by columns; a text that goes on beyond its column stays whole."""
        cells: list[list[Word]] = [[] for _ in self._headings]
        for segment, words in line.by_segment:
            of_text = self.text if self._is_text(segment) else None
            for index, word in enumerate(words):
                whole = of_text is not None and _stays_whole(words[:index])
                cells[of_text if whole and of_text is not None else self._at(word.middle)].append(word)
        return cells

    def _at(self, x: float) -> int:
        return bisect_right(self._parts, x)

    def _is_text(self, segment: Segment) -> bool:
        """Whether a segment begins in the column of names."""
        return self.text is not None and self._at(segment.box.x0) == self.text

    def figures(self, cells: Sequence[Sequence[Word]]) -> set[int]:
        """The columns of numbers in which a row has one."""
        return {
            index
            for index, cell in enumerate(cells)
            if cell
            and index != self.text
            and not _FIGURES.isdisjoint(self._headings[index].meanings)
            and self._is_number(cell)
        }

    def text_of(self, line: PrintedLine) -> list[Word]:
        """The words of a line that go on with the text of an item: those in its column, and no remark."""
        if self.text is None:
            return []
        left, right = self._edges(self.text)
        own = [word for word in line.words if left <= word.middle < right]
        for segment in line.segments:
            wide = segment.box.x1 > right + 0.02
            if wide and any(word.segment is segment for word in own):
                return []
        return [] if _REMARK.match(joined(own)) else own

    def within(self, line: PrintedLine) -> bool:
        """Whether a line stands in the columns of the table, and not only left of its names."""
        return self.text is None or any(word.middle >= self._edges(self.text)[0] for word in line.words)

    def is_item(self, cells: Sequence[Sequence[Word]], figures: set[int]) -> bool:
        """Whether a row has a name and the numbers of an item, or a date, which sums have not."""
        named = self.text is not None and _has_letters(cells[self.text])
        dated = any(
            Column.DATE in heading.meanings and any(map(str.isdecimal, joined(cell)))
            for cell, heading in zip(cells, self._headings, strict=True)
        )
        return dated or (named and len(figures) >= _ITEM_FIGURES)

    def _edges(self, index: int) -> tuple[float, float]:
        edges = [float("-inf"), *self._parts, float("inf")]
        return edges[index], edges[index + 1]

    def _chosen_anchors(self, cells: Sequence[list[list[Word]]]) -> set[int]:
        """The columns one of which has a number in every row: of amounts, else of other numbers."""
        filled = [self.figures(row) for row in cells]
        amounts = {
            index for index, heading in enumerate(self._headings) if not _AMOUNTS.isdisjoint(heading.meanings)
        }
        alone = {index for index in amounts if Column.UNIT_PRICE not in self._headings[index].meanings}
        for columns in (alone, amounts):
            if any(columns & row for row in filled):
                return columns
        return set[int]().union(*filled)

    def _chosen_text(self, cells: Sequence[list[list[Word]]]) -> int | None:
        """The column said to hold the names; else the one with most letters that is not said to be other."""
        letters = [
            sum(sum(map(str.isalpha, joined(row[index]))) for row in cells)
            for index in range(len(self._headings))
        ]
        for kind in _TEXTS:
            own = [index for index, heading in enumerate(self._headings) if kind in heading.meanings]
            if own:
                return max(own, key=lambda index: letters[index])
        unknown = [index for index, heading in enumerate(self._headings) if not heading.meanings]
        best = max(unknown, key=lambda index: letters[index], default=None)
        return best if best is not None and letters[best] else None


def _stays_whole(before: Sequence[Word]) -> bool:
    """Whether what follows belongs to the text before: that ends in a colon."""
    return bool(before) and before[-1].text.endswith(":")


def _partings(headings: Sequence[Heading], lines: Sequence[PrintedLine]) -> list[float]:
    """Between each two headings the place that the fewest words take, the middle of the widest."""
    taken = np.zeros(_BINS + 1, np.int32)
    for x0, x1, weight in (
        *((word.x0, word.x1, 1) for line in lines for word in line.words),
        *((heading.x0, heading.x1, _HEADING_WEIGHT) for heading in headings),
    ):
        taken[max(0, int(x0 * _BINS)) : max(0, int(x1 * _BINS)) + 1] += weight
    return [_parting(taken, one.middle, other.middle) for one, other in pairwise(headings)]


def _parting(taken: NDArray[np.int32], left: float, right: float) -> float:
    first, last = int(left * _BINS), max(int(left * _BINS) + 1, int(right * _BINS))
    part = taken[first:last]
    if not len(part):
        return (left + right) / 2
    free = np.flatnonzero(np.diff(np.concatenate(([False], part == part.min(), [False])).astype(np.int8)))
    starts, stops = free[::2], free[1::2]
    widest = int(np.argmax(stops - starts))
    return (first + (starts[widest] + stops[widest]) / 2) / _BINS


def _rows(columns: _Columns, body: Sequence[PrintedLine]) -> list[Row]:
    """The rows of a table's lines, each with the text around it; sums are none, and end it."""
    rows: list[Row] = []
    between: list[PrintedLine] = []
    strays = 0
    for line in body:
        cells = columns.cells(line)
        figures = columns.figures(cells)
        if _is_carried(line, figures, columns):
            between = []
        elif is_sum(line) and not columns.is_item(cells, figures):
            _shared(columns, rows, between, None)
            between, strays = [], _MOST_STRAYS
        elif figures and rows and not between and _is_same_row(rows[-1], line, cells, figures, columns):
            _merge(rows[-1], line, cells, figures)
        elif _begins(line, cells, figures, columns):
            if strays >= _MOST_STRAYS and not _is_alike(rows, figures):
                break
            strays = 0
            row = Row(cells, frozenset(figures), figures, line.top, line.bottom)
            _shared(columns, rows, between, row)
            rows.append(row)
            between = []
        else:
            strays += not columns.text_of(line)
            between.append(line)
    _shared(columns, rows, between, None)
    return [row for row in rows if row.figures & columns.anchors]


def _is_alike(rows: Sequence["Row"], figures: set[int]) -> bool:
    """Whether a row has a number in each column in which every row before has one."""
    return not rows or frozenset[int].intersection(*(row.first for row in rows)) <= figures


def _begins(line: PrintedLine, cells: Sequence[Sequence[Word]], figures: set[int], columns: _Columns) -> bool:
    """Whether a line has numbers of a row and something else."""
    if len(line.segments) == 1 and len(cells) > 2 and figures:  # noqa: PLR2004 - a name and an amount stand apart
        return len(figures) > 1
    return (
        bool(figures) and sum(map(bool, cells)) > 1 and (len(figures) > 1 or bool(figures & columns.anchors))
    )


def _is_same_row(
    row: "Row", line: PrintedLine, cells: Sequence[Sequence[Word]], figures: set[int], columns: _Columns
) -> bool:
    """Whether a line has the numbers that the row above lacks: cells of one row at different heights."""
    near = line.top - row.bottom < _ONE_ROW * (line.bottom - line.top)
    named = columns.text is not None and _has_letters(cells[columns.text])
    missing = not row.figures & columns.anchors or not figures & columns.anchors
    return near and not row.figures & figures and (missing or not named)


def _merge(row: "Row", line: PrintedLine, cells: Sequence[list[Word]], figures: set[int]) -> None:
    row.figures |= figures
    row.bottom = max(row.bottom, line.bottom)
    for index, words in enumerate(cells):
        if index in figures or not row.cells[index] or not any(map(str.isdecimal, joined(words))):
            row.cells[index].extend(words)


def _is_carried(line: PrintedLine, figures: set[int], columns: _Columns) -> bool:
    """Whether a line brings a sum from one page to the next."""
    if figures - columns.anchors:
        return False
    text = " ".join(segment.text for segment in line.segments)
    return _said(text, [(label.start, label.stop) for label in CARRIED.find(text)])


def _said(text: str, parts: Sequence[tuple[int, int]]) -> bool:
    """Whether parts of a text take most of its letters."""
    letters = sum(map(str.isalpha, text))
    taken = sum(sum(map(str.isalpha, text[start:stop])) for start, stop in parts)
    return bool(parts) and taken >= _SUM_LETTERS * letters


def _shared(
    columns: _Columns, rows: Sequence["Row"], between: Sequence[PrintedLine], row: "Row | None"
) -> None:
    """Give the lines between two rows to the one above, or to that below if it has no name of its own."""
    own = columns.text
    if row is not None and own is not None and not _has_letters(row.cells[own]):
        _lead(columns, between, row)
    elif rows:
        _follow(columns, between, rows[-1])


def _follow(columns: _Columns, lines: Sequence[PrintedLine], row: "Row") -> None:
    bottom = row.bottom
    for line in lines[:_MOST_TEXT]:
        words = columns.text_of(line)
        if line.top - bottom > _WRAPPED * (line.bottom - line.top) or (not words and columns.within(line)):
            break
        if not words:
            continue  # beside the table
        row.below.append(words)
        bottom = line.bottom


def _lead(columns: _Columns, lines: Sequence[PrintedLine], row: "Row") -> None:
    top = row.top
    for line in reversed(lines):
        words = columns.text_of(line)
        if not words or top - line.bottom > _WRAPPED * (line.bottom - line.top):
            break
        row.above.insert(0, words)
        top = line.top


def _has_letters(words: Sequence[Word]) -> bool:
    return any(map(str.isalpha, joined(words)))


def is_sum(line: PrintedLine) -> bool:
    """Whether a line says a sum: a text in it begins with such a word and says little else."""
    return any(_says_sum(segment.text) for segment in line.segments)


@lru_cache(maxsize=4096)
def _says_sum(text: str) -> bool:
    labels = [label for label in LABELS.find(text) if label.quality == 1 or any(map(str.isdecimal, text))]
    if not labels or _SUMS.isdisjoint(labels[0].meanings):
        return False
    if any(map(str.isalnum, text[: labels[0].start])):
        return False
    return _said(text, [(label.start, label.stop) for label in labels])
