"""Comparison of two records: the levels of evidence for each dimension."""

import datetime as dt
from collections.abc import Iterable

from docmill.matching import amounts
from docmill.matching.amounts import AmountComparison, compare_amounts
from docmill.matching.evidence import DateLevel, Evidence, ItemLevel, ReferenceLevel, SharedLevel
from docmill.matching.items import compare_items
from docmill.matching.match_record import MatchRecord, PartyIdentity, Reference, ReferenceKind
from docmill.matching.outcome import Relation
from docmill.matching.parties import compare_parties
from docmill.matching.references import is_contained, is_misreading, reference_core, reference_keys
from docmill.matching.relations import RelationRule

Parties = tuple[PartyIdentity, PartyIdentity]
"""A party as the first record names it, and as the second does."""

_SHORTEST_TELLING = 3
"""Characters of a number that tells more than that somebody counts from 1."""
_LOOSE: frozenset[ReferenceKind] = frozenset({"contract", "customer"})
_DAYS_OF_DUPLICATE = 3


def compare(rule: RelationRule, first: MatchRecord, second: MatchRecord) -> tuple[Evidence, AmountComparison]:
    """The evidence that two records are related by a rule, and how their amounts were compared.

    Items are left out, which take the longest: see `compare_items_of`.
    """
    amount = compare_amounts(first, second)
    sides, other_sides = sides_of(rule.relation, first, second)
    evidence = Evidence(
        reference=_compare_reference(rule, first, second),
        shared=_compare_shared(first, second, rule.reference),
        party=compare_parties(*sides),
        other_party=compare_parties(*other_sides),
        amount=amount.level,
        date=_compare_days(rule, first, second),
        items=ItemLevel.UNKNOWN,
    )
    return evidence, amount


def compare_duplicates(one: MatchRecord, other: MatchRecord) -> tuple[Evidence, AmountComparison]:
    """The evidence that two records of a kind are the same document, sent or scanned twice, without items."""
    amount = amounts.compare_duplicates(one, other)
    evidence = Evidence(
        reference=_compare_numbers(one.number, other.number),
        shared=_compare_shared(one, other, "text"),
        party=compare_parties(one.seller, other.seller),
        other_party=compare_parties(one.buyer, other.buyer),
        amount=amount.level,
        date=_compare_same_day(one.issue_date, other.issue_date),
        items=ItemLevel.UNKNOWN,
    )
    return evidence, amount


def sides_of(relation: Relation, first: MatchRecord, second: MatchRecord) -> tuple[Parties, Parties]:
    """The parties that are compared: those who are paid, and those who pay."""
    if relation == "credit_note_to_payment":  # money that goes back
        return (first.seller, second.buyer), (first.buyer, second.seller)
    sellers, buyers = (first.seller, second.seller), (first.buyer, second.buyer)
    # The name of the account's owner is not known; a seller's account says enough.
    is_incoming = second.kind == "payment" and second.is_incoming is True
    return (buyers, sellers) if is_incoming else (sellers, buyers)


def _compare_reference(rule: RelationRule, first: MatchRecord, second: MatchRecord) -> ReferenceLevel:
    number = first.number
    payment_keys = {each.key for each in first.references if each.kind == "payment"}
    if payment_keys and any(each.key in payment_keys for each in second.references if each.kind == "payment"):
        return ReferenceLevel.EQUAL
    if number is None:
        return ReferenceLevel.UNKNOWN
    named = [each for each in second.references if each.kind in (rule.reference, "payment", "text")]
    level = max((_compare_keys(number.key, each.key) for each in named), default=ReferenceLevel.UNKNOWN)
    if level < ReferenceLevel.TEXT and is_contained(number.key, second.text_keys):
        level = ReferenceLevel.TEXT
    is_payment = second.kind == "payment"
    if level < ReferenceLevel.MISREAD and is_payment and _is_misread_in(number.key, second.text_keys):
        return ReferenceLevel.MISREAD
    is_named = any(each.kind == rule.reference for each in named)
    return level if is_named or level > ReferenceLevel.UNKNOWN else ReferenceLevel.UNKNOWN


def _is_misread_in(number: str, keys: Iterable[str]) -> bool:
    return any(is_misreading(number, key) for key in keys)


def _compare_keys(number: str, named: str) -> ReferenceLevel:
    if number == named:
        return ReferenceLevel.EQUAL if len(number) >= _SHORTEST_TELLING else ReferenceLevel.TEXT
    core = reference_core(number)
    if core and core == reference_core(named):
        return ReferenceLevel.CORE
    return ReferenceLevel.MISREAD if is_misreading(number, named) else ReferenceLevel.OTHER


def _compare_numbers(one: Reference | None, other: Reference | None) -> ReferenceLevel:
    if one is None or other is None:
        return ReferenceLevel.UNKNOWN
    return _compare_keys(one.key, other.key)


def _compare_shared(first: MatchRecord, second: MatchRecord, own: ReferenceKind) -> SharedLevel:
    """Whether both name a third number of the same kind. own: the kind of the first one's own number."""
    level = SharedLevel.UNKNOWN
    for kind in ("order", "delivery_note", "contract", "customer", "invoice"):
        if kind == own:
            continue
        left, right = _keys(first.references, kind), _keys(second.references, kind)
        if not left or not right:
            continue
        if left & right:
            level = max(level, SharedLevel.LOOSE if kind in _LOOSE else SharedLevel.SAME)
        elif level == SharedLevel.UNKNOWN and kind not in _LOOSE and not _any_misread(left, right):
            level = SharedLevel.DIFFERENT
    return level


def _keys(references: Iterable[Reference], kind: ReferenceKind) -> set[str]:
    return {key for each in references if each.kind == kind for key in reference_keys(each.key)}


def _any_misread(left: set[str], right: set[str]) -> bool:
    return any(_compare_keys(one, other) > ReferenceLevel.OTHER for one in left for other in right)


def _compare_days(rule: RelationRule, first: MatchRecord, second: MatchRecord) -> DateLevel:
    start, stop = first.issue_date, second.issue_date
    if first.delivery_date and first.delivery_date == second.delivery_date:
        return DateLevel.USUAL
    if start is None or stop is None:
        return DateLevel.UNKNOWN
    days = (stop - start).days
    longest = rule.usual_days[1]
    if second.kind == "payment" and first.due_date is not None:
        longest = max(longest, (first.due_date - start).days + 14)
    if rule.usual_days[0] <= days <= longest:
        return DateLevel.USUAL
    if rule.possible_days[0] <= days <= rule.possible_days[1]:
        return DateLevel.POSSIBLE
    is_near = rule.possible_days[0] - 30 <= days <= rule.possible_days[1] * 2
    return DateLevel.UNLIKELY if is_near else DateLevel.IMPOSSIBLE


def _compare_same_day(one: dt.date | None, other: dt.date | None) -> DateLevel:
    if one is None or other is None:
        return DateLevel.UNKNOWN
    if one == other:
        return DateLevel.USUAL
    left, right = one.isoformat(), other.isoformat()
    is_misread = is_misreading(left, right)
    is_turned = (one.day, one.month, one.year) == (other.month, other.day, other.year)
    if is_misread or is_turned:
        return DateLevel.POSSIBLE
    is_near = abs((one - other).days) <= _DAYS_OF_DUPLICATE
    return DateLevel.UNLIKELY if is_near else DateLevel.IMPOSSIBLE


def compare_items_of(first: MatchRecord, second: MatchRecord) -> ItemLevel:
    """How the line items agree. Duplicates have the same number of them."""
    level = compare_items(first.items, second.items)
    is_other = first.kind == second.kind and len(first.items) != len(second.items)
    return min(level, ItemLevel.SOME) if is_other else level
