import json
import random
from base64 import b64encode
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
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import extract
from support.codes import draw_code, put_codes, read_code

Typeset = Callable[..., Document]

TSE = (
    "V0;till-1;Kassenbeleg-V1;Beleg^10.00_2.50_0.00_0.00_0.00^12.50:Bar;18;112;2024-05-10T22:30:00.000Z;"
    "2024-05-10T22:31:00.000Z;ecdsa-plain-SHA256;unixTime;c2lnbmF0dXJl;cHVibGljIGtleQ=="
)
RKSV = "_R1-AT0_till-7_1234_2024-05-10T13:31:00_10,00_2,50_0,00_0,00_-1,00_c2ln_4e5f_cHJldg==_c2lnbmF0dXJl"
PORTUGUESE = (
    "A:509442013*B:999999990*C:PT*D:FS*E:N*F:20240510*G:FS CDVF/12345*H:CDF7T5HD-12345*I1:PT"
    "*I7:10.00*I8:2.30*N:2.30*O:12.30*Q:YhGV*R:9999"
)
DIGITS = "175364567912345678912345678912345678912" + "15012557" + "240510133100"
SLOVENE = DIGITS + str(sum(map(int, DIGITS)) % 10)
CZECH = "SID*1.0*ID:2024-77*DD:20240510*AM:121.00*VII:CZ25123891*DT:20240524*X-NOTE:a"
CROATIAN = "https://porezna.gov.hr/rn?jir=9d6f5bb6-da48-4fcd-a803-4586a025e0e4&datv=20240510_1331&izn=12,50"
MEXICAN = (
    "https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx?id=5803EB8D-81CD-4557-8719-26632D2FA434"
    "&re=XOCD720319T86&rr=CARR861127SB0&tt=0000014300.000000&fe=rH8/bw=="
)
SPANISH = (
    "https://www2.agenciatributaria.gob.es/wlpl/TIKE-CONT/ValidarQR?nif=A58818501&numserie=7%2634"
    "&fecha=10-05-2024&importe=241.4"
)
BASQUE = "https://batuz.eus/QRTBAI/?id=TBAI-A58818501-100524-btFpwP8dcLGAF-237&s=T&nf=27174&i=4.70&cr=007"


def argentine(**changed: Any) -> str:  # noqa: ANN401 - JSON of any kind
    """A code of the Argentine tax office."""
    voucher = {"ver": 1, "fecha": "2024-05-10", "cuit": 30000000007, "ptoVta": 10, "nroCmp": 94}
    voucher |= {"importe": 12100.5, "moneda": "PES", **changed}
    return "https://www.afip.gob.ar/fe/qr/?p=" + b64encode(json.dumps(voucher).encode()).decode()


def zatca(*values: str, lengthen: int = 0) -> str:
    """A code of Saudi Arabia."""
    parts = (
        bytes([tag, len(text.encode()) + lengthen]) + text.encode() for tag, text in enumerate(values, 1)
    )
    return b64encode(b"".join(parts)).decode()


SAUDI = ("Harbour Trading", "310122393500003", "2024-05-10T13:31:00Z", "115.00", "15.00")
DAY = date(2024, 5, 10)


@pytest.mark.parametrize(
    ("text", "standard", "expected"),
    [
        (
            TSE,
            "DSFinV-K",
            {"gross_total": Decimal("12.50"), "issue_date": date(2024, 5, 11), "currency": "EUR"},
        ),
        (RKSV, "RKSV", {"gross_total": Decimal("11.50"), "issue_date": DAY, "currency": "EUR"}),
        (
            PORTUGUESE,
            "Portaria 195/2020",
            {
                "seller.vat_id": "PT509442013",
                "issue_date": DAY,
                "tax_total": Decimal("2.30"),
                "gross_total": Decimal("12.30"),
            },
        ),
        (SLOVENE, "ZDavPR", {"seller.vat_id": "SI15012557", "issue_date": DAY, "currency": "EUR"}),
        (
            CZECH,
            "SID",
            {
                "issue_date": DAY,
                "due_date": date(2024, 5, 24),
                "gross_total": Decimal("121.00"),
                "currency": "CZK",
                "seller.vat_id": "CZ25123891",
            },
        ),
        (
            zatca(*SAUDI),
            "ZATCA",
            {
                "seller.vat_id": SAUDI[1],
                "issue_date": DAY,
                "gross_total": Decimal("115.00"),
                "tax_total": Decimal("15.00"),
                "currency": "SAR",
            },
        ),
        (
            CROATIAN,
            "Pravilnik o fiskalizaciji",
            {"issue_date": DAY, "gross_total": Decimal("12.50"), "currency": "EUR"},
        ),
        (MEXICAN, "CFDI", {"gross_total": Decimal("14300.00")}),
        (
            SPANISH,
            "Veri*factu",
            {"seller.vat_id": "ESA58818501", "issue_date": DAY, "gross_total": Decimal("241.4")},
        ),
        (
            BASQUE,
            "TicketBAI",
            {"seller.vat_id": "ESA58818501", "issue_date": DAY, "gross_total": Decimal("4.70")},
        ),
        (
            argentine(),
            "RG 4892/2020",
            {"issue_date": DAY, "gross_total": Decimal("12100.5"), "currency": "ARS"},
        ),
    ],
)
def test_a_drawn_code_of_each_standard_gives_its_values(
    text: str, standard: str, expected: dict[str, Any]
) -> None:
    (code,) = read_codes(put_codes(draw_code(text)))

    content = parse_code(code)

    assert content is not None
    assert (content.standard, content.values) == (standard, expected)


@pytest.mark.parametrize(
    "text",
    [
        TSE.replace("^12.50:Bar", "^12.00:Bar"),
        TSE.replace("Kassenbeleg-V1", "Bestellung-V1"),
        TSE.replace("T22:31", "T25:31"),
        "V0;" + ";" * 5000,
        RKSV.replace("10,00", "1O,00"),
        RKSV + "_more",
        PORTUGUESE.replace("20240510", "20241510"),
        PORTUGUESE.replace("*O:12.30", ""),
        SLOVENE[:-1] + str((int(SLOVENE[-1]) + 1) % 10),
        CZECH.replace("*AM:121.00", "*AM:NaN"),
        CZECH.replace("SID*1.0", "SID*9"),
        zatca(*SAUDI, lengthen=90),
        zatca(*SAUDI[:3]),
        zatca(*SAUDI)[:-5],
        zatca(SAUDI[0], "12", *SAUDI[2:]),
        CROATIAN.replace("20240510", "yesterday"),
        CROATIAN.replace("porezna.gov.hr", "porezna.gov.hr.example.org"),
        MEXICAN.replace("0000014300.000000", "1e9"),
        MEXICAN.replace("0000014300.000000", "14300.123456"),
        SPANISH.replace("241.4", "\u0662\u0664"),
        BASQUE.replace("TBAI-", ""),
        argentine(importe=None),
        argentine(importe=True),
        argentine(fecha=5),
        "https://www.afip.gob.ar/fe/qr/?p=" + b64encode(b"[" * 3000).decode(),
        "https://www.afip.gob.ar/fe/qr/?p=W10=",
        "https://[",
    ],
)
def test_a_code_that_breaks_its_standard_gives_no_values(text: str) -> None:
    assert parse_code(read_code(text)) is None


RECEIPT = """
Bakery Miller
Hafenstrasse 12
20457 Hamburg

11.05.2024  00:31       Bon 4711

Bread                    10.00
Rolls                     2.50
TOTAL            EUR     12.50
"""


def receipt(typeset: Typeset, *codes: str) -> Document:
    plain = typeset(RECEIPT)
    return replace(plain, pages=[replace(plain.pages[0], codes=tuple(read_code(code) for code in codes))])


def test_total_and_day_of_a_receipt_are_believed_where_its_code_says_the_same(typeset: Typeset) -> None:
    schema = REGISTRY["receipt"]

    plain, coded = extract(receipt(typeset), schema), extract(receipt(typeset, TSE), schema)

    assert dict(leaves(plain.data)).items() <= dict(leaves(coded.data)).items()
    for path in ("gross_total", "issue_date"):
        assert coded.evidence[path].confidence >= max(0.99, plain.evidence[path].confidence)
        assert "DSFinV-K" in coded.evidence[path].reason


def test_a_receipt_whose_code_says_another_total_goes_to_a_person(typeset: Typeset) -> None:
    schema = REGISTRY["receipt"]
    document = receipt(typeset, TSE.replace("10.00_", "70.00_").replace("12.50:Bar", "72.50:Bar"))

    extraction = extract(document, schema)
    verdict = RuleGate().judge(document, extraction, schema)

    coded = extraction.evidence["gross_total"].match == "coded"
    assert coded or "code" in [failure.check for failure in verdict.failures]


def test_mutilated_codes_raise_nothing() -> None:
    chance = random.Random(7)  # noqa: S311 - reproducible
    whole = (
        TSE,
        RKSV,
        PORTUGUESE,
        SLOVENE,
        CZECH,
        CROATIAN,
        MEXICAN,
        SPANISH,
        BASQUE,
        argentine(),
        zatca(*SAUDI),
    )
    junk = "\x00\x1d\n;:*_|^.,-+%&=?\ud800\u0661\u202e9aZ/ "

    for text in chance.choices(whole, k=3000):
        at = chance.randrange(len(text))
        piece = chance.choice(junk) * chance.choice((1, 2, 500))
        content = parse_code(read_code(text[:at] + piece + text[at + chance.randint(0, 8) :]))

        assert content is None or not {"\ud800", "\x00"} & set("".join(map(str, content.values.values())))
