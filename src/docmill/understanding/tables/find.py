"""The tables of a document, found once for line items, bookings and lists."""

from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.tables.grid import Grid, GridReader
from docmill.understanding.tables.numbers import read_figure
from docmill.understanding.tables.printed_lines import printed_lines

_MOST_PAGES = 200


@once
def find_tables(candidates: Candidates) -> tuple[Grid, ...]:
    """All tables with headings, over pages."""
    layout = candidates.layout
    reader = GridReader(lambda words: read_figure(candidates, words) is not None)
    header_pages = [sheet.page_index for sheet in layout.sheets]
    index, count = 0, len(layout.document.pages)
    while index < min(count, _MOST_PAGES):
        has_rows = reader.read(printed_lines(layout.sheet_of_page(index)))
        index += 1
        if not has_rows:
            index = next((page for page in header_pages if page >= index), count)
    return tuple(grid for grid in reader.grids if grid.rows)
