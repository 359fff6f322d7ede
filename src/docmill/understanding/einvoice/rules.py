"""Checks of EN 16931's business rules on the terms that docmill reads, with failures in plain words."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from docmill.model.result import Failure
from docmill.schemas.einvoice_kinds import EInvoiceKind
from docmill.understanding.einvoice import codelists
from docmill.understanding.einvoice.amounts import check_line_amounts, check_totals, check_vat
from docmill.understanding.einvoice.codelists import Level, Profile
from docmill.understanding.einvoice.mapping import FIELDS, LINE_FIELDS, item_lines
from docmill.understanding.einvoice.terms import TermValues

_PATHS = {number: path for path, number in FIELDS.items()} | {
    "BT-5": "currency",
    "BT-84": "payment.iban",
    "BT-40": "seller.address",
    "BT-55": "buyer.address",
}
_LINE_PATHS = {number: name for name, number in LINE_FIELDS.items()}

_ALL: frozenset[Level] = frozenset({"minimum", "without_lines", "en16931", "zugferd1"})
_MOST: frozenset[Level] = _ALL - {"minimum"}
_STRICT: frozenset[Level] = frozenset({"without_lines", "en16931"})
_FULL: frozenset[Level] = frozenset({"en16931"})
_LINED: frozenset[Level] = frozenset({"en16931", "zugferd1"})
_STRUCTURED: frozenset[Level] = frozenset({"minimum", "without_lines", "en16931"})

_DRAFT = re.compile(r":(?:compliant|conformant):")
_PEPPOLS_RULES = frozenset({"Peppol BIS Billing 3", "XRechnung"})
_MOST_FAILURES = 20
"""Most failures that are listed per rule; further ones are only counted."""


class _Required(NamedTuple):
    rule: str
    number: str
    name: str
    levels: frozenset[Level]


_REQUIRED = (
    _Required("BR-01", "BT-24", "The standard that is followed", _ALL),
    _Required("BR-02", "BT-1", "The invoice's number", _ALL),
    _Required("BR-03", "BT-2", "The date of issue", _ALL),
    _Required("BR-04", "BT-3", "The type of invoice", _ALL),
    _Required("BR-05", "BT-5", "The currency", _ALL),
    _Required("BR-06", "BT-27", "The seller's name", _ALL),
    _Required("BR-07", "BT-44", "The buyer's name", _ALL),
    _Required("BR-09", "BT-40", "The seller's country", _STRUCTURED),
    _Required("BR-11", "BT-55", "The buyer's country", _STRICT),
    _Required("BR-12", "BT-106", "The sum of the lines", _MOST),
    _Required("BR-13", "BT-109", "The total without VAT", _STRUCTURED),
    _Required("BR-14", "BT-112", "The total with VAT", _ALL),
    _Required("BR-15", "BT-115", "The amount due", _STRUCTURED),
)
_REQUIRED_IN_LINES = (
    _Required("BR-21", "BT-126", "its number", _FULL),
    _Required("BR-22", "BT-129", "the quantity", _LINED),
    _Required("BR-23", "BT-130", "the unit", _FULL),
    _Required("BR-24", "BT-131", "the net amount", _FULL),
    _Required("BR-25", "BT-153", "the item's name", _FULL),
    _Required("BR-26", "BT-146", "the net price", _FULL),
    _Required("BR-CO-04", "BT-151", "the VAT category", _FULL),
)


def check_rules(terms: TermValues, kind: EInvoiceKind, profile: Profile | None) -> tuple[Failure, ...]:
    """The failures of all rules that apply; of one rule at most 20, then one that counts the others.

    profile: decides which rules apply. If it is None, only those do that hold for all XML of the kind.
    """
    level: Level = profile.level if profile else "zugferd1" if kind.message == "billing" else "order"
    failures = [*_check_profile(terms, profile)]
    broken: list[Failure] = []
    for term in terms.all_malformed():
        kind_of_value = "date" if term.kind == "date" else "number"
        message = f"The XML says {term.text[:40]!r} for {term.number}, which is no {kind_of_value}."
        broken.append(Failure(check="xml_value", message=message, fields=_field_of(term.number)))
    if level != "other":
        broken += _check_required(terms, level)
        broken += _check_codes(terms, level, is_order=kind.message == "ordering")
        broken += _check_header(terms, level)
        broken += _check_lines(terms, level)
        broken += check_totals(terms, level)
        if profile is not None and profile.name in _PEPPOLS_RULES:
            broken += check_line_amounts(terms)
        if level in _STRICT:
            broken += check_vat(terms, level)
    counts: Counter[str] = Counter()
    more: dict[str, list[Failure]] = {}
    for failure in broken:
        counts[failure.check] += 1
        if counts[failure.check] <= _MOST_FAILURES:
            failures.append(failure)
        else:
            more.setdefault(failure.check, []).append(failure)
    for check, others in more.items():
        fields = tuple(path for failure in others[:_MOST_FAILURES] for path in failure.fields)
        message = f"The same is wrong {len(others)} more times."
        failures.append(Failure(check=check, message=message, fields=fields))
    return tuple(failures)


def _field_of(number: str) -> tuple[str, ...]:
    return (_PATHS[number],) if number in _PATHS else ()


def _check_profile(terms: TermValues, profile: Profile | None) -> Iterator[Failure]:
    """A failure if the identifier of the standard (BT-24) is missing, unknown or that of a draft."""
    identifier = terms.text("BT-24")
    message = ""
    if profile is None and identifier:
        message = (
            f"The XML says that it follows {identifier[:100]!r}, which is no standard for such a document."
        )
    elif profile is None:
        message = "The XML does not say which standard it follows."
    elif _DRAFT.search(identifier or ""):
        message = (
            f"The XML calls its standard {identifier!r}, as a draft did; its parts are to be parted by '#'."
        )
    if message:
        yield Failure(check="profile", message=message)


def _check_required(terms: TermValues, level: Level) -> Iterator[Failure]:
    for rule, number, name, levels in _REQUIRED:
        if level in levels and number not in terms:
            message = f"{name} ({number}) is missing in the XML."
            yield Failure(check=rule, message=message, fields=_field_of(number))
    lines = item_lines(terms)
    if not lines and level in _LINED:
        yield Failure(check="BR-16", message="The XML has no lines.", fields=("lines",))
    for index, line in enumerate(lines):
        for rule, number, name, levels in _REQUIRED_IN_LINES:
            if level in levels and number not in line:
                path = f"lines[{index}].{_LINE_PATHS[number]}" if number in _LINE_PATHS else f"lines[{index}]"
                message = f"Line {index + 1} lacks {name} ({number})."
                yield Failure(check=rule, message=message, fields=(path,))


def _check_codes(terms: TermValues, level: Level, *, is_order: bool) -> Iterator[Failure]:
    types = codelists.ORDER_TYPES if is_order else codelists.INVOICE_TYPES
    for rule, number, codes, name in (
        ("BR-CL-01", "BT-3", types, f"code for a type of {'order' if is_order else 'invoice'}"),
        ("BR-CL-04", "BT-5", codelists.CURRENCIES, "currency"),
        ("BR-CL-14", "BT-40", codelists.COUNTRIES, "country"),
        ("BR-CL-14", "BT-55", codelists.COUNTRIES, "country"),
        ("BR-CL-16", "BT-81", codelists.PAYMENT_MEANS, "code for a means of payment"),
    ):
        code = terms.text(number)
        if code is not None and code not in codes:
            message = f"{code!r} ({number}) is no {name}."
            yield Failure(check=rule, message=message, fields=_field_of(number))
    for index, line in enumerate(item_lines(terms) if level in _FULL else ()):
        unit, category = line.text("BT-130"), line.text("BT-151")
        if unit is not None and not re.fullmatch(codelists.UNIT_CODE, unit):
            message = f"{unit!r} of line {index + 1} is no unit of measure."
            yield Failure(check="BR-CL-23", message=message, fields=(f"lines[{index}].unit",))
        if category is not None and category not in codelists.CATEGORIES:
            message = f"{category!r} of line {index + 1} is no VAT category."
            yield Failure(check="BR-CL-18", message=message, fields=(f"lines[{index}]",))


def _check_header(terms: TermValues, level: Level) -> Iterator[Failure]:
    """Failures of the rules on parties, payment and period."""
    if level in _STRUCTURED and not any(number in terms for number in ("BT-29", "BT-30", "BT-31")):
        message = "The seller has neither an identifier, nor a registration, nor a VAT identifier."
        yield Failure(check="BR-CO-26", message=message, fields=("seller.vat_id",))
    for number in ("BT-31", "BT-48") if level in _STRUCTURED else ():
        vat_id = terms.text(number)
        if vat_id is not None and vat_id[:2] not in codelists.COUNTRIES:
            message = f"The VAT identifier {vat_id!r} ({number}) does not begin with a country."
            yield Failure(check="BR-CO-09", message=message, fields=(_PATHS[number],))
    if level not in _STRICT:
        return
    due = terms.number("BT-115")
    if due is not None and due > 0 and "BT-9" not in terms and "BT-20" not in terms:
        message = "Something is due, but neither when (BT-9) nor on which terms (BT-20)."
        yield Failure(check="BR-CO-25", message=message, fields=("due_date", "payment.terms"))
    is_transfer = terms.text("BT-81") in codelists.CREDIT_TRANSFERS
    if is_transfer and "BT-84" not in terms and "account" not in terms:
        message = "It is to be paid by credit transfer, but to no account (BT-84)."
        yield Failure(check="BR-61", message=message, fields=("payment.iban",))
    start, end = terms.date("BT-73"), terms.date("BT-74")
    if start and end and end < start:
        message = f"The period ends on {end}, before it starts on {start}."
        yield Failure(check="BR-29", message=message, fields=("period_start", "period_end"))


def _check_lines(terms: TermValues, level: Level) -> Iterator[Failure]:
    """Failures of the rules on periods and prices of lines."""
    lines = item_lines(terms)
    for index, line in enumerate(lines if level in _STRICT else ()):
        start, end = line.date("BT-134"), line.date("BT-135")
        if start and end and end < start:
            message = f"The period of line {index + 1} ends on {end}, before it starts on {start}."
            yield Failure(check="BR-30", message=message, fields=(f"lines[{index}]",))
    for index, line in enumerate(lines if level in _FULL else ()):
        for rule, number, name in (("BR-27", "BT-146", "net"), ("BR-28", "BT-148", "gross")):
            price = line.number(number)
            if price is not None and price < 0:
                message = f"The {name} price of line {index + 1} ({number}) is below zero."
                yield Failure(check=rule, message=message, fields=(f"lines[{index}].unit_price",))
