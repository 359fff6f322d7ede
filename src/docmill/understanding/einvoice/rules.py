"""The business rules of EN 16931 on what we map, as failures in a person's words."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from docmill.model.result import Failure
from docmill.schemas.einvoice_kinds import EInvoiceKind
from docmill.understanding.einvoice import codelists
from docmill.understanding.einvoice.codelists import Level, Profile
from docmill.understanding.einvoice.mapping import FIELDS, LINE_FIELDS, items
from docmill.understanding.einvoice.sums import line_amounts, sums, vat
from docmill.understanding.einvoice.terms import Terms

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


class _Required(NamedTuple):
    rule: str
    number: str
    name: str
    levels: frozenset[Level]


_DRAFTED = re.compile(r":(?:compliant|conformant):")
_PEPPOLS_RULES = frozenset({"Peppol BIS Billing 3", "XRechnung"})

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


_TOLD = 20
"""Failures of one rule that are told one by one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The XML that is judged."""

    terms: Terms
    kind: EInvoiceKind
    profile: Profile | None


def failures(terms: Terms, kind: EInvoiceKind, profile: Profile | None) -> tuple[Failure, ...]:
    """Every rule that is broken. Of an unknown profile, what any XML of its kind must say is asked."""
    level: Level = profile.level if profile else "zugferd1" if kind.message == "billing" else "order"
    checked = Checked(terms, kind, profile)
    checks = _CHECKS.get(level, ())
    found = [*_malformed(checked), *(failure for check in checks for failure in check(checked, level))]
    return (*_named(terms, profile), *_summed_up(found))


def _summed_up(found: Iterable[Failure]) -> Iterator[Failure]:
    """Of a rule that many lines break the first lines, and how many more there are."""
    counts: Counter[str] = Counter()
    more: dict[str, list[Failure]] = {}
    for failure in found:
        counts[failure.check] += 1
        if counts[failure.check] <= _TOLD:
            yield failure
        else:
            more.setdefault(failure.check, []).append(failure)
    for check, others in more.items():
        fields = tuple(path for failure in others[:_TOLD] for path in failure.fields)
        yield Failure(check=check, message=f"The same is wrong {len(others)} more times.", fields=fields)


def _named(terms: Terms, profile: Profile | None) -> Iterator[Failure]:
    """A failure if the identifier of the standard (BT-24) is missing, unknown or that of a draft."""
    says = terms.text("BT-24")
    if profile is None:
        message = (
            f"The XML says that it follows {says[:100]!r}, which is no standard for such a document."
            if says
            else "The XML does not say which standard it follows."
        )
        yield Failure(check="profile", message=message)
    elif _DRAFTED.search(says or ""):
        message = f"The XML calls its standard {says!r}, as a draft did; its parts are to be parted by '#'."
        yield Failure(check="profile", message=message)


def _malformed(checked: Checked) -> Iterator[Failure]:
    for one in checked.terms.all_malformed():
        kind = "date" if one.kind == "date" else "number"
        yield Failure(
            check="xml_value",
            message=f"The XML says {one.text[:40]!r} for {one.number}, which is no {kind}.",
            fields=tuple(filter(None, (_PATHS.get(one.number),))),
        )


def _missing(checked: Checked, level: Level) -> Iterator[Failure]:
    for rule, number, name, levels in _REQUIRED:
        if level in levels and number not in checked.terms:
            path = _PATHS.get(number)
            yield Failure(
                check=rule,
                message=f"{name} ({number}) is missing in the XML.",
                fields=(path,) if path else (),
            )


def _missing_in_lines(checked: Checked, level: Level) -> Iterator[Failure]:
    lines = items(checked.terms)
    if not lines and level in _LINED:
        yield Failure(check="BR-16", message="The XML has no lines.", fields=("lines",))
    for index, line in enumerate(lines):
        for rule, number, name, levels in _REQUIRED_IN_LINES:
            if level in levels and number not in line:
                path = f"lines[{index}].{_LINE_PATHS[number]}" if number in _LINE_PATHS else f"lines[{index}]"
                yield Failure(
                    check=rule, message=f"Line {index + 1} lacks {name} ({number}).", fields=(path,)
                )


def _codes(checked: Checked, level: Level) -> Iterator[Failure]:
    terms = checked.terms
    is_order = checked.kind.message == "ordering"
    types = codelists.ORDER_TYPES if is_order else codelists.INVOICE_TYPES
    for rule, number, codes, what in (
        ("BR-CL-01", "BT-3", types, "code for a type of " + ("order" if is_order else "invoice")),
        ("BR-CL-04", "BT-5", codelists.CURRENCIES, "currency"),
        ("BR-CL-14", "BT-40", codelists.COUNTRIES, "country"),
        ("BR-CL-14", "BT-55", codelists.COUNTRIES, "country"),
        ("BR-CL-16", "BT-81", codelists.PAYMENT_MEANS, "code for a means of payment"),
    ):
        code = terms.text(number)
        if code is not None and code not in codes:
            path = _PATHS.get(number)
            yield Failure(
                check=rule, message=f"{code!r} ({number}) is no {what}.", fields=(path,) if path else ()
            )
    for index, line in enumerate(items(terms)):
        unit, category = line.text("BT-130"), line.text("BT-151")
        if unit is not None and not re.fullmatch(codelists.UNIT_CODE, unit) and level in _FULL:
            yield Failure(
                check="BR-CL-23",
                message=f"{unit!r} of line {index + 1} is no unit of measure.",
                fields=(f"lines[{index}].unit",),
            )
        if category is not None and category not in codelists.CATEGORIES and level in _FULL:
            yield Failure(
                check="BR-CL-18",
                message=f"{category!r} of line {index + 1} is no VAT category.",
                fields=(f"lines[{index}]",),
            )


def _parties(checked: Checked, _level: Level) -> Iterator[Failure]:
    terms = checked.terms
    if not any(number in terms for number in ("BT-29", "BT-30", "BT-31")):
        yield Failure(
            check="BR-CO-26",
            message="The seller has neither an identifier, nor a registration, nor a VAT identifier.",
            fields=("seller.vat_id",),
        )
    for number in ("BT-31", "BT-48"):
        vat_id = terms.text(number)
        if vat_id is not None and vat_id[:2] not in codelists.COUNTRIES:
            yield Failure(
                check="BR-CO-09",
                message=f"The VAT identifier {vat_id!r} ({number}) does not begin with a country.",
                fields=(_PATHS[number],),
            )


def _payment(checked: Checked, _level: Level) -> Iterator[Failure]:
    terms = checked.terms
    due = terms.number("BT-115")
    if due is not None and due > 0 and "BT-9" not in terms and "BT-20" not in terms:
        yield Failure(
            check="BR-CO-25",
            message="Something is due, but neither when (BT-9) nor on which terms (BT-20).",
            fields=("due_date", "payment.terms"),
        )
    by_transfer = terms.text("BT-81") in codelists.CREDIT_TRANSFERS
    if by_transfer and "BT-84" not in terms and "account" not in terms:
        yield Failure(
            check="BR-61",
            message="It is to be paid by credit transfer, but to no account (BT-84).",
            fields=("payment.iban",),
        )


def _periods(checked: Checked, _level: Level) -> Iterator[Failure]:
    terms = checked.terms
    start, end = terms.date("BT-73"), terms.date("BT-74")
    if start and end and end < start:
        yield Failure(
            check="BR-29",
            message=f"The period ends on {end}, before it starts on {start}.",
            fields=("period_start", "period_end"),
        )
    for index, line in enumerate(items(terms)):
        start, end = line.date("BT-134"), line.date("BT-135")
        if start and end and end < start:
            yield Failure(
                check="BR-30",
                message=f"The period of line {index + 1} ends on {end}, before it starts on {start}.",
                fields=(f"lines[{index}]",),
            )


def _prices(checked: Checked, _level: Level) -> Iterator[Failure]:
    for index, line in enumerate(items(checked.terms)):
        for rule, number, name in (("BR-27", "BT-146", "net"), ("BR-28", "BT-148", "gross")):
            price = line.number(number)
            if price is not None and price < 0:
                yield Failure(
                    check=rule,
                    message=f"The {name} price of line {index + 1} ({number}) is below zero.",
                    fields=(f"lines[{index}].unit_price",),
                )


def _sums(checked: Checked, level: Level) -> Iterator[Failure]:
    yield from sums(checked.terms, level)
    if checked.profile is not None and checked.profile.name in _PEPPOLS_RULES:
        yield from line_amounts(checked.terms)


def _vat(checked: Checked, level: Level) -> Iterator[Failure]:
    yield from vat(checked.terms, level)


_Check = Callable[[Checked, Level], Iterator[Failure]]
_CHECKS: dict[Level, tuple[_Check, ...]] = {
    "minimum": (_missing, _codes, _parties, _sums),
    "without_lines": (_missing, _codes, _parties, _payment, _periods, _sums, _vat),
    "en16931": (_missing, _missing_in_lines, _codes, _parties, _payment, _periods, _prices, _sums, _vat),
    "zugferd1": (_missing, _missing_in_lines, _codes, _sums),
    "order": (_codes, _sums),
}
