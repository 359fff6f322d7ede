"""Evidence for a pair that the other pairs of its records give."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from docmill.matching.assignment import PAID, paying, places_of
from docmill.matching.comparison import compare_citations
from docmill.matching.evidence import (
    AlternativeLevel,
    AmountLevel,
    DateLevel,
    ItemLevel,
    ReferenceLevel,
    SharedLevel,
)
from docmill.matching.outcome import Relation
from docmill.matching.pairs import ScoredPair
from docmill.matching.parties import Likeness
from docmill.matching.relations import CHAINED
from docmill.matching.scoring import Weights

_Key = tuple[str, str, Relation]


def with_known_customers(
    pairs: Iterable[ScoredPair], weights: Mapping[Relation, Weights]
) -> list[ScoredPair]:
    """The pairs, of which those of payments that cite a customer number name no other document by it.

    Customer numbers are known from any document of the partner that the payment is paired with.
    """
    pairs = list(pairs)
    customers: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if (
            pair.relation in PAID
            and max(pair.evidence.party, pair.evidence.other_party) >= Likeness.SAME_NAME
        ):
            customers[pair.second.id].update(
                each.key for each in pair.first.references if each.kind == "customer"
            )
    return [_without_customers(pair, customers[pair.second.id], weights) for pair in pairs]


def _without_customers(
    pair: ScoredPair, customers: AbstractSet[str], weights: Mapping[Relation, Weights]
) -> ScoredPair:
    named = pair.second.text_keys & customers
    is_other = pair.evidence.reference < ReferenceLevel.UNKNOWN and pair.relation in PAID
    if not is_other or not named or pair.first.number is None:
        return pair
    level = compare_citations(pair.first, pair.first.number.key, pair.second.text_keys - named)
    return pair.with_evidence(weights[pair.relation], reference=max(level, pair.evidence.reference))


def with_common_links(
    pairs: Iterable[ScoredPair], links: AbstractSet[_Key], weights: Mapping[Relation, Weights]
) -> list[ScoredPair]:
    """The pairs, of which those have more evidence whose records are both linked to a third one.

    An order and an invoice that do not name each other belong together if a delivery note belongs to both.
    links: the keys of automatic links.
    """
    linked: defaultdict[str, set[str]] = defaultdict(set)
    for first, second, relation in links:
        if relation in CHAINED:
            linked[first].add(second)
            linked[second].add(first)
    return [
        pair.with_evidence(weights[pair.relation], shared=max(pair.evidence.shared, SharedLevel.LINKED))
        if pair.relation in CHAINED and linked[pair.first.id] & linked[pair.second.id]
        else pair
        for pair in pairs
    ]


def with_alternatives(
    pairs: Sequence[ScoredPair], links: AbstractSet[_Key], weights: Mapping[Relation, Weights]
) -> list[ScoredPair]:
    """The pairs, of which those have more evidence that agree in all and that nothing else comes near to.

    A record that is linked already is no alternative: an invoice that is paid. links: the keys of automatic
    links.
    """
    at: defaultdict[Hashable, list[ScoredPair]] = defaultdict(list)
    taken: set[Hashable] = set()
    for pair in pairs:
        for place in places_of(pair):
            at[place].append(pair)
            if pair.key in links:
                taken.add(place)

    def is_only(pair: ScoredPair) -> bool:
        own = set(places_of(pair))
        if taken & own and pair.key not in links:
            return False
        if _is_paid_by_identity(pair) and any(_is_of_same_amount(other, pair) for other in at[paying(pair)]):
            return False
        return not any(
            other.key != pair.key
            and _is_alternative(other, pair)
            and not any(place in taken for place in places_of(other) if place not in own)
            for place in own
            for other in at[place]
        )

    return [
        pair.with_evidence(weights[pair.relation], alternatives=AlternativeLevel.NONE)
        if agrees(pair) and is_only(pair)
        else pair
        for pair in pairs
    ]


def agrees(pair: ScoredPair) -> bool:
    """Whether one record names the other, and all else agrees that is known of them but the partner's name.

    Records of the same name need no more. Of those that do not name each other, only payments agree in all
    (`_is_paid_by_identity`); others are left to a person, even if nothing else fits: what would fit better
    may not be there yet.
    """
    evidence = pair.evidence
    is_without_amounts = evidence.amount == AmountLevel.UNKNOWN and evidence.items == ItemLevel.EXACT
    # Another partner's name takes more than a number: that it stands in the texts of both.
    is_other_name = evidence.party == Likeness.DIFFERENT and evidence.shared < SharedLevel.SAME
    is_named = (
        evidence.reference >= ReferenceLevel.TEXT
        and evidence.party < Likeness.SAME_NAME
        and not is_other_name
    )
    return (
        (is_named or _is_paid_by_identity(pair))
        and evidence.shared != SharedLevel.DIFFERENT
        and evidence.date == DateLevel.EXPECTED
        and evidence.items not in (ItemLevel.NONE, ItemLevel.SOME)
        and (evidence.amount >= AmountLevel.EXPLAINED or is_without_amounts)
    )


def _is_of_same_amount(rival: ScoredPair, pair: ScoredPair) -> bool:
    """Whether a partner bills this amount more than once, so that one more such invoice may be missing."""
    return (
        rival.key != pair.key
        and rival.evidence.amount >= AmountLevel.EXPLAINED
        and rival.evidence.party >= Likeness.CLOSE_NAME
    )


def _is_paid_by_identity(pair: ScoredPair) -> bool:
    """Whether a payment of exactly this amount goes to the account on the document, or names its order.

    It cites no number of another document, at the most the beginning or end of this one's.
    """
    evidence = pair.evidence
    is_order_named = evidence.shared == SharedLevel.SAME and evidence.party == Likeness.SAME_NAME
    return (
        pair.relation in PAID
        and evidence.reference in (ReferenceLevel.UNKNOWN, ReferenceLevel.PARTIAL)
        and evidence.amount == AmountLevel.EQUAL
        and (evidence.party == Likeness.SAME_IDENTIFIER or is_order_named)
    )


def _is_alternative(rival: ScoredPair, pair: ScoredPair) -> bool:
    """Whether a pair may be right instead of one that agrees in all: it is as good, or worse in one respect.

    Another number, party or amount, or a day out of the window, makes it none, as does a day before that of
    the first record: an invoice that is not yet there.
    """
    other, evidence = rival.evidence, pair.evidence
    is_worse_in_kind = (
        _is_early(rival) > _is_early(pair),
        other.reference == ReferenceLevel.OTHER or other.shared == SharedLevel.DIFFERENT,
        other.reference < ReferenceLevel.TEXT <= evidence.reference,
        other.party <= Likeness.SIMILAR < evidence.party,
        other.amount < min(evidence.amount, AmountLevel.EXPLAINED),
        other.date <= DateLevel.UNLIKELY,
        evidence.items >= ItemLevel.ALL > other.items > ItemLevel.UNKNOWN,
    )
    worse = (
        other.reference < min(evidence.reference, ReferenceLevel.UNKNOWN),
        other.party < min(evidence.party, Likeness.SAME_NAME),
        other.date < DateLevel.USUAL,
        evidence.items == ItemLevel.EXACT and other.items == ItemLevel.ALL,
    )
    return not any(is_worse_in_kind) and sum(worse) <= 1


def _is_early(pair: ScoredPair) -> bool:
    days = pair.first.issue_date, pair.second.issue_date
    return days[0] is not None and days[1] is not None and days[1] < days[0]
