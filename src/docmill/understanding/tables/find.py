"""Tables of a document, found once for line items, bookings and lists."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from docmill.model.document import Document, Table
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Sheet
from docmill.understanding.tables.columns import Cells, Columns, Row, names_sum
from docmill.understanding.tables.grid import Grid, GridReader, is_alike
from docmill.understanding.tables.headings import Heading, are_headings, heading_of
from docmill.understanding.tables.printed_lines import Word, joined, printed_lines, words_of

_MOST_PAGES = 200
_HEADER_ROWS = 12
"""The first rows of a stored table, one of which has its headings."""
_GUESSED = ("application/pdf", "image/", "text/plain")
"""Types of files without tables of their own: those of their pages were guessed from lines and gaps."""

AreHeadings = Callable[[Sequence[Heading]], bool]


@once
def find_tables(candidates: Candidates) -> tuple[Grid, ...]:
    """All tables of items or bookings: those stored in the file, and those found below headings on pages."""
    layout = candidates.layout
    printed = GridReader(candidates)
    stored = StoredTableReader(candidates, are_headings)
    header_pages = [sheet.page_index for sheet in layout.sheets]
    index, count = 0, len(layout.document.pages)
    while index < min(count, _MOST_PAGES):
        sheet = layout.sheet_of_page(index)
        has_rows = has_own_tables(layout.document) and stored.read(sheet)
        has_rows = has_rows or printed.read(printed_lines(sheet))
        index += 1
        if not has_rows:
            index = next((page for page in header_pages if page >= index), count)
    return tuple(grid for grid in (*stored.grids, *printed.grids) if grid.rows)


def has_own_tables(document: Document) -> bool:
    """True if the tables of the pages are those of the file, as in DOCX, XLSX, HTML and CSV."""
    return not document.media_type.startswith(_GUESSED)


class StoredTableReader:
    """Reads tables that are stored with pages; one without headings continues the one before.

    every_row: include rows without an amount or another number.
    """

    def __init__(self, candidates: Candidates, has_headings: AreHeadings, *, every_row: bool = False) -> None:
        self.grids: list[Grid] = []
        self._candidates = candidates
        self._has_headings = has_headings
        self._every_row = every_row
        self._columns: Columns | None = None

    def read(self, sheet: Sheet) -> bool:
        """True if the page has rows of a table; they are in `grids`."""
        words: dict[int, Word] = {}
        for segment in sheet.segments if sheet.page.tables else ():
            words.update(enumerate(words_of(sheet, segment), segment.start))
        return sum(self._read_table(table, words) for table in sheet.page.tables) > 0

    def _read_table(self, table: Table, words: Mapping[int, Word]) -> bool:
        rows: list[Cells] = [[[] for _ in range(table.column_count)] for _ in range(table.row_count)]
        for cell in table.cells:
            rows[cell.row][cell.column] = [words[index] for index in cell.words if index in words]
        start = 0
        for index, cells in enumerate(rows[:_HEADER_ROWS]):
            headings = tuple(heading_of(joined(cell), 0.0, 0.0) for cell in cells)
            if self._has_headings(headings):
                start = index + 1
                columns = self._columns = Columns(headings, self._candidates)
                columns.choose_text(rows[start:])
                columns.choose_anchors(rows[start:])
                segments = frozenset(word.segment.index for cell in cells for word in cell)
                self.grids.append(Grid(headings, columns.text, segments))
                break
        columns = self._columns
        if columns is None or len(columns.headings) != table.column_count:
            return False
        return self._add_rows(columns, rows[start:])

    def _add_rows(self, columns: Columns, rows: Sequence[Cells]) -> bool:
        """Add the rows that are not sums; after a sum, only rows with all usual numbers."""
        grid, is_after_sum = self.grids[-1], False
        count = len(grid.rows)
        for cells in rows:
            figures = columns.figures(cells)
            if columns.is_carried(" ".join(map(joined, cells)), figures):
                continue
            if any(names_sum(joined(cell)) for cell in cells) and not columns.is_item(cells, figures):
                is_after_sum = True
            elif (self._every_row or figures & columns.anchors) and not (
                is_after_sum and not is_alike(grid.rows, figures)
            ):
                row = Row(cells, frozenset(figures), figures)
                if columns.text is not None:  # lines apart, so that a broken word becomes whole
                    name = cells[columns.text]
                    lines = [list(line) for _, line in groupby(name, lambda word: word.segment.line)]
                    cells[columns.text], row.below = (lines[0], lines[1:]) if lines else ([], [])
                grid.rows.append(row)
        return len(grid.rows) > count
