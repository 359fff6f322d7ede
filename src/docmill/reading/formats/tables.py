"""Tables as markup describes them: row by row, with cells that reach into others' rows and columns."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from docmill.reading.flow import Block, Grid, beside_text, plain

MAX_ROW_SPAN = 1000
MAX_COLUMNS = 1000
MANY_LINES = 60
"""A cell with more lines is not one of a table but a part of a page."""


class TableCell(NamedTuple):
    """A cell as it was found. row_span, column_span: how many rows and columns it says to take."""

    blocks: Sequence[Block]
    row_span: int = 1
    column_span: int = 1


def table(rows: Sequence[Sequence[TableCell]], header_rows: int = 0) -> list[Block]:
    """The table without its empty rows and columns.

    Pictures in its cells come after it. One that only puts things in their places, with a single column or
    with parts of a page as its cells, is dissolved into what its cells hold.
    """
    placed = _placed(rows)
    texts = {place: plain(cell.blocks) for place, cell in placed.items()}
    filled = {place for place, text in texts.items() if text.strip()}
    columns = sorted({column for _, column in filled})
    kept = sorted({row for row, _ in filled})
    if len(columns) < 2 or any(text.count("\n") >= MANY_LINES for text in texts.values()):  # noqa: PLR2004 - a table
        return [block for cells in rows for cell in cells for block in cell.blocks]
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    for row, column in filled:
        cell = placed[row, column]
        at_row, at_column = bisect_left(kept, row), bisect_left(columns, column)
        height = bisect_left(kept, row + cell.row_span) - at_row
        width = bisect_left(columns, column + cell.column_span) - at_column
        if (height, width) != (1, 1):
            spans[at_row, at_column] = (height, width)
    grid = [[texts.get((row, column), "") for column in columns] for row in kept]
    beside = [block for cells in rows for cell in cells for block in beside_text(cell.blocks)]
    return [Grid(grid, bisect_left(kept, header_rows), spans), *beside]


def _placed(rows: Sequence[Sequence[TableCell]]) -> dict[tuple[int, int], TableCell]:
    """Each cell at its row and column; what cells above take is left free."""
    placed: dict[tuple[int, int], TableCell] = {}
    taken: dict[int, int] = {}
    for row, cells in enumerate(rows):
        column = 0
        for cell in cells:
            while taken.get(column, 0) > row:
                column += 1
            width = max(1, min(cell.column_span, MAX_COLUMNS - column))
            height = max(1, min(cell.row_span or len(rows), len(rows) - row, MAX_ROW_SPAN))
            placed[row, column] = cell._replace(row_span=height, column_span=width)
            for other in range(column, column + width):
                taken[other] = row + height
            column += width
    return placed
