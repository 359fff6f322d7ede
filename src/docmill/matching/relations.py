"""What can be related to what, and within which days."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from docmill.matching.match_record import Kind, ReferenceKind
from docmill.matching.outcome import Relation


@dataclass(frozen=True, slots=True)
class RelationRule:
    """A relation of two kinds of records.

    reference: the kind of number by which the second record names the first. expected_days, usual_days,
    possible_days: from the first record to the second, both included, each within the next.
    """

    relation: Relation
    first: Kind
    second: Kind
    reference: ReferenceKind
    expected_days: tuple[int, int]
    usual_days: tuple[int, int]
    possible_days: tuple[int, int]


_RULES = (
    RelationRule("quote_to_order", "quote", "purchase_order", "text", (0, 45), (0, 60), (-1, 200)),
    RelationRule(
        "contract_to_order", "contract", "purchase_order", "contract", (0, 370), (0, 1100), (-30, 3700)
    ),
    RelationRule("contract_to_invoice", "contract", "invoice", "contract", (0, 370), (0, 1100), (-30, 3700)),
    RelationRule(
        "order_to_response", "purchase_order", "purchase_order", "order", (0, 30), (0, 90), (-1, 400)
    ),
    RelationRule(
        "order_to_delivery", "purchase_order", "delivery_note", "order", (0, 30), (0, 60), (-3, 240)
    ),
    RelationRule("order_to_invoice", "purchase_order", "invoice", "order", (0, 45), (0, 75), (-7, 400)),
    RelationRule(
        "delivery_to_invoice", "delivery_note", "invoice", "delivery_note", (0, 16), (-3, 40), (-30, 120)
    ),
    RelationRule("invoice_to_credit_note", "invoice", "credit_note", "invoice", (0, 45), (0, 90), (-1, 400)),
    RelationRule("invoice_to_reminder", "invoice", "reminder", "invoice", (10, 75), (7, 120), (1, 500)),
    RelationRule("invoice_to_receipt", "invoice", "receipt", "invoice", (0, 7), (-1, 14), (-7, 60)),
    RelationRule("invoice_to_payment", "invoice", "payment", "invoice", (0, 35), (0, 45), (-10, 150)),
    RelationRule("receipt_to_payment", "receipt", "payment", "invoice", (0, 3), (0, 5), (-2, 20)),
    RelationRule("credit_note_to_payment", "credit_note", "payment", "invoice", (0, 30), (0, 45), (-5, 150)),
    # SEPA rulebooks: a bank returns within days, a payer may claim back within 8 weeks, or 13 months if there
    # was no mandate; then banks have another month.
    RelationRule("payment_to_return", "payment", "payment", "payment", (0, 10), (0, 65), (0, 430)),
)
RULES: Mapping[tuple[Kind, Kind], RelationRule] = {(rule.first, rule.second): rule for rule in _RULES}
"""The relations by the kinds of first and second."""
RULE_OF: Mapping[Relation, RelationRule] = {rule.relation: rule for rule in _RULES}

_LONGEST_EXPECTED = 60
"""Days; contracts and quotes may be years older, and most of what belongs to them is not."""

Side = Literal["first", "second"]

WHOLES: Mapping[Relation, tuple[Side, ...]] = {
    "invoice_to_payment": ("first", "second"),
    "order_to_invoice": ("first", "second"),
    "order_to_delivery": ("first",),
    "delivery_to_invoice": ("second",),
}
"""The relations of which several links may be explained by a sum: the sides that may be the whole."""

SUMMED: frozenset[Relation] = frozenset({*WHOLES, "credit_note_to_payment"})
"""The relations whose amounts other records may explain: by a sum, or by a credit note that is set off."""

CHAINED: frozenset[Relation] = frozenset({"order_to_delivery", "order_to_invoice", "delivery_to_invoice"})
"""The relations of which two make a third one likely."""

DUPLICATED: frozenset[Kind] = frozenset(
    {"invoice", "credit_note", "receipt", "purchase_order", "delivery_note", "reminder", "quote", "payment"}
)
"""The kinds of which one document, or one booking in several files of a bank, may be there twice."""


@cache
def related_kinds(kind: Kind) -> frozenset[Kind]:
    """The kinds that a record of a kind can be linked to."""
    others: set[Kind] = {second for first, second in RULES if first == kind}
    others.update(first for first, second in RULES if second == kind)
    if kind in DUPLICATED:
        others.add(kind)
    return frozenset(others)


def expected_days_between(kind: Kind, other: Kind) -> int:
    """The days from a record of a kind to one of another kind that belongs to it; negative if before it."""
    if kind == other:
        return 0
    if rule := RULES.get((kind, other)):
        return _middle(rule)
    if rule := RULES.get((other, kind)):
        return -_middle(rule)
    return 0


def _middle(rule: RelationRule) -> int:
    start, stop = rule.expected_days
    return min((start + stop) // 2, _LONGEST_EXPECTED)
