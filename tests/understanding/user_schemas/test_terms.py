from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.user_schemas.extractor import extract_user_schema
from docmill.understanding.user_schemas.label_texts import is_known_label
from docmill.understanding.withholding import FLOOR_OF_OWN

Typeset = Callable[..., Document]
KINDS = {"decimal": {"type": "number"}, "date": {"format": "date"}, "integer": {"type": "integer"}}


def read(document: Document, **fields: str) -> tuple[dict[str, Any], set[str]]:
    """The values, and the paths of those that are believed."""
    properties: dict[str, Any] = {}
    for name, told in fields.items():
        kind, _, description = told.partition(":")
        properties[name] = {"type": "string", **KINDS.get(kind, {}), "description": description}
    schema = schema_of({"title": "paper", "type": "object", "properties": properties})
    extraction = extract_user_schema(document, schema)
    believed = {path for path, proof in extraction.evidence.items() if proof.confidence >= FLOOR_OF_OWN}
    return extraction.data.model_dump(), believed


@pytest.mark.parametrize(
    ("label", "settled", "worth"),
    [
        ("Schlusstag", "Valuta", "Kurswert"),
        ("Date d'exécution", "Date de règlement", "Montant brut"),
        ("Data operazione", "Data valuta", "Controvalore"),
        ("Fecha operación", "Fecha valor", "Efectivo"),
        ("Transactiedatum", "Valutadatum", "Brutobedrag"),
        ("Data da operação", "Data de liquidação", "Valor bruto"),
        ("Data transakcji", "Data rozliczenia", "Wartość brutto"),
        ("Affärsdag", "Likviddag", "Bruttobelopp"),
        ("Handelsdato", "Afregningsdato", "Kursværdi"),
    ],
)
def test_a_field_is_found_by_the_term_of_another_language(
    typeset: Typeset, label: str, settled: str, worth: str
) -> None:
    page = f"""
    {label:30} 14.05.2021
    {settled:30} 18.05.2021
    {worth:30} 1.020,00 EUR
    """

    data, _ = read(
        typeset(page), trade_date="date", settlement_date="date", market_value="decimal:value of the shares"
    )

    assert data == {
        "trade_date": date(2021, 5, 14),
        "settlement_date": date(2021, 5, 18),
        "market_value": Decimal("1020.00"),
    }


def test_a_date_beside_the_term_of_another_field_is_not_taken(typeset: Typeset) -> None:
    data, _ = read(typeset("Valuta   18.05.2021"), trade_date="date")

    assert data == {"trade_date": None}


@pytest.mark.parametrize("line", ["Stück 40", "You bought 40 shares of Example Inc", "Bestand: 40 Stk."])
def test_a_count_has_its_unit_before_or_behind_it(typeset: Typeset, line: str) -> None:
    page = f"""
    {line}
    Fee 12.00 USD
    Order 77-2041
    """

    data, _ = read(typeset(page), shares="decimal:number of shares")

    assert data == {"shares": 40}


def test_two_amounts_with_the_same_term_are_not_believed(typeset: Typeset) -> None:
    page = """
    Bruttobetrag           77,00 USD
    Bruttobetrag in EUR    70,00 EUR
    """

    _, believed = read(typeset(page), gross_amount="decimal")

    assert believed == set()


def test_a_label_of_the_paper_is_no_name(typeset: Typeset) -> None:
    page = """
    Advertiser
    Original Date / Revision
    """

    data, _ = read(typeset(page), advertiser="string:name of the advertiser")

    assert data == {"advertiser": None}


@pytest.mark.parametrize("text", ["Original Date / Revision", "ISIN (WKN)", "Bestand neu", "Trade Date"])
def test_known_labels_are_told(text: str) -> None:
    assert is_known_label(text)


@pytest.mark.parametrize("text", ["Media House Inc", "Anna Beispiel", "New", "Friends of Jane Doe"])
def test_names_are_no_labels(text: str) -> None:
    assert not is_known_label(text)


def test_a_label_behind_another_is_a_value(typeset: Typeset) -> None:
    data, _ = read(typeset("Status:   Paid"), status="string")

    assert data == {"status": "Paid"}


def test_a_term_of_the_description_alone_makes_a_suggestion(typeset: Typeset) -> None:
    page = "Handelstag   14.05.2021\nKurswert   1.020,00 EUR"

    data, believed = read(
        typeset(page),
        date="date:trade date of a purchase, or payment date of a dividend",
        market_value="decimal",
    )

    assert data == {"date": date(2021, 5, 14), "market_value": Decimal("1020.00")}
    assert believed == {"market_value"}
