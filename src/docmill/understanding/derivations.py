"""Derivations: the ways in which an amount or a date follows from other values of a document."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from docmill.model.paths import without_indices
from docmill.understanding.page.terms import find_terms
from docmill.understanding.text.money import CENT

_LINE = re.compile(r"(?P<item>.*\[\d+\])\.(?P<leaf>\w+)$")
_LINE_NET = re.compile(r"lines\[\d+\]\.net_amount")
_BOOKING = "transactions[].amount"

Values = Mapping[str, object]
"""Typed values by path, lists by index."""


class Derivation(NamedTuple):
    """A value that follows from others.

    rule: by which. sources: the paths of what it follows from. is_sum: a check compares the value with just
    these sources, so that a wrong source would go unnoticed if the value were made to fit.
    """

    value: Decimal | date
    rule: str
    sources: tuple[str, ...]
    is_sum: bool = False


def derivations(path: str, values: Values) -> Iterator[Derivation]:
    """Yield the ways in which an amount follows from the others by arithmetic."""
    amounts = {other: value for other, value in values.items() if isinstance(value, Decimal)}
    line = _LINE.match(path)
    if line is not None:
        yield from _of_row(line["item"], line["leaf"], amounts)
        return
    net, tax, gross = (amounts.get(name) for name in ("net_total", "tax_total", "gross_total"))
    if path == "gross_total" and net is not None and tax is not None:
        yield Derivation(net + tax, "net and tax", ("net_total", "tax_total"), is_sum=True)
    if path == "net_total" and gross is not None and tax is not None:
        yield Derivation(gross - tax, "without tax", ("gross_total", "tax_total"), is_sum=True)
    lines = {other: value for other, value in amounts.items() if _LINE_NET.fullmatch(other)}
    if path == "net_total" and lines:
        yield Derivation(sum(lines.values(), Decimal(0)), "items", tuple(lines), is_sum=True)
    if path == "tax_total" and gross is not None and net is not None:
        yield Derivation(gross - net, "tax", ("gross_total", "net_total"), is_sum=True)
    if path == "amount_due" and gross is not None:
        yield Derivation(gross, "total", ("gross_total",))


def is_same_result(derived: object, value: object) -> bool:
    """Return whether a value is the derived one; amounts may differ by a cent."""
    if isinstance(derived, Decimal) and isinstance(value, Decimal):
        return abs(derived - value) <= CENT
    return derived == value


def _of_row(item: str, leaf: str, amounts: Mapping[str, Decimal]) -> Iterator[Derivation]:
    """Yield the cell of an item by the other two of quantity, price and amount."""
    of_quantity, of_price, of_net = (f"{item}.{name}" for name in ("quantity", "unit_price", "net_amount"))
    quantity, price, net = amounts.get(of_quantity), amounts.get(of_price), amounts.get(of_net)
    if leaf == "net_amount" and quantity is not None and price is not None:
        yield Derivation(quantity * price, "product", (of_quantity, of_price))
    if leaf == "unit_price" and quantity and net is not None:
        yield Derivation(net / quantity, "price", (of_net, of_quantity))
    if leaf == "quantity" and price and net is not None:
        yield Derivation(net / price, "quantity", (of_net, of_price))


def changed_derivations(path: str, values: Values, read: Values) -> Iterator[Derivation]:
    """Yield the ways in which a value that was read follows from others, after some of these changed.

    values: as they are now; read: as they were read, from which the payments and the days of payment are
    known that the value was computed with.
    """
    if path == "amount_due":
        yield from _due_amount(values, read)
    elif path == "due_date":
        yield from _due_date(values, read)
    elif path == "opening_balance":
        yield from _opening_balance(values)
    else:
        yield from derivations(path, values)


def _opening_balance(values: Values) -> Iterator[Derivation]:
    """Yield the closing balance less all bookings."""
    bookings = {
        path: value
        for path, value in values.items()
        if without_indices(path) == _BOOKING and isinstance(value, Decimal)
    }
    closing = values.get("closing_balance")
    if bookings and isinstance(closing, Decimal):
        before = closing - sum(bookings.values(), Decimal(0))
        yield Derivation(before, "bookings", ("closing_balance", *bookings), is_sum=True)


def _due_amount(values: Values, read: Values) -> Iterator[Derivation]:
    """Yield the total less what was paid of the total that was read."""
    due, before, gross = read.get("amount_due"), read.get("gross_total"), values.get("gross_total")
    if isinstance(due, Decimal) and isinstance(before, Decimal) and isinstance(gross, Decimal):
        rest = gross if due == before else gross - (before - due)
        if rest * gross >= 0:
            yield Derivation(rest, "total", ("gross_total",))


def _due_date(values: Values, read: Values) -> Iterator[Derivation]:
    """Yield the last day by the terms of payment, else as many days after the issue as were read.

    A due date at the end of a month may be there for the month's sake, and follows from no other date then.
    """
    due, before, issued = read.get("due_date"), read.get("issue_date"), values.get("issue_date")
    if not isinstance(due, date) or not isinstance(before, date) or not isinstance(issued, date):
        return
    if due == _last_day(before, read.get("payment.terms")):
        last = _last_day(issued, values.get("payment.terms"))
        if last is not None:
            yield Derivation(last, "terms", ("issue_date", "payment.terms"))
    elif issued == before or due.month == (due + timedelta(days=1)).month:
        yield Derivation(issued + (due - before), "days", ("issue_date",))


def _last_day(issued: date, terms: object) -> date | None:
    """The last day to pay by the terms of payment; None if they name no number of days."""
    text = terms if isinstance(terms, str) else ""
    return max((term.last_day(issued) for term in find_terms(text) if not term.otherwise), default=None)
