from collections.abc import Callable

import numpy as np
import pytest

from docmill.errors import CorruptError
from docmill.model.document import Box, Cell, Code, Document, Page, Table, Words, letters_and_digits

MakeDocument = Callable[..., Document]


def test_a_value_is_found_with_its_page_and_box(make_document: MakeDocument) -> None:
    document = make_document("Invoice number   INV-104", "Total due   1,234.50 EUR")

    (place,) = document.find("1 234.50")

    assert place.page_number == 2
    assert place.text == "1,234.50"
    assert place.box == pytest.approx((0.17, 1 / 3, 0.25, 1 / 3 + 0.8 / 3))


def test_a_value_of_several_words_is_found_over_line_ends(make_document: MakeDocument) -> None:
    document = make_document("Halden Freight\nDock Street 4\n20457 Hamburg")

    (place,) = document.find("Dock Street 4, 20457 Hamburg")

    assert (place.start, place.stop) == (2, 7)


def test_a_value_glued_to_its_neighbours_is_found_inside_their_word(make_document: MakeDocument) -> None:
    document = make_document("No:INV-104/Page1")

    assert [place.text for place in document.find("INV-104")] == ["No:INV-104/Page1"]


def test_a_value_without_letters_or_digits_is_nowhere(make_document: MakeDocument) -> None:
    assert make_document("a - b").find("-") == []


def test_lines_keep_the_gap_between_label_and_value(make_document: MakeDocument) -> None:
    page = make_document("Invoice date        2026-10-14\nDue                 2026-11-13").pages[0]

    assert [line.text for line in page.lines] == [
        "Invoice date        2026-10-14",
        "Due                 2026-11-13",
    ]
    assert (page.lines[1].start, page.lines[1].stop) == (3, 5)


def test_an_empty_page_has_no_lines_and_no_text() -> None:
    page = Page(number=1, width_pt=10, height_pt=10, words=Words.none(), source="none", quality=0.0)

    assert page.lines == []
    assert page.text == ""
    assert Document(content_hash="", media_type="", pages=[page]).quality == 0.0


def test_the_quality_of_a_document_weighs_pages_by_their_words(make_document: MakeDocument) -> None:
    document = make_document("one two three", "four")
    pages = [document.pages[0], Page(2, 595, 842, document.pages[1].words, "ocr", 0.6)]

    assert Document("", "", pages).quality == pytest.approx(0.9)


def test_columns_of_different_length_are_refused() -> None:
    empty = Words.none()

    with pytest.raises(ValueError, match="differ in length"):
        Words(["a"], empty.boxes, empty.confidences, empty.lines, empty.blocks)


def test_comparison_ignores_case_width_and_punctuation() -> None:
    assert letters_and_digits("Straße_№ 7/Ａ") == "strasseno7a"  # noqa: RUF001  the wide letter is the case


def test_boxes_are_kept_as_single_precision(make_document: MakeDocument) -> None:
    assert make_document("a").pages[0].words.boxes.dtype == np.float32


def test_a_table_gives_its_texts_by_row_and_column(make_document: MakeDocument) -> None:
    words = make_document("Item   Price\nGreen tea   4.50").pages[0].words
    box = Box(0, 0, 1, 1)
    cells = (Cell(0, 0, 1, 1, box, (0,)), Cell(0, 1, 1, 1, box, (1,)), Cell(1, 0, 1, 1, box, (2, 3)))

    assert Table(box, 2, 2, cells).texts(words) == [["Item", "Price"], ["Green tea", ""]]


def words_at(box: list[float], confidence: float = 1.0) -> Words:
    one = np.zeros(1, np.int32)
    return Words(["Total"], np.array([box], np.float32), np.array([confidence], np.float32), one, one)


@pytest.mark.parametrize(
    "build",
    [
        lambda: words_at([0.1, float("nan"), 0.2, 0.3]),
        lambda: words_at([0.1, 0.2, float("inf"), 0.3]),
        lambda: words_at([0.1, 0.2, 0.3, 0.4], float("nan")),
        lambda: Page(1, float("nan"), 800.0, Words.none(), "none", 0.0),
        lambda: Page(
            1, 600.0, 800.0, Words.none(), "none", 0.0, codes=(Code("]Q1", "x", Box(0, 0, float("inf"), 1)),)
        ),
        lambda: Page(
            1,
            600.0,
            800.0,
            Words.none(),
            "none",
            0.0,
            tables=(Table(Box(0, 0, 1, 1), 1, 1, (Cell(0, 0, 1, 1, Box(0, 0, 1, float("-inf"))),)),),
        ),
    ],
)
def test_a_place_that_is_no_number_is_refused_in_words(build: Callable[[], object]) -> None:
    with pytest.raises(CorruptError, match="is no number"):
        build()
