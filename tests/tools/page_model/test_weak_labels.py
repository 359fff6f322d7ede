from datetime import date
from decimal import Decimal

from bench.data.type_paper_layouts import Text
from bench.data.type_papers import page_of
from tools.page_model.weak_labels import KnownValue, WordRoles, label_words

from docmill.model.document import Document


def document(*lines: str) -> Document:
    texts = [Text(20, 40 + 20 * index, 10, line) for index, line in enumerate(lines)]
    return Document("0" * 64, "application/pdf", [page_of(texts, narrow=True)])


def roles_of(labelled: WordRoles, read: Document) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text, role in zip(read.pages[0].words.texts, labelled.roles, strict=True):
        found.setdefault(role or "unknown", []).append(text)
    return found


def label(read: Document, *truth: KnownValue) -> WordRoles:
    return label_words(read, truth)[0]


def test_words_of_values_and_of_their_labels_have_roles() -> None:
    read = document("Cafe Morgenrot", "Hauptstr. 5", "04109 Leipzig", "Datum 03.05.2024", "Summe 12,50")

    labelled = label(
        read,
        KnownValue("seller.name", ("Cafe Morgenrot",)),
        KnownValue("seller.address", ("Hauptstr. 5, 04109 Leipzig",)),
        KnownValue("issue_date", (date(2024, 5, 3),)),
        KnownValue("gross_total", (Decimal("12.50"),)),
    )

    assert roles_of(labelled, read) == {
        "seller.name": ["Cafe", "Morgenrot"],
        "seller.address": ["Hauptstr.", "5", "04109", "Leipzig"],
        "label:issue_date": ["Datum"],
        "issue_date": ["03.05.2024"],
        "label:gross_total": ["Summe"],
        "gross_total": ["12,50"],
    }
    assert labelled.goes_on == [False, True, False, True, True, True, False, False, False, False]
    assert {"seller.name", "label:gross_total", "tip"} <= set(labelled.known(["tip"]))


def test_the_same_amount_without_a_label_has_no_role() -> None:
    read = document("Kaffee 4,50", "Summe 4,50", "Visa 4,50")

    labelled = label(read, KnownValue("gross_total", (Decimal("4.50"),)))

    assert labelled.roles == ["none", None, "label:gross_total", "gross_total", "none", None]


def test_labels_tell_fields_of_equal_value_apart() -> None:
    read = document("Subtotal 20.00", "Tax 0.00", "Total 20.00", "Card 20.00")

    labelled = label(
        read,
        KnownValue("net_total", (Decimal("20.00"),)),
        KnownValue("gross_total", (Decimal("20.00"),)),
    )

    assert labelled.roles[1::2] == ["net_total", "none", "gross_total", None]


def test_words_that_may_be_a_misread_value_have_no_role() -> None:
    read = document("Cafe Morgenrot", "Summe 12,50", "Bar 20,00")

    labelled = label(read, KnownValue("gross_total", (Decimal("13.50"),)))

    assert labelled.roles == ["none", "none", "none", None, "none", None]
    assert labelled.known() == ()


def test_an_amount_with_its_currency_is_the_amount() -> None:
    read = document("Summe 12,50€", "Bar EUR 20,00")

    labelled = label(
        read,
        KnownValue("gross_total", (Decimal("12.50"),)),
        KnownValue("currency", ("EUR",), printed=("€",)),
    )

    assert labelled.roles == ["label:gross_total", "gross_total", "none", "currency", "none"]


def test_a_misread_address_is_found() -> None:
    read = document("Cafe Morgenrot", "Hauptstrasze 5", "04109 Leipzlg", "Summe 12,50")

    labelled = label(read, KnownValue("seller.address", ("Hauptstraße 5, 04109 Leipzig",)))

    assert roles_of(labelled, read)["seller.address"] == ["Hauptstrasze", "5", "04109", "Leipzlg"]


def test_items_are_labelled_by_their_rows() -> None:
    read = document("Kaffee   2   1,50   3,00", "Kuchen   1   4,00   4,00", "Summe 7,00")

    labelled = label_words(
        read,
        [KnownValue("gross_total", (Decimal("7.00"),))],
        items=[
            {"description": "Kaffee", "quantity": Decimal(2), "net_amount": Decimal("3.00")},
            {"description": "Kuchen", "quantity": Decimal(1), "net_amount": Decimal("4.00")},
        ],
    )[0]

    found = roles_of(labelled, read)
    assert found["items.description"] == ["Kaffee", "Kuchen"]
    assert found["items.quantity"] == ["2", "1"]
    assert found["items.amount"] == ["3,00", "4,00"]
