import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal

import pytest

from docmill.model.result import Failure
from docmill.understanding.gate.countries import COUNTRIES, parse_rate

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


HIGHEST = """
AT 20 20  BE 21 21  BG 20 20  CY 19 19  CZ 21 21  DE 19 19  DK 25 25  EE 20 24  ES 26.2 26.2  FI 24 25.5
FR 20 20  GR 23 24  HR 25 25  HU 27 27  IE 23 23  IT 22 22  LT 21 21  LU 15 17  LV 21 21  MT 18 18  NL 21 21
PL 23 23  PT 23 23  RO 24 21  SE 25 25  SI 22 22  SK 20 23  GB 20 20  CH 8 8.1  LI 8 8.1  NO 25 25
IS 25.5 24  RS 20 20  UA 20 20  TR 18 20  IL 18 18  AE 0 5  SA 0 15  IN 40 40  MY 10 10  SG 7 9  HK 0 0
JP 8 10  KR 10 10  CN 17 13  TW 5 5  TH 7 7  VN 10 10  ID 10 12  PH 12 12  AU 10 10  NZ 15 15  ZA 14 15
US 13.5 13.5  CA 15.5 15.5  MX 16 16  BR 40 40  AR 27 27  CL 19 19  CO 16 19  PE 18 18
"""
"""By country, in 2014 and 2026."""
REDUCED = """
DE 2019 7 10.7  DE 2020 16 5  DE 2025 7 7.8  AT 2019 13 10  AT 2026 4.9  FR 2012 19.6 7 5.5 2.1
FR 2024 10 5.5 2.1 8.5  ES 2011 18 8 4  ES 2024 10 5 7.5 2  PT 2010 21 20  PT 2016 22 18 13 12 10 6 5
PL 2010 22 7 3  PL 2015 8 5  GB 2010 17.5  GB 2021 12.5 5  IE 2020 21 13.5 9 4.8  CH 2010 7.6 2.4 3.6
CH 2015 8 2.5 3.8  CH 2020 7.7 2.5 3.7  CH 2026 8.1 2.6 3.8  GR 2012 6.5 13 16 9 5  GR 2017 24 17 13 9 6 4
NO 2016 10 15  NO 2020 12 6  IS 2012 7  IS 2020 11  LT 2026 12 5  EE 2024 22 9  FI 2011 23 13 9
FI 2020 14 10  FI 2026 13.5 10  LU 2023 16 13 7 3  RO 2016 20 9 5  RO 2026 11  CZ 2012 20 14  CZ 2020 15 10
CZ 2025 12  SK 2026 19 5  IL 2011 16  IL 2020 17  MY 2016 6  MY 2025 8 6 10 5  IN 2020 28 18 12 5 3 0.25
SG 2023 8 7  JP 2013 5  CN 2013 17 13 6 3  CN 2017 11  CN 2019 9 13 16 10 6  ID 2023 11  VN 2023 8
MX 2012 11 16  CO 2012 10 16  PE 2023 10  SA 2019 5  TR 2020 8 18 1  TR 2025 10 20 1  RS 2012 18 8
ZA 2016 14  NZ 2010 12.5 15
"""
OVER = """
DE 2023 16 5  FR 2016 19.6 7  GB 2013 17.5  PL 2013 22  PT 2016 20 21  CH 2019 7.6  CH 2026 7.7 2.5
EE 2019 22 24  SA 2017 5  MY 2022 8  SG 2019 8 9  JP 2012 10  TR 2022 20 10  FI 2021 25.5 23  RO 2020 24 21
IL 2022 18  GR 2022 23 6.5  LT 2028 9
"""
"""Rates of other years: too late, or too early. A rate may stand on papers of the year after it."""


def _rows(table: str) -> Iterator[tuple[str, list[Decimal]]]:
    for match in re.finditer(r"([A-Z]{2})((?: [\d.]+)+)", table):
        yield match[1], [Decimal(part) for part in match[2].split()]


def test_the_highest_rate_of_each_country_in_2014_and_2026_is_known() -> None:
    known = {
        code: [100 * country.highest_share(year) for year in (2014, 2026)]
        for code, country in COUNTRIES.items()
    }

    assert known == dict(_rows(HIGHEST))


def test_rates_stand_in_the_years_in_which_they_held() -> None:
    missing = [(code, row[0], row[1:]) for code, row in _rows(REDUCED) if not _held(code, row)]
    too_many = [
        (code, year, rate)
        for code, (year, *rates) in _rows(OVER)
        for rate in rates
        if rate in COUNTRIES[code].percents(int(year))
    ]

    assert missing == []
    assert too_many == []


def _held(code: str, row: list[Decimal]) -> bool:
    return COUNTRIES[code].percents(int(row[0])).issuperset(row[1:])


@pytest.mark.parametrize("text", ["", "20%", "2020-", "16 20", "19 2020 2021"])
def test_a_rate_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("seller", "day", "rate", "flagged"),
    [
        ("DE136695976", date(2026, 3, 1), "19", False),
        ("DE136695976", date(2020, 9, 1), "16", False),
        ("DE136695976", date(2021, 1, 5), "16", False),  # of December
        ("DE136695976", date(2026, 3, 1), "16", True),
        ("DE136695976", date(2026, 3, 1), "15", True),
        ("FR40303265045", date(2013, 3, 1), "19,6", False),
        ("FR40303265045", date(2026, 3, 1), "19,6", True),
    ],
)
def test_a_tax_beside_a_percentage_that_is_no_rate_of_the_country_is_asked_about(
    judge: Judge, seller: str, day: date, rate: str, *, flagged: bool
) -> None:
    tax = (Decimal("5.00"), "5.00")

    failures = judge(
        "tax_rate",
        f"{rate} %   5.00",
        {"tax_total": tax, "issue_date": (day, ""), "seller.vat_id": (seller, "")},
    )

    assert bool(failures) is flagged


def test_a_rate_that_does_not_fit_the_currency_asks_for_both(judge: Judge) -> None:
    values = {"tax_total": (Decimal("4.87"), "4.87"), "currency": ("RON", "")}

    (failure,) = judge("tax_rate", "6.00 % GST   4.87", values)

    assert failure.message == "Tax 4.87 stands beside 6.00 %, no rate where RON is paid."
    assert failure.fields == ("tax_total", "currency")
    assert not judge("tax_rate", "6.00 % GST   4.87", {**values, "currency": ("MYR", "")})
    assert not judge("tax_rate", "6.00 % GST   4.87", {**values, "currency": ("USD", "")})


def test_the_tax_of_one_of_several_printed_rates_is_not_all_of_it(judge: Judge) -> None:
    page = "Rate   Net      Tax\n19 %   100.00   19.00\n7 %    50.00    3.50\nTotal  172.50"

    (failure,) = judge("tax_rows", page, {"tax_total": (Decimal("19.00"), "19.00")})

    assert failure.message == "Tax 19.00 is that of one rate; those of all printed rates add up to 22.50."
    assert judge("tax_rows", page, {"tax_total": (Decimal("22.50"), "")}) == []


def test_a_tax_beside_the_label_of_a_commission_is_none(judge: Judge) -> None:
    page = "Gross   100.00\nAgency Commission   15.00\nNet   85.00"

    assert judge("tax_label", page, {"tax_total": (Decimal("15.00"), "15.00")})
    assert not judge("tax_label", "VAT   15.00", {"tax_total": (Decimal("15.00"), "15.00")})


WITHHELD = """
Base imponible     960,00
IVA 21%            201,60
Retención 15%     -144,00
Total            1.017,60
"""


@pytest.mark.parametrize(("tax", "flagged"), [("57.60", True), ("201.60", False)])
def test_a_tax_that_is_not_the_printed_one_of_the_net_total_is_doubted(
    judge: Judge, tax: str, *, flagged: bool
) -> None:
    gross = str(Decimal(960) + Decimal(tax))

    assert bool(judge("tax_rows", WITHHELD, _amounts("960.00", tax, gross))) is flagged


def test_a_total_without_the_printed_tax_is_doubted(judge: Judge) -> None:
    read: dict[str, tuple[object, str]] = {"net_total": (Decimal("960.00"), "")}

    (failure,) = judge("tax_rows", WITHHELD, {**read, "gross_total": (Decimal("1017.60"), "")})

    assert failure.fields == ("gross_total",)
    assert not judge("tax_rows", WITHHELD, {**read, "gross_total": (Decimal("1161.60"), "")})


@pytest.mark.parametrize(("rate", "gross", "flagged"), [("23", "9960.00", True), ("0", "9960.00", False)])
def test_taxed_items_do_not_add_up_to_a_total_without_tax(
    judge: Judge, rate: str, gross: str, *, flagged: bool
) -> None:
    cells = [("net_amount", "5000.00"), ("tax_rate", rate)], [("net_amount", "4960.00"), ("tax_rate", rate)]
    values = {
        f"lines[{index}].{cell}": (Decimal(value), "")
        for index, row in enumerate(cells)
        for cell, value in row
    }
    failures = judge("tax_rows", "nothing", {**values, "gross_total": (Decimal(gross), "")})

    assert bool(failures) is flagged
