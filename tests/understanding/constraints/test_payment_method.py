"""By what means a document says that it is or was paid."""

import pytest
from tests.understanding.conftest import Typeset

from docmill.model.document import Document
from docmill.model.result import Evidence
from docmill.schemas.document_types import DocumentType
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.einvoice.codelists import PAYMENT_MEANS
from docmill.understanding.vocabulary import LANGUAGES


def method(document: Document, document_type: DocumentType = "invoice") -> tuple[str | None, Evidence | None]:
    extraction = extract_by_rules(document, REGISTRY[document_type])
    return extraction.data.model_dump()["payment"]["method"], extraction.evidence.get("payment.method")


def code(document: Document, document_type: DocumentType = "invoice") -> str | None:
    return method(document, document_type)[0]


@pytest.mark.parametrize(
    ("line", "expected", "text"),
    [
        ("Payment method: Bank transfer", "30", "Bank transfer"),
        ("Payment mode   Credit card", "54", "Credit card"),
        ("Zahlungsart: SEPA-Lastschrift", "59", "SEPA-Lastschrift"),
        ("Zahlungsweise: Bankeinzug", "49", "Bankeinzug"),
        ("Zahlungsart: PayPal", "68", "PayPal"),
        ("Mode de règlement : Virement bancaire", "30", "Virement bancaire"),
        ("Forma de pago: Transferencia a 30 días", "30", "Transferencia"),
        ("Modalità di pagamento: Bonifico bancario", "30", "Bonifico bancario"),
        ("Betaalwijze: automatische incasso", "49", "automatische incasso"),
        ("Kaedah pembayaran: Tunai", "10", "Tunai"),
    ],
)
def test_the_means_behind_a_label_is_given_as_e_invoices_give_it(
    typeset: Typeset, line: str, expected: str, text: str
) -> None:
    found, evidence = method(typeset(f"Invoice No. 4711\n\n{line}"))

    assert found == expected
    assert evidence is not None
    assert (evidence.page, evidence.text, evidence.match) == (1, text, "normalised")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Der Betrag wird am 20.03.2018 von Ihrem Konto per SEPA-Lastschrift eingezogen.", "59"),
        ("Der Betrag wird über Ihre Kreditkarte abgebucht.", "54"),
        ("La somme à payer sera prélevée sur le compte désigné.", "49"),
        ("Bezahlt mit PayPal.", "68"),
        ("Bereits bezahlt per Kreditkarte.", "54"),
        ("Der Betrag wird von Ihrem Konto abgebucht.", "49"),
        ("The amount will be debited from your account.", "49"),
        ("Payment: PayPal", "68"),
        ("Paiement par Prélèvement automatique", "49"),
        ("Paid by credit card on 12 March 2026.", "54"),
        ("Bitte überweisen Sie den Betrag auf unser Konto.", "30"),
        ("Invoice to pay by wire transfer to the following bank account:", "30"),
    ],
)
def test_a_sentence_says_how_an_invoice_is_paid(typeset: Typeset, sentence: str, expected: str) -> None:
    assert code(typeset(f"Invoice No. 4711\n\n{sentence}")) == expected


@pytest.mark.parametrize(
    "lines",
    [
        "Payment methods: bank transfer",
        "We accept Visa and Mastercard",
        "Payment method: bank transfer or cash",
        "Zahlungsart: Überweisung oder PayPal",
        "To pay by credit/debit card please call us",
        "Please pay by bank transfer to our account.\nYou may pay by cheque instead.",
        "Wenn Sie uns ein SEPA-Lastschriftmandat erteilen, ist es einfacher.",
        "Payment Cards",
        "If you have set up a direct debit, the amount will be debited from your account.",
        "Falls Sie am Lastschriftverfahren teilnehmen, wird der Betrag abgebucht.",
        "Bei Zahlung per Kreditkarte fallen 2% Gebühren an.",
        "Nicht per Überweisung bezahlen",
        "Pay by card online at www.example.com",
        "Payment by cheque to the address above",
        "IBAN DE89370400440532013000",
    ],
)
def test_ways_that_are_merely_offered_are_none(typeset: Typeset, lines: str) -> None:
    assert code(typeset(f"Invoice No. 4711\n\n{lines}")) is None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("TOTAL  12.50\nCASH  20.00\nCHANGE  7.50", "10"),
        ("TOTAL  12.50\nCash  -20.00\nCHANGE  7.50", "10"),
        ("TOTAL  12.50\nCASH  RM  12.50", "10"),
        ("Summe  12,50\nBar  20,00\nRückgeld  7,50", "10"),
        ("Summe  12,50 EUR\ngirocard kontaktlos  12,50", "55"),
        ("TOTAL  12.50\nVISA  12.50", "48"),
        ("TOTAL  12.50\nCard payment  12.50\nVisa debit  12.50", "55"),
        ("Total  12,50 EUR\nVISA ************4242", "48"),
        ("Total  12,50 EUR\n\nCarte bancaire", "48"),
        ("TOTAL  12.50\nPayment mode  CASH", "10"),
        ("TOTAL  12.50\nPay By: CASH", "10"),
    ],
)
def test_a_receipt_says_what_was_handed_over(typeset: Typeset, lines: str, expected: str) -> None:
    assert code(typeset(f"BADGER'S SHOP\n\nBolts  12.50\n{lines}"), "receipt") == expected


@pytest.mark.parametrize(
    "lines",
    [
        "CASH SALE\nTOTAL  12.50",
        "TOTAL  12.50\nCustomer: CASH",
        "TOTAL  12.50\nSTRICTLY NO CASH REFUND",
        "TOTAL  12.50\nCASH  10.00\nVISA  2.50",
        "TOTAL  12.50\nCASH  0.00",
        "TOTAL  12.50\nVOUCHER  5.00\nCASH  7.50",
        "TOTAL  12.50\nPayment mode  CASH\nVISA  12.50",
        "TOTAL  12.50\nVISA\nCASH\nMASTERCARD",
        "EC  Conference fee  12.50\nTOTAL  12.50",
        "TOTAL  12.50\nMEMBER CARD 4711",
    ],
)
def test_other_words_of_receipts_are_no_means_of_payment(typeset: Typeset, lines: str) -> None:
    assert code(typeset(f"BADGER'S SHOP\n\nBolts  12.50\n{lines}"), "receipt") is None


def test_every_code_of_the_vocabulary_is_one_that_e_invoices_may_have() -> None:
    assert {code for language in LANGUAGES for code in language.methods} <= PAYMENT_MEANS


def test_delivery_notes_have_no_payment(typeset: Typeset) -> None:
    extraction = extract_by_rules(typeset("Lieferschein 1\nZahlungsart: Bar"), REGISTRY["delivery_note"])

    assert not [path for path in extraction.evidence if path.startswith("payment")]
