from decimal import Decimal
from typing import Any

import pytest

from docmill.service.exports.tax import TaxShare, tax_shares

RATES = [Decimal(0), Decimal(7), Decimal(19)]


def lines(*amounts: tuple[str | None, str | None]) -> list[dict[str, str | None]]:
    return [{"net_amount": amount, "tax_rate": rate} for amount, rate in amounts]


@pytest.mark.parametrize(
    ("data", "shares"),
    [
        ({"gross_total": "119.00", "net_total": "100.00", "tax_total": "19.00"}, [("19", "100.00", "19.00")]),
        ({"gross_total": "107.00", "tax_total": "7.00"}, [("7", "100.00", "7.00")]),
        ({"gross_total": "50.00", "net_total": "50.00"}, [("0", "50.00", "0.00")]),
        ({"gross_total": "119.00", "lines": lines((None, "19"), (None, None))}, [("19", "100.00", "19.00")]),
        (
            {"gross_total": "226.00", "net_total": "200.00", "lines": lines(("100", "19"), ("100", "7"))},
            [("7", "100", "7.00"), ("19", "100", "19.00")],
        ),
        (  # a till prints gross amounts
            {"gross_total": "226.00", "lines": lines(("119.00", "19"), ("107.00", "7"))},
            [("7", "100.00", "7.00"), ("19", "100.00", "19.00")],
        ),
        (  # each line is rounded by itself
            {"gross_total": "0.36", "lines": lines(("0.10", "19"), ("0.10", "19"), ("0.10", "19"))},
            [("19", "0.30", "0.06")],
        ),
        (
            {"gross_total": "13.00", "net_total": "10.00", "tax_total": "1.90", "tip": "1.10"},
            [("19", "10.00", "1.90"), ("0", "1.10", "0")],
        ),
        (
            {"gross_total": "-119.00", "net_total": "-100.00", "tax_total": "-19.00"},
            [("19", "-100.00", "-19.00")],
        ),
        ({"gross_total": "112.00", "net_total": "100.00", "tax_total": "12.00"}, None),
        ({"gross_total": "119.00", "net_total": "90.00", "tax_total": "19.00"}, None),
        ({"gross_total": "119.00"}, None),
        ({"gross_total": "500.00", "lines": lines(("100", "19"), ("100", "7"))}, None),
        ({"gross_total": None}, None),
        ({"gross_total": "0.05", "net_total": "0.05", "tax_total": "0.00"}, None),
    ],
)
def test_the_shares_of_a_bill_are_its_total(
    data: dict[str, Any], shares: list[tuple[str, str, str]] | None
) -> None:
    found = tax_shares(data, RATES)

    expected = shares and [tuple(map(Decimal, share)) for share in shares]
    assert (found and [(share.rate, share.net, share.tax) for share in found]) == expected
    if found:
        assert sum(share.gross for share in found) == Decimal(data["gross_total"])


@pytest.mark.parametrize(
    ("data", "shares"),
    [
        ({"gross_total": "500.00", "tax_category": "AE"}, [("0", "500.00", "AE")]),
        (  # the rate is that of the tax that the buyer owes
            {"gross_total": "500.00", "tax_category": "AE", "lines": lines(("500", "19"))},
            [("0", "500.00", "AE")],
        ),
        (
            {"gross_total": "500.00", "net_total": "500.00", "tax_total": "0.00", "tax_category": "E K"},
            [("0", "500.00", "E K")],
        ),
        (
            {"gross_total": "219.00", "tax_category": "AE S", "lines": lines(("100", "0"), ("100", "19"))},
            [("0", "100", "AE"), ("19", "100", "")],
        ),
        ({"gross_total": "119.00", "tax_total": "19.00", "tax_category": "S"}, [("19", "100.00", "")]),
        ({"gross_total": "119.00", "tax_total": "19.00", "tax_category": "AE"}, [("19", "100.00", "")]),
    ],
)
def test_a_part_without_vat_has_its_category(
    data: dict[str, Any], shares: list[tuple[str, str, str]]
) -> None:
    found = tax_shares(data, RATES)

    assert found == [
        TaxShare(Decimal(rate), Decimal(net), Decimal(net) * Decimal(rate) / 100, category)
        for rate, net, category in shares
    ]
