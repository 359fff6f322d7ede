"""Comparison of two records: the levels of evidence for each dimension."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from docmill.matching import amounts
from docmill.matching.amounts import AmountComparison, compare_amounts
from docmill.matching.evidence import DateLevel, Evidence, ItemLevel, ReferenceLevel, SharedLevel
from docmill.matching.items import compare_items
from docmill.matching.match_record import MatchRecord, PartyIdentity, Reference, ReferenceKind
from docmill.matching.outcome import Relation
from docmill.matching.parties import Likeness, compare_parties, named_in_text
from docmill.matching.references import (
    are_revisions,
    has_same_pattern,
    is_contained,
    is_misreading,
    is_mistyped,
    is_partial,
    is_revision,
    is_with_more,
    reference_core,
    reference_keys,
)
from docmill.matching.relations import RelationRule

Parties = tuple[PartyIdentity, PartyIdentity]
"""A party as the first record names it, and as the second does."""

_SHORTEST_TELLING = 3
"""Characters of a number that tells more than that somebody counts from 1."""
_LOOSE: frozenset[ReferenceKind] = frozenset({"contract", "customer"})
_SHARED_KINDS: frozenset[ReferenceKind] = frozenset(
    {"order", "delivery_note", "contract", "customer", "invoice"}
)
_LONGEST_NUMBER = 12
"""Characters of the numbers that people cite; longer ones are made by banks."""
_TELLING_NUMBER = 7
"""Least length of a number of unknown kind that two documents have in common by no chance."""
_DAYS_OF_DUPLICATE = 3
_DAYS_OF_GRACE = 7
"""Days after the due date within which a payment still counts as in time."""


def compare(rule: RelationRule, first: MatchRecord, second: MatchRecord) -> tuple[Evidence, AmountComparison]:
    """The evidence that two records are related by a rule, and how their amounts were compared.

    Items are left out, which take the longest: see `compare_items_of`.
    """
    amount = compare_amounts(first, second)
    party, other_party = _compare_sides(rule, first, second)
    evidence = Evidence(
        reference=_compare_reference(rule, first, second),
        shared=_compare_shared(first, second, rule.reference),
        party=party,
        other_party=other_party,
        amount=amount.level,
        date=compare_days(rule, first, second),
        items=ItemLevel.UNKNOWN,
    )
    return evidence, amount


def compare_duplicates(one: MatchRecord, other: MatchRecord) -> tuple[Evidence, AmountComparison]:
    """The evidence that two records of a kind are the same document, sent or scanned twice, without items."""
    amount = amounts.compare_duplicates(one, other)
    evidence = Evidence(
        reference=_compare_bookings(one, other)
        if one.kind == "payment"
        else _compare_numbers(one.number, other.number),
        shared=_compare_shared(one, other, "text"),
        party=compare_parties(one.seller, other.seller),
        other_party=compare_parties(one.buyer, other.buyer),
        amount=amount.level,
        date=_compare_same_day(one.issue_date, other.issue_date),
        items=ItemLevel.UNKNOWN,
    )
    return evidence, amount


def is_same_booking(one: MatchRecord, other: MatchRecord) -> bool:
    """True if two payments are one booking, as two files of the same account tell it.

    On one day, the same amount in the same direction; where neither file says the same number or partner, two
    payments may as well be alike.
    """
    if (one.issue_date, one.gross_total, one.currency, one.is_incoming) != (
        other.issue_date,
        other.gross_total,
        other.currency,
        other.is_incoming,
    ):
        return False
    accounts, partners = (one.buyer, other.buyer), (one.seller, other.seller)
    if one.is_incoming:
        accounts, partners = partners, accounts
    if accounts[0].iban and accounts[1].iban and accounts[0].iban != accounts[1].iban:
        return False
    likeness = compare_parties(*partners)
    if one.text_keys and other.text_keys:
        is_one_text = one.text_keys <= other.text_keys or other.text_keys <= one.text_keys
        return is_one_text and likeness != Likeness.DIFFERENT
    return likeness >= Likeness.CLOSE_NAME and accounts[0].iban == accounts[1].iban != ""


def _compare_bookings(one: MatchRecord, other: MatchRecord) -> ReferenceLevel:
    """Equal if both bookings, which `is_same_booking` allows, have numbers in their text; else unknown."""
    return ReferenceLevel.EQUAL if one.text_keys and other.text_keys else ReferenceLevel.UNKNOWN


def is_response(first: MatchRecord, second: MatchRecord) -> bool:
    """True if an order changes, confirms or declines another: it names that, and has a number of its own."""
    if first.number is None or second.number is None or first.number.key == second.number.key:
        return False
    key = first.number.key
    is_named = len(key) >= _TELLING_NUMBER - 2 and key in second.text_keys
    return is_named or is_revision(key, second.number.key)


def sides_of(relation: Relation, first: MatchRecord, second: MatchRecord) -> tuple[Parties, Parties]:
    """The parties that are compared: those who are paid, and those who pay.

    Of two payments, such as one that is returned: their counterparties, and the owners of their accounts.
    """
    sellers, buyers = (first.seller, second.seller), (first.buyer, second.buyer)
    if relation == "credit_note_to_payment":  # money that goes back, or is set off against an invoice
        back = (first.seller, second.buyer), (first.buyer, second.seller)
        return max(
            back, (sellers, buyers), key=lambda sides: sorted(compare_parties(*each) for each in sides)
        )
    if first.kind == second.kind == "payment":
        (partner, owner), (other_partner, other_owner) = map(_counterparty_first, (first, second))
        return (partner, other_partner), (owner, other_owner)
    # The name of the account's owner is not known; a seller's account says enough.
    is_incoming = second.kind == "payment" and second.is_incoming is True
    return (buyers, sellers) if is_incoming else (sellers, buyers)


def _counterparty_first(payment: MatchRecord) -> Parties:
    return (payment.buyer, payment.seller) if payment.is_incoming else (payment.seller, payment.buyer)


def _compare_sides(rule: RelationRule, first: MatchRecord, second: MatchRecord) -> tuple[Likeness, Likeness]:
    sides, others = sides_of(rule.relation, first, second)
    partner, owner = compare_parties(*sides), compare_parties(*others)
    names_none = second.kind == "payment" and partner == Likeness.UNKNOWN
    if names_none and rule.relation != "credit_note_to_payment":
        partner = named_in_text(sides[0].key, second.other_values.get("text", ""))
    return partner, owner


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
    if first.kind == second.kind and second.number is not None:  # it names the other: see `is_response`
        return ReferenceLevel.EQUAL if is_revision(number.key, second.number.key) else ReferenceLevel.CORE
    if second.kind == "payment":
        return (
            level if level >= ReferenceLevel.TEXT else compare_citations(first, number.key, second.text_keys)
        )
    is_named = any(each.kind == rule.reference for each in named)
    return level if is_named or level > ReferenceLevel.UNKNOWN else ReferenceLevel.UNKNOWN


def compare_citations(first: MatchRecord, number: str, keys: Iterable[str]) -> ReferenceLevel:
    """The numbers in a payment's text, none of which is the number itself.

    A number of the same pattern is another one of the same series, unless the first record has it too.
    """
    best = worst = ReferenceLevel.UNKNOWN
    known = {each.key for each in first.references}
    for key in keys:
        level = _compare_part(number, key)
        if level > ReferenceLevel.UNKNOWN:
            best = max(best, level)
        elif key in known or key in first.text_keys:
            continue
        elif has_same_pattern(number, key) and (len(key) <= _LONGEST_NUMBER or not key.isdecimal()):
            worst = ReferenceLevel.OTHER
        elif len(key) <= _LONGEST_NUMBER:
            worst = min(worst, ReferenceLevel.UNRELATED)
    return best if best > ReferenceLevel.UNKNOWN else worst


def _compare_keys(number: str, named: str) -> ReferenceLevel:
    if number == named:
        return ReferenceLevel.EQUAL if len(number) >= _SHORTEST_TELLING else ReferenceLevel.TEXT
    core = reference_core(number)
    if (core and core == reference_core(named)) or is_with_more(number, named):
        return ReferenceLevel.CORE
    return _compare_part(number, named)


def _compare_part(number: str, named: str) -> ReferenceLevel:
    """Whether a number that is not the other one may be a part of it, or the same misread or mistyped."""
    if is_partial(number, named):
        return ReferenceLevel.PARTIAL
    if is_misreading(number, named):
        return ReferenceLevel.MISREAD
    return ReferenceLevel.MISTYPED if is_mistyped(number, named) else ReferenceLevel.OTHER


def _compare_numbers(one: Reference | None, other: Reference | None) -> ReferenceLevel:
    if one is None or other is None:
        return ReferenceLevel.UNKNOWN
    if are_revisions(one.key, other.key):
        return ReferenceLevel.OTHER
    return _compare_keys(one.key, other.key)


def _compare_shared(first: MatchRecord, second: MatchRecord, own: ReferenceKind) -> SharedLevel:
    """Whether both name a third number of the same kind. own: the kind of the first one's own number."""
    if second.kind == "payment":
        return _compare_shared_in_text(first, second.text_keys)
    levels = {SharedLevel.UNKNOWN}
    keys, other_keys = _keys_by_kind(first.references), _keys_by_kind(second.references)
    for kind in _SHARED_KINDS & keys.keys() & other_keys.keys() - {own}:
        left, right = keys[kind], other_keys[kind]
        if left & right:
            levels.add(SharedLevel.LOOSE if kind in _LOOSE else SharedLevel.SAME)
        elif kind not in _LOOSE and not _any_misread(left, right):
            levels.add(SharedLevel.DIFFERENT)
    # Another order says more than the same customer.
    is_other = SharedLevel.DIFFERENT in levels and SharedLevel.SAME not in levels
    return SharedLevel.DIFFERENT if is_other else max(levels)


def _compare_shared_in_text(first: MatchRecord, keys: frozenset[str]) -> SharedLevel:
    """True if a payment's text has a number that the first record names, such as its order's."""
    kind_of = {each.key: each.kind for each in first.references}
    level = SharedLevel.UNKNOWN
    for key in keys & (kind_of.keys() | first.text_keys):
        is_loose = kind_of[key] in _LOOSE if key in kind_of else len(key) < _TELLING_NUMBER
        level = max(level, SharedLevel.LOOSE if is_loose else SharedLevel.SAME)
    return level


@lru_cache(maxsize=65536)
def _keys_by_kind(references: tuple[Reference, ...]) -> Mapping[ReferenceKind, frozenset[str]]:
    keys: defaultdict[ReferenceKind, set[str]] = defaultdict(set)
    for each in references:
        keys[each.kind].update(reference_keys(each.key))
    return {kind: frozenset(values) for kind, values in keys.items() if values}


def _any_misread(left: frozenset[str], right: frozenset[str]) -> bool:
    return any(_compare_keys(one, other) > ReferenceLevel.OTHER for one in left for other in right)


def compare_days(rule: RelationRule, first: MatchRecord, second: MatchRecord) -> DateLevel:
    """True if the second record is in one of the windows of a relation after the first."""
    start, stop = first.issue_date, second.issue_date
    if first.delivery_date and first.delivery_date == second.delivery_date:
        return DateLevel.EXPECTED
    if start is None or stop is None:
        return DateLevel.UNKNOWN
    days = (stop - start).days
    expected, longest = rule.expected_days[1], rule.usual_days[1]
    if second.kind == "payment" and first.due_date is not None:
        expected = (first.due_date - start).days + _DAYS_OF_GRACE
        longest = max(longest, expected + _DAYS_OF_GRACE)
    if rule.expected_days[0] <= days <= expected:
        return DateLevel.EXPECTED
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
        return DateLevel.EXPECTED
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
