from docmill.model.document import Page
from docmill.reading.layout.typeset import (
    HeadingBlock,
    MissingBlock,
    PageBreak,
    Paragraph,
    TableBlock,
    plain,
    typeset,
)


def lines(page: Page) -> list[str]:
    return [line.text.rstrip() for line in page.lines]


def test_columns_of_a_table_stay_below_each_other() -> None:
    (page,) = typeset(
        [TableBlock([["Item", "Price"], ["Chair", "100.00"], ["Table, large", "9.00"]], header_rows=1)]
    )

    assert lines(page) == [
        "Item            Price",
        "Chair          100.00",
        "Table, large     9.00",
    ]
    right = page.words.boxes[[1, 3, 6], 2]
    assert right.max() - right.min() < 1e-6


def test_text_is_wrapped_and_set_text_keeps_its_gaps() -> None:
    (page,) = typeset([Paragraph("word " * 30), Paragraph("Total      5\nVAT        1", is_set=True)])

    assert len(page.lines) == 4
    assert lines(page)[2:] == ["Total      5", "VAT        1"]
    assert page.words.blocks[-1] == page.words.blocks[0] + 1


def test_a_heading_is_larger_than_the_text_below() -> None:
    (page,) = typeset([HeadingBlock("Invoice"), Paragraph("Total")])

    heights = page.words.boxes[:, 3] - page.words.boxes[:, 1]
    assert heights[0] > 1.3 * heights[1]


def test_a_page_break_starts_a_page_and_empty_ones_none() -> None:
    pages = typeset([PageBreak(), Paragraph("a"), PageBreak(), PageBreak(), Paragraph("b"), PageBreak()])

    assert [(page.number, page.text) for page in pages] == [(1, "a"), (2, "b")]


def test_nothing_makes_one_empty_page() -> None:
    (page,) = typeset([])

    assert (len(page.words), page.source, page.quality) == (0, "text", 1.0)


def test_a_wide_table_gets_a_wide_sheet_and_loses_nothing() -> None:
    rows = [[f"column{at}" * 3 for at in range(12)], [f"{at}" for at in range(12)]]

    (page,) = typeset([TableBlock(rows)])

    assert page.width_pt > 842
    assert page.words.texts == [text for row in rows for text in row]
    assert page.words.boxes.max() < 1


def test_a_table_wider_than_any_sheet_goes_on_below() -> None:
    row = [f"column{at:03}" for at in range(100)]

    (page,) = typeset([TableBlock([row])])

    assert page.words.texts == row
    assert len(page.lines) > 1
    assert page.words.boxes.max() < 1


def test_a_long_text_is_read_up_to_the_limit_and_the_last_page_says_so() -> None:
    pages = typeset([Paragraph("line\n" * 500, is_set=True)], max_pages=2)

    assert [page.source for page in pages] == ["text", "text", "none"]
    assert pages[2].problem is not None
    assert "longer than 2 pages" in pages[2].problem


def test_a_cell_with_many_lines_stays_on_one_page() -> None:
    first, second = typeset([Paragraph("line\n" * 50, is_set=True), TableBlock([["a\n" * 20, "b"]])])

    assert set(first.words.texts) == {"line"}
    assert second.words.texts[:2] == ["a", "b"]


def test_a_spanning_cell_does_not_widen_its_first_column() -> None:
    rows = [["A title over both of the columns", ""], ["a", "b"]]

    (page,) = typeset([TableBlock(rows, spans={(0, 0): (1, 2)})])

    assert lines(page) == ["A title over both of the columns", "a   b"]


def test_wide_characters_take_twice_the_room() -> None:
    (page,) = typeset([Paragraph("発票 ab")])

    widths = page.words.boxes[:, 2] - page.words.boxes[:, 0]
    assert abs(widths[0] - 2 * widths[1]) < 1e-6


def test_a_table_is_known_with_its_cells() -> None:
    rows = [["Item", "Price"], ["Chair and table", "9.00"], [], ["Total", "9.00"], ["", "paid"]]

    (page,) = typeset([TableBlock(rows, spans={(3, 0): (2, 1)})])

    assert [table.texts(page.words) for table in page.tables] == [
        [["Item", "Price"], ["Chair and table", "9.00"]],
        [["Total", "9.00"], ["", "paid"]],
    ]
    total = page.tables[1].cells[0]
    assert (total.row_span, total.box.y1) == (2, page.tables[1].box.y1)


def test_a_row_higher_than_a_page_goes_on_on_the_next() -> None:
    pages = typeset([TableBlock([["a\n" * 70, "b"], ["c", "d"]])])

    assert [len(page.words) for page in pages] == [58, 15]
    assert [len(page.tables) for page in pages] == [0, 1]


def test_a_long_text_runs_on_over_empty_cells() -> None:
    text = "Payable within thirty days of the date of this invoice without deduction"

    (page,) = typeset([TableBlock([["a" * 20, "b" * 20, "c" * 40], [text]])])

    assert len(page.lines) == 2


def test_what_could_not_be_read_is_a_page_that_says_so() -> None:
    pages = typeset([Paragraph("a"), MissingBlock("the second sheet is damaged"), Paragraph("b")])

    assert [page.problem for page in pages] == [None, "the second sheet is damaged", None]


def test_a_table_inside_a_cell_keeps_its_columns() -> None:
    inner = plain([HeadingBlock("Sum"), TableBlock([["Net", "10.00"], ["Total due", "12.00"]])])

    (page,) = typeset([TableBlock([["Pay by card", inner]])])

    assert inner.splitlines() == ["Sum", "Net         10.00", "Total due   12.00"]
    assert page.words.boxes[-1, 0] == page.words.boxes[page.words.texts.index("10.00"), 0]
