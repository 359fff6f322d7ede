import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import cast

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction, Verdict
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import BankStatement
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate

Typeset = Callable[..., Document]

SIGNED = """
Kontoauszug                                IBAN DE02 1203 0000 0000 2020 51
Zeitraum: 01.12.2025 bis 31.01.2026

Datum     Buchungstext                                   Betrag      Saldo
          Anfangssaldo                                            1.000,00
30.12.    Gutschrift                                    +250,00   1.250,00
          Rieselfeld Anlagenbau GmbH
02.01.    Umsatzsteuer Finanzamt                        -300,00     950,00
05.01.    Miete                                          100,00     850,00
          Endsaldo                                                  850,00
"""

DATED = """
Kontoauszug 9/2026                         IBAN DE02 1203 0000 0000 2020 51
Zeitraum: 01.09.2026 bis 30.09.2026

Datum     Buchungstext                                   Betrag
01.09.    {opening:20}                         1.000,00
03.09.    Gutschrift Rieselfeld GmbH                     250,00
12.09.    Umsatzsteuer Finanzamt                        -300,00
15.09.    Saldenausgleich Miete                         -100,00
30.09.    {closing:20}                           850,00
"""


def extracted(document: Document) -> Extraction:
    return extract_by_rules(document, REGISTRY["bank_statement"])


def judged(document: Document) -> Verdict:
    return RuleGate().judge(document, extracted(document), REGISTRY["bank_statement"])


def statement(document: Document) -> BankStatement:
    return cast("BankStatement", extracted(document).data)


def test_years_come_from_the_period_and_signs_from_the_balances(typeset: Typeset) -> None:
    read = statement(typeset(SIGNED))

    assert [one.date for one in read.transactions] == [
        dt.date(2025, 12, 30),
        dt.date(2026, 1, 2),
        dt.date(2026, 1, 5),
    ]
    assert [one.amount for one in read.transactions] == [250, -300, -100]
    assert (read.opening_balance, read.closing_balance) == (1000, 850)


def test_bookings_that_lead_from_balance_to_balance_are_believed(typeset: Typeset) -> None:
    document = typeset(SIGNED)

    extraction = extracted(document)

    assert extraction.evidence["transactions[2].amount"].confidence > 0.9
    assert not any(failure.check == "bookings_sum" for failure in judged(document).failures)


def test_debit_and_credit_have_columns_of_their_own(typeset: Typeset) -> None:
    text = """
Statement of Account                       IBAN GB29 NWBK 6016 1331 9268 19
Statement period: 1 August 2026 to 31 August 2026

Date          Details                          Paid Out    Paid In     Balance
01/08/2026    Direct debit Hollow Hill Ltd        45.10                 954.90
14/08/2026    Merchant takings Ref: MM-5120                  300.00    1254.90

Opening Balance                                                        1000.00
Closing Balance                                                        1254.90
"""
    read = statement(typeset(text))

    assert [one.amount for one in read.transactions] == [Decimal("-45.10"), Decimal("300.00")]
    assert read.transactions[1].reference == "MM-5120"
    assert read.opening_balance == 1000


def test_letters_tell_debit_from_credit(typeset: Typeset) -> None:
    text = """
Kontoauszug   Zeitraum: 01.03.2026 bis 31.03.2026
Buchung      Wert         Verwendungszweck                                 Betrag EUR
03.03.2026   03.03.2026   Lastschrift Stadtwerke DE02120300000000202051      100,00 S
09.03.2026   09.03.2026   Zahlung Kunde 77                                    70,00 H
"""
    read = statement(typeset(text))

    assert [one.amount for one in read.transactions] == [-100, 70]
    assert read.transactions[0].iban == "DE02120300000000202051"


def test_a_booking_that_is_missing_is_seen(typeset: Typeset) -> None:
    verdict = judged(typeset(SIGNED.replace("-300,00     950,00", "               950,00")))

    assert "bookings_sum" in {failure.check for failure in verdict.failures}


def test_a_known_kind_of_booking_parts_from_name_and_reference(typeset: Typeset) -> None:
    text = """
Statement of Account                       IBAN GB29 NWBK 6016 1331 9268 19
Statement period: 1 August 2026 to 31 August 2026

Date          Details                                             Amount     Balance
01/08/2026    Direct debit Hollow Hill Laundry Ltd HHL-0726       -45.10      954.90
14/08/2026    Gutschrift Max Muster RE 26-0481                    300.00     1254.90
15/08/2026    Transfer Quill GmbH DE02120300000000202051 Rent     -54.90     1200.00
"""
    first, second, third = statement(typeset(text)).transactions

    assert (first.description, first.counterparty, first.reference) == (
        "Direct debit",
        "Hollow Hill Laundry Ltd",
        "HHL-0726",
    )
    assert (second.counterparty, second.reference) == ("Max Muster", "RE 26-0481")
    assert (third.counterparty, third.iban, third.reference) == (
        "Quill GmbH",
        "DE02120300000000202051",
        "Rent",
    )


@pytest.mark.parametrize(
    ("opening", "closing"), [("Anfangssaldo", "Endsaldo"), ("Alter Kontostand", "Neuer Kontostand")]
)
def test_balances_with_a_date_are_no_bookings(typeset: Typeset, opening: str, closing: str) -> None:
    read = statement(typeset(DATED.format(opening=opening, closing=closing)))

    assert [row.amount for row in read.transactions] == [Decimal(250), Decimal(-300), Decimal(-100)]
    assert (read.opening_balance, read.closing_balance) == (Decimal(1000), Decimal(850))


def test_the_iban_of_a_booking_is_not_that_of_the_account(typeset: Typeset) -> None:
    statement = """
Kontoauszug 9/2026                         {account}
Zeitraum: 01.09.2026 bis 30.09.2026

Datum     Buchungstext       IBAN                             Betrag
03.09.    Rieselfeld GmbH    DE02120300000000202051           250,00
12.09.    Finanzamt          DE02500105170137075030          -300,00
"""
    named = typeset(statement.format(account="IBAN DE89 3704 0044 0532 0130 00"))
    unnamed = typeset(statement.format(account="Musterbank AG"))

    assert cast("BankStatement", extracted(named).data).iban == "DE89370400440532013000"
    assert cast("BankStatement", extracted(unnamed).data).iban is None


def test_a_kind_of_booking_of_two_words_is_not_cut_after_the_first(typeset: Typeset) -> None:
    page = SIGNED.replace("Umsatzsteuer Finanzamt", "Frais bancaires       ")

    extraction = extract_by_rules(typeset(page), REGISTRY["bank_statement"])

    booking = cast("BankStatement", extraction.data).transactions[1]
    assert booking.description == "Frais bancaires"
    assert booking.counterparty is None
