import datetime as dt
from collections.abc import Callable

import pytest

from docmill.model.result import Failure

Judge = Callable[..., list[Failure]]


def test_letters_among_other_words_are_no_currency(judge: Judge) -> None:
    (failure,) = judge("currency_place", "Do not TRY this at home\nTotal 12.00", {"currency": ("TRY", "TRY")})

    assert failure.message == "The currency 'TRY' stands among other words: Do not TRY this at home."


@pytest.mark.parametrize(
    "page",
    [
        "Total TRY 12.00",
        "Total 12.00 TRY",
        "Currency: TRY",
        "Total in TRY net",
        "TRY",
        "Turkish lira (TRY) only",
    ],
)
def test_a_code_beside_an_amount_or_a_label_is_a_currency(judge: Judge, page: str) -> None:
    assert judge("currency_place", page, {"currency": ("TRY", "TRY")}) == []


def test_a_letter_of_a_name_is_no_sign_of_a_currency(judge: Judge) -> None:
    rand = {"currency": ("ZAR", "R")}

    assert judge("currency_place", "Toys R Us\nTotal 12.00", rand)
    assert not judge("currency_place", "Toys and More\nTotal R 12.00", rand)


def test_items_in_another_currency_than_the_document_are_asked_about(judge: Judge) -> None:
    page = (
        "Freight     1 USD   2,150.00   2,150.00\n\nHandling    1 EUR     245.00     240.00\n\n"
        "Storage     USD 20 as EUR         18.00\n\nTotal EUR 2,408.00"
    )
    values = {
        "currency": ("EUR", "EUR"),
        "lines[0].net_amount": ("2150.00", "2,150.00"),
        "lines[1].net_amount": ("240.00", "240.00"),
        "lines[2].net_amount": ("18.00", "18.00"),
    }

    (failure,) = judge("item_currency", page, values)

    assert failure.fields == ("lines[0].net_amount",)
    assert "is in USD, the document in EUR" in failure.message


def test_a_currency_of_an_item_that_is_known_beside_amounts_only_is_asked_about_too(judge: Judge) -> None:
    values = {"currency": ("EUR", "EUR"), "lines[0].net_amount": ("90.00", "90.00")}

    assert judge("item_currency", "Hotel, Reykjavik   ISK 12900   90.00\n\nTotal EUR 90.00", values)


@pytest.mark.parametrize(
    ("vat_id", "day", "since"),
    [
        ("HR12345678903", dt.date(2022, 7, 3), "2023-01-01"),
        ("HR12345678903", dt.date(2023, 1, 1), None),
        ("LT123456715", dt.date(2014, 5, 2), "2015-01-01"),
        ("BG175074752", dt.date(2025, 5, 2), "2026-01-01"),
        ("BG175074752", dt.date(2026, 5, 2), None),
        ("DE136695976", dt.date(2001, 5, 2), None),
        ("CZ25123891", dt.date(2025, 5, 2), None),
    ],
)
def test_euros_before_a_country_had_them_are_asked_about(
    judge: Judge, vat_id: str, day: dt.date, since: str | None
) -> None:
    page = f"{vat_id}\n{day}\nTotal EUR 12.00"
    values = {
        "currency": ("EUR", "EUR"), "issue_date": (day, str(day)), "seller.vat_id": (vat_id, vat_id),
    }  # fmt: skip

    failures = judge("currency_of_country", page, values)

    assert [failure.message for failure in failures] == (
        [f"The currency is EUR, but there is no euro in the seller's country before {since}."]
        if since
        else []
    )
