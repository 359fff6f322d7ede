"""Labels that name two values at once."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import DeliveryNote, Invoice, PurchaseOrder
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.page.double_labels import labelled_parts
from docmill.understanding.page.layout import Layout
from docmill.understanding.vocabulary import LANGUAGES, Concept, Language

Typeset = Callable[..., Document]

CASES = Path(__file__).parents[3].parent / "shared" / "cases" / "10-number-slash-date"

LETTER = """
Papierhaus Lindner GmbH
Hafenstrasse 12, 20457 Hamburg

{title}

{lines}

Ware                       1      200.00     200.00
                                  Total      200.00 EUR
"""
ISSUED = date(2025, 6, 4)


def extract(typeset: Typeset, lines: str, *, title: str = "", type_name: str = "invoice") -> Extraction:
    return extract_by_rules(typeset(LETTER.format(title=title, lines=lines)), REGISTRY[type_name])


def invoice(typeset: Typeset, lines: str, **options: str) -> Invoice:
    data = extract(typeset, lines, **options).data
    assert isinstance(data, Invoice)
    return data


def title_of(language: Language) -> str:
    return next(iter(language.titles.get("invoice", ("",))), "")


def spelt(phrase: str, language: Language) -> str:
    """A phrase as it is printed, with the commonest word for `number` in place of the sign."""
    return phrase.replace("#", language.numbers[0] if language.numbers else "no").capitalize()


def labels_of(language: Language) -> list[str]:
    numbers = [spelt(phrase, language) for phrase in language.labels[Concept.INVOICE_NUMBER][:2]]
    days = [spelt(phrase, language) for phrase in language.labels[Concept.DATE][:2]]
    return [f"{number}/{day}" for number in numbers for day in days]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
@pytest.mark.parametrize("value", ["90005037/04.06.2025", "90005037 / 04.06.2025", "90005037 04.06.2025"])
def test_both_values_are_read_in_every_language(typeset: Typeset, language: Language, value: str) -> None:
    labels = labels_of(language)

    wrong = [
        (lines, data.number, data.issue_date)
        for label in labels
        for lines in (f"{label}\n{value}", f"{label}: {value}", f"{label}:    {value}")
        if ((data := invoice(typeset, lines, title=title_of(language))).number, data.issue_date)
        != ("90005037", ISSUED)
    ]

    assert labels
    assert wrong == []


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ("Nummer/Datum\n90005037/04.06.2025", "90005037"),
        ("Number/Date\n90005037 / 04.06.2025", "90005037"),
        ("N° / Date\n90005037 / 04.06.2025", "90005037"),
        ("Rechnungsnummer/-datum\n90005037/04.06.2025", "90005037"),
        ("Rechnungs-Nr. / Datum:   90005037/04.06.2025", "90005037"),
        ("Rechnungs-Nr./\nDatum\n90005037/04.06.2025", "90005037"),
        ("Rechnungs-Nr.\n/Datum\n90005037/04.06.2025", "90005037"),
        ("Datum/Rechnungs-Nr.\n04.06.2025/90005037", "90005037"),
        ("Date / Invoice No.\n04.06.2025 / 90005037", "90005037"),
        ("Invoice No./Date\n2025/117/04.06.2025", "2025/117"),
        ("Invoice No./Date\nRE-7/2025-06-04", "RE-7"),
        ("Invoice No./Date\nA.12/7 / 04.06.2025", "A.12/7"),
        ("Invoice No./Date\n90005037     04.06.2025", "90005037"),
        ("Invoice No./Date     90005037     04.06.2025", "90005037"),
        (
            (
                "Kunden-Nr.      Rechnungs-Nr./Datum      Bearbeiter\n"
                "4711            90005037/04.06.2025      Frau Ott"
            ),
            "90005037",
        ),
        ("Invoice No.|Date\n90005037|04.06.2025", "90005037"),
    ],
)
def test_number_and_date_stand_in_many_ways(typeset: Typeset, lines: str, number: str) -> None:
    data = invoice(typeset, lines, title="Rechnung")

    assert (data.number, data.issue_date) == (number, ISSUED)


@pytest.mark.parametrize(
    ("label", "type_name"),
    [
        ("Lieferschein-Nr./Datum", "delivery_note"),
        ("Liefersch.-Nr./Datum", "delivery_note"),
        ("Order No./Date", "purchase_order"),
    ],
)
def test_papers_of_other_types_have_both_values(typeset: Typeset, label: str, type_name: str) -> None:
    data = extract(typeset, f"{label}\n80101911/04.06.2025", type_name=type_name).data

    assert isinstance(data, DeliveryNote | PurchaseOrder)
    assert (data.number, data.issue_date) == ("80101911", ISSUED)


def test_the_date_of_an_order_is_not_that_of_the_invoice(typeset: Typeset) -> None:
    lines = "Invoice No./Date: 90005037/04.06.2025\nOrder No./Date: 4500017/02.05.2025"

    data = invoice(typeset, lines, title="Invoice")

    assert (data.number, data.issue_date, data.order_number) == ("90005037", ISSUED, "4500017")


@pytest.mark.parametrize(
    "lines",
    [
        "Customer no./Delivery note no.: 4711/80101911",
        "Customer no./Delivery note no.\n4711 / 80101911",
        "Kunden-Nr./Liefersch.-Nr.    4711/80101911",
        "Customer no./Delivery note no.     4711     80101911",
        "Customer no./Delivery note no.\n4711     80101911",
    ],
)
def test_two_numbers_of_one_label_are_told_apart(typeset: Typeset, lines: str) -> None:
    data = invoice(typeset, f"Invoice No.: 90005037\nDate: 04.06.2025\n{lines}", title="Invoice")

    assert (data.number, data.customer_number, data.delivery_note_number) == ("90005037", "4711", "80101911")


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ("Invoice no./Our ref.: 2025/117/9", "2025/117/9"),
        ("Invoice no.: 2025/117\nDate: 04.06.2025", "2025/117"),
    ],
)
def test_a_slash_within_a_number_is_left(typeset: Typeset, lines: str, number: str) -> None:
    assert invoice(typeset, lines, title="Invoice").number == number


def test_each_part_has_a_box_of_its_own(typeset: Typeset) -> None:
    read = extract(typeset, "Invoice No./Date\n90005037/04.06.2025", title="Invoice")

    number, day = read.evidence["number"], read.evidence["issue_date"]

    assert number.box is not None
    assert day.box is not None
    assert (number.text, day.text) == ("90005037", "04.06.2025")
    assert number.box.x1 < day.box.x0
    assert number.box.y0 == day.box.y0


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Invoice No./Date", "90005037/04.06.2025/7"),
        ("Invoice No./Date", "90005037/99.99.2025"),
        ("Invoice No./Colour", "90005037/04.06.2025"),
        ("Colour/Date", "90005037/04.06.2025"),
        ("Colour/Date: 90005037/04.06.2025", ""),
        ("90005037/04.06.2025", "Invoice No./Date"),
        ("Customer no./Delivery note no.", "4711"),
        ("Customer no./Delivery note no.", "4711/80101911/7"),
        ("Invoice No./Date", "The goods of 90005037 were sent on 04.06.2025 to the place that you named"),
    ],
)
def test_what_is_no_pair_is_not_split(typeset: Typeset, label: str, value: str) -> None:
    layout = Layout(typeset(f"{label}\n{value}"))

    assert all(len(parts) == 1 for parts in labelled_parts(layout).values())


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")
def test_papers_with_double_labels_are_read() -> None:
    expected = json.loads((CASES / "expected.json").read_text())

    wrong = {
        name: read
        for name, values in expected.items()
        if (read := _number_and_date(CASES / "in" / name, "delivery_note" if name[0] == "l" else "invoice"))
        != values
    }

    assert expected
    assert wrong == {}


def _number_and_date(path: Path, type_name: str) -> list[str]:
    (page,) = tasks.read_text(path, 1, 1, ReadingOptions())
    assert page is not None
    document = Document(content_hash="0" * 64, media_type="application/pdf", pages=[page])
    data = extract_by_rules(document, REGISTRY[type_name]).data.model_dump(mode="json")
    return [data["number"], data["issue_date"]]
