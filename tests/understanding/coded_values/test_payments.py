import lzma
import zlib
from base64 import b32hexencode
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.reading.images.codes import read_codes
from docmill.schemas.registry import REGISTRY
from docmill.understanding.coded_values.comparison import parse_code
from docmill.understanding.coded_values.contents import PAYABLE
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import extract
from support.codes import draw_code, put_codes, read_code

Typeset = Callable[..., Document]

IBAN = "DE02120300000000202051"
EPC = f"BCD\n002\n1\nSCT\nBYLADEM1001\nHarbour Trading GmbH\n{IBAN}\nEUR119.00\n\n\nInvoice R-2024-17"
SWISS = "\n".join(
    [
        *("SPC", "0200", "1", "CH4431999123000889012"),
        *("S", "Robert Schneider AG", "Rue du Lac", "1268", "2501", "Biel", "CH", *[""] * 7),
        *("1949.75", "CHF", "S", "Pia Rutschmann", "Marktgasse", "28", "9400", "Rorschach", "CH"),
        *("QRR", "210000000003139471430009017", "Order of 15.6.2020", "EPD"),
        "//S1/10/10201409/11/200701",
    ]
)
SPAYD = "SPD*1.0*ACC:CZ5855000000001265098001*AM:480.50*CC:CZK*DT:20240510*RN:PETR DVORAK*X-VS:1234567890"
UPN_LINES = [
    *("UPNQR", "", "", "", "", "Janez Novak", "Lepa ulica 33", "Koper", "00000004530", "", "", "GDSV"),
    *("Bill 77", "31.05.2024", "SI56020360253863406", "SI00225268", "Podjetje d.o.o.", "Cesta 1", "Kranj"),
]
UPN = "\n".join([*UPN_LINES, f"{sum(map(len, UPN_LINES)) + 19:03}", ""])
HUB3 = "\n".join(
    [
        *("HRVHUB30", "EUR", "000000000012355", "Pero Kos", "Ulica 1", "10000 Zagreb", "Tvrtka d.o.o."),
        *("Trg 2", "21000 Split", "HR1210010051863000160", "HR00", "2024-77", "COST", "Bill 77"),
    ]
)


def by_square(paid: str = "48.5", *, count: str = "1", wrong: bool = False) -> str:
    """A code of PAY by square."""
    account = ("1", "SK3112000000198742637541", "TATRSKBX", "0", "0", "Obchod s.r.o.", "", "")
    fields = ("R-77", count, "1", paid, "EUR", "20240510", "77", "", "", "", "", *account)
    content = "\t".join(fields).encode()
    content = (zlib.crc32(content) ^ wrong).to_bytes(4, "little") + content
    filters = [{"id": lzma.FILTER_LZMA1, "lc": 3, "lp": 0, "pb": 2, "dict_size": 131_072}]
    packed = lzma.compress(content, lzma.FORMAT_RAW, filters=filters)
    return b32hexencode(b"\0\0" + len(content).to_bytes(2, "little") + packed).decode().rstrip("=")


@pytest.mark.parametrize(
    ("text", "standard", "expected"),
    [
        (EPC, "EPC069-12", {"payment.iban": IBAN, "currency": "EUR", PAYABLE: Decimal("119.00")}),
        (
            SWISS,
            "Swiss QR-bill",
            {
                "payment.iban": "CH4431999123000889012",
                "currency": "CHF",
                "issue_date": date(2020, 7, 1),
                PAYABLE: Decimal("1949.75"),
            },
        ),
        (SPAYD, "SPAYD", {"currency": "CZK", "due_date": date(2024, 5, 10), PAYABLE: Decimal("480.50")}),
        (UPN, "UPN QR", {"currency": "EUR", "due_date": date(2024, 5, 31), PAYABLE: Decimal("45.30")}),
        (HUB3, "HUB3", {"payment.iban": "HR1210010051863000160", PAYABLE: Decimal("123.55")}),
        ("PAGOPA|002|001234567890123456|00000000201|10005", "PagoPA", {PAYABLE: Decimal("100.05")}),
        (by_square(), "PAY by square", {"due_date": date(2024, 5, 10), PAYABLE: Decimal("48.5")}),
    ],
)
def test_a_drawn_code_of_each_standard_gives_its_values(
    text: str, standard: str, expected: dict[str, Any]
) -> None:
    (code,) = read_codes(put_codes(draw_code(text)))

    content = parse_code(code)

    assert content is not None
    assert content.standard == standard
    assert expected.items() <= content.values.items()


@pytest.mark.parametrize(
    "text",
    [
        EPC.replace("0202051", "0202052"),
        EPC.replace("EUR119.00", "EUR119,00"),
        EPC.replace("EUR119.00", "EUR\u0661\u0662"),
        EPC.replace("SCT", "SDD"),
        "BCD\n002",
        SWISS.replace("9017", "9018"),
        SWISS.replace("EPD", ""),
        SPAYD.replace("20240510", "20241310"),
        SPAYD.replace("ACC", "ACD"),
        UPN.replace("4530", "45300"),
        HUB3.replace("000000000012355", "123.55"),
        "PAGOPA|002|001234567890123456|00000000201|",
        by_square(wrong=True),
        by_square(count="2"),
        "0" * 60,
        "V" * 2000,
        "https://example.org/?amount=5",
        "x\x00\x1b[31m\u202e" * 100,
        "x" * 4000,
        "\ud800",
    ],
)
def test_a_code_that_breaks_its_standard_or_has_none_gives_no_values(text: str) -> None:
    assert parse_code(read_code(text)) is None


BILL = """
Harbour Trading GmbH
Hafenstrasse 12
20457 Hamburg

INVOICE                      Invoice number: R-2024-17
                             Invoice date: 05.03.2024

Pilot service                          100.00 EUR
Net total                              100.00 EUR
VAT 19 %                                19.00 EUR
Total                                  119.00 EUR

{account}
"""
PRINTED = "IBAN DE02 1203 0000 0000 2020 51"


def bill(typeset: Typeset, *codes: str, account: str = PRINTED, text: str = BILL) -> Document:
    plain = typeset(text.format(account=account))
    read = tuple(read_code(code) for code in codes)
    return replace(plain, pages=[replace(plain.pages[0], codes=read)])


def test_values_that_are_printed_and_coded_are_believed(typeset: Typeset) -> None:
    invoice = REGISTRY["invoice"]

    plain, coded = extract(bill(typeset), invoice), extract(bill(typeset, EPC), invoice)

    added = dict(leaves(coded.data)).items() - dict(leaves(plain.data)).items()
    assert added == {("payment.bic", "BYLADEM1001")}
    for path in ("payment.iban", "gross_total", "number", "seller.name"):
        assert coded.evidence[path].confidence >= max(0.99, plain.evidence[path].confidence)
        assert coded.evidence[path].box == plain.evidence[path].box
        assert "EPC069-12" in coded.evidence[path].reason
    assert coded.failures == plain.failures


@pytest.mark.parametrize(
    ("code", "path"),
    [
        (EPC.replace("EUR119.00", "EUR191.00"), "gross_total"),
        (EPC.replace(IBAN, "DE75512108001245126199"), "payment.iban"),
    ],
)
def test_a_value_that_the_code_contradicts_goes_to_a_person(typeset: Typeset, code: str, path: str) -> None:
    document, invoice = bill(typeset, code), REGISTRY["invoice"]

    extraction = extract(document, invoice)
    verdict = RuleGate().judge(document, extraction, invoice)

    assert dict(leaves(extraction.data))[path] == dict(leaves(extract(bill(typeset), invoice).data))[path]
    assert ("code", (path,)) in [(failure.check, failure.fields) for failure in verdict.failures]


def test_an_account_that_only_the_code_has_is_believed_at_its_place(typeset: Typeset) -> None:
    document, invoice = bill(typeset, EPC, account="Thank you"), REGISTRY["invoice"]

    extraction = extract(document, invoice)
    verdict = RuleGate().judge(document, extraction, invoice)

    assert dict(leaves(extraction.data))["payment.iban"] == IBAN
    assert extraction.evidence["payment.iban"].box == document.pages[0].codes[0].box
    assert not [failure for failure in verdict.failures if "payment.iban" in failure.fields]


def test_of_several_printed_accounts_the_one_of_the_code_is_taken(typeset: Typeset) -> None:
    account = f"IBAN DE75 5121 0800 1245 1261 99\n{PRINTED}"

    extraction = extract(bill(typeset, EPC, account=account), REGISTRY["invoice"])

    assert dict(leaves(extraction.data))["payment.iban"] == IBAN
    assert not [failure for failure in extraction.failures if failure.check == "code"]


def test_codes_that_differ_say_nothing_about_what_they_differ_in(typeset: Typeset) -> None:
    other = EPC.replace("EUR119.00", "EUR191.00")
    invoice = REGISTRY["invoice"]

    extraction = extract(bill(typeset, EPC, other), invoice)

    assert extraction.failures == extract(bill(typeset), invoice).failures
    assert not extraction.evidence["gross_total"].reason


def test_another_payee_goes_to_a_person_and_another_spelling_does_not(typeset: Typeset) -> None:
    invoice = REGISTRY["invoice"]
    other, spelling = (EPC.replace("Harbour Trading GmbH", name) for name in ("Quarry AG", "HARBOUR TRADING"))

    assert [failure.fields for failure in extract(bill(typeset, other), invoice).failures] == [
        ("seller.name",)
    ]
    assert not extract(bill(typeset, spelling), invoice).failures


def test_a_name_that_only_a_code_has_is_suggested(typeset: Typeset) -> None:
    extraction = extract(bill(typeset, UPN, account="Thank you"), REGISTRY["invoice"])

    assert "buyer.name" not in extraction.evidence
    assert extraction.suggestions["buyer.name"][0].value == "Janez Novak"
