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
