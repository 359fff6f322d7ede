"""The columns of a table: where they are separated, and how rows are recognised by them."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import CARRIED, LABELS, covered_share
from docmill.understanding.tables.headings import AMOUNTS, FIGURES, Heading, HeadingRow, Meanings
from docmill.understanding.tables.printed_lines import PrintedLine, Word, joined, read_figure
from docmill.understanding.vocabulary import Column, Concept

Cells = list[list[Word]]
"""The words of a row by columns."""

_BINS = 1000
"""Across the page, where columns part is looked for in thousandths."""
_HEADING_WEIGHT = 2
_LONGEST_MARK = 3
"""Letters beside an amount, such as `CR`."""
_OVERHANG = 0.02
"""The most that a text may go beyond its column, in widths of the page."""
_CODE_WORDS = 2
_WORD = re.compile(r"[^\W\d_]?[a-zß-ÿ]{3}")
_REMARK = re.compile(r"^\W*(?:\S+\s+){0,4}?\S*[^\W\d]\s?:(?:\s|\d|$)")
"""A line that says something of its own, such as `Batch: 4711`."""
_POSITION = re.compile(r"^\d{1,4}(?:\.\d{1,3}){0,3}[.)]?$")
_FIGURES = FIGURES | {Column.DISCOUNT, Column.TAX_RATE, Column.TAX_AMOUNT}
_TEXTS = (Column.DESCRIPTION, Column.COUNTERPARTY, Column.ARTICLE, Column.REFERENCE)
_ITEM_FIGURES = 3
"""Numbers of an item that no sum has: quantity, price and amount."""
_TAX_LETTERS = 0.4
"""The same of the words for a tax beside a percentage."""
_PERCENT = re.compile(r"\d\s?%")
_ONE_ROW = 0.9
"""Line heights between lines whose numbers are of one row."""
_SUM_LETTERS = 0.5
"""Share of a text's letters that the words of a sum take in a row of sums."""
_SUMS = frozenset((
    Concept.TOTAL, Concept.SUBTOTAL, Concept.GRAND, Concept.GROSS, Concept.NET, Concept.TAX, Concept.DUE,
    Concept.INCLUDING, Concept.EXCLUDING, Concept.ROUNDING, Concept.PAID, Concept.OPENING_BALANCE,
    Concept.CLOSING_BALANCE,
))  # fmt: skip
"""First words of a row of sums."""


@dataclass(slots=True)
class Row:
    """A row of a table. figures: the columns with a number. first: those that have one on its first line.

    above, below: lines of text around its numbers. others: numbers below those of its columns, such as a
    quantity delivered below that ordered.
    """

    cells: Cells
    first: frozenset[int]
    figures: set[int]
    top: float = 0.0
    bottom: float = 0.0
    above: Cells = field(default_factory=list[list[Word]])
    below: Cells = field(default_factory=list[list[Word]])
    others: dict[int, list[Word]] = field(default_factory=dict[int, list[Word]])

    def text_lines(self, column: int) -> Cells:
        """The lines of the row's text, of which one is in this column."""
        return [line for line in (*self.above, self.cells[column], *self.below) if line]


def _begins_within(word: Word, left: float, right: float) -> bool:
    """True for a word beyond a column's edge, of a text that begins in the column and ends near its edge."""
    box = word.segment.box
    return left <= box.x0 < right <= word.middle and box.x1 <= right + _OVERHANG


def without_code(lines: Cells, layer: int | None) -> Cells:
    """The lines of a cell without the line `layer`, if that is the number of an item."""
    if layer is None or layer >= len(lines) or not is_code(joined(lines[layer])):
        return lines
    return [line for index, line in enumerate(lines) if index != layer]


def is_code(text: str) -> bool:
    """True for the number of an item, such as `ZS997` or `GTIN 4012345678901`."""
    words = text.split()
    return len(words) <= _CODE_WORDS and any(map(str.isdecimal, text)) and not _WORD.search(text)


class Columns:
    """The columns of a table.

    text: the column of the items' names. anchors: columns of which at least one has a number in each row.
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
            and self._is_figure(cell, self.headings[index].meanings)
        }

    def _is_figure(self, cell: Sequence[Word], meanings: Meanings) -> bool:
        """True if a cell has a number; with no more than a mark beside it where amounts alone are meant."""
        figure = read_figure(self._candidates, cell)
        if figure is None or not meanings <= AMOUNTS:
            return figure is not None
        return not figure.percent and sum(map(str.isalpha, figure.rest)) <= _LONGEST_MARK

    def is_named(self, cells: Sequence[Sequence[Word]]) -> bool:
        """True if a row has letters in the column of names."""
        return self.text is not None and any(map(str.isalpha, joined(cells[self.text])))

    def has_name(self, row: Row) -> bool:
        """True if a row has letters in the column of names, or if names stand below the items' numbers."""
        is_coded = self.text is not None and self.headings[self.text].code_layer == 0
        return is_coded or self.is_named(row.cells)

    def has_text(self, row: Row) -> bool:
        """True if a row has a name that is no number of the item."""
        if self.text is None:
            return True
        lines = row.text_lines(self.text)
        if self.headings[self.text].code_layer == 0:
            lines = without_code(lines, 0)
        return any(any(map(str.isalpha, joined(line))) for line in lines)

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

    def has_quantity(self, figures: set[int]) -> bool:
        """True if a row has a quantity, as no row of a tax has."""
        return any(Column.QUANTITY in self.headings[index].meanings for index in figures)

    def is_carried(self, text: str, figures: set[int]) -> bool:
        """True if a line carries a sum over from one page to the next."""
        if figures - self.anchors:
            return False
        # One word that is only like another is the text of a row: `Overdraft fee`.
        labels = [
            label
            for label in CARRIED.find(text)
            if label.quality == 1 or " " in text[label.start : label.stop].strip()
        ]
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
    """The columns of a table of printed lines, separated where the fewest words are."""

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

    def text_of(self, line: PrintedLine, *, is_name: bool = False) -> list[Word]:
        """The words of a line that go on with the text of an item: those in its column, and no remark.

        is_name: the item has no name yet; one may be wider than its column where nothing stands beside it.
        """
        if self.text is None:
            return []
        left, right = self._edges[self.text : self.text + 2]
        words = [
            word for word in line.words if left <= word.middle < right or _begins_within(word, left, right)
        ]
        last = line.segments[-1]
        if is_name and left <= last.box.x0 < right and words and words[0].segment is last:
            words = [word for word in line.words if word.segment is last]
            return [] if _REMARK.match(joined(words)) else words
        for segment in line.segments:
            is_wide = segment.box.x1 > right + _OVERHANG
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
        """True if a line has the numbers that the row above lacks; cells of a row may differ in height."""
        is_near = line.top - row.bottom < _ONE_ROW * line.height
        is_missing = not row.figures & self.anchors or not figures & self.anchors
        return is_near and not row.figures & figures and (is_missing or not self.is_named(cells))

    def is_second(self, row: Row, line: PrintedLine, cells: Cells, figures: set[int]) -> bool:
        """True if a line has a second number below one of the row, and no number in other columns."""
        is_near = line.top - row.bottom < _ONE_ROW * line.height
        return (
            is_near
            and len(figures) == 1
            and figures <= row.figures - self.anchors
            and not self.is_named(cells)
        )


def _gaps_within(lines: Sequence[PrintedLine], right: Heading) -> Iterator[tuple[float, float]]:
    """The gaps between the words of texts beside which another stands in the column of this heading."""
    for line in lines:
        starts = [segment.box.x0 for segment in line.segments]
        for word, following in pairwise(line.words):
            end = word.segment.box.x1
            if word.segment is following.segment and any(end <= x0 < right.x1 for x0 in starts):
                yield word.x1, following.x0


def _partings(headings: Sequence[Heading], lines: Sequence[PrintedLine]) -> list[float]:
    """The boundary between each two headings: the middle of the widest gap with the fewest words."""
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
        part = part.copy()
        for x0, x1 in _gaps_within(lines, right):
            part[max(0, int(x0 * _BINS) - first) : max(0, int(x1 * _BINS) + 1 - first)] += 1
        free = np.diff(np.concatenate(([False], part == part.min(), [False])).astype(np.int8))
        edges = np.flatnonzero(free)
        starts, stops = edges[::2], edges[1::2]
        widest = int(np.argmax(stops - starts))
        partings.append((first + (starts[widest] + stops[widest]) / 2) / _BINS)
    return partings


def is_sum(line: PrintedLine) -> bool:
    """True if a text in the line begins with the word for a sum and has little else."""
    return any(names_sum(segment.text) for segment in line.segments)


def is_tax(line: PrintedLine) -> bool:
    """True if a text in the line is little but the word for a tax with a percentage: `State tax 4.85%`."""
    return any(_names_tax(segment.text) for segment in line.segments)


@lru_cache(maxsize=4096)
def _names_tax(text: str) -> bool:
    if not _PERCENT.search(text):
        return False
    labels = [label for label in LABELS.find(text) if Concept.TAX in label.meanings and label.quality == 1]
    return bool(labels) and covered_share(text, labels) > _TAX_LETTERS


@lru_cache(maxsize=4096)
def names_sum(text: str) -> bool:
    """True if a text begins with the word for a sum and has little else."""
    labels = [label for label in LABELS.find(text) if label.quality == 1 or any(map(str.isdecimal, text))]
    if not labels or _SUMS.isdisjoint(labels[0].meanings):
        return False
    if any(map(str.isalnum, text[: labels[0].start])):
        return False
    return covered_share(text, labels) >= _SUM_LETTERS
