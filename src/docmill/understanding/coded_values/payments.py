"""Payment codes: the account, the amount and the payee of a bill."""

import lzma
import re
import zlib
from base64 import b32hexdecode
from urllib.parse import unquote

from stdnum import iso11649
from stdnum.ch import esr

from docmill.understanding.coded_values.contents import (
    PAYABLE,
    CodeContent,
    Parser,
    account,
    amount,
    bank,
    cents,
    currency,
    day,
    given,
    names,
)

_SWISS_FIELDS = 31
_UPN_FIELDS = 20
_HUB_FIELDS = 14
_PAYABLE_EUR = re.compile(r"EUR([0-9]{1,9}(?:\.[0-9]{1,2})?)")
_SWICO_NUMBER = re.compile(r"/10/((?:[^/\\]|\\.)+)")
_SWICO_DATE = re.compile(r"/11/([0-9]{6})(?:/|$)")
_BY_SQUARE = re.compile(r"[0-9A-V]{40,2000}")
_LZMA = {"id": lzma.FILTER_LZMA1, "lc": 3, "lp": 0, "pb": 2, "dict_size": 131_072}


def parse_epc(text: str) -> CodeContent | None:
    """EPC069-12 (Girocode): Quick Response Code for a SEPA Credit Transfer, by the EPC."""
    lines = text.splitlines()
    if lines[:1] != ["BCD"] or len(lines) < 7:  # noqa: PLR2004 - the account is the seventh
        return None
    _, version, coding, kind, bic, payee, iban, paid, _, structured, remittance, *_ = [*lines, *[""] * 5]
    asked = _PAYABLE_EUR.fullmatch(paid)
    if (
        version not in ("001", "002")
        or coding not in tuple("12345678")
        or kind != "SCT"
        or (paid and not asked)
    ):
        raise ValueError("no SEPA credit transfer")
    return CodeContent(
        "EPC069-12",
        given(payment__iban=account(iban), payment__bic=bank(bic), currency="EUR")
        | ({PAYABLE: amount(asked[1])} if asked else {}),
        names(seller__name=payee),
        (structured, remittance),
    )


def parse_swiss(text: str) -> CodeContent | None:
    """Swiss QR-bill: Swiss Implementation Guidelines QR-bill, version 2, with Swico's bill information S1."""
    lines = text.splitlines()
    if lines[:1] != ["SPC"]:
        return None
    if len(lines) < _SWISS_FIELDS or lines[1][:2] != "02" or lines[30] != "EPD":
        raise ValueError("no QR-bill")
    iban, reference = account(lines[3]), lines[28]
    is_valid = {"QRR": esr.is_valid(reference), "SCOR": iso11649.is_valid(reference), "NON": not reference}
    if iban[:2] not in ("CH", "LI") or not is_valid[lines[27]]:
        raise ValueError("no QR-bill")
    information = lines[31] if len(lines) > _SWISS_FIELDS and lines[31].startswith("//S1/") else ""
    issued, number = _SWICO_DATE.search(information), _SWICO_NUMBER.search(information)
    return CodeContent(
        "Swiss QR-bill",
        given(
            payment__iban=iban,
            currency=currency(lines[19]),
            issue_date=day(issued[1], "%y%m%d") if issued else None,
        )
        | ({PAYABLE: amount(lines[18])} if lines[18] else {}),
        names(seller__name=lines[5], buyer__name=lines[21]),
        (lines[29], re.sub(r"\\(.)", r"\1", number[1]) if number else ""),
    )


def parse_spayd(text: str) -> CodeContent | None:
    """SPAYD: Short Payment Descriptor 1.0 of the Czech Banking Association (QR Platba)."""
    head, version, *parts = [*text.split("*"), ""]
    if head != "SPD":
        return None
    values = {key: unquote(value) for key, _, value in (part.partition(":") for part in parts)}
    iban, _, bic = values["ACC"].partition("+") if "ACC" in values else ("", "", "")
    if not re.fullmatch(r"[0-9]\.[0-9]", version):
        raise ValueError("no SPAYD")
    return CodeContent(
        "SPAYD",
        given(
            payment__iban=account(iban),
            payment__bic=bank(bic),
            currency=currency(values["CC"]) if "CC" in values else None,
            due_date=day(values["DT"], "%Y%m%d") if "DT" in values else None,
        )
        | ({PAYABLE: amount(values["AM"])} if "AM" in values else {}),
        names(seller__name=values.get("RN", "")),
        (values.get("X-VS", ""), values.get("MSG", "")),
    )


def parse_upn(text: str) -> CodeContent | None:
    """UPN QR of Slovenia, by its Bank Association (Tehnicni standard UPN QR), with its control sum."""
    lines = text.split("\n")
    if lines[:1] != ["UPNQR"]:
        return None
    counted = lines[: _UPN_FIELDS - 1]
    if len(lines) < _UPN_FIELDS or int(lines[19].strip()) != sum(map(len, counted)) + len(counted):
        raise ValueError("the control sum does not hold")
    return CodeContent(
        "UPN QR",
        given(
            payment__iban=account(lines[14]),
            currency="EUR",
            due_date=day(lines[13], "%d.%m.%Y") if lines[13] else None,
        )
        | {PAYABLE: cents(lines[8])},
        names(seller__name=lines[16], buyer__name=lines[5]),
        (lines[15], lines[12]),
    )


def parse_hub3(text: str) -> CodeContent | None:
    """HUB3: 2D bar code of Croatia's payment orders, in PDF417, by the Croatian Banking Association."""
    lines = text.splitlines()
    if lines[:1] != ["HRVHUB30"]:
        return None
    if len(lines) < _HUB_FIELDS - 1:
        raise ValueError("no payment order")
    return CodeContent(
        "HUB3",
        given(payment__iban=account(lines[9]), currency=currency(lines[1])) | {PAYABLE: cents(lines[2])},
        names(seller__name=lines[6], buyer__name=lines[3]),
        (lines[11], *lines[13:14]),
    )


def parse_pagopa(text: str) -> CodeContent | None:
    """PagoPA: QR code of Italy's payment notices (Avviso di pagamento analogico, version 002)."""
    match = re.fullmatch(r"PAGOPA\|002\|([0-9]{18})\|[0-9]{11}\|([0-9]{2,11})", text)
    if match is None:
        return None
    return CodeContent("PagoPA", {"currency": "EUR", PAYABLE: cents(match[2])}, references=(match[1],))


def parse_by_square(text: str) -> CodeContent | None:
    """PAY by square 1.1 of the Slovak Banking Association: its checksum holds, or it is none."""
    if not _BY_SQUARE.fullmatch(text):
        return None
    packed = b32hexdecode(text + "=" * (-len(text) % 8))
    if packed[0] >> 4 != 0 or packed[1] >> 4 != 0:
        return None
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[_LZMA])
    content = unpacker.decompress(packed[4:], max_length=int.from_bytes(packed[2:4], "little"))
    if zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
        return None
    fields = content[4:].decode().split("\t")
    number, count, _, paid, unit, due, symbol, *_ = fields
    if count != "1":
        raise ValueError("several payments")
    return CodeContent(
        "PAY by square",
        given(
            payment__iban=account(fields[12]),
            payment__bic=bank(fields[13]),
            currency=currency(unit),
            due_date=day(due, "%Y%m%d") if due else None,
        )
        | ({PAYABLE: amount(paid)} if paid else {}),
        names(seller__name=fields[16] if len(fields) > 16 else ""),  # noqa: PLR2004 - behind one account
        (number, symbol),
    )


PARSERS: tuple[Parser, ...] = (
    parse_epc,
    parse_swiss,
    parse_spayd,
    parse_upn,
    parse_hub3,
    parse_pagopa,
    parse_by_square,
)
