from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.understanding.text.money import (
    Mark,
    currency_code,
    currency_spans,
    decimal_mark,
    find_amounts,
    in_thousandths,
    number,
    without_currencies,
)


@pytest.mark.parametrize(
    ("text", "mark", "value", "currency"),
    [
        ("1.234,56 €", ",", "1234.56", "EUR"),
        ("€ 146,40", ",", "146.40", "EUR"),
        ("1 350,00", ",", "1350.00", None),
        ("1'234.50 CHF", ".", "1234.50", "CHF"),
        ("$1,200.00", ".", "1200.00", "USD"),
        ("RM9.00", ".", "9.00", "MYR"),
        ("9.90SR", ".", "9.90", None),
        ("-RM 0.02", ".", "-0.02", "MYR"),
        ("Rs.320.30", ".", "320.30", "INR"),
        ("Rp.256.850", ",", "256850", "IDR"),
        ("\u20b9 3,27,285.00", ".", "327285.00", "INR"),
        ("1,23,45,678", ".", "12345678", None),
        ("Dhs72.00", ".", "72.00", "AED"),
        ("Baht2,835.74", ".", "2835.74", "THB"),
        ("PHP1,219.00", ".", "1219.00", "PHP"),
        ("(50.00)", ".", "-50.00", None),
        ("12,50-", ",", "-12.50", None),
        ("EUR 1.000,00", ",", "1000.00", "EUR"),
    ],
)
def test_an_amount_is_read_with_its_currency_and_sign(
    text: str, mark: Mark, value: str, currency: str | None
) -> None:
    (amount,) = find_amounts(text, misread=False)

    assert amount.value(mark) == Decimal(value)
    assert amount.currency == currency


@pytest.mark.parametrize(
    ("text", "value"), [("9.OO", "9.00"), ("1O.5O", "10.50"), ("S8.20", "8.20"), ("12 .50", "12.50")]
)
def test_misread_digits_are_mended_on_recognised_pages(text: str, value: str) -> None:
    (amount,) = find_amounts(text, misread=True)

    assert amount.value(".") == Decimal(value)


def test_a_percentage_is_told_from_money() -> None:
    (rate,) = find_amounts("19 %", misread=False)

    assert rate.percent


@pytest.mark.parametrize("text", ["abc", "12:30", "A-1002-B", "06/13"])
def test_other_text_holds_no_amount_with_cents(text: str) -> None:
    assert not [one for one in find_amounts(text, misread=False) if one.has_cents]


@pytest.mark.parametrize(
    ("numbers", "default", "mark"),
    [
        (["1.234,56", "7,00"], ".", ","),
        (["1,234.56"], ",", "."),
        (["12.50", "3.20"], ",", "."),
        (["1.000"], ".", ","),
        (["12"], ",", ","),
        ([], ".", "."),
    ],
)
def test_the_decimal_mark_is_the_documents_own(numbers: list[str], default: Mark, mark: Mark) -> None:
    assert decimal_mark(numbers, default=default) == mark


@given(st.decimals(min_value=0, max_value=10**9, places=2))
def test_every_amount_survives_being_printed_with_either_mark(amount: Decimal) -> None:
    english = f"{amount:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))

    assert number(english, ".") == amount
    assert number(german, ",") == amount


def test_a_mark_that_cannot_part_thousands_parts_decimals() -> None:
    assert number("12,50", ".") == Decimal("12.50")
    assert number("1.234.567", ".") == Decimal(1234567)


@pytest.mark.parametrize(
    ("printed", "mark"), [("8,420.500", "."), ("8.420,500", ","), ("8,420,500", "."), ("8.420", ",")]
)
def test_the_last_of_two_marks_parts_decimals(printed: str, mark: Mark) -> None:
    other: Mark = "," if mark == "." else "."

    assert decimal_mark([printed], default=other) == mark


def test_a_currency_has_a_code_whether_printed_as_code_or_sign() -> None:
    assert [currency_code(sign) for sign in ("eur", "€", "RM", "$", "?")] == [
        "EUR",
        "EUR",
        "MYR",
        "USD",
        None,
    ]
    assert currency_spans("all in EUR") == [("EUR", 7, 10)]


@pytest.mark.parametrize(
    "text", ["Mo.-Fr. 08.30 - 12.30 Uhr", "Mo - Fr. 8.00", "Fr. 8.00-14.00 Uhr", "Fr. 8.30 - 12.30 uur"]
)
def test_friday_is_no_swiss_franc(text: str) -> None:
    assert {amount.currency for amount in find_amounts(text, misread=False)} == {None}


def test_a_franc_is_one_before_an_amount() -> None:
    assert [amount.currency for amount in find_amounts("Total Fr. 12.50", misread=False)] == ["CHF"]


def test_currencies_of_thousandths_have_three_decimals() -> None:
    assert in_thousandths("KWD")
    assert not in_thousandths("EUR")
    assert not in_thousandths(None)
    assert decimal_mark(["100.500", "110.550"], default=",", thousandths=True) == "."
    assert decimal_mark(["1,100.500", "110.550"], default=",", thousandths=True) == "."
    (amount,) = find_amounts("Total 1,100.500 KWD", misread=False)
    assert amount.value(".") == Decimal("1100.5")


def test_currencies_are_taken_out_of_a_text_but_not_out_of_words() -> None:
    assert without_currencies("Kort Kr 50,00 eur").split() == ["Kort", "50,00"]
