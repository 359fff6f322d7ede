"""Detection of tables by ruling lines: a grid, and the words within its cells."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Cell, Table, Words

NEAR = 3.0
"""Points between lines that count as one, and between a line's end and the line it meets."""
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
"""If this many cells of a ruled row have this many lines, the lines are rows that nobody drew."""

RulingLines = NDArray[np.float64]
"""Ruling lines, shape (n, 3): position, beginning, end; in points from the upper left."""


def find_ruled_tables(
    words: Words, across: RulingLines, down: RulingLines, size: tuple[float, float]
) -> list[Table]:
    """Find the tables that lines `across` and `down` a page of `size` (width, height, in points) make."""
    across, down = _merged_lines(across), _merged_lines(down)
    if not LEAST < len(across) <= MOST_LINES or not LEAST < len(down) <= MOST_LINES:
        return []
    boxes = words.boxes.astype(np.float64) * np.array([*size, *size])
    middles = np.stack([(boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2], axis=1)
    tables = [_grid_table(*grid, words, middles, size) for grid in _grids(across, down)]
    return sorted((table for table in tables if table is not None), key=lambda table: table.box.y0)


def _merged_lines(lines: RulingLines) -> RulingLines:
    """Merge lines that continue or double each other."""
    if not len(lines):
        return lines.reshape(0, 3)
    merged: list[list[float]] = []
    for at, start, stop in lines[np.lexsort((lines[:, 1], np.round(lines[:, 0] / NEAR)))].tolist():
        last = merged[-1] if merged else None
        is_near = last is not None and abs(last[0] - at) <= NEAR
        if last is not None and is_near and start <= last[2] + NEAR and stop >= last[1] - NEAR:
            last[1], last[2] = min(last[1], start), max(last[2], stop)
        else:
            merged.append([at, start, stop])
    return np.array(merged, np.float64)


def _grids(across: RulingLines, down: RulingLines) -> list[tuple[RulingLines, RulingLines]]:
    """Connected groups of lines, each as those across and those down."""
    meet = (
        (down[None, :, 0] >= across[:, None, 1] - NEAR)
        & (down[None, :, 0] <= across[:, None, 2] + NEAR)
        & (across[:, None, 0] >= down[None, :, 1] - NEAR)
        & (across[:, None, 0] <= down[None, :, 2] + NEAR)
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
    ys, xs = _places(across[:, 0]), _places(down[:, 0])
    rows, columns = len(ys) - 1, len(xs) - 1
    if rows < LEAST or columns < LEAST or rows * columns > MOST_LINES * LEAST:
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
        box = _box((xs[column], ys[row], xs[last_column + 1], ys[last_row + 1]), size)
        spans = last_row - row + 1, last_column - column + 1
        cells.append(Cell(row, column, *spans, box, tuple(indices.get((row, column), ()))))
    if not _is_table(cells, words):
        return None
    return Table(_box((xs[0], ys[0], xs[-1], ys[-1]), size), rows, columns, tuple(cells))


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


def _box(edges_pt: tuple[float, float, float, float], size: tuple[float, float]) -> Box:
    """The edges as fractions of the page."""
    return Box(*(min(1.0, max(0.0, edge / side)) for edge, side in zip(edges_pt, size * 2, strict=True)))


def _has_line(lines: RulingLines, places: Sequence[float], edges: Sequence[float]) -> list[list[bool]]:
    """For each place and each two neighbouring edges, True if a line at the place runs between the edges."""
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
    word_count = sum(len(cell.words) for cell in full)
    if len(full) < max(FEWEST_CELLS, FILLED * len(cells)) or word_count > MOST_WORDS * len(full):
        return False
    if len({cell.row for cell in full}) < LEAST or len({cell.column for cell in full}) <= LEAST:
        return False
    stacked = Counter(
        cell.row for cell in full if len(set(words.lines[list(cell.words)].tolist())) >= STACKED
    )
    return max(stacked.values(), default=0) < STACKED
