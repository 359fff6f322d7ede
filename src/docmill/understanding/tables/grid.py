"""Tables below their headings: where the columns part, which lines are rows, and where a table ends."""

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import CARRIED, LABELS, covered_share
from docmill.understanding.tables.headings import AMOUNTS, FIGURES, Heading, HeadingRow, heading_row
from docmill.understanding.tables.printed_lines import BREAKS, PrintedLine, Word, joined, read_figure
from docmill.understanding.vocabulary import Column, Concept

Cells = list[list[Word]]
"""The words of a row by columns."""

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
_SHORT_WORD = 3
"""Letters of a word, such as `und`, with which no text ends."""
_MOST_STRAYS = 2
"""Lines in a row that belong to no item, after which only a row with all usual cells is one."""
_ITEM_FIGURES = 3
"""Numbers of an item that no sum has: quantity, price and amount."""
_SUM_LETTERS = 0.5
"""Share of a text's letters that the words of a sum take in a row of sums."""
_POSITION = re.compile(r"^\d{1,4}(?:\.\d{1,3}){0,3}[.)]?$")
_REMARK = re.compile(r"^\W*(?:\S+\s+){0,4}?\S*[^\W\d]\s?:(?:\s|\d|$)")
"""A line that says something of its own, such as `Batch: 4711`."""
_SUMS = frozenset((
    Concept.TOTAL, Concept.SUBTOTAL, Concept.GRAND, Concept.GROSS, Concept.NET, Concept.TAX, Concept.DUE,
    Concept.INCLUDING, Concept.EXCLUDING, Concept.ROUNDING, Concept.PAID, Concept.OPENING_BALANCE,
    Concept.CLOSING_BALANCE,
))  # fmt: skip
"""First words of a row of sums."""
_FIGURES = FIGURES | {Column.DISCOUNT, Column.TAX_RATE, Column.TAX_AMOUNT}
_TEXTS = (Column.DESCRIPTION, Column.COUNTERPARTY, Column.ARTICLE, Column.REFERENCE)


@dataclass(slots=True)
class Row:
    """A row of a table. figures: the columns with a number. first: those that have one on its first line.

    above, below: lines of text around its numbers.
    """

    cells: Cells
    first: frozenset[int]
    figures: set[int]
    top: float = 0.0
    bottom: float = 0.0
    above: Cells = field(default_factory=list[list[Word]])
    below: Cells = field(default_factory=list[list[Word]])

    def text_lines(self, column: int) -> Cells:
        """The lines of the row's text, of which one is in this column."""
        return [line for line in (*self.above, self.cells[column], *self.below) if line]


@dataclass(slots=True)
class Grid:
    """A table. text: the column of the items' names; None if it has none. segments: of its headings."""

    headings: tuple[Heading, ...]
    text: int | None = None
    segments: frozenset[int] = frozenset()
    rows: list[Row] = field(default_factory=list[Row])

    def has_column(self, column: Column) -> bool:
        """True if a heading can mean this."""
        return any(column in heading.meanings for heading in self.headings)


class Columns:
    """The columns of a table and what the cells of a row are by them.

    text: the column of the items' names. anchors: the columns one of which has a number in every row.
    """

    def __init__(self, headings: tuple[Heading, ...], candidates: Candidates) -> None:
        self.headings = headings
        self.text: int | None = None
        self.anchors = frozenset[int]()
        self._candidates = candidates

    def figures(self, cells: Sequence[Sequence[Word]]) -> set[int]:
        """The columns of numbers in which a row has one."""
        return {
            index
            for index, cell in enumerate(cells)
            if cell
            and index != self.text
            and not _FIGURES.isdisjoint(self.headings[index].meanings)
            and read_figure(self._candidates, cell) is not None
        }

    def is_named(self, cells: Sequence[Sequence[Word]]) -> bool:
        """True if a row has letters in the column of names."""
        return self.text is not None and any(map(str.isalpha, joined(cells[self.text])))

    def is_item(self, cells: Sequence[Sequence[Word]], figures: set[int]) -> bool:
        """True if a row has a name and the numbers of an item, or a date, which sums have not."""
        return (self.is_named(cells) and len(figures) >= _ITEM_FIGURES) or any(
            Column.DATE in heading.meanings and any(map(str.isdecimal, joined(cell)))
            for cell, heading in zip(cells, self.headings, strict=True)
        )

    def position(self, cells: Sequence[Sequence[Word]]) -> str:
        """The position of an item that a line has in a column of its own; empty if it has none."""
        for index, (cell, heading) in enumerate(zip(cells, self.headings, strict=True)):
            if cell and index != self.text and Column.POSITION in heading.meanings:
                match = _POSITION.match(cell[0].text)
                if match:
                    return match[0].rstrip(".)")
        return ""

    def is_carried(self, text: str, figures: set[int]) -> bool:
        """True if a line brings a sum from one page to the next."""
        if figures - self.anchors:
            return False
        labels = CARRIED.find(text)
        return bool(labels) and covered_share(text, labels) >= _SUM_LETTERS

    def choose_text(self, rows: Sequence[Cells]) -> None:
        """Take the column with a heading for names; else that with most letters and no known heading."""
        letters = [
            sum(sum(map(str.isalpha, joined(row[index]))) for row in rows)
            for index in range(len(self.headings))
        ]
        for column in _TEXTS:
            named = [index for index, heading in enumerate(self.headings) if column in heading.meanings]
            if named:
                self.text = max(named, key=lambda index: letters[index])
                return
        unknown = [index for index, heading in enumerate(self.headings) if not heading.meanings]
        best = max(unknown, key=lambda index: letters[index], default=None)
        self.text = best if best is not None and letters[best] else None

    def choose_anchors(self, rows: Sequence[Cells]) -> None:
        """Take the columns of amounts, else those of other numbers."""
        filled = [self.figures(row) for row in rows]
        amounts = {
            index for index, heading in enumerate(self.headings) if not AMOUNTS.isdisjoint(heading.meanings)
        }
        alone = {index for index in amounts if Column.UNIT_PRICE not in self.headings[index].meanings}
        options = (columns for columns in (alone, amounts) if any(columns & row for row in filled))
        self.anchors = frozenset(next(options, set[int]().union(*filled)))


class PrintedColumns(Columns):
    """The columns of a table of printed lines, which part where the fewest words stand."""

    def __init__(self, row: HeadingRow, body: Sequence[PrintedLine], candidates: Candidates) -> None:
        super().__init__(row.headings, candidates)
        filled = [line for line in body if any(map(str.isdecimal, line.text)) and len(line.segments) > 1]
        filled = filled[: next((at for at, line in enumerate(filled) if is_sum(line)), len(filled)) or None]
        self._edges = [-math.inf, *_partings(row.headings, filled), math.inf]
        self.choose_text([self.cells(line) for line in filled])
        self.choose_anchors([self.cells(line) for line in body])

    def cells(self, line: PrintedLine) -> Cells:
        """A line's words by columns; a text that goes on beyond its column stays whole after a colon."""
        cells: Cells = [[] for _ in self.headings]
        for segment, words in line.by_segment:
            text = self.text if bisect_right(self._edges, segment.box.x0) - 1 == self.text else None
            for index, word in enumerate(words):
                column = bisect_right(self._edges, word.middle) - 1
                if text is not None and index > 0 and words[index - 1].text.endswith(":"):
                    column = text
                cells[column].append(word)
        return cells

    def text_of(self, line: PrintedLine) -> list[Word]:
        """The words of a line that go on with the text of an item: those in its column, and no remark."""
        if self.text is None:
            return []
        left, right = self._edges[self.text : self.text + 2]
        words = [word for word in line.words if left <= word.middle < right]
        for segment in line.segments:
            is_wide = segment.box.x1 > right + 0.02
            if is_wide and any(word.segment is segment for word in words):
                return []
        return [] if _REMARK.match(joined(words)) else words

    def is_within(self, line: PrintedLine) -> bool:
        """True if a line stands in the columns of the table, and not only left of its names."""
        return self.text is None or any(word.middle >= self._edges[self.text] for word in line.words)

    def begins_row(self, line: PrintedLine, cells: Cells, figures: set[int]) -> bool:
        """True if a line has numbers of a row and something else."""
        if len(line.segments) == 1 and len(cells) > 2 and figures:  # noqa: PLR2004 - a name and an amount stand apart
            return len(figures) > 1
        return (
            bool(figures) and sum(map(bool, cells)) > 1 and (len(figures) > 1 or bool(figures & self.anchors))
        )

    def is_same_row(self, row: Row, line: PrintedLine, cells: Cells, figures: set[int]) -> bool:
        """True if a line has the numbers that the row above lacks: cells of one row at different heights."""
        is_near = line.top - row.bottom < _ONE_ROW * line.height
        is_missing = not row.figures & self.anchors or not figures & self.anchors
        return is_near and not row.figures & figures and (is_missing or not self.is_named(cells))


class GridReader:
    """Reads the tables of pages one after the other by their headings; a table may go on over pages."""

    def __init__(self, candidates: Candidates) -> None:
        self.grids: list[Grid] = []
        self._candidates = candidates
        self._columns: PrintedColumns | None = None
        self._last: HeadingRow | None = None

    def read(self, lines: Sequence[PrintedLine]) -> bool:
        """True if the page has rows of a table; they are in `grids`."""
        heads = {at: row for at in range(len(lines)) if (row := heading_row(lines, at)) is not None}
        has_rows, at = self._continue(lines[: min(heads, default=len(lines))]), 0
        while (first := min((head for head in heads if head >= at), default=None)) is not None:
            row = heads[first]
            stop = min((head for head in heads if head >= row.stop), default=len(lines))
            body = _body(lines[row.stop - 1 : stop], first=1)
            if at == 0 and self.grids:
                self._continue_text(row, body)
            self._add_table(row, body)
            has_rows |= bool(self.grids[-1].rows)
            at = row.stop + len(body)
        return has_rows

    def _continue(self, lines: Sequence[PrintedLine]) -> bool:
        """Take the rows at the head of a page on which the table before goes on without headings."""
        columns, body = self._columns, _body(lines)
        if self._last is not None:
            self._add_table(self._last, body)
            return bool(self.grids[-1].rows)
        if columns is None or not self.grids[-1].rows:
            return False
        filled = [row.figures for row in self.grids[-1].rows]
        least, most = set[int].intersection(*filled), set[int].union(*filled)
        rows = [row for row in _rows(columns, body) if least <= row.figures <= most]
        self.grids[-1].rows += rows
        return bool(rows)

    def _continue_text(self, row: HeadingRow, body: Sequence[PrintedLine]) -> None:
        """Give the last row of the page before what goes on with its text below the repeated headings."""
        grid = self.grids[-1]
        meanings = [heading.meanings for heading in row.headings]
        if not grid.rows or meanings != [heading.meanings for heading in grid.headings]:
            return
        columns = PrintedColumns(row, body, self._candidates)
        for line in body[:_MOST_TEXT]:
            cells = columns.cells(line)
            figures = columns.figures(cells)
            if columns.is_carried(line.text, figures):
                continue
            words = columns.text_of(line)
            before = (
                [line for line in grid.rows[-1].text_lines(grid.text) if line]
                if grid.text is not None
                else []
            )
            if figures or columns.position(cells) or not (words and before and _goes_on(before[-1], words)):
                return
            grid.rows[-1].below.append(words)

    def _add_table(self, row: HeadingRow, body: Sequence[PrintedLine]) -> None:
        """Take the rows below these headings; the same headings as before go on with their table.

        Headings at the very end of a page are those of the rows on the next.
        """
        self._last = None if body else row
        columns = self._columns = PrintedColumns(row, body, self._candidates)
        grid = self.grids[-1] if self.grids else None
        meanings = [heading.meanings for heading in row.headings]
        if grid is None or meanings != [heading.meanings for heading in grid.headings]:
            grid = Grid(row.headings, columns.text)
            self.grids.append(grid)
        grid.segments |= row.segments
        grid.rows += _rows(columns, body)


def _goes_on(before: Sequence[Word], words: Sequence[Word]) -> bool:
    """True if a line of text carries on the sentence of another: it begins small, or that has no end."""
    last = before[-1].text
    is_open = last.endswith((",", *BREAKS)) or (last.islower() and len(last) <= _SHORT_WORD)
    return is_open or words[0].text[:1].islower()


def _body(lines: Sequence[PrintedLine], first: int = 0) -> list[PrintedLine]:
    """The lines from the `first` to a large gap."""
    gaps = (
        at
        for at in range(first, len(lines))
        if lines[at].top - lines[max(0, at - 1)].bottom > _GAP * lines[at].height
    )
    return list(lines[first : next(gaps, len(lines))])


def _partings(headings: Sequence[Heading], lines: Sequence[PrintedLine]) -> list[float]:
    """Between each two headings the place that the fewest words take, the middle of the widest."""
    taken = np.zeros(_BINS + 1, np.int32)
    for x0, x1, weight in (
        *((word.x0, word.x1, 1) for line in lines for word in line.words),
        *((heading.x0, heading.x1, _HEADING_WEIGHT) for heading in headings),
    ):
        taken[max(0, int(x0 * _BINS)) : max(0, int(x1 * _BINS)) + 1] += weight
    partings: list[float] = []
    for left, right in pairwise(headings):
        first = int(left.middle * _BINS)
        part = taken[first : max(first + 1, int(right.middle * _BINS))]
        if not len(part):
            partings.append((left.middle + right.middle) / 2)
            continue
        free = np.diff(np.concatenate(([False], part == part.min(), [False])).astype(np.int8))
        edges = np.flatnonzero(free)
        starts, stops = edges[::2], edges[1::2]
        widest = int(np.argmax(stops - starts))
        partings.append((first + (starts[widest] + stops[widest]) / 2) / _BINS)
    return partings


def _rows(columns: PrintedColumns, body: Sequence[PrintedLine]) -> list[Row]:
    """The rows of a table's lines, each with the text around it; sums are none, and end it."""
    rows: list[Row] = []
    between: list[PrintedLine] = []
    positions: list[str] = []
    strays = 0
    for line in body:
        cells = columns.cells(line)
        figures = columns.figures(cells)
        if columns.is_carried(line.text, figures):
            _add_texts(columns, rows, between, None)
            between = []
        elif is_sum(line) and not columns.is_item(cells, figures):
            _add_texts(columns, rows, between, None)
            between, strays = [], _MOST_STRAYS
        elif figures and rows and not between and columns.is_same_row(rows[-1], line, cells, figures):
            row = rows[-1]
            row.figures |= figures
            row.bottom = max(row.bottom, line.bottom)
            for index, words in enumerate(cells):
                if index in figures or not any(map(str.isdecimal, joined(words))) or not row.cells[index]:
                    row.cells[index].extend(words)
        elif columns.begins_row(line, cells, figures):
            is_next = _follows(positions, _last_position(columns, [*between, line]))
            if strays >= _MOST_STRAYS and not is_next and not is_alike(rows, figures):
                break
            strays = 0
            row = Row(cells, frozenset(figures), figures, line.top, line.bottom)
            _add_texts(columns, rows, between, row)
            rows.append(row)
            positions += [position] if (position := columns.position(row.cells)) else []
            between = []
        else:
            strays += not columns.text_of(line)
            between.append(line)
    _add_texts(columns, rows, between, None)
    return [row for row in rows if row.figures & columns.anchors]


def _last_position(columns: PrintedColumns, lines: Sequence[PrintedLine]) -> str:
    """The last position of an item in the lines."""
    positions = (columns.position(columns.cells(line)) for line in reversed(lines))
    return next(filter(None, positions), "")


def _follows(before: Sequence[str], position: str) -> bool:
    """True if a position is the next one after those before."""
    if not (before and before[-1].isdecimal() and position.isdecimal()):
        return False
    return int(position) == int(before[-1]) + 1


def is_alike(rows: Sequence[Row], figures: set[int]) -> bool:
    """True if a row has a number in each column in which every row before has one."""
    return not rows or frozenset[int].intersection(*(row.first for row in rows)) <= figures


def _add_texts(
    columns: PrintedColumns, rows: Sequence[Row], between: Sequence[PrintedLine], row: Row | None
) -> None:
    """Give the lines between two rows to the one above, or to that below if it has no name of its own.

    Where the rows have positions, a line with one begins a row: that below if it has none of its own, else a
    group of rows, whose title belongs to no row.
    """
    starts = [at for at, line in enumerate(between) if columns.position(columns.cells(line))]
    if starts and row is not None and not columns.position(row.cells):
        _add_below(columns, rows, between[: starts[-1]])
        _add_head(columns, row, between[starts[-1] :])
    elif starts and row is not None:
        _add_below(columns, rows, between[: starts[0]])
    elif row is not None and columns.text is not None and not columns.is_named(row.cells):
        top = row.top
        for line in reversed(between):
            words = columns.text_of(line)
            if not words or top - line.bottom > _WRAPPED * line.height:
                return
            row.above.insert(0, words)
            top = line.top
    else:
        _add_below(columns, rows, between)


def _add_head(columns: PrintedColumns, row: Row, lines: Sequence[PrintedLine]) -> None:
    """Give a row the lines above its numbers, the first of which has its position."""
    for line, cells in ((line, columns.cells(line)) for line in lines):
        words = columns.text_of(line)
        if words:
            row.above.append(words)
        for index, heading in enumerate(columns.headings):
            if Column.POSITION in heading.meanings and index != columns.text and not row.cells[index]:
                row.cells[index].extend(cells[index])


def _add_below(columns: PrintedColumns, rows: Sequence[Row], lines: Sequence[PrintedLine]) -> None:
    """Give the last row the lines of text below it."""
    if not rows:
        return
    bottom = rows[-1].bottom
    for line in lines[:_MOST_TEXT]:
        words = columns.text_of(line)
        is_far = line.top - bottom > _WRAPPED * line.height
        if is_far or (not words and columns.is_within(line)):
            return
        if words:  # others stand beside the table
            rows[-1].below.append(words)
            bottom = line.bottom


def is_sum(line: PrintedLine) -> bool:
    """True if a text in the line begins with the word for a sum and has little else."""
    return any(names_sum(segment.text) for segment in line.segments)


@lru_cache(maxsize=4096)
def names_sum(text: str) -> bool:
    """True if a text begins with the word for a sum and has little else."""
    labels = [label for label in LABELS.find(text) if label.quality == 1 or any(map(str.isdecimal, text))]
    if not labels or _SUMS.isdisjoint(labels[0].meanings):
        return False
    if any(map(str.isalnum, text[: labels[0].start])):
        return False
    return covered_share(text, labels) >= _SUM_LETTERS
