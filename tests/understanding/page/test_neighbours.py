from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from docmill.model.document import Document, Page, Words
from docmill.understanding.page.neighbours import Surroundings, stretches

MakePage = Callable[[str], Page]

LETTER = """\
Halden Freight GmbH         Invoice number:    2026-104
Dock Street 4               Date: 14.10.2026
20457 Hamburg               Customer:
                            Berg Tools
"""


@pytest.fixture
def make_page(make_document: Callable[..., Document]) -> MakePage:
    def make(text: str) -> Page:
        rows = [row for row in text.splitlines() if row.strip()]
        return replace(make_document(text).pages[0], height_pt=12 * (len(rows) + 2))

    return make


def around(page: Page, text: str) -> dict[str, str]:
    (place,) = page.find(text)
    return {side: one.place.text for side, one in Surroundings(page).of(place.start, place.stop).items()}


def test_a_line_is_cut_at_its_columns(make_page: MakePage) -> None:
    found = stretches(make_page("Total due   1 234.50 EUR\nThank you"))

    assert found == [(0, 0, 2), (0, 2, 5), (1, 5, 7)]


def test_a_page_without_words_has_no_stretches(make_page: MakePage) -> None:
    assert stretches(make_page("")) == []


def test_a_text_knows_what_stands_on_each_side_of_it(make_page: MakePage) -> None:
    page = make_page(LETTER)

    assert around(page, "Dock Street 4") == {
        "right": "Date: 14.10.2026",
        "above": "Halden Freight GmbH",
        "below": "20457 Hamburg",
    }
    assert around(page, "2026-104") == {"left": "Invoice number:"}


def test_words_inside_a_text_have_its_rest_beside_them(make_page: MakePage) -> None:
    assert around(make_page("The order Nr. 5006 of May"), "5006") == {
        "left": "The order Nr.",
        "right": "of May",
    }


def test_distances_are_in_points(make_page: MakePage) -> None:
    page = make_page("Total     12.00\n\nPaid      12.00")
    surroundings = Surroundings(page)

    assert surroundings.of(0, 1)["right"].distance == pytest.approx(5 * 5.95, abs=0.01)
    assert surroundings.of(0, 1)["below"].distance == pytest.approx(2.4, abs=0.01)


def test_labels_have_their_values_beside_below_or_behind_a_colon(make_page: MakePage) -> None:
    pairs = [
        (pair.label.text, pair.value.text, pair.side) for pair in Surroundings(make_page(LETTER)).pairs()
    ]

    assert pairs == [
        ("Invoice number:", "2026-104", "right"),
        ("Date:", "14.10.2026", "right"),
        ("Customer:", "Berg Tools", "below"),
    ]


def test_labels_that_stand_alone_have_no_value(make_page: MakePage) -> None:
    page = make_page("Name:     Street:\nTown:\n                    far away")

    assert list(Surroundings(page).pairs()) == []


def test_small_print_over_a_text_is_its_label() -> None:
    boxes = np.array([[0.1, 0.1, 0.15, 0.107], [0.1, 0.11, 0.2, 0.122], [0.1, 0.4, 0.2, 0.412]], np.float32)
    words = Words(
        ["Customer", "Berg", "Tools"],
        boxes,
        np.ones(3, np.float32),
        np.arange(3, dtype=np.int32),
        np.zeros(3, np.int32),
    )
    page = Page(1, 595, 842, words, source="text", quality=1)

    assert [(pair.label.text, pair.value.text, pair.side) for pair in Surroundings(page).pairs()] == [
        ("Customer", "Berg", "below")
    ]
