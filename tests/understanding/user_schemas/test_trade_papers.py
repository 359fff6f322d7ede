"""Contract notes of banks by users' schemas: made-up papers."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.user_schemas.extractor import (
    extract_user_schema,
    find_unjudged_values,
    meanings_of,
)
from docmill.understanding.user_schemas.sums import proven_paths
from docmill.understanding.withholding import FLOOR_OF_OWN

Typeset = Callable[..., Document]

FIELDS: dict[str, dict[str, str]] = {
    "name": {"type": "string", "description": "name of the security"},
    "date": {"type": "string", "format": "date", "description": "trade date, or payment date of income"},
    "shares": {"type": "number", "description": "number of shares"},
    "gross": {"type": "number", "description": "gross amount before fees and taxes"},
    "net": {"type": "number", "description": "net amount debited or credited"},
    "currency": {"type": "string", "description": "currency of the amount debited or credited"},
}
SCHEMA = schema_of({"title": "trade", "type": "object", "properties": FIELDS})

GLUED = """
Hafenbank AG
Datum: 06.03.2023
Wertpapierabrechnung
Nominale Wertpapierbezeichnung ISIN
STK 120 Ahlgren Solar AB SE0000108656
Handelstag Kurs
01.03.2023 EUR 12,50
Kurswert EUR 1.500,00
Provision EUR 9,90-
Entgelt EUR 1,10-
Zu Lasten Konto 20311844 Valuta: 03.03.2023 EUR 1.511,00
"""


def read(document: Document) -> tuple[dict[str, Any], Extraction]:
    extraction = extract_user_schema(document, SCHEMA)
    return extraction.data.model_dump(), extraction


def proven(document: Document) -> frozenset[str]:
    candidates, meanings = candidates_of(document), meanings_of(outline(SCHEMA))
    return proven_paths(candidates, meanings, find_unjudged_values(candidates, meanings))


def test_a_paper_whose_labels_and_values_are_glued_together_is_read(typeset: Typeset) -> None:
    data, extraction = read(typeset(GLUED))

    assert data == {
        "name": "Ahlgren Solar AB",
        "date": date(2023, 3, 1),
        "shares": Decimal(120),
        "gross": Decimal("1500.00"),
        "net": Decimal("1511.00"),
        "currency": "EUR",
    }
    assert extraction.evidence["shares"].confidence >= FLOOR_OF_OWN
    assert extraction.evidence["gross"].confidence >= FLOOR_OF_OWN


def test_amounts_that_fit_each_other_are_proven(typeset: Typeset) -> None:
    assert proven(typeset(GLUED)) == {"shares", "gross", "net"}


@pytest.mark.parametrize(
    ("printed", "other", "fields"),
    [
        ("EUR 12,50", "EUR 12,70", {"gross", "net"}),
        ("EUR 9,90-", "EUR 8,90-", {"gross", "shares"}),
        ("Kurswert EUR 1.500,00", "Kurswert EUR 1.499,00", set[str]()),
        ("STK 120", "STK 1", {"gross", "net"}),
    ],
)
def test_an_amount_that_does_not_fit_is_not_proven(
    typeset: Typeset, printed: str, other: str, fields: set[str]
) -> None:
    assert proven(typeset(GLUED.replace(printed, other))) == fields


@pytest.mark.parametrize("line", ["0.682 units Aurelis World Fund", "Aurelis World Fund SE0000108656"])
def test_a_name_is_found_behind_its_count_and_before_its_number(typeset: Typeset, line: str) -> None:
    heading = "" if "units" in line else "Security ISIN"

    data, _ = read(typeset(f"Trade confirmation\n{heading}\n{line}\nAmount CHF 67.72"))

    assert data["name"] == "Aurelis World Fund"


def test_the_currency_is_that_of_the_amount_that_the_field_describes(typeset: Typeset) -> None:
    page = """
    Price USD 12.50
    Value USD 1250.00
    Tax USD 12.00
    Amount debited EUR 1150.00
    """

    data, _ = read(typeset(page))

    assert data["currency"] == "EUR"


def test_a_currency_without_a_label_is_not_believed_beside_another(typeset: Typeset) -> None:
    _, extraction = read(typeset("Price USD 12.50\n\nRate USD 1.10\n\nPaid in EUR 9.00"))

    assert extraction.evidence["currency"].confidence < FLOOR_OF_OWN


def test_value_date_is_suggested_where_no_payment_date_is_printed(typeset: Typeset) -> None:
    data, extraction = read(typeset("Dividend\n\nDate: 09.03.2023\n\nValue date 07.03.2023"))

    assert data["date"] == date(2023, 3, 7)
    assert extraction.evidence["date"].confidence < FLOOR_OF_OWN


def test_the_only_day_of_a_paper_is_suggested_for_a_date(typeset: Typeset) -> None:
    data, extraction = read(typeset("Exchange settlement\n\nBasel, 16.01.2025"))

    assert data["date"] == date(2025, 1, 16)
    assert extraction.evidence["date"].confidence < FLOOR_OF_OWN


def test_a_debited_amount_may_be_printed_with_a_minus(typeset: Typeset) -> None:
    data, _ = read(typeset("Advance tax\n\nTax base 29.72 EUR\n\nNet amount 8.26- EUR"))

    assert data["net"] == Decimal("-8.26")


def test_a_national_number_is_named_by_the_isin_beside_it(typeset: Typeset) -> None:
    wanted = schema_of({"title": "trade", "type": "object", "properties": {"wkn": {"type": "string"}}})

    data = extract_user_schema(typeset("Ahlgren Solar AB SE0000108656 (850001)"), wanted).data.model_dump()

    assert data == {"wkn": "850001"}


@pytest.mark.parametrize(("price", "is_proof"), [("EUR 500", True), ("501 Quay Street", False)])
def test_a_whole_number_without_a_currency_proves_no_amount(
    typeset: Typeset, price: str, *, is_proof: bool
) -> None:
    paper = f"{price}\nNumber of shares   10\nGross amount   EUR {5000 if is_proof else 5012}.00\n"

    assert proven(typeset(paper)) == (frozenset({"gross", "shares"}) if is_proof else frozenset())


@pytest.mark.parametrize(("conversion", "is_believed"), [("", True), ("Devisenkurs USD 1,05", False)])
def test_a_sum_does_not_say_in_which_currency_an_amount_is_asked_for(
    typeset: Typeset, conversion: str, *, is_believed: bool
) -> None:
    described = {"gross": FIELDS["gross"], "amount": FIELDS["net"]}
    wanted = schema_of({"title": "trade", "type": "object", "properties": described})
    paper = typeset(f"{GLUED}{conversion}\n")

    evidence = extract_user_schema(paper, wanted).evidence["amount"]

    assert "net" in proven(paper)
    assert (evidence.confidence >= FLOOR_OF_OWN) == is_believed
