from decimal import Decimal

from bench.data.type_paper_layouts import Text
from bench.data.type_papers import page_of
from tools.page_model.proven_items import proven_items

from docmill.model.document import Document

LINES = (
    "Cafe Morgenrot",
    "Hauptstr. 5",
    "04109 Leipzig",
    "Datum 03.05.2024 12:15",
    "Kaffee 3,00",
    "Kuchen 4,50",
    "Summe EUR 7,50",
)


def receipt() -> Document:
    texts: list[Text] = []
    for index, line in enumerate(LINES):
        label, _, amount = line.rpartition(" ")
        is_amount = "," in amount
        texts.append(Text(20, 40 + 20 * index, 10, label if is_amount else line))
        if is_amount:
            texts.append(Text(200, 40 + 20 * index, 10, amount))
    return Document("0" * 64, "application/pdf", [page_of(texts, narrow=True)])


def test_items_that_add_up_to_the_total_are_taken() -> None:
    items = proven_items(receipt(), [Decimal("7.50")])

    assert [(item["description"], item["net_amount"]) for item in items] == [
        ("Kaffee", Decimal("3.00")),
        ("Kuchen", Decimal("4.50")),
    ]


def test_items_that_do_not_add_up_are_not() -> None:
    assert proven_items(receipt(), [Decimal("8.50")]) == []


def test_items_are_not_taken_if_somebody_counted_others() -> None:
    assert proven_items(receipt(), [Decimal("7.50")], count=3) == []
