"""The terms of payment that invoices and orders print."""

import pytest
from tests.understanding.conftest import Typeset

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate


def read(document: Document, document_type: str = "invoice") -> Extraction:
    return extract_by_rules(document, REGISTRY[document_type])


def terms(document: Document, document_type: str = "invoice") -> str | None:
    return read(document, document_type).data.model_dump()["payment"]["terms"]


@pytest.mark.parametrize(
    ("line", "clause"),
    [
        ("Zahlungsbedingungen: 30 Tage netto", "30 Tage netto"),
        (
            "Zahlungsbedingungen: 2 % Skonto bei Zahlung innerhalb von 10 Tagen, 30 Tage netto",
            "2 % Skonto bei Zahlung innerhalb von 10 Tagen, 30 Tage netto",
        ),
        ("Payment Terms: Net 30", "Net 30"),
        ("Terms of payment    Due upon receipt", "Due upon receipt"),
        ("Conditions de règlement : 30 jours fin de mois", "30 jours fin de mois"),
        ("Conditions de paiement    Paiement immédiat", "Paiement immédiat"),
        ("Condiciones de pago: 60 días", "60 días"),
        ("Condizioni di pagamento: 60 gg data fattura fine mese", "60 gg data fattura fine mese"),
        ("Betalingsvoorwaarden: binnen 14 dagen", "binnen 14 dagen"),
        ("Terma pembayaran: 30 hari", "30 hari"),
    ],
)
def test_terms_behind_a_label_are_given_as_printed_in_every_language(
    typeset: Typeset, line: str, clause: str
) -> None:
    read_terms = read(typeset(f"Rechnung Nr. 4711\n\n{line}"))

    assert read_terms.data.model_dump()["payment"]["terms"] == clause
    evidence = read_terms.evidence["payment.terms"]
    assert (evidence.page, evidence.text, evidence.match) == (1, clause, "exact")
    assert evidence.box is not None


def test_terms_stand_below_their_label_as_well(typeset: Typeset) -> None:
    document = typeset("""\
Invoice No. 4711

Ship via        Payment terms       Due date
UPS Ground      Net 45 days         12 March 2026
""")

    assert terms(document) == "Net 45 days"


def test_a_clause_goes_on_where_its_line_ends_in_the_middle_of_it(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711

Zahlungsbedingungen:
Zahlbar innerhalb 30 Tagen netto, 3%
Skonto innerhalb 10 Tagen.
Vielen Dank für Ihren Auftrag.
""")

    assert terms(document) == "Zahlbar innerhalb 30 Tagen netto, 3% Skonto innerhalb 10 Tagen."


def test_the_next_row_of_a_form_is_no_part_of_a_clause(typeset: Typeset) -> None:
    document = typeset("""\
Facture n° 4711

Conditions de paiement   30 jours fin de mois
Date d'échéance          31/03/2026
""")

    assert terms(document) == "30 jours fin de mois"


@pytest.mark.parametrize(
    "sentence",
    [
        "Zahlbar innerhalb von 14 Tagen ohne Abzug.",
        "Bei Zahlung innerhalb von 14 Tagen 2,0% Skonto.",
        "Payment is due within 30 days from invoice date.",
        "Paiement à 30 jours fin de mois.",
        "Zahlbar sofort ohne Abzug",
        "Règlement à réception de facture",
        "2% 10, net 30",
        "Te betalen binnen 14 dagen na factuurdatum.",
        "Pagamento a 30 giorni data fattura",
        "30 jours fin de mois",
        "2 % discount if paid within 10 days, net 30 days.",
        "2 % Skonto bei Zahlung innerhalb 10 Tagen, 30 Tage netto.",
        "Bei Zahlung innerhalb 14 Tagen gewähren wir 2,0% Skonto.",
        "2 % d'escompte pour paiement sous 10 jours, net à 30 jours.",
        "2 % de descuento por pronto pago en 10 días, neto a 30 días.",
        "Sconto 2 % per pagamento entro 10 giorni, netto 30 giorni.",
        "2 % korting bij betaling binnen 8 dagen, netto 30 dagen.",
        "2 % skonta przy płatności w ciągu 10 dni, zapłata w ciągu 30 dni.",
        "Zahlbar bis 12.03.2026 mit 2 % Skonto, bis 22.03.2026 netto.",
    ],
)
def test_a_sentence_that_is_nothing_but_terms_needs_no_label(typeset: Typeset, sentence: str) -> None:
    assert terms(typeset(f"Rechnung Nr. 4711\n\nTotal  119,00 EUR\n\n{sentence}")) == sentence


@pytest.mark.parametrize(
    "line",
    [
        "Late payment: interest is charged after 30 days",
        "Rückgabe innerhalb von 14 Tagen gegen Zahlung des Portos",
        "Payment due by 12 March 2026",
        "Zahlbar bis 12.03.2026",
        "Erhaltene Anzahlungen  500,00",
        "Skonto sofort  5,00",
        "Payment terms: see overleaf",
        "Zahlungsbedingungen: siehe unsere AGB",
        "TERMS AND CONDITIONS",
        "Zahlungsbedingungen: 14 Tage 3%, 30",
        "Zahlungsbedingungen: zahlbar ohne Abschlag bis",
        "Forma de pago: Transferencia a 30 días",
        "Lieferung in 14 Tagen",
        "Zahlungen nach 30 Tagen werden verzinst",
        "Net 12",
        "Invoice period 30 days, payment plan 12 months",
        "Payment terms and conditions: see www.example.com within 30 days",
        "Zahlungsbedingungen\n1. Alle Rechnungen sind innerhalb von 14 Tagen zu zahlen.",
        "Garantie: 30 Tage nach Zahlung",
    ],
)
def test_what_is_no_whole_clause_on_payment_is_not_taken_for_terms(typeset: Typeset, line: str) -> None:
    assert terms(typeset(f"Invoice No. 4711\n\n{line}")) is None


def test_general_terms_are_not_those_of_the_invoice(typeset: Typeset) -> None:
    prose = "the supplier delivers to the buyer at his own risk and cost what was agreed on in writing before"
    paragraphs = "\n".join([prose] * 30)

    assert terms(typeset(f"Invoice No. 4711\f{paragraphs}\nInvoices are payable within 90 days.")) is None


def test_two_different_terms_are_none(typeset: Typeset) -> None:
    assert terms(typeset("Invoice 4711\n\nPayment terms: Net 30\n\n\nPayment terms: Net 60")) is None
    assert terms(typeset("Invoice 4711\n\nPayment terms: Net 30\fPayment terms: Net 30")) == "Net 30"


def test_what_follows_on_arrears_is_no_part_of_the_terms(typeset: Typeset) -> None:
    labelled = "Payment terms: 30 days from date of invoice. Late payments bear 5% interest."
    sentences = "Payment due within 30 days. Late payment: 1.5% per month."

    assert terms(typeset(f"Invoice 4711\n\n{labelled}")) == "30 days from date of invoice."
    assert terms(typeset(f"Invoice 4711\n\n{sentences}")) == "Payment due within 30 days."


def test_orders_have_terms_and_receipts_have_none(typeset: Typeset) -> None:
    document = typeset("Purchase Order PO-1\n\nPayment Terms: Net 30")

    assert terms(document, "purchase_order") == "Net 30"
    assert terms(document, "receipt") is None


def test_terms_pass_the_gate_on_recognised_pages_too(typeset: Typeset) -> None:
    document = typeset("Rechnung Nr. 4711\n\nZahlungsbedingungen: 30 Tage netto", source="ocr")
    extraction = read(document)

    verdict = RuleGate().judge(document, extraction, REGISTRY["invoice"])

    assert extraction.evidence["payment.terms"].text == "30 Tage netto"
    assert not any("payment.terms" in failure.fields for failure in verdict.failures)


@pytest.mark.parametrize(
    ("line", "clause"),
    [
        ("Payment terms: 60 days. Please confirm this order within 3 days.", "60 days."),
        ("Payment terms: 30 days net. 10 days 2 % discount.", "30 days net. 10 days 2 % discount."),
    ],
)
def test_a_sentence_behind_the_terms_belongs_to_them_only_if_it_is_about_payment(
    typeset: Typeset, line: str, clause: str
) -> None:
    assert terms(typeset(f"Number R-1   Date 03/05/2026\n\n{line}")) == clause
