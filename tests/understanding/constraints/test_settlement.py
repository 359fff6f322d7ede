from collections.abc import Callable
from typing import cast

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules

Typeset = Callable[..., Document]

INVOICE = """
Kornblume GmbH
Lindenweg 4
12345 Neustadt

Rechnung Nr. 2024-117                     Datum: 10.01.2024

Nettobetrag                               100,00 EUR
MwSt 19 %                                  19,00 EUR
Gesamtbetrag                              119,00 EUR
{more}
"""


def extracted(typeset: Typeset, more: str) -> Extraction:
    document = typeset(INVOICE.replace("{more}", more))
    return extract_by_rules(document, REGISTRY["invoice"])


def read(typeset: Typeset, more: str) -> Invoice:
    return cast("Invoice", extracted(typeset, more).data)


def test_the_total_is_due_where_nothing_is_said_of_payments(typeset: Typeset) -> None:
    extraction = extracted(typeset, "")

    assert str(cast("Invoice", extraction.data).amount_due) == "119.00"
    assert extraction.evidence["amount_due"].match == "computed"


def test_what_was_paid_before_is_not_due(typeset: Typeset) -> None:
    assert str(read(typeset, "Anzahlung                                  19,00 EUR").amount_due) == "100.00"


@pytest.mark.parametrize(
    "more",
    [
        "Der Betrag wurde bereits bezahlt.",
        "Anzahlung                                 119,00 EUR",
        "Anzahlung  19,00 EUR\nAnzahlung  20,00 EUR",
    ],
)
def test_nothing_is_guessed_where_it_is_settled_or_paid_in_parts(typeset: Typeset, more: str) -> None:
    assert read(typeset, more).amount_due is None


def test_nothing_is_taken_from_the_total_of_a_credit_note(typeset: Typeset) -> None:
    credit = INVOICE.replace("100,00", "-100,00").replace(" 19,00", "-19,00").replace("119,00", "-119,00")
    document = typeset(credit.replace("{more}", "Anzahlung                                  5,00 EUR"))

    assert cast("Invoice", extract_by_rules(document, REGISTRY["invoice"]).data).amount_due is None


def test_the_due_date_follows_from_the_terms(typeset: Typeset) -> None:
    extraction = extracted(
        typeset, "\n2 % Skonto innerhalb von 10 Tagen, zahlbar innerhalb von 30 Tagen netto"
    )

    assert str(cast("Invoice", extraction.data).due_date) == "2024-02-09"
    assert extraction.evidence["due_date"].match == "computed"


@pytest.mark.parametrize(
    "more",
    [
        "\nZahlungsbedingungen   30 Tage",
        "\nZahlungsbedingungen\n30 Tage",
    ],
)
def test_a_label_says_that_days_are_to_pay(typeset: Typeset, more: str) -> None:
    assert str(read(typeset, more).due_date) == "2024-02-09"


@pytest.mark.parametrize(
    "more", ["\nLieferzeit   30 Tage", "\n30 Tage", "\nZahlung mit 2 % Skonto in 10 Tagen"]
)
def test_other_days_give_no_due_date(typeset: Typeset, more: str) -> None:
    assert read(typeset, more).due_date is None


def test_the_end_of_the_month_is_meant_where_it_is_said(typeset: Typeset) -> None:
    assert str(read(typeset, "\nPaiement à 30 jours fin de mois").due_date) == "2024-02-29"


def test_a_printed_last_day_comes_before_a_computed_one(typeset: Typeset) -> None:
    more = "\nZahlbar innerhalb von 30 Tagen bis 12.02.2024, 3 % Skonto bis 20.01.2024"

    assert str(read(typeset, more).due_date) == "2024-02-12"


def test_days_are_no_amount(typeset: Typeset) -> None:
    assert str(read(typeset, "\nNet 30").net_total) == "100.00"


@pytest.mark.parametrize(
    ("more", "due"),
    [
        ("\nDer Betrag ist am 06.02.2024 fällig.", "2024-02-06"),
        ("\nDer Betrag ist am 06.02.2024 an uns fällig.", None),
        ("\n06.02.2024 Vencimiento: morgen", None),
    ],
)
def test_the_word_right_after_a_date_may_say_that_it_is_the_last(
    typeset: Typeset, more: str, due: str | None
) -> None:
    found = read(typeset, more).due_date

    assert (found and str(found)) == due


@pytest.mark.parametrize(
    ("sentence", "day"),
    [
        ("Payable within 14 days net.", "2024-01-24"),
        ("Payment is due within 30 days of the invoice date.", "2024-02-09"),
        ("Zahlbar innerhalb von 8 Tagen mit 3 % Skonto, 30 Tage netto.", "2024-02-09"),
        ("30 jours fin de mois", "2024-02-29"),
        ("Paiement à 45 jours fin de mois par virement", "2024-02-29"),
        ("Pago a 30 días fecha factura.", "2024-02-09"),
        ("Bonifico bancario 60 gg f.m.", "2024-03-31"),
        ("Wij verzoeken u het bedrag binnen 14 dagen over te maken.", "2024-01-24"),
        ("Płatne w ciągu 14 dni od daty wystawienia.", "2024-01-24"),
        ("Pagamento a 30 dias.", "2024-02-09"),
    ],
)
def test_a_sentence_of_any_language_gives_the_days_to_pay(typeset: Typeset, sentence: str, day: str) -> None:
    extraction = extracted(typeset, f"\n{sentence}")

    assert str(cast("Invoice", extraction.data).due_date) == day
    assert extraction.evidence["due_date"].match == "computed"


@pytest.mark.parametrize(
    "sentence",
    [
        "Please remit the total by 12 March 2024 to our account.",
        "Zahlbar bis zum 12.03.2024 ohne Abzug.",
        "Bei Zahlung bis zum 20.01.2024 gewähren wir 2 % Skonto, bis zum 12.03.2024 ohne Abzug.",
        "Zahlbar bis 20.01.2024 mit 2 % Skonto, bis 12.03.2024 netto.",
        "Wir bitten um Überweisung des Betrages bis\n12.03.2024 auf unser Konto.",
        "À régler au plus tard le 12 mars 2024.",
        "Le rogamos abone esta factura antes del 12/03/2024.",
        "Da pagare entro il 12 marzo 2024.",
        "Wij verzoeken u het bedrag voor 12-03-2024 over te maken.",
        "Prosimy o zapłatę do 12.03.2024.",
        "A pagar até 12/03/2024.",
    ],
)
def test_a_sentence_of_any_language_names_the_last_day_to_pay(typeset: Typeset, sentence: str) -> None:
    assert str(read(typeset, f"\n{sentence}").due_date) == "2024-03-12"


@pytest.mark.parametrize(
    "sentence",
    [
        "2 % Skonto bei Zahlung bis 20.01.2024.",
        "2 % discount if paid within 10 days.",
        "Reklamationen sind innerhalb von 8 Tagen zu melden.",
        "Returns accepted within 14 days.",
        "Livraison sous 10 jours.",
        "Dostawa w ciągu 10 dni.",
    ],
)
def test_days_of_a_discount_or_of_anything_else_are_no_due_date(typeset: Typeset, sentence: str) -> None:
    assert read(typeset, f"\n{sentence}").due_date is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Betrag ist am 01.02.2024 zur Zahlung fällig.",
        "Please settle this invoice by 1 February 2024 at the latest.",
        "Facture exigible le 1er février 2024.",
        "Merci d'effectuer votre virement d'ici le 01/02/2024.",
        "Échéance de paiement fixée au 01/02/2024",
        "Escompte de 2 % pour paiement avant le 20/01/2024, net au 01/02/2024.",
        "Da saldare entro il 1° febbraio 2024.",
        "Deze factuur vervalt op 01-02-2024.",
        "Płatne najpóźniej 01.02.2024.",
        "Vencimento: 1.º de fevereiro de 2024",
    ],
)
def test_a_sentence_names_the_day_on_which_it_is_due(typeset: Typeset, sentence: str) -> None:
    assert str(read(typeset, f"\n{sentence}").due_date) == "2024-02-01"


def test_a_computed_day_is_no_surer_than_the_one_it_is_computed_from(typeset: Typeset) -> None:
    document = typeset(
        INVOICE.replace("Datum:", "      ").replace("{more}", "Zahlbar innerhalb von 14 Tagen")
    )
    evidence = extract_by_rules(document, REGISTRY["invoice"]).evidence

    assert evidence["due_date"].confidence <= evidence["issue_date"].confidence


@pytest.mark.parametrize(
    "more", ["Previous balance   500,00 EUR\nAmount due        619,00 EUR", "Paid              100,00 EUR"]
)
def test_no_amount_due_is_computed_beside_an_old_balance_or_as_the_tax(typeset: Typeset, more: str) -> None:
    assert read(typeset, more).amount_due is None
