"""Names of links, reasons and discrepancies for people, in the language of the page."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from babel.numbers import format_decimal

from docmill.matching.outcome import Discrepancy, Reason
from docmill.matching.three_way import Stage
from docmill.matching.wording import DISCREPANCIES, REASONS, RELATION_NAMES, as_sentence
from docmill.service.matches import MatchedRecord
from docmill.service.store.match_edges import RELATED
from docmill.service.store.match_links import Status
from docmill.web.languages import amount_text, current_language, day_text, gettext, gettext_noop
from docmill.web.view.words import Tone, type_name

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,6})?")
_MONEY = frozenset({
    "price", "over_billed", "under_billed", "paid_twice", "overpaid", "underpaid", "payment_returned",
})  # fmt: skip
_QUANTITIES = frozenset({"quantity", "tax"})
"""Discrepancies whose figures are amounts of money, or other numbers."""
RELATIONS: Mapping[str, str] = {**RELATION_NAMES, RELATED: gettext_noop("related documents")}
STATUSES: Mapping[Status, tuple[str, Tone]] = {
    "suggested": (gettext_noop("Suggested"), "warn"),
    "automatic": (gettext_noop("Linked automatically"), "ok"),
    "confirmed": (gettext_noop("Linked by a person"), "ok"),
    "declined": (gettext_noop("Declined"), "info"),
    "outranked": (gettext_noop("Less likely than others"), "info"),
}
"""In the order in which the filter offers them."""
STAGES: Mapping[Stage, str] = {
    "ordered": gettext_noop("Ordered"),
    "delivered": gettext_noop("Delivered"),
    "billed": gettext_noop("Billed"),
    "paid": gettext_noop("Paid"),
}
_PAYMENTS = (gettext_noop("Payment from %(name)s"), gettext_noop("Payment to %(name)s"))
_KINDS = {"payment": gettext_noop("Payment")}


def relation_name(relation: str) -> str:
    """Return the name of a relation, such as `order and invoice`."""
    return gettext(RELATIONS[relation])


def kind_name(record: MatchedRecord) -> str:
    """Return what a record is: a payment, or the type of its document."""
    if record.kind in _KINDS:
        return gettext(_KINDS[record.kind])
    return type_name(record.document.document_type)


def end_name(record: MatchedRecord) -> str:
    """Return the title of a record's document; of a payment, who was paid or who paid."""
    if record.payment is None:
        return record.document.title
    if record.counterparty and record.is_incoming is not None:
        incoming, outgoing = _PAYMENTS
        return gettext(incoming if record.is_incoming else outgoing, name=record.counterparty)
    return gettext("Payment %(number)s of %(title)s", number=record.payment, title=record.document.title)


def end_details(record: MatchedRecord) -> str:
    """Return the day and the amount of a record, as far as they are known."""
    amount = "" if record.amount is None else f"{amount_text(record.amount)} {record.currency}".strip()
    return " · ".join(filter(None, (day_text(record.day), amount)))


def reason_words(reason: Reason) -> str:
    """Return a sentence for a piece of evidence."""
    shown = {side: _shown(reason.code, value) for side, value in reason.values.items()}
    return as_sentence(gettext(REASONS[reason.code]), shown)


def discrepancy_words(discrepancy: Discrepancy) -> str:
    """Return what differs, with its figures."""
    text = gettext(DISCREPANCIES[discrepancy.code]).format(
        expected=_shown(discrepancy.code, discrepancy.expected),
        found=_shown(discrepancy.code, discrepancy.found),
    )
    if discrepancy.line is None:
        return text
    return gettext("%(text)s (line %(number)s)", text=text, number=discrepancy.line + 1)


def quantity_text(quantity: Decimal) -> str:
    """Return a quantity with the decimals that it has."""
    return format_decimal(quantity.normalize(), "#,##0.######", locale=current_language())


def _shown(code: str, value: str) -> str:
    """A day, amount or quantity as the language writes it; names and numbers of documents as they are."""
    if code.startswith("date") and _DAY.fullmatch(value):
        return day_text(date.fromisoformat(value))
    if not _NUMBER.fullmatch(value):
        return value
    if code in _MONEY or code.startswith("amount"):
        return amount_text(Decimal(value))
    return quantity_text(Decimal(value)) if code in _QUANTITIES else value
