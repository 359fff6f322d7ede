from decimal import Decimal

from docmill.matching.items import pair_items
from docmill.matching.match_record import Item


def item(description: str, quantity: int, price: str | None = None) -> Item:
    return Item(
        description, description.casefold(), Decimal(quantity), None if price is None else Decimal(price)
    )


def test_goods_that_differ_by_a_number_are_paired_by_it_and_not_by_their_quantity() -> None:
    billed = [item("Room 101, sea view", 4), item("Room 107, sea view", 3)]
    delivered = [item("Room 101, sea view", 3), item("Room 107, sea view", 4)]

    assert pair_items(delivered, billed) == [(0, 0), (1, 1)]


def test_of_goods_with_one_description_those_with_the_same_price_are_paired_first() -> None:
    ordered = [item("Binder", 25, "0.40"), item("Binder", 30, "3.84"), item("Binder", 8)]
    billed = [item("Binder", 8, "1.00"), item("Binder", 9, "3.84"), item("Binder", 25, "0.40")]

    assert pair_items(ordered, billed) == [(0, 2), (1, 1), (2, 0)]


def test_a_misread_description_is_paired_with_what_is_left() -> None:
    ordered = [item("Room 101, sea view", 4), item("Room 107, sea view", 4)]
    billed = [item("Room 1O7, sea view", 4), item("Room 101, sea view", 4)]

    assert pair_items(ordered, billed) == [(0, 1), (1, 0)]


def test_of_misread_descriptions_the_one_with_the_same_price_is_meant_and_an_empty_one_is_no_item() -> None:
    ordered = [item("Nut M4 zinc", 4, "2.00"), item("Nut M5 zinc", 6, "3.00"), item("", 1)]
    billed = [item("", 1), item("Nut MS zinc", 5, "3.00"), item("Nut M9 zinc", 5, "2.00")]

    assert pair_items(ordered, billed) == [(0, 2), (1, 1)]
