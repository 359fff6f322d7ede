"""Types that the classifier was not trained on are recognised by the words of their files."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.model.result import TYPE_CHECK, Extraction
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import understand

Typeset = Callable[..., Document]

CREDIT_NOTE = """
{title}

Document no: CN-2026-17                         Harbour Tools Ltd
Date: 03/04/2026                                4 Dock Street, Leith EH6 6QQ
{reference}

Bill to
Annie Bell
9 Mill Lane, Leith EH6 5AA

Description                Quantity      Price      Amount
Torque wrench returned     2             40.00      {minus}80.00

Net total                                           {minus}80.00
VAT 20%                                             {minus}16.00
Total                                               {minus}96.00 GBP
"""


def credit_note(typeset: Typeset, title: str, reference: str = "", minus: str = "") -> Document:
    return typeset(CREDIT_NOTE.format(title=title, reference=reference, minus=minus))


def failed(document: Document, extraction: Extraction) -> list[str]:
    schema = REGISTRY[extraction.document_type]
    return [failure.check for failure in RuleGate().judge(document, extraction, schema).failures]


@pytest.mark.parametrize(
    "title",
    [
        "Credit Note", "CREDIT NOTE", "Credit Memo", "Stornorechnung", "Avoir", "Nota di credito",
        "Nota de crédito", "Creditnota", "Kreditfaktura", "Kreditnota", "C R E D I T  N O T E",
    ],
)  # fmt: skip
def test_a_title_of_credit_notes_makes_an_invoice_one(typeset: Typeset, title: str) -> None:
    document = credit_note(typeset, title, "Original invoice: INV-881")

    classification, extraction = understand(document)

    assert classification.document_type == extraction.document_type == "credit_note"
    assert classification.title == "Credit note CN-2026-17, Harbour Tools Ltd"
    assert classification.summary is not None
    assert classification.summary.startswith("Credit note CN-2026-17 from Harbour Tools Ltd to Annie Bell")
    data = extraction.data.model_dump()
    assert data["number"] == "CN-2026-17"
    assert data["gross_total"] == Decimal("96.00")
    assert data["preceding_invoice_number"] == "INV-881"
    assert extraction.evidence["preceding_invoice_number"].text == "INV-881"
    assert TYPE_CHECK not in failed(document, extraction)


def test_amounts_that_are_all_printed_as_negative_are_what_the_credit_note_gives_back(
    typeset: Typeset,
) -> None:
    document = credit_note(typeset, "Credit Note", minus="-")

    extraction = understand(document).extraction

    data = extraction.data.model_dump()
    assert [data[name] for name in ("net_total", "tax_total", "gross_total")] == [
        Decimal("80.00"),
        Decimal("16.00"),
        Decimal("96.00"),
    ]
    assert data["lines"][0]["net_amount"] == Decimal("80.00")
    assert extraction.evidence["gross_total"].text == "-96.00 GBP"
    assert "evidence" not in failed(document, extraction)


def test_a_negative_total_of_a_credit_note_is_shown_to_a_person(typeset: Typeset) -> None:
    document = credit_note(typeset, "Credit Note")
    extraction = understand(document).extraction
    negative = extraction.data.model_copy(update={"gross_total": Decimal("-96.00")})

    assert "negative_credit" in failed(document, extraction.model_copy(update={"data": negative}))
    assert "negative_credit" not in failed(document, extraction)


@pytest.mark.parametrize("title", ["Gutschrift", "Rechnungskorrektur", "Factura rectificativa"])
def test_a_title_that_may_mean_something_else_is_shown_to_a_person(typeset: Typeset, title: str) -> None:
    document = credit_note(typeset, title)

    extraction = understand(document).extraction

    assert extraction.document_type == "invoice"
    assert TYPE_CHECK in failed(document, extraction)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Gutschrift", "Zu Rechnung RE-2026-188"),
        ("Gutschrift", "Wegen Ihrer Retoure schreiben wir Ihnen gut:"),
        ("Rechnungskorrektur", "Wir erstatten den Betrag: Gutschrift auf Ihr Konto"),
        ("Factura rectificativa", "Devolución a su cuenta"),
        ("Faktura korygująca", "Kwota do zwrotu"),
    ],
)
def test_other_words_settle_what_a_title_means(typeset: Typeset, title: str, words: str) -> None:
    document = credit_note(typeset, title, words)

    extraction = understand(document).extraction

    assert extraction.document_type == "credit_note"
    assert TYPE_CHECK not in failed(document, extraction)


@pytest.mark.parametrize(
    ("title", "terms"),
    [
        ("Gutschrift", "Bei Reklamation wenden Sie sich bitte an unsere Abrechnungsstelle."),
        ("Gutschrift", "Eine Rückgabe der Proben ist nicht möglich, eine Stornierung auch nicht."),
        ("Gutschrift", "Der Betrag wird Ihrem Konto gutgeschrieben. Erstattung der Fracht separat."),
        ("Corrected invoice", "Our refund policy is on our website."),
        ("Factura rectificativa", "Plazo de devolución: 30 días. Pago: abono en cuenta."),
        ("Faktura korygująca", "Przyczyna: zwiększenie ceny. Zwrot opakowań w ciągu 30 dni."),
    ],
)
def test_words_of_general_terms_do_not_settle_what_a_title_means(
    typeset: Typeset, title: str, terms: str
) -> None:
    document = credit_note(typeset, title, terms)

    extraction = understand(document).extraction

    assert TYPE_CHECK in failed(document, extraction)


def test_an_invoice_that_the_buyer_writes_stays_an_invoice(typeset: Typeset) -> None:
    document = credit_note(typeset, "Gutschrift", "Abrechnung im Gutschriftsverfahren")

    extraction = understand(document).extraction

    assert extraction.document_type == "invoice"
    assert TYPE_CHECK not in failed(document, extraction)


@pytest.mark.parametrize(
    "words",
    [
        "Credit notes are sent within 30 days of a return.",
        "Gutschrift",
        "Total credit note value may be offset",
    ],
)
def test_an_invoice_that_speaks_of_credit_notes_in_its_text_stays_one(typeset: Typeset, words: str) -> None:
    document = typeset(CREDIT_NOTE.format(title="Invoice", reference="", minus="") + f"\n\n{words}\n")

    extraction = understand(document).extraction

    assert extraction.document_type == "invoice"
    assert TYPE_CHECK not in failed(document, extraction)


def test_a_bank_statement_with_credits_stays_one(typeset: Typeset) -> None:
    document = typeset(
        """
        Kontoauszug Nr. 4                        Gutschrift
        IBAN DE89 3704 0044 0532 0130 00
        Zeitraum 01.03.2026 bis 31.03.2026

        Datum      Buchungstext                  Soll       Haben
        02.03.     Gutschrift                                250,00
        05.03.     Lastschrift                   20,00

        Anfangssaldo 100,00      Endsaldo 330,00
        """
    )

    classification = understand(document).classification

    assert classification.document_type == "bank_statement"
    assert dt.date(2026, 3, 31) == classification.document_date


def test_the_number_of_the_corrected_invoice_is_not_cut_at_its_slash(typeset: Typeset) -> None:
    document = credit_note(typeset, "Credit Note", "Original invoice: 2026/77")

    extraction = understand(document).extraction

    assert extraction.data.model_dump()["preceding_invoice_number"] == "2026/77"
    assert extraction.evidence["preceding_invoice_number"].confidence > 0.9


def test_an_amount_is_no_number_of_a_corrected_invoice(typeset: Typeset) -> None:
    document = credit_note(typeset, "Credit Note", "Original invoice: 50.00")

    extraction = understand(document).extraction

    assert extraction.document_type == "credit_note"
    assert extraction.data.model_dump()["preceding_invoice_number"] is None


def test_the_number_of_a_debit_note_is_not_that_of_the_original_invoice(typeset: Typeset) -> None:
    page = CREDIT_NOTE.format(title="Debit Note", reference="Original invoice: INV-9", minus="")
    document = typeset(page.replace("Document no:", "Debit note no:"))

    extraction = understand(document).extraction

    assert extraction.document_type == "invoice"
    assert extraction.data.model_dump()["number"] == "CN-2026-17"


def test_a_number_that_ends_like_a_date_is_a_number(typeset: Typeset) -> None:
    page = CREDIT_NOTE.format(title="Invoice", reference="", minus="")
    document = typeset(page.replace("Document no: CN-2026-17", "Invoice no: FV/5/03/2026"))

    data = understand(document).extraction.data.model_dump()

    assert (data["number"], data["issue_date"]) == ("FV/5/03/2026", dt.date(2026, 4, 3))
