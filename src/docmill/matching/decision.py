"""The decision about scored pairs: which links are taken, which are suggested, and with which probability.

The probability of a link is its odds against those of its rivals, and against none of them being right:
`odds / (1 + odds + the odds of all rivals)`. Rivals are the links that exclude it: two invoices of the same
amount that one payment may pay.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from docmill.matching.amounts import is_near, is_usual_part, may_be_converted
from docmill.matching.assignment import PAID, best_bundles, bundles_of, is_named, places_of
from docmill.matching.evidence import (
    AlternativeLevel,
    AmountLevel,
    DateLevel,
    ItemLevel,
    ReferenceLevel,
    SharedLevel,
)
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link, Relation, State
from docmill.matching.pairs import LEAST_LOG_ODDS, ScoredPair
from docmill.matching.parties import Likeness
from docmill.matching.return_decision import without_impossible_returns
from docmill.matching.returned_payments import may_be_automatic_return
from docmill.matching.scoring import Weights, probability, reasons
from docmill.matching.sums import SumGroup, find_sums, rescorer
from docmill.matching.surroundings import with_alternatives, with_common_links, with_known_customers

AUTOMATIC = 0.97
"""Least probability of links that are taken without asking; measured: bench/results/matching.md."""
SUGGESTED = 0.1
"""Least probability of links that are suggested."""
_APART: frozenset[Relation] = frozenset({"duplicate", "payment_to_return"})
"""The relations that are decided before others, and by their own pairs alone."""
_HIGHEST_LOG_ODDS = 30.0
_TELLING_NUMBER = 5
"""Least length of a number that no other firm has for a document of the same amount and days."""


def decide(
    pairs: Iterable[ScoredPair],
    weights: Mapping[Relation, Weights],
    *,
    declined: frozenset[tuple[str, str]] = frozenset(),
    confirmed: frozenset[tuple[str, str]] = frozenset(),
) -> list[Link]:
    """The links of a set of records, by probability.

    declined, confirmed: pairs of ids, in the order of their relation, that a person has parted or linked.
    A confirmed link is certain, and what it excludes is no longer taken.
    """
    pairs = [pair for pair in pairs if pair.ids not in declined]
    duplicates = [
        pair
        for pair in pairs
        if pair.relation == "duplicate" and (pair.log_odds > LEAST_LOG_ODDS or pair.ids in confirmed)
    ]
    links = _links(duplicates, [], weights, confirmed)
    copies = {link.second_id for link in links if link.state == "automatic"}
    others = [
        pair
        for pair in pairs
        if pair.relation != "duplicate" and (pair.ids in confirmed or copies.isdisjoint(pair.ids))
    ]
    returns = without_impossible_returns(
        (pair for pair in others if pair.relation == "payment_to_return"), confirmed
    )
    others = [pair for pair in others if pair.relation != "payment_to_return"]
    sure = [link for link in _links_between(returns, weights, confirmed) if link.state == "automatic"]
    links.extend(_links_beside_returns(others, returns, sure, weights, confirmed))
    return sorted(links, key=lambda link: (-link.score, link.first_id, link.second_id))


def _links_beside_returns(
    pairs: Sequence[ScoredPair],
    returns: Sequence[ScoredPair],
    sure: Sequence[Link],
    weights: Mapping[Relation, Weights],
    confirmed: frozenset[tuple[str, str]],
) -> list[Link]:
    """The links of pairs, and those of payments with their returns. sure: of the latter, the automatic ones.

    A return pays nothing, and what was returned leaves what it paid to another payment: what this one pays is
    decided as if there were no other, and then what that one would have paid, among all.
    """
    returned, returning = {link.first_id for link in sure}, {link.second_id for link in sure}
    likelihood = {pair.second.id: pair.log_odds for pair in sorted(returns, key=lambda each: each.log_odds)}
    pairs = [
        pair
        for pair in pairs
        if pair.ids in confirmed
        or pair.relation not in PAID
        or (
            pair.second.id not in returning
            # Else the payments of an invoice and their return, which all name it, would be taken together.
            and (
                pair.relation == "credit_note_to_payment"
                or pair.log_odds >= likelihood.get(pair.second.id, -inf)
            )
        )
    ]
    of_returned = {pair.key for pair in pairs if pair.relation in PAID and pair.second.id in returned}
    others = [pair for pair in pairs if pair.key not in of_returned]
    links = _links_between([*_with_surroundings(others, weights, confirmed), *returns], weights, confirmed)
    if of_returned:
        around = _with_surroundings(_pairs_around(pairs, returned), weights, confirmed)
        links.extend(
            link
            for link in _links_between(around, weights, confirmed)
            if (link.first_id, link.second_id, link.relation) in of_returned
        )
    return links


def _pairs_around(pairs: Iterable[ScoredPair], payments: Collection[str]) -> list[ScoredPair]:
    """The pairs of some payments, of others that may pay the same, and of all that these may pay."""
    pairs = [pair for pair in pairs if pair.relation in PAID]
    billed = {pair.first.id for pair in pairs if pair.second.id in payments}
    rivals = {pair.second.id for pair in pairs if pair.first.id in billed}
    return [pair for pair in pairs if pair.second.id in rivals]


def with_context(pairs: Iterable[ScoredPair], weights: Mapping[Relation, Weights]) -> list[ScoredPair]:
    """Pairs with the evidence that others give them: `surroundings`, and amounts that add up in one way."""
    pairs = list(pairs)
    others = _with_surroundings([pair for pair in pairs if pair.relation not in _APART], weights)
    sums = find_sums(others, rescorer(weights))
    changed = {pair.key: pair for pair in others}
    changed |= {pair.key: pair for group in sums if group.is_only for pair in group.pairs}
    return [changed.get(pair.key, pair) for pair in pairs]


def _links_between(
    pairs: Sequence[ScoredPair],
    weights: Mapping[Relation, Weights],
    confirmed: frozenset[tuple[str, str]] = frozenset(),
) -> list[Link]:
    sums = find_sums(pairs, rescorer(weights))
    likely = [pair for pair in pairs if pair.log_odds > LEAST_LOG_ODDS or pair.ids in confirmed]
    return _links(likely, [group for group in sums if group.is_only], weights, confirmed)


def _with_surroundings(
    pairs: Iterable[ScoredPair],
    weights: Mapping[Relation, Weights],
    confirmed: frozenset[tuple[str, str]] = frozenset(),
) -> list[ScoredPair]:
    pairs = with_known_customers(pairs, weights)
    links: set[tuple[str, str, Relation]] = {
        (link.first_id, link.second_id, link.relation)
        for link in _links_between(pairs, weights, confirmed)
        if link.state == "automatic"
    }
    return with_alternatives(with_common_links(pairs, links, weights), links, weights)


def _links(
    pairs: Sequence[ScoredPair],
    sums: Sequence[SumGroup],
    weights: Mapping[Relation, Weights],
    confirmed: frozenset[tuple[str, str]],
) -> list[Link]:
    chosen: dict[Hashable, ScoredPair] = {}
    bundle_of: dict[Hashable, frozenset[Hashable]] = {}
    for bundle in best_bundles(bundles_of(pairs, sums, confirmed)):
        keys = frozenset(pair.key for pair in bundle.pairs)
        for pair in bundle.pairs:
            chosen[pair.key] = pair
            bundle_of[pair.key] = keys
    final = {pair.key: pair for pair in pairs} | chosen
    for key, pair in final.items():
        if pair.ids in confirmed:
            final[key] = replace(pair, log_odds=_HIGHEST_LOG_ODDS)
    rivals = _Rivals(final.values(), bundle_of)
    links: list[Link] = []
    for key, pair in final.items():
        score = rivals.probability(pair)
        if key in chosen:
            is_sure = pair.ids in confirmed or may_be_automatic(pair)
            state: State = "automatic" if score >= AUTOMATIC and is_sure else "suggested"
        else:
            state = "outranked" if rivals.is_taken(pair) else "suggested"
        if score >= SUGGESTED or (state == "outranked" and probability(pair.log_odds) >= SUGGESTED):
            told = reasons(pair.evidence, weights[pair.relation], pair.amount, pair.first, pair.second)
            links.append(Link(pair.first.id, pair.second.id, pair.relation, score, state, told))
    return links


class _Rivals:
    """The odds of all links, by the places that they claim.

    A rival whose other record is probably taken by a link that was chosen counts less: by the probability
    that it is free.
    """

    def __init__(
        self, pairs: Iterable[ScoredPair], bundle_of: Mapping[Hashable, frozenset[Hashable]]
    ) -> None:
        self._at: defaultdict[Hashable, dict[Hashable, ScoredPair]] = defaultdict(dict)
        self._bundle_of = bundle_of
        pairs = list(pairs)
        for pair in pairs:
            for place in places_of(pair):
                self._at[place][pair.key] = pair
        self._taken: dict[Hashable, float] = {}
        first = {pair.key: self.probability(pair) for pair in pairs if pair.key in bundle_of}
        for pair in pairs:
            if pair.key in first:
                for place in places_of(pair):
                    self._taken[place] = max(self._taken.get(place, 0.0), first[pair.key])

    def probability(self, pair: ScoredPair) -> float:
        """The probability of a link. Links of its own bundle are none of its rivals."""
        together = self._bundle_of.get(pair.key, frozenset())
        own_places = set(places_of(pair))
        rivals: dict[Hashable, float] = {}
        for place in own_places:
            for key, rival in self._at[place].items():
                if key != pair.key and key not in together and key not in rivals:
                    rivals[key] = _odds(rival) * self._free(rival, own_places)
        odds = _odds(pair)
        return odds / (1 + odds + sum(rivals.values()))

    def is_taken(self, pair: ScoredPair) -> bool:
        """Whether a link that was chosen has a place of this one."""
        return any(place in self._taken for place in places_of(pair))

    def _free(self, rival: ScoredPair, own_places: set[Hashable]) -> float:
        """The probability that no chosen link has another place of a rival."""
        if rival.key in self._bundle_of:
            return 1.0
        return math.prod(
            1 - self._taken.get(place, 0.0) for place in places_of(rival) if place not in own_places
        )


def _odds(pair: ScoredPair) -> float:
    return math.exp(min(pair.log_odds, _HIGHEST_LOG_ODDS))


def _has_telling_number(record: MatchRecord) -> bool:
    return record.number is not None and len(record.number.key) >= _TELLING_NUMBER


def may_be_automatic(pair: ScoredPair) -> bool:
    """Whether nothing speaks against a link so strongly that a person has to look, whatever speaks for it."""
    evidence = pair.evidence
    if pair.relation == "payment_to_return":
        return may_be_automatic_return(evidence)
    is_only = evidence.alternatives == AlternativeLevel.NONE
    is_named_alone = is_only and is_named(pair) and _has_telling_number(pair.first)
    is_party_known = max(evidence.party, evidence.other_party) > Likeness.UNKNOWN
    is_party_possible = evidence.party != Likeness.DIFFERENT and (
        is_party_known or evidence.reference == ReferenceLevel.EQUAL
    )
    # Another amount does not part an invoice from what names it: it is what a discrepancy will be told of.
    is_amount_possible = evidence.amount > AmountLevel.UNEXPLAINED or (
        evidence.amount == AmountLevel.UNEXPLAINED
        and is_named(pair)
        and evidence.party >= Likeness.CLOSE_NAME
        and evidence.other_party != Likeness.DIFFERENT
        and (evidence.items >= ItemLevel.ALL or is_near(pair.amount))
    )
    # The rate of the bank is not known, but its magnitude is.
    is_converted = (
        evidence.amount == AmountLevel.OTHER_CURRENCY
        and may_be_converted(pair.first, pair.second)
        and pair.relation in PAID
        and is_named(pair)
        and evidence.party >= Likeness.SAME_NAME
        and evidence.date >= DateLevel.USUAL
    )
    # A payment of any other part, or of more, may be for a neighbouring number, mistyped.
    is_part = pair.relation in PAID and evidence.amount in (AmountLevel.PART, AmountLevel.UNEXPLAINED)
    # A number that may be misread may as well be that of another document of the same goods.
    is_other = evidence.reference <= ReferenceLevel.PARTIAL and evidence.reference != ReferenceLevel.UNKNOWN
    is_cut_off = is_only and evidence.reference == ReferenceLevel.PARTIAL
    return (
        # Whoever has the number, the amount and the day right may pay by another name.
        (is_party_possible or is_named_alone)
        and (is_amount_possible or is_converted)
        and (not is_part or is_usual_part(pair.amount))
        and evidence.date > DateLevel.IMPOSSIBLE
        and (
            not is_other or is_cut_off or evidence.shared >= SharedLevel.SAME or pair.relation == "duplicate"
        )
    )
