"""Business terms as the fields of our schemas."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from docmill.schemas.fields import Line, Party, Payment
from docmill.understanding.einvoice.terms import Terms

FIELDS: Mapping[str, str] = {
    "number": "BT-1",
    "issue_date": "BT-2",
    "due_date": "BT-9",
    "delivery_date": "BT-72",
    "period_start": "BT-73",
    "period_end": "BT-74",
    "delivery_note_number": "BT-16",
    "contract_number": "BT-12",
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
"""Field to the term it is, for those that are one term as it is."""

LINE_FIELDS: Mapping[str, str] = {
    "position": "BT-126",
    "description": "BT-153",
    "quantity": "BT-129",
    "unit": "BT-130",
    "unit_price": "BT-146",
    "net_amount": "BT-131",
    "tax_rate": "BT-152",
}
"""The same for each line."""

SELLER_ADDRESS = ("BT-35", "BT-35 house", "BT-36", "BT-162", "BT-38", "BT-37", "BT-39", "BT-40")
BUYER_ADDRESS = ("BT-50", "BT-50 house", "BT-51", "BT-163", "BT-53", "BT-52", "BT-54", "BT-55")
"""Street, house, two more lines, postal code, city, subdivision, country."""

_IBAN_START = re.compile(r"[A-Z]{2}\d{2}", re.IGNORECASE)
_BIC_FORM = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.IGNORECASE)
_PLACEHOLDERS = frozenset({"NA", "N/A", "-", "Dummywert"})
"""NA is Peppol's, the last that of Germany's own test cases."""
_NO_ITEMS = frozenset({"GROUP", "INFORMATION"})


def mapped(terms: Terms, fields: type[BaseModel]) -> BaseModel:
    """The terms as an object of this schema; those it has no field for are left out."""
    values = {path: terms.values[number] for path, number in FIELDS.items() if number in terms}
    found: dict[str, Any] = {path: value for path, value in values.items() if "." not in path}
    found["order_number"] = order_number(terms)
    found["customer_number"] = terms.text("customer") or terms.text("BT-46")
    found["currency"] = terms.text("BT-5") or terms.text("currency")
    found["gross_total"] = gross_total(terms)
    for owner, part, more in (
        ("seller", Party, {"address": address(terms, SELLER_ADDRESS)}),
        ("buyer", Party, {"address": address(terms, BUYER_ADDRESS)}),
        ("payment", Payment, {"iban": iban(terms), "bic": bic(terms)}),
    ):
        own = {path.partition(".")[2]: value for path, value in values.items() if path.startswith(owner)}
        found[owner] = part.model_validate({**own, **more})
    found["lines"] = tuple(_line(line) for line in items(terms))
    return fields.model_validate({name: found[name] for name in fields.model_fields if name in found})


def items(terms: Terms) -> list[Terms]:
    """The lines that are items: neither headings with the sum of others nor notes (BT-X-8)."""
    return [line for line in terms.all("BG-25") if _is_item(line)]


def _is_item(line: Terms) -> bool:
    says = any(number in line for number in ("BT-129", "BT-131", "BT-146", "BT-153"))
    return says and line.text("line role") not in _NO_ITEMS


def _line(terms: Terms) -> Line:
    return Line.model_validate(
        {name: terms.values[number] for name, number in LINE_FIELDS.items() if number in terms}
    )


def order_number(terms: Terms) -> str | None:
    """BT-13. UBL wants one beside the number of a sales order (BT-14): senders fill in that there is none."""
    given = terms.text("BT-13")
    return None if "BT-14" in terms and given in _PLACEHOLDERS else given


def gross_total(terms: Terms) -> Decimal | None:
    """BT-112. UBL 2.0, which does without it, gives what is to be paid, nothing being prepaid."""
    given = terms.number("BT-112")
    if given is None and "BT-113" not in terms and "BT-114" not in terms and is_before_en16931(terms):
        return terms.number("BT-115")
    return given


def is_before_en16931(terms: Terms) -> bool:
    """Tell whether this is UBL of the time before the standard."""
    return "ubl:xpath" in (terms.text("BT-24") or "ubl:xpath")


def iban(terms: Terms) -> str | None:
    """BT-84, without spaces, unless it is an account of another kind."""
    account = re.sub(r"\s", "", terms.text("BT-84") or "")
    return account if _IBAN_START.match(account) else None


def bic(terms: Terms) -> str | None:
    """BT-86, without spaces. Before the standard, UBL named banks there in other ways, too."""
    bank = re.sub(r"\s", "", terms.text("BT-86") or "")
    is_other = "currency" in terms and is_before_en16931(terms) and not _BIC_FORM.fullmatch(bank)
    return None if is_other else bank or None


def address(terms: Terms, numbers: tuple[str, ...]) -> str | None:
    """The postal address on one line."""
    street, house, second, third, code, city, subdivision, country = map(terms.text, numbers)
    parts = [" ".join(filter(None, (street, house))), second, third, " ".join(filter(None, (code, city)))]
    return ", ".join(filter(None, (*parts, subdivision, country))) or None
