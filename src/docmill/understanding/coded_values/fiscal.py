"""Fiscal codes of receipts and invoices: seller, time and total as the tax office knows them."""

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from docmill.understanding.coded_values.contents import (
    CodeContent,
    Parser,
    amount,
    currency,
    day,
    given,
    names,
    vat_id,
)

_TAX_RATES = 5
_TSE_FIELDS = 12
_RKSV_FIELDS = 14
_FINAL_CONSUMER = "999999990"
_ATCUD = re.compile(r"A:[0-9]{9}\*B:[^*]+\*C:[A-Z]{2}\*D:[A-Z]{2}\*E:[NSAFR]\*F:[0-9]{8}\*")
_SLOVENE = re.compile("[0-9]{60}")
_LONGEST_TLV = 1000


def parse_tse(text: str) -> CodeContent | None:
    """DSFinV-K, annex I: QR code of a German cash register with a TSE (process type Kassenbeleg-V1).

    The day is that of the end of the transaction in Berlin. The gross amounts by tax rate are the payments.
    """
    if not text.startswith("V0;"):
        return None
    fields = text.split(";")
    process = re.fullmatch(r"(?:Beleg|AVBeleg)\^([^^]*)\^([^^]*)", fields[3])
    if len(fields) != _TSE_FIELDS or fields[2] != "Kassenbeleg-V1" or process is None:
        raise ValueError("no receipt")
    rates = [amount(rate) for rate in process[1].split("_")]
    payments = [payment.split(":") for payment in process[2].split("_")]
    if len(rates) != _TAX_RATES or sum(amount(payment[0]) for payment in payments) != sum(rates):
        raise ValueError("the payments are not the total")
    is_euro = all(len(payment) == 2 for payment in payments)  # noqa: PLR2004 - amount and kind; then a currency
    ended = datetime.fromisoformat(fields[7]).astimezone(ZoneInfo("Europe/Berlin"))
    return CodeContent(
        "DSFinV-K",
        given(
            gross_total=sum(rates, Decimal()), issue_date=ended.date(), currency="EUR" if is_euro else None
        ),
    )


def parse_rksv(text: str) -> CodeContent | None:
    """RKSV, Z 12 of the annex: machine-readable code of an Austrian cash register."""
    if not re.match("_R1-[A-Z]{2}[0-9]+_", text):
        return None
    fields = text.split("_")
    if len(fields) != _RKSV_FIELDS:
        raise ValueError("no receipt")
    total = sum((amount(rate) for rate in fields[5:10]), Decimal())
    return CodeContent(
        "RKSV",
        given(gross_total=total, issue_date=datetime.fromisoformat(fields[4]).date(), currency="EUR"),
        references=(fields[3],),
    )


def parse_portuguese(text: str) -> CodeContent | None:
    """Portaria n. 195/2020: QR code of Portuguese invoices, with the ATCUD."""
    if not _ATCUD.match(text):
        return None
    fields = dict(part.split(":", 1) for part in text.split("*"))
    buyer = f"PT{fields['B']}" if fields["B"] != _FINAL_CONSUMER else ""
    return CodeContent(
        "Portaria 195/2020",
        given(
            seller__vat_id=vat_id(f"PT{fields['A']}"),
            buyer__vat_id=vat_id(buyer),
            issue_date=day(fields["F"], "%Y%m%d"),
            tax_total=amount(fields["N"]),
            gross_total=amount(fields["O"]),
        ),
        references=(fields["G"],),
    )


def parse_slovene(text: str) -> CodeContent | None:
    """ZDavPR: 60 digits of a Slovene receipt: ZOI, tax number, time, and a digit that checks them."""
    if not _SLOVENE.fullmatch(text) or sum(map(int, text[:-1])) % 10 != int(text[-1]):
        return None
    issued = datetime.strptime(text[47:59], "%y%m%d%H%M%S")  # noqa: DTZ007 - the time as it is printed
    seller = vat_id(f"SI{text[39:47]}")
    if seller is None:
        raise ValueError("no tax number")
    return CodeContent("ZDavPR", given(seller__vat_id=seller, issue_date=issued.date(), currency="EUR"))


def parse_czech(text: str) -> CodeContent | None:
    """SID: Short Invoice Descriptor 1.0 (QR Faktura) of the Czech Banking Association."""
    head, _, rest = text.partition("*")
    if head != "SID":
        return None
    version, *parts = rest.split("*")
    fields = dict(part.split(":", 1) for part in parts if part)
    if version != "1.0" or not fields["ID"]:
        raise ValueError("no invoice")
    return CodeContent(
        "SID",
        given(
            issue_date=day(fields["DD"], "%Y%m%d"),
            due_date=day(fields["DT"], "%Y%m%d") if "DT" in fields else None,
            gross_total=amount(fields["AM"]),
            currency=currency(fields.get("CC", "CZK")),
            seller__vat_id=vat_id(fields.get("VII", "")),
            buyer__vat_id=vat_id(fields.get("VIR", "")),
        ),
        references=(fields["ID"],),
    )


def parse_zatca(text: str) -> CodeContent | None:
    """ZATCA, Electronic Invoice Security Features, 4.1: tags, lengths and values in base64."""
    if not re.fullmatch(r"AQ[A-Za-z0-9+/]{40,1400}={0,2}", text):
        return None
    content = b64decode(text, validate=True)
    values: dict[int, str] = {}
    at = 0
    while at < min(len(content), _LONGEST_TLV) and len(values) < 5:  # noqa: PLR2004 - tags of the first phase
        tag, length = content[at], content[at + 1]
        value = content[at + 2 : at + 2 + length]
        if tag != len(values) + 1 or len(value) != length:
            raise ValueError("a wrong length")
        values[tag] = value.decode()
        at += 2 + length
    if not re.fullmatch("3[0-9]{13}3", values[2]):
        raise ValueError("no VAT number")
    return CodeContent(
        "ZATCA",
        given(
            seller__vat_id=values[2],
            issue_date=datetime.fromisoformat(values[3]).date(),
            gross_total=amount(values[4]),
            tax_total=amount(values[5]),
            currency="SAR",
        ),
        names(seller__name=values[1]),
    )


def parse_argentine(fields: Mapping[str, str]) -> CodeContent:
    """AFIP, RG 4892/2020: QR code of Argentine vouchers, JSON in base64."""
    try:
        voucher = json.loads(b64decode(fields["p"], validate=True), parse_float=Decimal)
    except (binascii.Error, RecursionError) as error:
        raise ValueError("no voucher") from error
    return CodeContent(
        "RG 4892/2020",
        given(
            issue_date=day(str(voucher["fecha"]), "%Y-%m-%d"),
            gross_total=amount(str(voucher["importe"])),
            currency="ARS" if voucher["moneda"] == "PES" else None,
        ),
        references=(f"{int(voucher['ptoVta']):05}-{int(voucher['nroCmp']):08}",),
    )


def parse_croatian(fields: Mapping[str, str]) -> CodeContent:
    """Pravilnik o fiskalizaciji, article 18.b: address of a Croatian receipt; kuna until 2022."""
    issued = day(fields["datv"], "%Y%m%d_%H%M")
    total = amount(fields["izn"]) if re.fullmatch("-?[0-9]+[.,][0-9]{2}", fields["izn"]) else None
    unit = "EUR" if issued.year > 2022 else "HRK"  # noqa: PLR2004 - the euro came on 1 January 2023
    return CodeContent(
        "Pravilnik o fiskalizaciji", given(issue_date=issued, gross_total=total, currency=unit)
    )


def parse_mexican(fields: Mapping[str, str]) -> CodeContent:
    """CFDI 4.0, annex 20 of the RMF: address of a Mexican invoice. The total has up to six decimals."""
    whole, _, fraction = fields["tt"].partition(".")
    if not re.fullmatch("[A-Z&\u00d1]{3,4}[0-9]{6}[A-Z0-9]{3}", fields["re"]):
        raise ValueError("no RFC")
    total = amount(f"{int(whole)}.{fraction.rstrip('0').ljust(2, '0')}")
    return CodeContent("CFDI", given(gross_total=total), references=(fields["id"],))


def parse_spanish(fields: Mapping[str, str]) -> CodeContent:
    """Veri*factu, Orden HAC/1177/2024, article 21: address of a Spanish invoice."""
    return CodeContent(
        "Veri*factu",
        given(
            seller__vat_id=vat_id(f"ES{fields['nif']}"),
            issue_date=day(fields["fecha"], "%d-%m-%Y"),
            gross_total=amount(fields["importe"]),
        ),
        references=(fields["numserie"],),
    )


def parse_basque(fields: Mapping[str, str]) -> CodeContent:
    """TicketBAI, annex V: address of an invoice of the Basque Country; its identifier has seller and day."""
    _, nif, issued, *_ = fields["id"].split("-")
    return CodeContent(
        "TicketBAI",
        given(
            seller__vat_id=vat_id(f"ES{nif}"),
            issue_date=day(issued, "%d%m%y"),
            gross_total=amount(fields["i"]),
        ),
        references=(fields.get("s", "") + fields["nf"], fields["nf"]),
    )


_BY_ADDRESS = (
    ("porezna.gov.hr", "/rn", parse_croatian),
    ("verificacfdi.facturaelectronica.sat.gob.mx", "/default.aspx", parse_mexican),
    ("www2.agenciatributaria.gob.es", "/wlpl/TIKE-CONT/ValidarQR", parse_spanish),
    ("batuz.eus", "/QRTBAI/", parse_basque),
    ("tbai.egoitza.gipuzkoa.eus", "/qr/", parse_basque),
    ("ticketbai.araba.eus", "/tbai/qrtbai/", parse_basque),
    ("www.afip.gob.ar", "/fe/qr/", parse_argentine),
)


def parse_address(text: str) -> CodeContent | None:
    """The address of a page of a tax office, whose parameters have the values. It is never opened."""
    if not text.startswith(("https://", "http://")):
        return None
    parts = urlsplit(text)
    fields = {name: values[0] for name, values in parse_qs(parts.query, max_num_fields=20).items()}
    for host, path, parse in _BY_ADDRESS:
        if parts.hostname == host and parts.path.rstrip("/").casefold() == path.rstrip("/").casefold():
            return parse(fields)
    return None


PARSERS: tuple[Parser, ...] = (
    parse_tse,
    parse_rksv,
    parse_portuguese,
    parse_slovene,
    parse_czech,
    parse_zatca,
    parse_address,
)
