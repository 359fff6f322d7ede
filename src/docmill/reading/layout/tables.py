"""Detection of tables: by ruling lines, or by rows whose cells keep their columns, with an amount in each.

Precision goes before recall: a letter, a list of fields or an address has no table, so that without lines a
table needs three columns, one of them of numbers, over at least two rows.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Cell, Page, Table, Words

COLUMN_GAP = 1.1
"""Least gap between two cells, in text heights."""
LEAST_ROWS = 2
CORE = 3
"""Cells that a row needs so that a table is recognised by it."""
FARTHEST = 7
"""Text heights between two such rows of a table, at most."""
WRAPPED = 1.0
"""Largest distance of a wrapped line from the last line of its row, in text heights."""
HALF_LINE = 0.3
"""Lines that overlap by more, in text heights, are cells of one row with different line counts."""
HEADING_DIGITS = 0.2
"""Share of a heading's cells that may have digits, such as a rate of tax."""
NUMERIC = 0.6
"""Share of a column's cells that are numbers in a column of numbers."""
AMOUNTS = 0.75
"""Share of rows with an amount in one column, where columns have no names."""
FILLED = 0.5
"""Share of rows that have a cell in a column, for three columns at least."""
FORM = 0.25
"""From this share of cells that end in a colon on, rows are a list of fields."""
MOST_ASIDE = 2
"""Lines in a row that do not keep the columns inside a table, such as the remark on an item."""
NEAR_PT = 3.0
"""Distance of lines that count as one, and between a line's end and the line it meets."""
MOST_LINES = 400
"""In a direction; more are a drawing."""
LEAST_GRID = 2
"""Rows, and columns, of a grid; one column more makes a table of it."""
FEWEST_CELLS = 2 * LEAST_GRID + 1
"""With words, of a table with lines."""
FILLED_PLACES = 0.4
"""Share of a grid's places that have words."""
MOST_WORDS_IN_CELL = 30
"""On average; more are text in frames."""
STACKED = 3
"""If this many cells of a ruled row have this many lines, the lines are rows that nobody drew."""
RulingLines = NDArray[np.float64]
"""Ruling lines, shape (n, 3): position, beginning, end; in points from the upper left."""
_NUMBER = re.compile(
    r"^[-+(\u2212]?\s*(?:[A-Z]{1,3}\s?|[€$£¥₹]\s?)?[-+\u2212]?\d[\d.,'\u2019\s]*[)%-]?\s?(?:[A-Za-z%€$£¥]{1,3}\.?)?[)*]?$"
)
_AMOUNT = re.compile(r"(?<![\d.])\d[\d.,'\u2019\s]*[.,]\d{2,3}(?![\d.,])")


@dataclass(frozen=True)
class _Piece:
    """Words of one line without a gap: a cell, or a line of one."""

    words: range
    x0: float
    x1: float
    text: str

    @cached_property
    def numeric(self) -> bool:
        return bool(_NUMBER.match(self.text))

    @cached_property
    def has_amount(self) -> bool:
        return bool(_AMOUNT.search(self.text))


@dataclass(frozen=True)
class _Line:
    """A line of the page as pieces."""

    pieces: list[_Piece]
    top: float
    bottom: float

    @cached_property
    def is_core(self) -> bool:
        return len(self.pieces) >= CORE

    @cached_property
    def is_heading(self) -> bool:
        """True if hardly a cell has digits, as in the names of columns."""
        with_digits = sum(any(map(str.isdigit, piece.text)) for piece in self.pieces)
        return with_digits <= HEADING_DIGITS * len(self.pieces)


@dataclass(slots=True)
class _Columns:
    """Stretches of the page's width that no cell leaves, from left to right, and the lines that made them.

    They do not overlap, so that their right ends ascend as well. users: of each, a bit for every line.
    """

    lefts: list[float] = field(default_factory=list[float])
    rights: list[float] = field(default_factory=list[float])
    users: list[int] = field(default_factory=list[int])

    def __len__(self) -> int:
        return len(self.lefts)

    def hits(self, piece: _Piece) -> range:
        """The columns that `piece` stands in."""
        return range(bisect_right(self.rights, piece.x0), bisect_left(self.lefts, piece.x1))

    def with_line(self, line: _Line, number: int) -> "_Columns | None":
        """Columns widened by a line's cells, each in a column of its own; None if they do not fit.

        A piece that stands in several columns makes them one, unless two cells of a line would share it.
        """
        columns = _Columns(self.lefts.copy(), self.rights.copy(), self.users.copy())
        in_columns = 0  # cells that stand in columns of lines before
        for piece in line.pieces:
            hits, x0, x1, users = columns.hits(piece), piece.x0, piece.x1, 1 << number
            if hits:
                x0, x1 = min(x0, columns.lefts[hits[0]]), max(x1, columns.rights[hits[-1]])
                in_columns += 1
            for others in columns.users[hits.start : hits.stop]:
                if users & others:
                    return None
                users |= others
            columns.lefts[hits.start : hits.stop] = [x0]
            columns.rights[hits.start : hits.stop] = [x1]
            columns.users[hits.start : hits.stop] = [users]
        enough = CORE - 1 if line.is_core else min(1, number)
        return columns if not number or in_columns >= enough else None


def add_tables(page: Page, rulings: Callable[[], tuple[RulingLines, RulingLines]] | None = None) -> Page:
    """Add the tables that the page's words make, unless it has some.

    rulings: gives the lines drawn across and down the page; a page without rows does not ask.
    """
    if page.tables or not len(page.words):
        return page
    size = page.width_pt, page.height_pt
    lines = _lines(page.words, *size)
    if sum(line.is_core for line in lines) < LEAST_ROWS:
        return page
    tables = find_ruled_tables(page.words, *rulings(), size) if rulings else []
    ruled = [(table.box.y0 * page.height_pt, table.box.y1 * page.height_pt) for table in tables]
    lines = [line for line in lines if not any(y0 < (line.top + line.bottom) / 2 < y1 for y0, y1 in ruled)]
    text_height = float(np.median([line.bottom - line.top for line in lines])) if lines else 0.0
    at = 0
    while at < len(lines):
        stop, columns = _grow_table(lines, at, text_height)
        table = _table(page.words, lines[at:stop], columns, text_height) if columns else None
        if table is not None:
            tables.append(table)
        at = at + 1 if table is None else stop
    return replace(page, tables=tuple(sorted(tables, key=lambda table: table.box.y0))) if tables else page


def _lines(words: Words, width: float, height: float) -> list[_Line]:
    """The page's lines, cut where a gap is wider than between words."""
    boxes = words.boxes * np.array([width, height] * 2, np.float32)
    x0, y0, x1, y1 = boxes.T
    heights = np.maximum(y1 - y0, 1e-6)
    new_line = np.diff(words.lines, prepend=-1) > 0
    wide = np.zeros(len(words), np.bool_)
    wide[1:] = (x0[1:] - x1[:-1]) > COLUMN_GAP * np.minimum(heights[1:], heights[:-1])
    starts = np.flatnonzero(new_line | wide)
    stops = np.append(starts[1:], len(words))
    lefts, rights = np.minimum.reduceat(x0, starts).tolist(), np.maximum.reduceat(x1, starts).tolist()
    pieces = [
        _Piece(range(start, stop), left, right, " ".join(words.texts[start:stop]))
        for start, stop, left, right in zip(starts.tolist(), stops.tolist(), lefts, rights, strict=True)
    ]
    line_starts = np.flatnonzero(new_line)
    tops, bottoms = np.minimum.reduceat(y0, line_starts), np.maximum.reduceat(y1, line_starts)
    firsts = np.flatnonzero(new_line[starts]).tolist()
    return [
        _Line(pieces[first:last], float(top), float(bottom))
        for first, last, top, bottom in zip(firsts, [*firsts[1:], len(pieces)], tops, bottoms, strict=True)
    ]


def _grow_table(lines: Sequence[_Line], start: int, text_height: float) -> tuple[int, _Columns | None]:
    """Extend a table from line `start` while its columns are kept; the end of its lines, and the columns."""
    if not lines[start].is_core:
        return start, None
    columns = _Columns().with_line(lines[start], 0)
    stop, aside, bottom, has_items = start + 1, 0, lines[start].bottom, not lines[start].is_heading
    for index in range(start + 1, len(lines)):
        line = lines[index]
        if columns is None or not -text_height < line.top - bottom < FARTHEST * text_height:
            break
        if len(line.pieces) > 1:
            extended = columns.with_line(line, index - start)
        else:
            piece = line.pieces[0]
            hits = columns.hits(piece)
            is_within = (
                len(hits) == 1
                and columns.lefts[hits[0]] - text_height <= piece.x0
                and piece.x1 <= columns.rights[hits[0]] + text_height
            )
            extended = columns if is_within else None
        if extended is not None:
            columns, aside, bottom, stop = extended, 0, line.bottom, index + 1
            has_items |= line.is_core and not line.is_heading
        elif aside == MOST_ASIDE or (line.is_core and line.is_heading and has_items):
            break
        else:
            aside += 1
    return stop, columns


def _table(words: Words, lines: Sequence[_Line], columns: _Columns, text_height: float) -> Table | None:
    """The lines as a table, if they are one: enough cells, a column of numbers, no list of fields."""
    core = [line for line in lines if line.is_core]
    pieces = [piece for line in core for piece in line.pieces]
    if (
        len(core) < (2 if lines[0].is_heading else CORE)
        or sum(users.bit_count() >= FILLED * len(core) for users in columns.users) < CORE
        or sum(piece.text.endswith(":") for piece in pieces) > FORM * len(pieces)
    ):
        return None
    # Columns of numbers, by their cells but for the heading.
    counts, numbers = [0] * len(columns), [0] * len(columns)
    for index, line in enumerate(lines):
        if line.is_core and not (index == 0 and line.is_heading):
            for piece in line.pieces:
                for hit in columns.hits(piece):
                    counts[hit] += 1
                    numbers[hit] += piece.numeric
    numeric = {index for index, count in enumerate(counts) if count and numbers[index] >= NUMERIC * count}
    if not lines[0].is_heading:  # then a column needs amounts of money
        amounts = Counter(hit for piece in pieces if piece.has_amount for hit in columns.hits(piece))
        if max((amounts[hit] for hit in numeric), default=0) < AMOUNTS * len(core):
            return None
    rows = _rows(lines, columns, numeric, text_height) if numeric else []
    if len(rows) < LEAST_ROWS:
        return None
    boxes: list[list[float]] = words.boxes.tolist()
    cells = [cell for number, row in enumerate(rows) for cell in _cells(boxes, row, number, columns)]
    return Table(_around([cell.box for cell in cells]), len(rows), len(columns), tuple(cells))


def _rows(
    lines: Sequence[_Line], columns: _Columns, numeric: set[int], text_height: float
) -> list[list[_Line]]:
    """The lines by rows: a wrapped line belongs to the row above, a second line of headings to the first."""
    rows: list[list[_Line]] = []
    for line in lines:
        gap = (line.top - rows[-1][-1].bottom) / text_height if rows else np.inf
        continues = gap < -HALF_LINE
        if not continues and gap < WRAPPED:
            continues = len(rows) == 1 and line.is_heading and all(above.is_heading for above in rows[0])
            if not continues and not line.is_core:
                hits = [hit for piece in line.pieces if piece.numeric for hit in columns.hits(piece)]
                continues = numeric.isdisjoint(hits)
        if continues:
            rows[-1].append(line)
        else:
            rows.append([line])
    first_text = next((index for index in range(len(columns)) if index not in numeric), None)
    while rows and not rows[-1][0].is_core:
        hits = [hit for piece in rows[-1][0].pieces for hit in columns.hits(piece)]
        if first_text in hits and not numeric.isdisjoint(hits):
            break  # an item with a text and a number, not a sum
        rows.pop()
    return rows


def _cells(
    boxes: Sequence[Sequence[float]], row: Sequence[_Line], number: int, columns: _Columns
) -> list[Cell]:
    """A row's cells: its pieces by the columns they stand in, over several if those are free.

    boxes: of the page's words.
    """
    content: dict[int, list[int]] = {}
    spans: dict[int, int] = {}
    pieces = [(piece, columns.hits(piece)) for line in row for piece in line.pieces]
    for piece, hits in sorted(pieces, key=lambda pair: (len(pair[1]), pair[0].words.start)):
        if hits:
            column = hits[0]
        else:  # the nearest
            gaps = [
                max(left - piece.x1, piece.x0 - right)
                for left, right in zip(columns.lefts, columns.rights, strict=True)
            ]
            column = gaps.index(min(gaps))
        content.setdefault(column, []).extend(piece.words)
        if content.keys().isdisjoint(hits[1:]):
            spans[column] = max(spans.get(column, 1), len(hits))
    return [
        Cell(
            *(number, column, 1, spans.get(column, 1)),
            _around([boxes[index] for index in indices]),
            tuple(sorted(indices)),
        )
        for column, indices in sorted(content.items())
    ]


def _around(boxes: Sequence[Sequence[float]]) -> Box:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return Box(min(x0), min(y0), max(x1), max(y1))


def find_ruled_tables(
    words: Words, across: RulingLines, down: RulingLines, size: tuple[float, float]
) -> list[Table]:
    """Find the tables that lines `across` and `down` a page of `size` (width, height, in points) make."""
    across, down = _merge_lines(across), _merge_lines(down)
    if not LEAST_GRID < len(across) <= MOST_LINES or not LEAST_GRID < len(down) <= MOST_LINES:
        return []
    boxes = words.boxes.astype(np.float64) * np.array([*size, *size])
    middles = np.stack([(boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2], axis=1)
    tables = [_grid_table(*grid, words, middles, size) for grid in _grids(across, down)]
    return [table for table in tables if table is not None]


def _merge_lines(lines: RulingLines) -> RulingLines:
    """Merge lines that continue or double each other."""
    if not len(lines):
        return lines.reshape(0, 3)
    merged: list[list[float]] = []
    for at, start, stop in lines[np.lexsort((lines[:, 1], np.round(lines[:, 0] / NEAR_PT)))].tolist():
        last = merged[-1] if merged else None
        is_near = last is not None and abs(last[0] - at) <= NEAR_PT
        if last is not None and is_near and start <= last[2] + NEAR_PT and stop >= last[1] - NEAR_PT:
            last[1], last[2] = min(last[1], start), max(last[2], stop)
        else:
            merged.append([at, start, stop])
    return np.array(merged, np.float64)


def _grids(across: RulingLines, down: RulingLines) -> list[tuple[RulingLines, RulingLines]]:
    """Connected groups of lines, each as those across and those down."""
    meet = (
        (down[None, :, 0] >= across[:, None, 1] - NEAR_PT)
        & (down[None, :, 0] <= across[:, None, 2] + NEAR_PT)
        & (across[:, None, 0] >= down[None, :, 1] - NEAR_PT)
        & (across[:, None, 0] <= down[None, :, 2] + NEAR_PT)
    )
    grids: list[tuple[RulingLines, RulingLines]] = []
    left = meet.any(axis=1)
    while left.any():
        rows = np.zeros(len(across), np.bool_)
        rows[np.flatnonzero(left)[0]] = True
        while True:
            columns = meet[rows].any(axis=0)
            grown = meet[:, columns].any(axis=1)
            if (grown == rows).all():
                break
            rows = grown
        left &= ~rows
        grids.append((across[rows], down[columns]))
    return grids


def _grid_table(
    across: RulingLines,
    down: RulingLines,
    words: Words,
    middles: NDArray[np.float64],
    size: tuple[float, float],
) -> Table | None:
    """The grid of these lines as a table of the page's words, if it is one. middles: of the words."""
    ys, xs = _positions(across[:, 0]), _positions(down[:, 0])
    rows, columns = len(ys) - 1, len(xs) - 1
    if rows < LEAST_GRID or columns < LEAST_GRID or rows * columns > MOST_LINES * LEAST_GRID:
        return None
    row_of = np.searchsorted(ys, middles[:, 1]) - 1
    column_of = np.searchsorted(xs, middles[:, 0]) - 1
    inside = (row_of >= 0) & (row_of < rows) & (column_of >= 0) & (column_of < columns)
    if np.count_nonzero(inside) < FEWEST_CELLS:
        return None
    owners = _cell_owners(across, down, ys, xs)
    indices: dict[tuple[int, int], list[int]] = {}
    for index in np.flatnonzero(inside).tolist():
        indices.setdefault(owners[int(row_of[index])][int(column_of[index])], []).append(index)
    extents: dict[tuple[int, int], tuple[int, int]] = {}
    for row, line in enumerate(owners):
        for column, owner in enumerate(line):
            last = extents.get(owner, owner)
            extents[owner] = max(last[0], row), max(last[1], column)
    cells: list[Cell] = []
    for (row, column), (last_row, last_column) in sorted(extents.items()):
        box = _page_box((xs[column], ys[row], xs[last_column + 1], ys[last_row + 1]), size)
        spans = last_row - row + 1, last_column - column + 1
        cells.append(Cell(row, column, *spans, box, tuple(indices.get((row, column), ()))))
    if not _is_filled_table(cells, words):
        return None
    return Table(_page_box((xs[0], ys[0], xs[-1], ys[-1]), size), rows, columns, tuple(cells))


def _cell_owners(
    across: RulingLines, down: RulingLines, ys: Sequence[float], xs: Sequence[float]
) -> list[list[tuple[int, int]]]:
    """For each place the row and column in which its cell begins: without a line between, cells are one."""
    rows, columns = len(ys) - 1, len(xs) - 1
    has_left, has_above = _has_line(down, xs, ys), _has_line(across, ys, xs)
    owners = [[(row, column) for column in range(columns)] for row in range(rows)]
    for row in range(rows):
        for column in range(columns):
            if column and not has_left[column][row]:
                owners[row][column] = owners[row][column - 1]
            elif row and not has_above[row][column]:
                owners[row][column] = owners[row - 1][column]
    return owners


def _page_box(edges_pt: tuple[float, float, float, float], size: tuple[float, float]) -> Box:
    """The edges as fractions of the page."""
    return Box(*(min(1.0, max(0.0, edge / side)) for edge, side in zip(edges_pt, size * 2, strict=True)))


def _has_line(lines: RulingLines, places: Sequence[float], edges: Sequence[float]) -> list[list[bool]]:
    """For each place and each two neighbouring edges, True if a line at the place runs between the edges."""
    middles = (np.array(edges[:-1]) + np.array(edges[1:])) / 2
    at = np.abs(lines[:, 0] - np.array(places)[:, None]) <= NEAR_PT
    between = (lines[:, 1, None] <= middles) & (lines[:, 2, None] >= middles)
    return (at @ between).tolist()


def _positions(lines: NDArray[np.float64]) -> list[float]:
    """Distinct positions of lines; those close to each other count once."""
    ordered: list[float] = np.sort(lines).tolist()
    return [ordered[0], *(place for last, place in pairwise(ordered) if place - last > NEAR_PT)]


def _is_filled_table(cells: Sequence[Cell], words: Words) -> bool:
    """True if cells are a table's, not frames around text, nor rows of which only the columns are drawn."""
    full = [cell for cell in cells if cell.words]
    word_count = sum(len(cell.words) for cell in full)
    if len(full) < max(FEWEST_CELLS, FILLED_PLACES * len(cells)) or word_count > MOST_WORDS_IN_CELL * len(
        full
    ):
        return False
    if len({cell.row for cell in full}) < LEAST_GRID or len({cell.column for cell in full}) <= LEAST_GRID:
        return False
    stacked = Counter(
        cell.row for cell in full if len(set(words.lines[list(cell.words)].tolist())) >= STACKED
    )
    return max(stacked.values(), default=0) < STACKED
