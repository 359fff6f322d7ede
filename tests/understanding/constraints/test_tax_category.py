"""Why a bill has no VAT, as its pages say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.api.one_file import process_file
from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules

CASES = Path(__file__).parents[4] / "shared" / "cases"
BILL = """
Bau Nord GmbH
Am Kanal 4, 26721 Emden

Rechnung Nr. R-2026-17
Rechnungsdatum: 23.04.2026

Trockenbau        1      800,00      800,00

                         Gesamtbetrag   800,00 EUR

{sentence}
"""
TAXED = """
Rechnung Nr. R-2026-17
Rechnungsdatum: 23.04.2026

                         Nettobetrag    100,00 EUR
                         MwSt. 19 %      19,00 EUR
                         Gesamtbetrag   119,00 EUR

Innergemeinschaftliche Lieferungen sind steuerfrei.
"""
Typeset = Callable[..., Document]


def category_of(document: Document) -> str | None:
    data = extract_by_rules(document, REGISTRY["invoice"]).data
    assert isinstance(data, Invoice)
    return data.tax_category


@pytest.mark.parametrize(
    ("sentence", "category"),
    [
        ("Steuerschuldnerschaft des Leistungsempfängers nach § 13b UStG", "AE"),
        ("Gemäß § 13b Abs. 2 Nr. 4 UStG wird keine Umsatzsteuer berechnet.", "AE"),
        ("Reverse Charge", "AE"),
        ("VAT to be accounted for by the recipient, Article 196 of Directive 2006/112/EC", "AE"),
        ("Autoliquidation de la TVA", "AE"),
        ("Inversión del sujeto pasivo", "AE"),
        ("Inversione contabile", "AE"),
        ("BTW verlegd", "AE"),
        ("IVA - autoliquidação", "AE"),
        ("Odwrotne obciążenie", "AE"),
        ("Omvendt betalingspligt", "AE"),
        ("Omvänd betalningsskyldighet", "AE"),
        ("Steuerfreie innergemeinschaftliche Lieferung", "K"),
        ("Exempt intra-Community supply", "K"),
        ("Livraison intracommunautaire exonérée, art. 262 ter I du CGI", "K"),
        ("Wewnątrzwspólnotowa dostawa towarów", "K"),
        ("Steuerfreie Ausfuhrlieferung", "G"),
        ("Zero-rated export", "G"),
        ("Innergemeinschaftliche Lieferung. Steuerschuldnerschaft des Leistungsempfängers.", "AE K"),
        ("Falls Sie im EU-Ausland sitzen, ist es eine innergemeinschaftliche Lieferung.", None),
        ("Wir danken für Ihren Auftrag. Hauptstr. 13b", None),
    ],
)
def test_the_reason_for_no_vat_is_read(typeset: Typeset, sentence: str, category: str | None) -> None:
    assert category_of(typeset(BILL.format(sentence=sentence))) == category


def test_its_evidence_is_the_place_of_the_sentence(typeset: Typeset) -> None:
    document = typeset(BILL.format(sentence="Steuerfreie innergemeinschaftliche Lieferung"))

    evidence = extract_by_rules(document, REGISTRY["invoice"]).evidence["tax_category"]

    assert evidence.text == "innergemeinschaftliche Lieferung"
    assert (evidence.page, evidence.match) == (1, "normalised")


def test_a_bill_with_vat_has_none_of_them(typeset: Typeset) -> None:
    assert category_of(typeset(TAXED)) is None


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
@pytest.mark.parametrize("name", ["v4-reverse.xml", "v5-13b.pdf"])
def test_reverse_charge_is_read_from_xml_and_from_a_page(name: str) -> None:
    result = process_file(CASES / "09-datev-reverse-charge" / "in" / name)

    assert result.extraction is not None
    assert result.extraction.data.model_dump()["tax_category"] == "AE"
    assert result.extraction.evidence["tax_category"].match in ("embedded", "normalised")
