from collections.abc import Callable
from decimal import Decimal

import pytest

from docmill.model.result import Failure
from docmill.understanding.gate.countries import COUNTRIES

Judge = Callable[..., list[Failure]]


def _amounts(net: str, tax: str, gross: str, **others: str) -> dict[str, tuple[object, str]]:
    totals = {"net_total": Decimal(net), "tax_total": Decimal(tax), "gross_total": Decimal(gross)}
    return {path: (value, "") for path, value in {**totals, **others}.items()}


@pytest.mark.parametrize(
    ("net", "tax", "gross", "others", "flagged"),
    [
        ("100.00", "19.00", "119.00", {"seller.vat_id": "DE136695976"}, False),
        ("100.00", "11.30", "111.30", {"seller.vat_id": "DE136695976"}, False),  # of two rates
        ("100.00", "25.00", "125.00", {"seller.vat_id": "DE136695976"}, True),
        ("100.00", "25.00", "125.00", {"currency": "SEK"}, False),
        ("100.00", "15.00", "115.00", {"currency": "CHF"}, True),
        ("85.00", "15.00", "100.00", {"seller.address": "1 Main St, Springfield, IL 62701"}, True),
        ("100.00", "8.25", "108.25", {"seller.address": "1 Main St, Austin, TX 78701"}, False),
        ("100.00", "8.00", "108.00", {"currency": "HKD"}, True),
        ("100.00", "27.00", "127.00", {}, False),
        ("100.00", "35.00", "135.00", {}, True),
    ],
)
def test_a_tax_is_at_most_the_highest_rate_of_its_country(
    judge: Judge, net: str, tax: str, gross: str, others: dict[str, str], *, flagged: bool
) -> None:
    failures = judge("tax_rate", "nothing", _amounts(net, tax, gross, **others))

    assert bool(failures) is flagged


def test_the_message_says_which_share_is_too_much_and_where(judge: Judge) -> None:
    (failure,) = judge("tax_rate", "nothing", _amounts("85.00", "15.00", "100.00", currency="CHF"))

    assert failure.message == (
        "Tax 15.00 is 17.6 % of the net total 85.00: more than 8.1 %, the most where CHF is paid."
    )
    assert failure.fields == ("net_total", "tax_total")


def test_each_country_has_rates_or_a_highest_sum_unless_it_has_no_such_tax() -> None:
    without = [code for code, country in COUNTRIES.items() if not country.rates and not country.highest]

    assert without == ["HK"]
    assert all(0 < rate <= 40 for country in COUNTRIES.values() for rate in country.rates)


def test_the_tax_of_one_of_several_printed_rates_is_not_all_of_it(judge: Judge) -> None:
    page = "Rate   Net      Tax\n19 %   100.00   19.00\n7 %    50.00    3.50\nTotal  172.50"

    (failure,) = judge("tax_rows", page, {"tax_total": (Decimal("19.00"), "19.00")})

    assert failure.message == "Tax 19.00 is that of one rate; those of all printed rates add up to 22.50."
    assert judge("tax_rows", page, {"tax_total": (Decimal("22.50"), "")}) == []


def test_a_tax_beside_the_label_of_a_commission_is_none(judge: Judge) -> None:
    page = "Gross   100.00\nAgency Commission   15.00\nNet   85.00"

    assert judge("tax_label", page, {"tax_total": (Decimal("15.00"), "15.00")})
    assert not judge("tax_label", "VAT   15.00", {"tax_total": (Decimal("15.00"), "15.00")})
