"""Tables as markup describes them: row by row, with cells that reach into others' rows and columns."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from docmill.reading.layout.typeset import (
    Block,
    HeadingBlock,
    MissingBlock,
    PageBreak,
    Paragraph,
    TableBlock,
    Worksheet,
    beside_text,
    plain,
)

MAX_ROW_SPAN = 1000
MAX_COLUMNS = 1000
MANY_LINES = 60
"""A cell with more lines is not one of a table but a part of a page."""
MAX_CELLS = 500_000
"""Limit of one workbook: a thousand pages full of numbers."""
MAX_PLACES = 4_000_000
"""Rows times columns of one table. Cells scattered wider than that are not set as a table."""
TOO_MANY = "the workbook has more than {count:,} cells, and the rest was not read; split it to have all of it"


class TableCell(NamedTuple):
    """A cell as its file describes it. row_span, column_span: how many rows and columns it claims."""

    blocks: Sequence[Block]
    row_span: int = 1
    column_span: int = 1


def table(rows: Sequence[Sequence[TableCell]], header_rows: int = 0) -> list[Block]:
    """The table without its empty rows and columns.

    Pictures in its cells come after it. One that only puts things in their places, with a single column or
    with parts of a page as its cells, is dissolved into what its cells hold.
    """
    placed: dict[tuple[int, int], TableCell] = {}
    taken_until: dict[int, int] = {}  # of each column, the first row that no cell above takes
    for row, cells in enumerate(rows):
        column = 0
        for cell in cells:
            while taken_until.get(column, 0) > row:
                column += 1
            width = max(1, min(cell.column_span, MAX_COLUMNS - column))
            height = max(1, min(cell.row_span or len(rows), len(rows) - row, MAX_ROW_SPAN))
            placed[row, column] = cell._replace(row_span=height, column_span=width)
            taken_until.update(dict.fromkeys(range(column, column + width), row + height))
            column += width
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
    return [TableBlock(grid, bisect_left(kept, header_rows), spans), *beside]


@dataclass(slots=True)
class SheetContent:
    """Cells and pictures of a sheet.

    rows: row to column to text. merged: first row and column, and how many of each are taken. notes: texts
    beside the cells. pictures: those with text, and notes on others. values: row number to column to the
    number or the day that a cell stores. first_row: the index of the topmost row. from_1904: days
    count from 1904 instead of 1900.
    """

    name: str
    rows: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    merged: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    notes: list[str] = field(default_factory=list[str])
    pictures: list[Block] = field(default_factory=list[Block])
    problem: str | None = None
    values: dict[int, dict[int, float | date]] = field(default_factory=dict[int, dict[int, float | date]])
    first_row: int = 0
    from_1904: bool = False

    def put(self, row: int, column: int, text: str, value: float | date | None = None) -> None:
        """Fill a cell, unless the text has nothing visible. value: see `values`."""
        if text and not text.isspace():
            self.rows.setdefault(row, {})[column] = text
            if value is not None:
                self.values.setdefault(row - self.first_row + 1, {})[column] = value


@dataclass(slots=True)
class Budget:
    """Limit of the cells of all sheets of a workbook. is_spent: more were wanted."""

    cells: int = MAX_CELLS
    used: int = 0
    is_spent: bool = False

    def spend(self) -> bool:
        """Take one cell; False if there was none left."""
        self.used += 1
        self.is_spent = self.used > self.cells
        return not self.is_spent


def blocks(sheets: Sequence[SheetContent], budget: Budget) -> Iterator[Block]:
    """The sheets in order, each on pages of its own; those without content are left out."""
    filled = [sheet for sheet in sheets if sheet.rows or sheet.notes or sheet.pictures or sheet.problem]
    for sheet in filled:
        if len(filled) > 1:
            yield HeadingBlock(sheet.name, 2)
        if sheet.rows:
            yield from _sheet_table(sheet)
        yield from map(Paragraph, sheet.notes)
        yield from sheet.pictures
        if sheet.problem:
            yield MissingBlock(sheet.problem)
        yield PageBreak()
    if budget.is_spent:
        yield MissingBlock(TOO_MANY.format(count=budget.cells))


def _sheet_table(sheet: SheetContent) -> Iterator[Block]:
    """The cells as a table with an empty row for each gap, or line by line if they are too scattered."""
    columns = sorted({column for row in sheet.rows.values() for column in row})
    numbers = sorted(sheet.rows)
    if len(columns) * len(numbers) > MAX_PLACES:
        for number in numbers:
            cells = sheet.rows[number]
            yield Paragraph("   ".join(cells[column] for column in sorted(cells)), is_set=True)
        return
    rows: list[list[str]] = []
    places: dict[int, int] = {}
    row_numbers: list[int] = []
    for number in numbers:
        if number - 1 not in places and rows:
            rows.append([])
            row_numbers.append(number - sheet.first_row)
        row_numbers.append(number - sheet.first_row + 1)
        places[number] = len(rows)
        cells = sheet.rows[number]
        rows.append([cells.get(column, "") for column in columns])
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    for row, column, height, width in sheet.merged:
        at, stop = bisect_left(columns, column), bisect_left(columns, column + width)
        last = bisect_left(numbers, row + height) - 1
        if row in places and at < stop and columns[at] == column:
            span = (places[numbers[last]] - places[row] + 1, stop - at)
            if span != (1, 1):
                spans[places[row], at] = span
    first_day = date(1904, 1, 1) if sheet.from_1904 else date(1899, 12, 30)
    worksheet = Worksheet(sheet.name, row_numbers, columns, sheet.values, first_day)
    yield TableBlock(rows, spans=spans, sheet=worksheet)
