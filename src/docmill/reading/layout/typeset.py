"""Typesetting of text without pages: words get boxes as if the document had been printed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from typing import NamedTuple

from docmill.model.document import Page
from docmill.reading.layout.typesetter import (
    COLUMN_GAP,
    LANDSCAPE,
    PORTRAIT,
    WIDEST,
    SetCell,
    SetFigure,
    Typesetter,
    WordInLine,
    cap_widths,
    fit_columns,
    text_width,
    wrap_line,
)

HEADING_SCALES = (1.4, 1.25, 1.1)
"""Font scales of headings of the first, second and any further level."""
WISHED_CELL = 40
"""A table asks for a wider sheet until its cells have this many characters in a line."""
LONGEST_WORD = 60
"""A word is broken in a cell only beyond this."""
TABLE_INSIDE = " " * COLUMN_GAP
"""Gap between the columns of a table that stands in a cell of another."""
NUMBER = re.compile(r"[^\w\s]{0,3}[A-Z]{0,3}\s?[-+(]?\d[\d.,'\s]*\)?[-%]?\s?[^\w\s]{0,3}[A-Z]{0,3}")


@dataclass(frozen=True, slots=True)
class HeadingBlock:
    """A title. level: from 1."""

    text: str
    level: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; newlines stay. One without text leaves room. is_set: gaps between words stay too."""

    text: str
    is_set: bool = False


@dataclass(frozen=True, slots=True)
class Worksheet:
    """The sheet of a workbook that a table shows.

    row_numbers: of each row of the table, as spreadsheet programs count them. columns: the sheet's index of
    each column of the table. values: row number to column to what is stored in a cell, where that is a number
    or a day. first_day: that of the number 0, for days that are stored as numbers.
    """

    name: str
    row_numbers: Sequence[int]
    columns: Sequence[int]
    values: Mapping[int, Mapping[int, float | date]] = field(repr=False)
    first_day: date

    def value(self, row: int, column: int) -> float | date | None:
        """Stored value of a cell of the table, given by its indices; None for a text."""
        if column >= len(self.columns):
            return None
        return self.values.get(self.row_numbers[row], {}).get(self.columns[column])


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table.

    rows: of any lengths. header_rows: how many of them name the columns. spans: (row, column) to how many
    rows and columns that cell takes; the cells it takes are in `rows`, and empty. sheet: of a workbook.
    """

    rows: Sequence[Sequence[str]]
    header_rows: int = 0
    spans: Mapping[tuple[int, int], tuple[int, int]] = field(
        default_factory=dict[tuple[int, int], tuple[int, int]]
    )
    sheet: Worksheet | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PageBreak:
    """Page break; several in a row, or one at an end, make no empty pages."""


@dataclass(frozen=True, slots=True)
class MissingBlock:
    """Content that could not be read. problem: the reason, and a remedy."""

    problem: str


@dataclass(frozen=True, slots=True)
class FigureBlock:
    """A picture that may hold text, as it is stored, and how large it is displayed."""

    content: bytes = field(repr=False)
    width_pt: float
    height_pt: float


@dataclass(frozen=True, slots=True)
class UnreadNote:
    """Note on a picture beside the text that could not be read. problem: for its page."""

    problem: str


Block = HeadingBlock | Paragraph | TableBlock | PageBreak | MissingBlock | FigureBlock | UnreadNote
Widths = tuple[list[int], list[int]]
"""Widths of each column of a table in characters: the widest line, and the widest part not to be broken."""


class Typeset(NamedTuple):
    """Pages, and the figures that stand on them, in order."""

    pages: list[Page]
    figures: list[SetFigure]


def typeset(blocks: Iterable[Block], *, max_pages: int | None = None) -> list[Page]:
    """The pages of `set_on_pages`."""
    return set_on_pages(blocks, max_pages=max_pages).pages


def set_on_pages(blocks: Iterable[Block], *, max_pages: int | None = None) -> Typeset:
    """Set blocks on pages of A4, wider where a table or set text needs it; at least one page.

    Of more than `max_pages` the first are kept, and one more states that there is a rest.
    """
    typesetter = Typesetter(max_pages)
    for is_break, section in groupby(blocks, lambda block: isinstance(block, PageBreak)):
        if is_break:
            continue
        measured = [
            (block, _column_widths(block) if isinstance(block, TableBlock) else None) for block in section
        ]
        typesetter.start(_page_width(measured))
        for block, widths in measured:
            if typesetter.is_full:
                break
            _set(typesetter, block, widths)
    pages = typesetter.finish()
    return Typeset(pages, typesetter.figures)


def _page_width(section: Sequence[tuple[Block, Widths | None]]) -> int:
    """Width of the section's pages, in characters."""
    needed = 0
    for block, widths in section:
        if isinstance(block, Paragraph) and block.is_set:
            lengths = sorted(map(len, block.text.splitlines()))
            usual = lengths[int(len(lengths) * 0.95)] if lengths else 0
            if usual <= LANDSCAPE:  # longer lines are paragraphs, to be wrapped
                needed = max(needed, usual)
        elif widths is not None:
            needed = max(needed, sum(cap_widths(*widths, WISHED_CELL)) + COLUMN_GAP * (len(widths[0]) - 1))
    if needed <= PORTRAIT:
        return PORTRAIT
    return LANDSCAPE if needed <= LANDSCAPE else min(needed, WIDEST)


def _set(typesetter: Typesetter, block: Block, widths: Widths | None) -> None:
    if isinstance(block, UnreadNote):
        typesetter.add_problem(block.problem)
        return
    if isinstance(block, Paragraph):
        lines = _set_text(typesetter, block.text, is_set=block.is_set)
        if lines != 1:  # short ones follow each other closely, as in an address
            typesetter.gap()
        return
    typesetter.gap()
    if isinstance(block, HeadingBlock):
        level = min(max(block.level, 1), len(HEADING_SCALES))
        _set_text(typesetter, block.text, scale=HEADING_SCALES[level - 1])
    elif isinstance(block, TableBlock) and widths is not None:
        natural, least = widths
        for first, last in _bands(cap_widths(natural, least, WISHED_CELL), typesetter.columns):
            available = typesetter.columns - COLUMN_GAP * (last - first - 1)
            fitted = fit_columns(natural[first:last], least[first:last], available)
            _set_band(typesetter, block, first, fitted)
            typesetter.gap()
    elif isinstance(block, MissingBlock):
        typesetter.put_unread_page(block.problem)
    elif isinstance(block, FigureBlock):
        typesetter.put_figure(block.content, block.width_pt, block.height_pt)
    typesetter.gap()


def _set_text(typesetter: Typesetter, text: str, *, scale: float = 1.0, is_set: bool = False) -> int:
    """Set a text and count the lines it took."""
    columns = int(typesetter.columns / scale)
    count = 0
    for line in text.expandtabs(8).splitlines():
        for row in wrap_line(line, columns, is_set=is_set):
            typesetter.put(row, scale=scale)
            count += 1
    return count


def _column_widths(grid: TableBlock) -> Widths:
    """The widest line and the widest word of each column."""
    count = max(map(len, grid.rows), default=0)
    natural, least = [1] * count, [1] * count
    overflowing: list[tuple[int, int, str]] = []
    for index, row in enumerate(grid.rows):
        for column, text in enumerate(row):
            if text_width(text) <= least[column]:
                continue
            line, word = _extent(text)
            stop = column + grid.spans.get((index, column), (1, 1))[1]
            if stop == column + 1 and line > WISHED_CELL // 2:
                stop = _reach(row, column)
            if stop > column + 1:
                overflowing.append((column, min(stop, count), text))
            else:
                natural[column] = max(natural[column], line)
                least[column] = max(least[column], word)
    for first, stop, text in overflowing:
        line, word = _extent(text)
        for widths, wish in ((natural, min(line, WISHED_CELL)), (least, word)):
            taken = sum(widths[first:stop]) + COLUMN_GAP * (stop - first - 1)
            widths[stop - 1] += max(0, wish - taken)
    return natural, least


def _extent(text: str) -> tuple[int, int]:
    """The widest line of a text, and its widest unbreakable part: a word, or a line with columns."""
    if text.isascii() and "\n" not in text and TABLE_INSIDE not in text:  # most cells
        return len(text), min(max(map(len, text.split()), default=1), LONGEST_WORD)
    lines = text.splitlines()
    widest = max(map(text_width, lines), default=1)
    word = max(map(text_width, text.split()), default=1)
    columns = max((text_width(line) for line in lines if TABLE_INSIDE in line.strip()), default=0)
    return widest, max(min(word, LONGEST_WORD), min(columns, PORTRAIT))


def _bands(wishes: Sequence[int], columns: int) -> Iterator[tuple[int, int]]:
    """First column and the one after the last of each part of a table that fits on a page."""
    first = used = 0
    for column, wish in enumerate(wishes):
        if column > first and used + wish > columns:
            yield first, column
            first, used = column, 0
        used += wish + COLUMN_GAP
    if wishes:
        yield first, len(wishes)


def _set_band(typesetter: Typesetter, grid: TableBlock, first: int, widths: Sequence[int]) -> None:
    count = len(widths)
    starts = [sum(widths[:at]) + COLUMN_GAP * at for at in range(count)]
    right_aligned: set[int] = set()  # columns that hold mostly numbers below their heads
    sample = grid.rows[grid.header_rows : grid.header_rows + 200]
    for at in range(count):
        texts = [row[first + at].strip() for row in sample if len(row) > first + at]
        numbers = sum(1 for text in texts if NUMBER.fullmatch(text))
        if numbers > sum(map(bool, texts)) / 2:
            right_aligned.add(at)
    for index, row in enumerate(grid.rows):
        if typesetter.is_full:
            return
        part = row[first : first + count]
        cells: list[SetCell] = []
        for at, text in enumerate(part):
            if not text:
                continue
            spans = grid.spans.get((index, first + at), (1, 1))
            stop = min(max(at + spans[1], _reach(part, at)), count)
            left = starts[at]
            room = starts[stop - 1] + widths[stop - 1] - left
            lines: list[list[WordInLine]] = []
            for line in text.splitlines():
                for words in wrap_line(line, room, is_set=True):
                    is_shifted = at in right_aligned and bool(words)
                    shift = left + (room - words[-1].column - words[-1].width if is_shifted else 0)
                    lines.append([WordInLine(column + shift, width, word) for column, width, word in words])
            last = min(at + spans[1], count) - 1
            cells.append(SetCell(at, *spans, left, starts[last] + widths[last], lines))
        typesetter.put_row(cells, count)
    typesetter.end_table(count)


def _reach(row: Sequence[str], at: int) -> int:
    """Index of the next filled cell: a text runs on over empty cells, as on a spreadsheet."""
    return next((other for other in range(at + 1, len(row)) if row[other]), len(row))


def beside_text(blocks: Iterable[Block]) -> list[Block]:
    """The blocks that `plain` leaves out and callers must keep: pictures, and notes on unread ones."""
    return [block for block in blocks if isinstance(block, FigureBlock | UnreadNote)]


def plain(blocks: Iterable[Block]) -> str:
    """Blocks as text, for where only text can stand: a table's columns are kept apart by spaces."""
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, HeadingBlock | Paragraph):
            texts.append(block.text)
        elif isinstance(block, TableBlock):
            widths, _ = _column_widths(block)
            for row in block.rows:
                cells = [text.splitlines() for text in row]
                for at in range(max(map(len, cells), default=0)):
                    line = ""
                    for column, lines in enumerate(cells):
                        start = sum(widths[:column]) + COLUMN_GAP * column
                        if at < len(lines):
                            line += " " * max(COLUMN_GAP * bool(line), start - text_width(line)) + lines[at]
                    texts.append(line)
    return "\n".join(texts).strip("\n")
