"""Real invoices of ../shared/data as seeds of linked documents: e-invoices, and broadcasters' orders."""

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

import pikepdf

from bench.data.shared import DATA
from docmill.schemas.types import Invoice, Party
from docmill.training.linked_documents.seeds import made_up_seeds
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.einvoice.terms import UnreadableError

_EINVOICES = "einvoice"
_BROADCASTERS = "adbuy/labels.json"


@cache
def seeds() -> tuple[Invoice, ...]:
    """The real invoices, each once, and those of the demo; these alone where the shared data is absent.

    How many there are is printed, since figures of other seeds cannot be compared.
    """
    found: dict[str, Invoice] = {}
    for invoice in (*_einvoices(), *_broadcasters(), *made_up_seeds()):
        found.setdefault(f"{invoice.seller.name} {invoice.number} {invoice.gross_total}", invoice)
    print(f"seeds: {len(found)} invoices")
    if absent := absent_data():
        print(
            f"{absent} is not here: these are few, and figures cannot be compared with those of real invoices"
        )
    return tuple(found.values())


def absent_data() -> Path | None:
    """The first part of the shared data that is missing; None where all real invoices are there."""
    return next((path for path in (DATA / _EINVOICES, DATA / _BROADCASTERS) if not path.exists()), None)


def _einvoices() -> Iterator[Invoice]:
    """Those of XML files, in UBL and CII, and of the XML within PDFs."""
    files = sorted((DATA / _EINVOICES).rglob("*.xml"))
    contents = [path.read_bytes() for path in files]
    for path in sorted((DATA / _EINVOICES).rglob("*.pdf")):
        contents += _attached(path)
    for content in contents:
        try:
            read = einvoice(content)
        except UnreadableError:
            continue
        if type(read.data) is Invoice:
            yield read.data


def _attached(path: Path) -> list[bytes]:
    """The XML files within a PDF."""
    try:
        with pikepdf.open(path) as document:
            return [
                spec.get_file().read_bytes()
                for name, spec in document.attachments.items()
                if name.endswith(".xml")
            ]
    except pikepdf.PdfError:
        return []


def _broadcasters() -> Iterator[Invoice]:
    """Airtime that advertisers bought: contract, amount and period, without lines and seller."""
    path = DATA / _BROADCASTERS
    labels: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    for label in labels:
        gold = label["gold"]
        try:
            gross = Decimal(str(gold["gross_amount"]).lstrip("$").replace(",", ""))
        except InvalidOperation:
            continue
        yield Invoice(
            buyer=Party(name=gold["advertiser"]),
            contract_number=gold["contract_num"],
            currency="USD",
            gross_total=gross,
            period_start=_day(gold["flight_from"]),
            period_end=_day(gold["flight_to"]),
        )


def _day(text: str | None) -> date | None:
    try:
        return datetime.strptime(text or "", "%m/%d/%y").date()  # noqa: DTZ007 - a day has no time zone
    except ValueError:
        return None
