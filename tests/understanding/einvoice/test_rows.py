from collections.abc import Callable, Mapping
from decimal import Decimal

from docmill.model import Document
from docmill.understanding.einvoice.printed import Printed
from docmill.understanding.einvoice.rows import rows

Typeset = Callable[..., Document]

PLANKS = {
    "description": "Oak planks",
    "quantity": Decimal(8),
    "unit_price": Decimal("12.50"),
    "net_amount": Decimal("100.00"),
}


def _found(document: Document, *lines: Mapping[str, object]) -> list[tuple[int, str, str, int]]:
    places = rows(lines, Printed(document))
    return [(index, name, place.text, place.start) for index, name, place in places]


def test_the_numbers_of_a_line_are_those_beside_its_description(typeset: Typeset) -> None:
    document = typeset("8  12,50  100,00\nOak planks  8  12,50  100,00\nTotal  100,00")

    assert _found(document, PLANKS) == [
        (0, "description", "Oak planks", 3),
        (0, "net_amount", "100,00", 7),
        (0, "unit_price", "12,50", 6),
        (0, "quantity", "8", 5),
    ]


def test_lines_of_the_same_name_are_found_in_their_order(typeset: Typeset) -> None:
    document = typeset("Oak planks  100,00\nOak planks  100,00")

    assert [found[3] for found in _found(document, PLANKS, PLANKS)] == [0, 2, 3, 5]


def test_of_equal_numbers_only_the_amount_is_known_being_the_last(typeset: Typeset) -> None:
    once = {**PLANKS, "quantity": Decimal(5), "unit_price": Decimal(5), "net_amount": Decimal(5)}

    found = _found(typeset("5  Oak planks  5  5"), once)

    assert [(name, start) for _, name, _, start in found] == [("description", 1), ("net_amount", 4)]


def test_a_line_that_is_not_shown_or_not_named_has_no_place(typeset: Typeset) -> None:
    document = typeset("Oak planks  100,00\fOak  8")

    assert _found(document, {"description": "Elm planks"}, {"description": "Oak"}, {}) == []


def test_a_number_on_another_page_or_within_the_description_is_not_the_lines(typeset: Typeset) -> None:
    document = typeset("Nails 100 mm\fNails  100")

    assert _found(document, {"description": "Nails 100 mm", "quantity": Decimal(100)}) == [
        (0, "description", "Nails 100 mm", 0)
    ]
