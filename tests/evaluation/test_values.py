import datetime as dt
from decimal import Decimal

import pytest

from docmill.evaluation.judge import TIERS, agreement, day_of, number_of


@pytest.mark.parametrize(
    ("said", "true", "kind", "first"),
    [
        ("Halden GmbH", "Halden GmbH", "text", "S0"),
        ("halden  gmbh", "HALDEN GMBH", "text", "S1"),
        ("Halden G.m.b.H.", "Halden GmbH", "text", "S2"),
        ("Halden Freigt GmbH", "Halden Freight GmbH", "text", "S3"),
        ("Halden Freight", "Halden", "text", None),
        ("9.00", "RM 9.00", "decimal", "S1"),
        ("9.0", "9.00", "decimal", "S2"),
        ("9.01", "9.00", "decimal", None),
        ("19.00", "9.00", "decimal", None),
        ("0.03", "0.0345", "decimal", None),
        ("n/a", "9.00", "decimal", None),
        ("2018-12-25", "25/12/2018", "date", "S2"),
        ("2018-12-26", "25/12/2018", "date", None),
        ("a week later", "A WEEK  LATER", "date", "S1"),
        ("2026-01-02T14:05:00", "2026-01-02 14:05", "datetime", "S2"),
        ("half past two", "HALF-PAST TWO", "datetime", "S2"),
        ("ΑΘΗΝΑ", "ΣΠΑΡΤΗ", "text", None),
        ("Ελλάς", "ΕΛΛΆΣ", "text", "S1"),
    ],
)
def test_a_value_is_right_from_its_tier_on(said: str, true: str, kind: str, first: str | None) -> None:
    expected = TIERS[TIERS.index(first) :] if first in TIERS else ()

    assert agreement(said, true, kind) == expected  # pyright: ignore[reportArgumentType] - a table of examples


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.50", "1234.50"),
        ("1.234,50 €", "1234.50"),
        ("-$5.00", "-5.00"),
        ("5.00-", "-5.00"),
        ("Rs.500", "500"),
        ("CHF 1'000.00", "1000.00"),
        ("9.00 and 8.00", None),
        ("1.2.3", None),
        ("none", None),
    ],
)
def test_an_amount_is_the_whole_text(text: str, number: str | None) -> None:
    assert number_of(text) == (number and Decimal(number))


def test_endless_amounts_are_compared_as_they_are() -> None:
    assert "S2" in agreement("1" * 40 + ".0", "1" * 40, "decimal")


@pytest.mark.parametrize(
    "text", ["2026-03-04", "4.3.26", "04 MAR 2026", "Mar 4, 2026", "20260304", "04032026", "(04/03/2026)"]
)
def test_a_day_is_the_same_however_it_is_written(text: str) -> None:
    assert day_of(text) == dt.date(2026, 3, 4)


def test_the_truth_may_mean_the_month_first() -> None:
    assert day_of("03/04/2026", month_first=True) == dt.date(2026, 3, 4)
    assert day_of("25/12/2018", month_first=True) == dt.date(2018, 12, 25)


@pytest.mark.parametrize("text", ["soon", "32/13/2026", "4 Foo 2026", "Foo 4, 2026"])
def test_what_is_no_day_is_none(text: str) -> None:
    assert day_of(text) is None
