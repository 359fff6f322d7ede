"""Text without pages, set on pages: words get boxes as if the document had been printed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from docmill.model import Page
from docmill.reading import typewriter
from docmill.reading.press import LANDSCAPE, PORTRAIT, WIDEST, Press
from docmill.reading.typewriter import COLUMN_GAP, Placed

HEADING_SCALES = (1.6, 1.3, 1.1)
"""Of headings of the first, second, and any further level."""
WISHED_CELL = 40
"""A table asks for a wider sheet until its cells have this many characters in a line."""
LONGEST_WORD = 60
"""A word is broken in a cell only beyond this."""
NUMBER = re.compile(r"[^\w\s]{0,3}[A-Z]{0,3}\s?[-+(]?\d[\d.,'\s]*\)?[-%]?\s?[^\w\s]{0,3}[A-Z]{0,3}")


@dataclass(frozen=True, slots=True)
class Heading:
    """A title. level: from 1."""

    text: str
    level: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; newlines stay. is_set: gaps between words stay too."""

    text: str
    is_set: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
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
    """What follows starts a page; several in a row, or one at an end, make no empty pages."""


Block = Heading | Paragraph | Grid | PageBreak


def typeset(blocks: Iterable[Block], *, max_pages: int | None = None) -> list[Page]:
    """Pages of A4, wider where a table or set text needs it; at least one.

    Of more than `max_pages` the first are kept, and one more says that there is a rest.
    """
    press = Press(max_pages)
    for section in _sections(blocks):
        press.start(_sheet(section))
        for block in section:
            if press.is_full:
                break
            _set(press, block)
    return press.finish()


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


def _sheet(section: Sequence[Block]) -> int:
    """How many characters a line of the section's pages shall hold."""
    needed = max((_needed(block) for block in section), default=0)
    if needed <= PORTRAIT:
        return PORTRAIT
    return LANDSCAPE if needed <= LANDSCAPE else min(needed, WIDEST)


def _needed(block: Block) -> int:
    if isinstance(block, Paragraph) and block.is_set:
        lengths = sorted(map(len, block.text.splitlines()))
        usual = lengths[int(len(lengths) * 0.95)] if lengths else 0
        return usual if usual <= LANDSCAPE else 0  # longer lines are paragraphs, to be wrapped
    if isinstance(block, Grid):
        natural, least = _column_widths(block)
        return sum(_wishes(natural, least)) + COLUMN_GAP * (len(natural) - 1)
    return 0


def _wishes(natural: Sequence[int], least: Sequence[int]) -> list[int]:
    return [max(min(wish, WISHED_CELL), floor) for wish, floor in zip(natural, least, strict=True)]


def _set(press: Press, block: Block) -> None:
    if isinstance(block, Heading):
        scale = HEADING_SCALES[min(max(block.level, 1), len(HEADING_SCALES)) - 1]
        _set_text(press, block.text, scale=scale)
    elif isinstance(block, Paragraph):
        _set_text(press, block.text, is_set=block.is_set)
    elif isinstance(block, Grid):
        _set_grid(press, block)
    press.gap()


def _set_text(press: Press, text: str, *, scale: float = 1.0, is_set: bool = False) -> None:
    columns = int(press.columns / scale)
    for line in text.expandtabs(8).splitlines():
        for row in typewriter.wrapped(line, columns, is_set=is_set):
            press.put(row, scale=scale)


def _column_widths(grid: Grid) -> tuple[list[int], list[int]]:
    """Of each column the widest line and the widest word."""
    count = max(map(len, grid.rows), default=0)
    natural, least = [1] * count, [1] * count
    spanning: list[tuple[int, int, str]] = []
    for index, row in enumerate(grid.rows):
        for column, text in enumerate(row):
            span = grid.spans.get((index, column), (1, 1))[1] if grid.spans else 1
            if span > 1:
                spanning.append((column, min(column + span, count), text))
            elif typewriter.width(text) > least[column]:
                line, word = _extent(text)
                natural[column] = max(natural[column], line)
                least[column] = max(least[column], word)
    for first, stop, text in spanning:
        for widths, wish in zip((natural, least), _extent(text), strict=True):
            taken = sum(widths[first:stop]) + COLUMN_GAP * (stop - first - 1)
            widths[stop - 1] += max(0, wish - taken)
    return natural, least


def _extent(text: str) -> tuple[int, int]:
    """The widest line of a text, and its widest word as far as words are kept whole."""
    line = max(map(typewriter.width, text.splitlines()), default=1)
    word = max(map(typewriter.width, text.split()), default=1)
    return line, min(word, LONGEST_WORD)


def _set_grid(press: Press, grid: Grid) -> None:
    """The table; one that is too wide for any sheet in several parts, one below the other."""
    natural, least = _column_widths(grid)
    for first, last in _bands(_wishes(natural, least), press.columns):
        available = press.columns - COLUMN_GAP * (last - first - 1)
        widths = typewriter.fitted(natural[first:last], least[first:last], available)
        _set_band(press, grid, first, widths)
        press.gap()


def _bands(wishes: Sequence[int], columns: int) -> Iterator[tuple[int, int]]:
    first = used = 0
    for column, wish in enumerate(wishes):
        if column > first and used + wish > columns:
            yield first, column
            first, used = column, 0
        used += wish + COLUMN_GAP
    if wishes:
        yield first, len(wishes)


def _set_band(press: Press, grid: Grid, first: int, widths: Sequence[int]) -> None:
    starts = [sum(widths[:at]) + COLUMN_GAP * at for at in range(len(widths))]
    rights = _right_aligned(grid, first, len(widths))
    for index, row in enumerate(grid.rows):
        if press.is_full:
            return
        lines: list[list[Placed]] = []
        for at, text in enumerate(row[first : first + len(widths)]):
            if not text:
                continue
            span = grid.spans.get((index, first + at), (1, 1))[1]
            last = min(at + span, len(widths)) - 1
            room = starts[last] + widths[last] - starts[at]
            for line, words in enumerate(_cell_lines(text, room, to_right=at in rights)):
                if line == len(lines):
                    lines.append([])
                lines[line] += [word._replace(column=word.column + starts[at]) for word in words]
        press.put_row(lines)


def _cell_lines(text: str, room: int, *, to_right: bool) -> Iterator[list[Placed]]:
    for line in text.splitlines():
        for words in typewriter.wrapped(line, room):
            if to_right and words:
                shift = room - words[-1].column - words[-1].width
                yield [word._replace(column=word.column + shift) for word in words]
            else:
                yield words


def _right_aligned(grid: Grid, first: int, count: int) -> set[int]:
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
