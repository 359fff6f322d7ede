"""Typesetting: lines of words on pages, in characters that are all equally wide."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from docmill.model.document import Box, Cell, Page, Table, Words

WORD = re.compile(r"\S+")
WIDE = frozenset("WF")
"""East Asian widths of two characters (Unicode, UAX 11)."""
NO_WIDTH = frozenset(("Mn", "Me", "Cf"))
COLUMN_GAP = 3
"""Characters between the columns of a table."""


class WordInLine(NamedTuple):
    """A word in a line. column: where it starts; width: both in characters."""

    column: int
    width: int
    text: str


def text_width(text: str) -> int:
    """Width of `text` in characters."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    if unicodedata.category(character) in NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE else 1


def wrap_line(line: str, columns: int, *, is_set: bool = False) -> list[list[WordInLine]]:
    """Wrap a line of text into as many lines of `columns` as its words need; at least one.

    is_set: gaps between words stay as wide as they are.
    """
    if line.isascii() and len(line) <= columns and (is_set or "  " not in line):  # most lines
        text = line if is_set else line.strip()
        return [[WordInLine(match.start(), len(match[0]), match[0]) for match in WORD.finditer(text)]]
    rows: list[list[WordInLine]] = [[]]
    end = previous = 0
    for match in WORD.finditer(line):
        gap = match.start() - previous if is_set else bool(rows[-1])
        previous = match.end()
        at = end + gap
        for piece, size in _pieces(match[0], columns):
            if at + size > columns and (rows[-1] or at):
                if rows[-1]:
                    rows.append([])
                at = 0
            rows[-1].append(WordInLine(at, size, piece))
            end = at = at + size
    return rows


def _pieces(word: str, columns: int) -> Iterator[tuple[str, int]]:
    """The word, broken where it is wider than a line; with widths."""
    size = text_width(word)
    if size <= columns:
        yield word, size
        return
    start = room = 0
    for index, character in enumerate(word):
        size = _character_width(character)
        if room + size > columns and index > start:
            yield word[start:index], room
            start, room = index, 0
        room += size
    yield word[start:], room


def fit_columns(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Widths of columns that together take at most `available` characters where `least` allows it.

    The widest columns give way first.
    """
    if sum(natural) <= available:
        return list(natural)
    low, high = 1, max(natural)
    while low < high:  # the highest ceiling under which all fit
        middle = (low + high + 1) // 2
        if sum(cap_widths(natural, least, middle)) <= available:
            low = middle
        else:
            high = middle - 1
    return cap_widths(natural, least, low)


def cap_widths(natural: Sequence[int], least: Sequence[int], ceiling: int) -> list[int]:
    """Natural widths of columns, cut at the ceiling where `least` allows it."""
    return [max(min(width, ceiling), floor) for width, floor in zip(natural, least, strict=True)]


A4_PT = (595.0, 842.0)
A4_RATIO = 842 / 595
MARGIN_PT = 48.0
CELL_PT = 5.4
"""The width of a character, as of 9 points in a monospaced typeface."""
LINE_PT = 13.0
TEXT_PT = 10.0
"""The height of a word's box within its line."""
GAP_PT = 8.0
ROUNDING_PT = 0.01
LEAST = 2
"""Rows and columns of a table."""
PORTRAIT = 92
LANDSCAPE = 138
WIDEST = 400
"""Characters in a line: of A4, of A4 turned, and of the widest sheet that a table may ask for."""
REST = "the document is longer than {count} pages, and its rest was not read; split it to have all of it"


class SetCell(NamedTuple):
    """A cell of a row. left, right: of its column, in characters; lines: its words, placed on the sheet."""

    column: int
    row_span: int
    column_span: int
    left: int
    right: int
    lines: Sequence[Sequence[WordInLine]]


class SetFigure(NamedTuple):
    """A picture, as it is stored, and where it stands."""

    page_number: int
    box: Box
    content: bytes


class _Row(NamedTuple):
    """A row of a table on one page. cells: each with the indices of its words."""

    y0_pt: float
    y1_pt: float
    cells: list[tuple[SetCell, tuple[int, ...]]]


@dataclass(slots=True)
class _Sheet:
    """A page being filled. boxes: four fractions for each word; rows: of the table that is being set."""

    width_pt: float
    height_pt: float
    y_pt: float = MARGIN_PT
    bottom_pt: float = MARGIN_PT
    line: int = 0
    block: int = 0
    texts: list[str] = field(default_factory=list[str])
    boxes: list[float] = field(default_factory=list[float])
    lines: list[int] = field(default_factory=list[int])
    blocks: list[int] = field(default_factory=list[int])
    rows: list[_Row] = field(default_factory=list[_Row])
    tables: list[Table] = field(default_factory=list[Table])
    figures: list[tuple[Box, bytes]] = field(default_factory=list[tuple[Box, bytes]])
    problems: list[str] = field(default_factory=list[str])

    @property
    def is_used(self) -> bool:
        return bool(self.texts or self.figures)

    def has_room(self, height_pt: float) -> bool:
        return self.y_pt + height_pt <= self.height_pt - MARGIN_PT

    def add(self, words: Sequence[WordInLine], scale: float) -> None:
        top = self.y_pt + (LINE_PT - TEXT_PT) / 2 * scale
        y0, y1 = top / self.height_pt, (top + TEXT_PT * scale) / self.height_pt
        for column, width, text in words:
            x0 = MARGIN_PT + column * CELL_PT * scale
            x1 = x0 + max(width, 1) * CELL_PT * scale
            self.boxes += (x0 / self.width_pt, y0, x1 / self.width_pt, y1)
            self.texts.append(text)
        self.lines += [self.line] * len(words)
        self.blocks += [self.block] * len(words)
        self.line += 1
        self.y_pt += LINE_PT * scale
        self.bottom_pt = self.y_pt

    def add_row(self, cells: Sequence[SetCell], first: int, stop: int) -> None:
        """Lines `first` to `stop` (exclusive) of the cells side by side, and a row of the table."""
        y0_pt = self.y_pt
        indices: list[list[int]] = [[] for _ in cells]
        for at in range(first, stop):
            words: list[WordInLine] = []
            for cell, cell_indices in zip(cells, indices, strict=True):
                line = cell.lines[at] if at < len(cell.lines) else ()
                start = len(self.texts) + len(words)
                cell_indices.extend(range(start, start + len(line)))
                words += line
            self.add(words, 1.0)
        filled = [(cell, tuple(members)) for cell, members in zip(cells, indices, strict=True) if members]
        self.rows.append(_Row(y0_pt, self.y_pt, filled))

    def close_table(self, column_count: int) -> None:
        """Make a table of the rows, if they are one: a single row or column is none."""
        rows, self.rows = self.rows, []
        columns = {cell.column for row in rows for cell, _ in row.cells}
        if len(rows) < LEAST or len(columns) < LEAST:
            return
        cells: list[Cell] = []
        for at, row in enumerate(rows):
            for cell, words in row.cells:
                row_span = min(cell.row_span, len(rows) - at)
                x0, x1 = ((MARGIN_PT + edge * CELL_PT) / self.width_pt for edge in (cell.left, cell.right))
                y0, y1 = row.y0_pt / self.height_pt, rows[at + row_span - 1].y1_pt / self.height_pt
                box = Box(x0, y0, min(x1, 1.0), y1)
                cells.append(Cell(at, cell.column, row_span, cell.column_span, box, words))
        boxes = np.array([cell.box for cell in cells])
        around = Box(*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist())
        self.tables.append(Table(around, len(rows), column_count, tuple(cells)))

    def page(self, number: int) -> Page:
        words = Words(
            texts=self.texts,
            boxes=np.clip(np.array(self.boxes, np.float32).reshape(-1, 4), 0, 1),
            confidences=np.ones(len(self.texts), np.float32),
            lines=np.array(self.lines, np.int32),
            blocks=np.array(self.blocks, np.int32),
        )
        is_unread = bool(self.problems) and not self.is_used
        return Page(
            number,
            self.width_pt,
            self.height_pt,
            words,
            source="none" if is_unread else "text",
            quality=0.0 if is_unread else 1.0,
            problem="; ".join(self.problems) or None,
            tables=tuple(self.tables),
        )


class Typesetter:
    """Sets lines one below the other, page after page.

    columns: how many characters a line holds. is_full: nothing more is taken. figures: on finished pages.
    """

    def __init__(self, max_pages: int | None = None) -> None:
        self.columns = PORTRAIT
        self.is_full = False
        self.figures: list[SetFigure] = []
        self._max_pages = max_pages
        self._pages: list[Page] = []
        self._sheet = self._blank()

    def start(self, columns: int) -> None:
        """Start a page that is `columns` characters wide."""
        self._turn()
        self.columns = columns
        self._sheet = self._blank()

    def put(self, words: Sequence[WordInLine], *, scale: float = 1.0) -> None:
        """Put a line; one without words leaves room."""
        if not words:
            self.gap(LINE_PT * scale)
            return
        if not self._sheet.has_room(LINE_PT * scale):
            self._turn()
        if not self.is_full:
            self._sheet.add(words, scale)

    def put_figure(self, content: bytes, width_pt: float, height_pt: float) -> None:
        """Put a picture in a place of its own, no larger than a page."""
        sheet = self._sheet
        room = sheet.width_pt - 2 * MARGIN_PT, sheet.height_pt - 2 * MARGIN_PT
        scale = min(1.0, room[0] / max(width_pt, 1.0), room[1] / max(height_pt, 1.0))
        width_pt, height_pt = width_pt * scale, height_pt * scale
        if not sheet.has_room(height_pt - ROUNDING_PT):
            self._turn()
            sheet = self._sheet
        if not self.is_full:
            x0, y0 = MARGIN_PT / sheet.width_pt, sheet.y_pt / sheet.height_pt
            box = Box(x0, y0, x0 + width_pt / sheet.width_pt, y0 + height_pt / sheet.height_pt)
            sheet.figures.append((box, content))
            sheet.y_pt += height_pt
            sheet.bottom_pt = sheet.y_pt

    def add_problem(self, problem: str) -> None:
        """State on the page, once, what is missing on it."""
        if problem not in self._sheet.problems:
            self._sheet.problems.append(problem)

    def put_row(self, cells: Sequence[SetCell], column_count: int) -> None:
        """Put a row of a table, on one page if it fits on any. One without words ends the table."""
        height = max((len(cell.lines) for cell in cells), default=0)
        if not height:
            self.end_table(column_count)
            self.gap(LINE_PT)
            return
        if not self._sheet.has_room(LINE_PT * height) and self._sheet.is_used:
            self.end_table(column_count)
            self._turn()
        done = 0
        while done < height and not self.is_full:
            sheet = self._sheet
            room = max(1, int((sheet.height_pt - MARGIN_PT - sheet.y_pt) / LINE_PT))
            sheet.add_row(cells, done, min(done + room, height))
            done += room
            if done < height:
                self.end_table(column_count)
                self._turn()

    def end_table(self, column_count: int) -> None:
        """End the table: the next row starts another."""
        self._sheet.close_table(column_count)

    def gap(self, height_pt: float = GAP_PT) -> None:
        """Leave room between blocks, but none above the first; room that was left before counts."""
        sheet = self._sheet
        if sheet.is_used:
            after = sheet.bottom_pt + height_pt
            sheet.y_pt = max(sheet.y_pt, after) if height_pt < LINE_PT else sheet.y_pt + height_pt
            sheet.block = sheet.blocks[-1] + 1 if sheet.blocks else 0

    def put_unread_page(self, problem: str) -> None:
        """Put a page that states what could not be read."""
        self._turn()
        if not self.is_full:
            self._pages.append(self._unread_page(problem))

    def finish(self) -> list[Page]:
        """The pages; one without words if nothing was put."""
        self._turn()
        if self.is_full:
            return [*self._pages, self._unread_page(REST.format(count=len(self._pages)))]
        return self._pages or [self._blank().page(1)]

    def _turn(self) -> None:
        """Put the page aside if there is anything on it, and take a new one."""
        if self._sheet.is_used or self._sheet.problems:
            if len(self._pages) == self._max_pages:
                self.is_full = True
            else:
                number = len(self._pages) + 1
                self._pages.append(self._sheet.page(number))
                self.figures += [SetFigure(number, box, content) for box, content in self._sheet.figures]
        self._sheet = self._blank()

    def _unread_page(self, problem: str) -> Page:
        page = self._blank().page(len(self._pages) + 1)
        return replace(page, source="none", quality=0.0, problem=problem)

    def _blank(self) -> _Sheet:
        width_pt = max(A4_PT[0], 2 * MARGIN_PT + self.columns * CELL_PT)
        if width_pt < A4_PT[0] + CELL_PT:
            return _Sheet(*A4_PT)
        return _Sheet(width_pt, round(width_pt / A4_RATIO, 1))
