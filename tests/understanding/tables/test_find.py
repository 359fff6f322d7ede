"""Tables of files that say what a table is, and tables that were guessed."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate, pairwise

from docmill.model.document import Box, Cell, Document, Page, Table
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.tables.find import find_tables
from docmill.understanding.tables.items import items
from docmill.understanding.tables.printed_lines import joined

Typeset = Callable[..., Document]

HEADINGS = "Bezeichnung | Menge | Einzelpreis | Gesamtpreis"


def with_table(typeset: Typeset, *pages: Sequence[str], media_type: str = "text/html") -> Document:
    """A document whose pages have a table each; `|` parts the cells of a row, on paper only a space."""
    document = typeset("\f".join("\n".join(row.replace(" |", "") for row in rows) for rows in pages))
    tables = [_table(page, rows) for page, rows in zip(document.pages, pages, strict=True)]
    return Document(document.content_hash, media_type, tables)


def _table(page: Page, rows: Sequence[str]) -> Page:
    counts = [[len(cell.split()) for cell in row.split("|")] for row in rows]
    edges = list(accumulate((count for row in counts for count in row), initial=0))
    places = [(at, column) for at, row in enumerate(counts) for column in range(len(row))]
    box = Box(0, 0, 1, 1)
    cells = [
        Cell(row, column, 1, 1, box, tuple(range(start, stop)))
        for (row, column), (start, stop) in zip(places, pairwise(edges), strict=True)
    ]
    return Page(
        page.number,
        page.width_pt,
        page.height_pt,
        page.words,
        page.source,
        page.quality,
        tables=(Table(box, len(rows), max(map(len, counts)), tuple(cells)),),
    )


def test_the_cells_of_a_file_are_the_rows_though_no_gap_parts_them(typeset: Typeset) -> None:
    document = with_table(
        typeset,
        [HEADINGS, "Regal 100 | 2 | 5,00 | 10,00", "Tisch 4711 | 3 | 20,00 | 60,00", "Netto | | | 70,00"],
    )

    found = items(candidates_of(document)).rows

    assert [row["description"].value for row in found] == ["Regal 100", "Tisch 4711"]
    assert [row["quantity"].value for row in found] == [Decimal(2), Decimal(3)]
    assert [row["net_amount"].value for row in found] == [Decimal("10.00"), Decimal("60.00")]


def test_a_table_without_headings_goes_on_with_that_of_the_page_before(typeset: Typeset) -> None:
    document = with_table(
        typeset,
        [HEADINGS, "Regal | 2 | 5,00 | 10,00", "Übertrag | | | 10,00"],
        ["Übertrag | | | 10,00", "Tisch | 3 | 20,00 | 60,00", "Gesamtbetrag | | | 70,00"],
    )

    (grid,) = find_tables(candidates_of(document))

    assert [joined(row.cells[0]) for row in grid.rows] == ["Regal", "Tisch"]


def test_after_a_sum_only_rows_with_all_usual_numbers_are_items(typeset: Typeset) -> None:
    document = with_table(
        typeset,
        [
            HEADINGS,
            "Regal | 2 | 5,00 | 10,00",
            "Zwischensumme | | | 10,00",
            "Tisch | 3 | 20,00 | 60,00",
            "Bereits bezahlt | | | 20,00",
        ],
    )

    (grid,) = find_tables(candidates_of(document))

    assert [joined(row.cells[0]) for row in grid.rows] == ["Regal", "Tisch"]


def test_tables_that_were_guessed_from_the_lines_of_a_pdf_do_not_count(typeset: Typeset) -> None:
    rows = [HEADINGS, "Regal 100 | 2 | 5,00 | 10,00", "Tisch 4711 | 3 | 20,00 | 60,00"]
    pages = with_table(typeset, rows).pages
    bare = [Page(page.number, 595, 842, page.words, "text", 1.0) for page in pages]

    guessed, printed = (
        find_tables(candidates_of(Document("0" * 64, "application/pdf", each))) for each in (pages, bare)
    )

    assert [len(grid.rows) for grid in guessed] == [len(grid.rows) for grid in printed]
