"""Detection of tables by ruling lines: a grid, and the words within its cells."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Cell, Table, Words

NEAR = 3.0
"""Points between lines that are one, and between a line's end and the line it meets."""
MOST_LINES = 400
"""In a direction; more are a drawing."""
LEAST = 2
"""Rows, and columns, of a grid; one column more makes a table of it."""
FEWEST_CELLS = 2 * LEAST + 1
"""With words, of a table."""
FILLED = 0.4
"""Share of a grid's places that have words."""
MOST_WORDS = 30
"""In a cell, on average; more are text in frames."""
STACKED = 3
"""Lines in so many cells of one ruled row are rows of their own, which nobody drew."""

RulingLines = NDArray[np.float64]
"""Ruling lines, shape (n, 3): where it stands, its beginning, its end; in points from the upper left."""


def find_ruled_tables(
    words: Words, across: RulingLines, down: RulingLines, size: tuple[float, float]
) -> list[Table]:
    """The tables that lines `across` and `down` a page of `size` (width, height, in points) make."""
    across, down = _joined(across), _joined(down)
    if not LEAST < len(across) <= MOST_LINES or not LEAST < len(down) <= MOST_LINES:
        return []
    boxes = words.boxes.astype(np.float64) * np.array([*size, *size])
    middles = np.stack([(boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2], axis=1)
    found: list[Table] = []
    for some_across, some_down in _grids(across, down):
        table = _Grid(some_across, some_down).table(words, middles, size)
        if table is not None:
            found.append(table)
    return sorted(found, key=lambda table: table.box.y0)


def _joined(lines: RulingLines) -> RulingLines:
    """Lines that continue or double each other as one."""
    if not len(lines):
        return lines.reshape(0, 3)
    found: list[list[float]] = []
    for at, start, stop in lines[np.lexsort((lines[:, 1], np.round(lines[:, 0] / NEAR)))].tolist():
        last = found[-1] if found else None
        if (
            last is not None
            and abs(last[0] - at) <= NEAR
            and start <= last[2] + NEAR
            and stop >= last[1] - NEAR
        ):
            last[1], last[2] = min(last[1], start), max(last[2], stop)
        else:
            found.append([at, start, stop])
    return np.array(found, np.float64)


def _grids(across: RulingLines, down: RulingLines) -> list[tuple[RulingLines, RulingLines]]:
    """Lines that hang together, as those across and those down."""
    meet = (
        (down[None, :, 0] >= across[:, None, 1] - NEAR)
        & (down[None, :, 0] <= across[:, None, 2] + NEAR)
        & (across[:, None, 0] >= down[None, :, 1] - NEAR)
        & (across[:, None, 0] <= down[None, :, 2] + NEAR)
    )
    found: list[tuple[RulingLines, RulingLines]] = []
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
        found.append((across[rows], down[columns]))
    return found


class _Grid:
    """Rows and columns between lines; where a line is missing, cells are one."""

    def __init__(self, across: RulingLines, down: RulingLines) -> None:
        self._across, self._down = across, down
        self._ys, self._xs = _places(across[:, 0]), _places(down[:, 0])

    def table(self, words: Words, middles: NDArray[np.float64], size: tuple[float, float]) -> Table | None:
        """The grid as a table of the page's words, if it is one."""
        rows, columns = len(self._ys) - 1, len(self._xs) - 1
        if rows < LEAST or columns < LEAST or rows * columns > MOST_LINES * LEAST:
            return None
        held: dict[tuple[int, int], list[int]] = {}
        row_of = np.searchsorted(self._ys, middles[:, 1]) - 1
        column_of = np.searchsorted(self._xs, middles[:, 0]) - 1
        inside = (row_of >= 0) & (row_of < rows) & (column_of >= 0) & (column_of < columns)
        if np.count_nonzero(inside) < FEWEST_CELLS:
            return None
        owners = self._owners(rows, columns)
        for index in np.flatnonzero(inside).tolist():
            held.setdefault(owners[int(row_of[index])][int(column_of[index])], []).append(index)
        cells = self._cells(owners, held, size)
        if not _is_table(cells, words):
            return None
        box = self._box((0, 0, rows, columns), size)
        return Table(box, rows, columns, tuple(cells))

    def _owners(self, rows: int, columns: int) -> list[list[tuple[int, int]]]:
        """For each place the row and column in which its cell begins."""
        left_of = _parted(self._down, self._xs, self._ys)
        above = _parted(self._across, self._ys, self._xs)
        owners = [[(row, column) for column in range(columns)] for row in range(rows)]
        for row in range(rows):
            for column in range(columns):
                if column and not left_of[column][row]:
                    owners[row][column] = owners[row][column - 1]
                elif row and not above[row][column]:
                    owners[row][column] = owners[row - 1][column]
        return owners

    def _cells(
        self,
        owners: list[list[tuple[int, int]]],
        held: dict[tuple[int, int], list[int]],
        size: tuple[float, float],
    ) -> list[Cell]:
        extents: dict[tuple[int, int], tuple[int, int]] = {}
        for row, line in enumerate(owners):
            for column, owner in enumerate(line):
                last = extents.get(owner, owner)
                extents[owner] = max(last[0], row), max(last[1], column)
        cells: list[Cell] = []
        for (row, column), (last_row, last_column) in sorted(extents.items()):
            box = self._box((row, column, last_row + 1, last_column + 1), size)
            spans = last_row - row + 1, last_column - column + 1
            cells.append(Cell(row, column, *spans, box, tuple(held.get((row, column), ()))))
        return cells

    def _box(self, places: tuple[int, int, int, int], size: tuple[float, float]) -> Box:
        top, left, bottom, right = places
        width, height = size
        x0, x1 = self._xs[left] / width, self._xs[right] / width
        y0, y1 = self._ys[top] / height, self._ys[bottom] / height
        return Box(*(min(1.0, max(0.0, edge)) for edge in (x0, y0, x1, y1)))


def _parted(lines: RulingLines, places: Sequence[float], edges: Sequence[float]) -> list[list[bool]]:
    """For each of `places` whether a line at it stands between each two neighbouring edges."""
    middles = (np.array(edges[:-1]) + np.array(edges[1:])) / 2
    at = np.abs(lines[:, 0] - np.array(places)[:, None]) <= NEAR
    between = (lines[:, 1, None] <= middles) & (lines[:, 2, None] >= middles)
    return (at @ between).tolist()


def _places(lines: NDArray[np.float64]) -> list[float]:
    """Distinct positions of lines; those close to each other count once."""
    ordered: list[float] = np.sort(lines).tolist()
    return [ordered[0], *(place for last, place in pairwise(ordered) if place - last > NEAR)]


def _is_table(cells: Sequence[Cell], words: Words) -> bool:
    """True if cells are a table's, not frames around text, nor rows of which only the columns are drawn."""
    full = [cell for cell in cells if cell.words]
    if len(full) < max(FEWEST_CELLS, FILLED * len(cells)) or sum(
        len(cell.words) for cell in full
    ) > MOST_WORDS * len(full):
        return False
    wide = {cell.row for cell in full}
    columns = {cell.column for cell in full}
    if len(wide) < LEAST or len(columns) <= LEAST:
        return False
    stacked: dict[int, int] = {}
    for cell in full:
        lines = len(set(words.lines[list(cell.words)].tolist()))
        stacked[cell.row] = stacked.get(cell.row, 0) + (lines >= STACKED)
    return max(stacked.values()) < STACKED
