from collections.abc import Callable
from dataclasses import replace

import pytest

from docmill.model.document import Document, Page
from docmill.reading.layout.tables import add_tables

MakePage = Callable[[str], Page]


@pytest.fixture
def make_page(make_document: Callable[..., Document]) -> MakePage:
    """Pages with a line every twelve points, and six points for a character."""

    def make(text: str) -> Page:
        rows = [row for row in text.splitlines() if row.strip()]
        return replace(make_document(text).pages[0], height_pt=12 * (len(rows) + 2))

    return make


def grids(page: Page) -> list[list[list[str]]]:
    return [table.texts(page.words) for table in add_tables(page).tables]


INVOICE = """\
Halden Freight GmbH         Invoice      2026-104
Dock Street 4               Date         14.10.2026

Pos  Description            Qty  Price      Amount
1    Oak boards, planed     12   34.50      414.00
     on all four sides
2    Screws                 2    4.50         9.00
3    Glue                   1    3.75         3.75
                            Total           426.75
Thank you for your order, which we were glad to carry out.
"""


def test_the_items_of_an_invoice_are_rows_under_the_names_of_their_columns(make_page: MakePage) -> None:
    (grid,) = grids(make_page(INVOICE))

    assert grid == [
        ["Pos", "Description", "Qty", "Price", "Amount"],
        ["1", "Oak boards, planed on all four sides", "12", "34.50", "414.00"],
        ["2", "Screws", "2", "4.50", "9.00"],
        ["3", "Glue", "1", "3.75", "3.75"],
    ]


def test_a_table_and_its_cells_have_boxes_within_one_another(make_page: MakePage) -> None:
    page = make_page(INVOICE)

    (table,) = add_tables(page).tables

    assert all(table.box.x0 <= cell.box.x0 and cell.box.x1 <= table.box.x1 for cell in table.cells)
    assert all(table.box.y0 <= cell.box.y0 and cell.box.y1 <= table.box.y1 for cell in table.cells)
    words = [index for cell in table.cells for index in cell.words]
    assert len(words) == len(set(words))


def test_items_without_names_of_columns_need_amounts(make_page: MakePage) -> None:
    assert len(grids(make_page("Tea      2   4.50\nMilk     1   1.20\nBread    3   9.75"))) == 1
    assert grids(make_page("Tea      2   45\nMilk     1   12\nBread    3   97")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Dear Sirs,\nthank you for your letter.\nYours sincerely",
        "Halden     Invoice   2026-104\nDock 4     Date      14.10.2026\nHamburg    Due       1.1.2027",
        "Name:    Berg     Town:    Hamburg\nStreet:  Dock     Code:    20457\nHouse:   4        Floor:   2",
        "Subtotal                12.00\nTax 19%                 2.28\nTotal                  14.28",
        "one      two      three\nfour     five     six\nseven    eight    nine",
        "Item     Price    Sum",
    ],
)
def test_letters_fields_and_sums_are_no_tables(make_page: MakePage, text: str) -> None:
    assert grids(make_page(text)) == []


def test_a_remark_over_several_columns_is_one_cell_of_its_row(make_page: MakePage) -> None:
    text = """\
Spot    Day     Rate     Amount
7a-8a   Mon     250.00   250.00
given back without any notice
8a-9a   Tue     175.00   175.00
"""
    page = make_page(text)

    (table,) = add_tables(page).tables

    assert table.texts(page.words)[1:] == [
        ["7a-8a given back without any notice", "Mon", "250.00", "250.00"],
        ["8a-9a", "Tue", "175.00", "175.00"],
    ]


def test_prose_after_a_table_ends_it(make_page: MakePage) -> None:
    text = "Item    Qty    Price\nTea     1      4.50\n" + "\n".join(
        f"{number} this sentence goes over the whole width of the page" for number in range(4)
    )

    (grid,) = grids(make_page(text))

    assert len(grid) == 2


def test_another_table_below_is_a_table_of_its_own(make_page: MakePage) -> None:
    text = "Item    Qty    Price\nTea     1      4.50\n"
    text += "Rate of tax   Net amount   Gross   all\n19 %          4.50         5.36    5.36"

    assert [grid[0] for grid in grids(make_page(text))] == [
        ["Item", "Qty", "Price"],
        ["Rate of tax", "Net amount", "Gross", "all"],
    ]


def test_a_page_that_has_tables_keeps_them(make_page: MakePage) -> None:
    page = add_tables(make_page(INVOICE))

    assert add_tables(page) is page
    assert add_tables(replace(page, tables=())).tables == page.tables
    empty = make_page("")
    assert add_tables(empty) is empty
