"""Business terms mapped to the fields of our schemas."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from docmill.schemas.types import Line, Party, Payment
from docmill.understanding.einvoice.terms import BUYER_TERMS, SELLER_TERMS, PartyTerms, TermValues

FIELDS: Mapping[str, str] = {
    "number": "BT-1",
    "issue_date": "BT-2",
    "due_date": "BT-9",
    "delivery_date": "BT-72",
    "period_start": "BT-73",
    "period_end": "BT-74",
    "delivery_note_number": "BT-16",
    "contract_number": "BT-12",
    "preceding_invoice_number": "BT-25",
    "preceding_invoice_date": "BT-26",
    "net_total": "BT-109",
    "tax_total": "BT-110",
    "gross_total": "BT-112",
    "amount_due": "BT-115",
    "seller.name": "BT-27",
    "seller.vat_id": "BT-31",
    "buyer.name": "BT-44",
    "buyer.vat_id": "BT-48",
    "payment.bic": "BT-86",
    "payment.terms": "BT-20",
    "payment.method": "BT-81",
}
"""Term of each field whose value is that of one term."""

LINE_FIELDS: Mapping[str, str] = {
    "position": "BT-126",
    "description": "BT-153",
    "quantity": "BT-129",
    "unit": "BT-130",
    "unit_price": "BT-146",
    "net_amount": "BT-131",
    "tax_rate": "BT-152",
}
"""The same for the fields of a line."""

_IBAN_START = re.compile(r"[A-Z]{2}\d{2}", re.IGNORECASE)
_BIC_FORM = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.IGNORECASE)
_PLACEHOLDERS = frozenset({"NA", "N/A", "-", "Dummywert"})
"""For a missing order number: NA is Peppol's, the last that of Germany's own test cases."""
_NO_ITEMS = frozenset({"GROUP", "INFORMATION"})


def map_terms(terms: TermValues, fields: type[BaseModel]) -> BaseModel:
    """Create an object of a schema from the terms; those that the schema has no field for are left out."""
    values = {path: terms.values[number] for path, number in FIELDS.items() if number in terms}
    data: dict[str, Any] = {path: value for path, value in values.items() if "." not in path}
    # UBL wants an order number (BT-13) beside that of a sales order (BT-14): senders fill in a placeholder.
    order_number = terms.text("BT-13")
    is_placeholder = "BT-14" in terms and order_number in _PLACEHOLDERS
    data["order_number"] = None if is_placeholder else order_number
    data["customer_number"] = terms.text("customer") or terms.text("BT-46")
    data["currency"] = terms.text("BT-5") or terms.text("currency")
    # UBL before the standard does without the total (BT-112): it is the amount due if nothing was prepaid.
    is_before_en16931 = "ubl:xpath" in (terms.text("BT-24") or "ubl:xpath")
    is_due_total = is_before_en16931 and not any(number in terms for number in ("BT-112", "BT-113", "BT-114"))
    categories = dict.fromkeys(row.text("BT-118") for row in terms.all("BG-23"))
    data["tax_category"] = " ".join(sorted(filter(None, categories))) or None
    data["gross_total"] = terms.number("BT-115" if is_due_total else "BT-112")
    # Accounts and banks may be identified in other ways than by IBAN and BIC.
    account, bank = (re.sub(r"\s", "", terms.text(number) or "") for number in ("BT-84", "BT-86"))
    is_other_bank = "currency" in terms and is_before_en16931 and not _BIC_FORM.fullmatch(bank)
    iban = account if _IBAN_START.match(account) else None
    bic = None if is_other_bank else bank or None
    for owner, part, more in (
        ("seller", Party, {"address": _join_address(terms, SELLER_TERMS)}),
        ("buyer", Party, {"address": _join_address(terms, BUYER_TERMS)}),
        ("payment", Payment, {"iban": iban, "bic": bic}),
    ):
        members = {path.partition(".")[2]: value for path, value in values.items() if path.startswith(owner)}
        data[owner] = part.model_validate({**members, **more})
    data["lines"] = tuple(
        Line.model_validate({name: line.values[term] for name, term in LINE_FIELDS.items() if term in line})
        for line in item_lines(terms)
    )
    return fields.model_validate({name: data[name] for name in fields.model_fields if name in data})


def item_lines(terms: TermValues) -> list[TermValues]:
    """The lines that are items, without headings of groups and notes (BT-X-8).

    Amounts of lines and of their sub-lines (BT-X-304) would count twice: if all lines together do not make
    the stated sum (BT-106), only the lowest or only the uppermost are taken, whichever do.
    """
    lines = [
        line
        for line in terms.all("BG-25")
        if line.text("line role") not in _NO_ITEMS
        and any(number in line for number in ("BT-129", "BT-131", "BT-146", "BT-153"))
    ]
    parents = {line.text("parent line") for line in lines} - {None}
    stated = terms.number("BT-106")
    if not parents or stated is None or _sum_of(lines) == stated:
        return lines
    upper = [line for line in lines if "parent line" not in line]
    lower = [line for line in lines if line.text("BT-126") not in parents]
    return next((part for part in (lower, upper) if _sum_of(part) == stated), lines)


def _sum_of(lines: Sequence[TermValues]) -> Decimal:
    return sum((line.number("BT-131") or Decimal(0) for line in lines), Decimal(0))


def _join_address(terms: TermValues, numbers: PartyTerms) -> str | None:
    """The postal address on one line. UBL has a term of ours for the house number."""
    _, _, _, street, second, third, city, code, subdivision, country = map(terms.text, numbers)
    street = " ".join(filter(None, (street, terms.text(f"{numbers.first_line} house"))))
    parts = (street, second, third, " ".join(filter(None, (code, city))), subdivision, country)
    return ", ".join(filter(None, parts)) or None
