"""Comparison of a payment with a booking by which the bank may have returned it."""

from collections.abc import Iterable

from docmill.matching.amounts import AmountComparison, compare_returned_amounts
from docmill.matching.comparison import compare_days, sides_of
from docmill.matching.evidence import AmountLevel, DateLevel, Evidence, ItemLevel, ReferenceLevel, SharedLevel
from docmill.matching.match_record import MatchRecord, PartyIdentity
from docmill.matching.parties import Likeness, compare_parties, named_in_text
from docmill.matching.references import has_same_pattern
from docmill.matching.relations import RULE_OF
from docmill.matching.return_words import ReturnLevel

_LONGEST_NUMBER = 12
"""Characters of the numbers that people cite; longer ones are made by banks."""
_TELLING_NUMBER = 5
"""Least length of a number that two bookings have in common by no chance."""


def may_be_return(one: MatchRecord, other: MatchRecord) -> bool:
    """True if two records are payments in opposite directions, as far as is known of one account.

    A transfer between two accounts of one firm has the same reference on both.
    """
    if one.kind != "payment" or other.kind != "payment" or one.is_incoming is other.is_incoming:
        return False
    accounts = {(each.seller if each.is_incoming else each.buyer).iban for each in (one, other)}
    return len(accounts - {""}) <= 1


def in_order_of_return(one: MatchRecord, other: MatchRecord) -> tuple[MatchRecord, MatchRecord]:
    """A payment and its return: by day, then the one whose text says that it is a return comes second."""
    first, second = sorted(
        (one, other), key=lambda each: (str(each.issue_date or ""), each.returned.level, each.id)
    )
    is_undated = first.issue_date is None or second.issue_date is None
    return (second, first) if is_undated and first.returned.level > second.returned.level else (first, second)


def compare_return(payment: MatchRecord, returning: MatchRecord) -> tuple[Evidence, AmountComparison]:
    """The evidence that a booking returns a payment, and how their amounts were compared."""
    amount = compare_returned_amounts(payment, returning)
    (partner, other_partner), (owner, other_owner) = sides_of("payment_to_return", payment, returning)
    evidence = Evidence(
        reference=_compare_references(payment, returning),
        shared=_compare_numbers(payment, returning),
        party=_compare_partners(partner, other_partner, returning.other_values.get("text", "")),
        other_party=compare_parties(owner, other_owner),
        amount=amount.level,
        date=compare_days(RULE_OF["payment_to_return"], payment, returning),
        items=ItemLevel.UNKNOWN,
        returned=_compare_words(payment, returning),
    )
    return evidence, amount


def may_be_automatic_return(evidence: Evidence) -> bool:
    """True if a return is sure enough that nobody has to be asked.

    A firm that pays its customer back looks the same but for the words. The payment of another month may
    have the same customer number and amount, so that days after the usual ones take its own reference.
    """
    return (
        evidence.returned > ReturnLevel.UNKNOWN
        and (evidence.reference == ReferenceLevel.EQUAL or evidence.shared == SharedLevel.SAME)
        and evidence.reference != ReferenceLevel.OTHER
        and evidence.shared != SharedLevel.DIFFERENT
        and Likeness.DIFFERENT not in (evidence.party, evidence.other_party)
        and evidence.amount >= AmountLevel.CLOSE
        and (
            evidence.date == DateLevel.EXPECTED
            or (evidence.date >= DateLevel.POSSIBLE and evidence.reference == ReferenceLevel.EQUAL)
        )
    )


def compared_references(payment: MatchRecord, returning: MatchRecord) -> tuple[str, str]:
    """The references of a payment and of its return: the same one if they have one in common, else the first.

    Such is the end-to-end reference, which a return repeats, and be it in its text. Empty without one.
    """
    own = [each for each in payment.references if each.kind == "payment"]
    others = [each for each in returning.references if each.kind == "payment"]
    keys = {*returning.text_keys, *(each.key for each in others)}
    if common := next((each.value for each in own if each.key in keys), None):
        return common, common
    return own[0].value if own else "", others[0].value if others else ""


def _compare_references(payment: MatchRecord, returning: MatchRecord) -> ReferenceLevel:
    reference, other = compared_references(payment, returning)
    if reference and reference == other:
        return ReferenceLevel.EQUAL
    is_other = _have_pair_of_one_pattern(_payment_keys(payment), _payment_keys(returning))
    return ReferenceLevel.OTHER if is_other else ReferenceLevel.UNKNOWN


def _compare_numbers(payment: MatchRecord, returning: MatchRecord) -> SharedLevel:
    """Whether both texts have the same numbers, such as an invoice's, beside the payment's own reference.

    A customer number is in the texts of many payments: where each has another number of the same pattern,
    the one that they have in common tells little.
    """
    own = _payment_keys(payment)
    keys, others = payment.text_keys - own, returning.text_keys - _payment_keys(returning) - own
    common = {key for key in keys & others if len(key) >= _TELLING_NUMBER}
    is_other = _have_pair_of_one_pattern(keys - others, others - keys)
    if common:
        return SharedLevel.LOOSE if is_other else SharedLevel.SAME
    return SharedLevel.DIFFERENT if is_other else SharedLevel.UNKNOWN


def _payment_keys(record: MatchRecord) -> frozenset[str]:
    return frozenset(each.key for each in record.references if each.kind == "payment")


def _have_pair_of_one_pattern(keys: Iterable[str], others: Iterable[str]) -> bool:
    """True if there are two different numbers of one series, other than those that banks count by."""
    others = [key for key in others if _is_cited_by_people(key)]
    return any(has_same_pattern(key, other) for key in keys if _is_cited_by_people(key) for other in others)


def _is_cited_by_people(key: str) -> bool:
    return len(key) <= _LONGEST_NUMBER or not key.isdecimal()


def _compare_partners(partner: PartyIdentity, other: PartyIdentity, text: str) -> Likeness:
    """Banks may name themselves as the counterparty of a return, and the payment's partner in its text."""
    likeness = compare_parties(partner, other)
    if likeness > Likeness.UNKNOWN:
        return likeness
    in_text = named_in_text(partner.key, text)
    return in_text if in_text >= Likeness.CLOSE_NAME else likeness


def _compare_words(payment: MatchRecord, returning: MatchRecord) -> ReturnLevel:
    """What the second says of a return. The first one may be a return itself, which the second names."""
    level = returning.returned.level
    is_return = payment.returned.level >= ReturnLevel.WORDS
    return min(level, ReturnLevel.POSSIBLE) if is_return else level
