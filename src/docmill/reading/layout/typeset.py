"""Typesetting of text without pages: words get boxes as if the document had been printed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    fit_columns,
    text_width,
    wrap_line,
)

HEADING_SCALES = (1.4, 1.25, 1.1)
"""Of headings of the first, second, and any further level."""
WISHED_CELL = 40
"""A table asks for a wider sheet until its cells have this many characters in a line."""
LONGEST_WORD = 60
"""A word is broken in a cell only beyond this."""
TABLE_INSIDE = " " * COLUMN_GAP
"""What parts the columns of a table that stands in a cell of another."""
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
class TableBlock:
    """A table.

    rows: of any lengths. header_rows: how many of them name the columns. spans: (row, column) to how many
    rows and columns that cell takes; the cells it takes are in `rows`, and empty.
    """

    rows: Sequence[Sequence[str]]
    header_rows: int = 0
    spans: Mapping[tuple[int, int], tuple[int, int]] = field(
        default_factory=dict[tuple[int, int], tuple[int, int]]
    )


@dataclass(frozen=True, slots=True)
class PageBreak:
    """Page break; several in a row, or one at an end, make no empty pages."""


@dataclass(frozen=True, slots=True)
class MissingBlock:
    """Something that could not be read. problem: what, and what to do about it."""

    problem: str


@dataclass(frozen=True, slots=True)
class FigureBlock:
    """A picture that may hold text, as it is stored, and how large it is displayed."""

    content: bytes = field(repr=False)
    width_pt: float
    height_pt: float


@dataclass(frozen=True, slots=True)
class UnreadNote:
    """Something beside the text that could not be read. problem: what its page says of it."""

    problem: str


Block = HeadingBlock | Paragraph | TableBlock | PageBreak | MissingBlock | FigureBlock | UnreadNote
Widths = tuple[list[int], list[int]]
"""Of each column of a table the widest line and what shall not be broken, in characters."""


class Typeset(NamedTuple):
    """Pages, and the figures that stand on them, in order."""

    pages: list[Page]
    figures: list[SetFigure]


def typeset(blocks: Iterable[Block], *, max_pages: int | None = None) -> list[Page]:
    """The pages of `set_on_pages`."""
    return set_on_pages(blocks, max_pages=max_pages).pages


def set_on_pages(blocks: Iterable[Block], *, max_pages: int | None = None) -> Typeset:
    """Pages of A4, wider where a table or set text needs it; at least one.

    Of more than `max_pages` the first are kept, and one more says that there is a rest.
    """
    typesetter = Typesetter(max_pages)
    for section in _sections(blocks):
        measured = [
            (block, _column_widths(block) if isinstance(block, TableBlock) else None) for block in section
        ]
        typesetter.start(_sheet(measured))
        for block, widths in measured:
            if typesetter.is_full:
                break
            _set(typesetter, block, widths)
    pages = typesetter.finish()
    return Typeset(pages, typesetter.figures)


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    section: list[Block] = []
    for block in blocks:
        if not isinstance(block, PageBreak):
            section.append(block)
        elif section:
            yield section
            section = []
    if section:
        yield section


def _sheet(section: Sequence[tuple[Block, Widths | None]]) -> int:
    """Width of the section's pages, in characters."""
    needed = max((_needed(block, widths) for block, widths in section), default=0)
    if needed <= PORTRAIT:
        return PORTRAIT
    return LANDSCAPE if needed <= LANDSCAPE else min(needed, WIDEST)


def _needed(block: Block, widths: Widths | None) -> int:
    if isinstance(block, Paragraph) and block.is_set:
        lengths = sorted(map(len, block.text.splitlines()))
        usual = lengths[int(len(lengths) * 0.95)] if lengths else 0
        return usual if usual <= LANDSCAPE else 0  # longer lines are paragraphs, to be wrapped
    if widths is not None:
        return sum(_wishes(*widths)) + COLUMN_GAP * (len(widths[0]) - 1)
    return 0


def _wishes(natural: Sequence[int], least: Sequence[int]) -> list[int]:
    return [max(min(wish, WISHED_CELL), floor) for wish, floor in zip(natural, least, strict=True)]


def _set(typesetter: Typesetter, block: Block, widths: Widths | None) -> None:
    if isinstance(block, UnreadNote):
        typesetter.remark(block.problem)
        return
    if isinstance(block, Paragraph):
        lines = _set_text(typesetter, block.text, is_set=block.is_set)
        if lines != 1:  # short ones follow each other closely, as in an address
            typesetter.gap()
        return
    typesetter.gap()
    if isinstance(block, HeadingBlock):
        _set_text(
            typesetter, block.text, scale=HEADING_SCALES[min(max(block.level, 1), len(HEADING_SCALES)) - 1]
        )
    elif isinstance(block, TableBlock) and widths is not None:
        natural, least = widths
        for first, last in _bands(_wishes(natural, least), typesetter.columns):
            available = typesetter.columns - COLUMN_GAP * (last - first - 1)
            fitted = fit_columns(natural[first:last], least[first:last], available)
            _set_band(typesetter, block, first, fitted)
            typesetter.gap()
    elif isinstance(block, MissingBlock):
        typesetter.lack(block.problem)
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
    """Of each column the widest line and the widest word."""
    count = max(map(len, grid.rows), default=0)
    natural, least = [1] * count, [1] * count
    running_on: list[tuple[int, int, str]] = []
    for index, row in enumerate(grid.rows):
        for column, text in enumerate(row):
            if text_width(text) <= least[column]:
                continue
            line, word = _extent(text)
            stop = column + grid.spans.get((index, column), (1, 1))[1]
            if stop == column + 1 and line > WISHED_CELL // 2:
                stop = _reach(row, column)
            if stop > column + 1:
                running_on.append((column, min(stop, count), text))
            else:
                natural[column] = max(natural[column], line)
                least[column] = max(least[column], word)
    for first, stop, text in running_on:
        line, word = _extent(text)
        for widths, wish in ((natural, min(line, WISHED_CELL)), (least, word)):
            taken = sum(widths[first:stop]) + COLUMN_GAP * (stop - first - 1)
            widths[stop - 1] += max(0, wish - taken)
    return natural, least


def _extent(text: str) -> tuple[int, int]:
    """The widest line of a text, and what shall not be broken: its widest word, or line with columns."""
    if text.isascii() and "\n" not in text and TABLE_INSIDE not in text:  # most cells
        return len(text), min(max(map(len, text.split()), default=1), LONGEST_WORD)
    lines = text.splitlines()
    line = max(map(text_width, lines), default=1)
    word = max(map(text_width, text.split()), default=1)
    columns = max((text_width(found) for found in lines if TABLE_INSIDE in found.strip()), default=0)
    return line, max(min(word, LONGEST_WORD), min(columns, PORTRAIT))


def _bands(wishes: Sequence[int], columns: int) -> Iterator[tuple[int, int]]:
    first = used = 0
    for column, wish in enumerate(wishes):
        if column > first and used + wish > columns:
            yield first, column
            first, used = column, 0
        used += wish + COLUMN_GAP
    if wishes:
        yield first, len(wishes)


def _set_band(typesetter: Typesetter, grid: TableBlock, first: int, widths: Sequence[int]) -> None:
    starts = [sum(widths[:at]) + COLUMN_GAP * at for at in range(len(widths))]
    rights = _right_aligned(grid, first, len(widths))
    for index, row in enumerate(grid.rows):
        if typesetter.is_full:
            return
        part = row[first : first + len(widths)]
        cells: list[SetCell] = []
        for at, text in enumerate(part):
            if text:
                spans = grid.spans.get((index, first + at), (1, 1))
                stop = min(max(at + spans[1], _reach(part, at)), len(widths))
                left, right = starts[at], starts[stop - 1] + widths[stop - 1]
                lines = list(_cell_lines(text, left, right, to_right=at in rights))
                last = min(at + spans[1], len(widths)) - 1
                cells.append(SetCell(at, *spans, left, starts[last] + widths[last], lines))
        typesetter.put_row(cells, len(widths))
    typesetter.end_table(len(widths))


def _reach(row: Sequence[str], at: int) -> int:
    """Index of the next filled cell: a text runs on over empty cells, as on a spreadsheet."""
    return next((other for other in range(at + 1, len(row)) if row[other]), len(row))


def _cell_lines(text: str, left: int, right: int, *, to_right: bool) -> Iterator[list[WordInLine]]:
    room = right - left
    for line in text.splitlines():
        for words in wrap_line(line, room, is_set=True):
            shift = left + (room - words[-1].column - words[-1].width if to_right and words else 0)
            yield [WordInLine(column + shift, width, word) for column, width, word in words]


def _right_aligned(grid: TableBlock, first: int, count: int) -> set[int]:
    """Columns that hold mostly numbers below their heads."""
    sample = grid.rows[grid.header_rows : grid.header_rows + 200]
    found: set[int] = set()
    for at in range(count):
        texts = [row[first + at].strip() for row in sample if len(row) > first + at]
        texts = [text for text in texts if text]
        numbers = sum(1 for text in texts if NUMBER.fullmatch(text))
        if texts and numbers > len(texts) / 2:
            found.add(at)
    return found


def beside_text(blocks: Iterable[Block]) -> list[Block]:
    """The blocks that `plain` leaves out and callers must keep: pictures, and remarks on unread ones."""
    return [block for block in blocks if isinstance(block, FigureBlock | UnreadNote)]


def plain(blocks: Iterable[Block]) -> str:
    """Blocks as text, for where only text can stand: a table's columns are kept apart by spaces."""
    return "\n".join(_plain_lines(blocks)).strip("\n")


def _plain_lines(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, HeadingBlock | Paragraph):
            yield block.text
        elif isinstance(block, TableBlock):
            widths, _ = _column_widths(block)
            for row in block.rows:
                lines = [text.splitlines() for text in row]
                for at in range(max(map(len, lines), default=0)):
                    line = ""
                    for column, text in enumerate(lines):
                        start = sum(widths[:column]) + COLUMN_GAP * column
                        if at < len(text):
                            line += " " * max(COLUMN_GAP * bool(line), start - text_width(line)) + text[at]
                    yield line
