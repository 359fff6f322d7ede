"""Matching of a set of records, from candidates to links, clusters and discrepancies."""

from collections.abc import Collection, Iterable, Mapping
from math import inf

from docmill.errors import ValidationError
from docmill.matching.aliases import PartyAlias, PartyAliases, aliases_between, parties_of, with_alias_reasons
from docmill.matching.candidates import CandidateIndex
from docmill.matching.clusters import clusters_of
from docmill.matching.decision import decide
from docmill.matching.discrepancies import find_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Matching, Relation
from docmill.matching.pairs import ScoredPair, pairs_of, score_pair
from docmill.matching.parties import identity
from docmill.matching.scoring import Weights, shipped_weights

Pairs = Iterable[tuple[str, str]]
"""Pairs of ids of records, or of names of parties, in either order."""


def match(
    records: Iterable[MatchRecord],
    *,
    weights: Mapping[Relation, Weights] | None = None,
    confirmed: Pairs = (),
    declined: Pairs = (),
    aliases: Pairs = (),
) -> Matching:
    """Link the records that belong together; see `records_of` for how they are made.

    weights: instead of the shipped ones. The order of the records makes no difference. confirmed, declined:
    ids of records that a person has linked or parted. aliases: names that are one party; those that confirmed
    links show are learned, too. Raises ValidationError for an id that no record has, for a pair that no
    relation can link, and for one that is both confirmed and declined.
    """
    weights = weights or shipped_weights()
    by_id = {record.id: record for record in sorted(records, key=lambda record: record.id)}
    linked, parted = _decided(confirmed, by_id), _decided(declined, by_id)
    if both := linked & parted:
        raise ValidationError(f"{min(both)!r} are confirmed and declined; they cannot be both")
    certain = [_pair_of(by_id[one], by_id[other], weights) for one, other in sorted(linked)]
    known = _aliases_of(aliases, certain)
    pairs = {pair.key: pair for pair in pairs_of(by_id.values(), weights)}
    pairs |= _pairs_by_aliases(by_id, weights, known)
    # Last, since the aliases that a link has shown are no evidence for that link.
    pairs |= {pair.key: pair for pair in certain}
    both_ways = frozenset((other, one) for one, other in linked) | linked
    links = decide(
        pairs.values(),
        weights,
        confirmed=both_ways,
        declined=parted | frozenset((other, one) for one, other in parted),
    )
    links = with_alias_reasons(links, pairs.values())
    automatic = [link for link in links if link.state == "automatic"]
    suggested = [link for link in links if link.state == "suggested"]
    return Matching(
        links=tuple(links),
        clusters=tuple(clusters_of((link.first_id, link.second_id) for link in automatic)),
        discrepancies=tuple(find_discrepancies(by_id, automatic, suggested=suggested)),
    )


def _decided(pairs: Pairs, ids: Collection[str]) -> frozenset[tuple[str, str]]:
    """The pairs that a person decided about, the smaller id first."""
    sorted_pairs: set[tuple[str, str]] = set()
    for one, other in pairs:
        for id_ in (one, other):
            if id_ not in ids:
                raise ValidationError(
                    f"a decision names {id_!r}, which is no document that can be matched; a payment of a "
                    "bank statement has its number behind the name, such as may.xml#3"
                )
        sorted_pairs.add((min(one, other), max(one, other)))
    return frozenset(sorted_pairs)


def _pair_of(one: MatchRecord, other: MatchRecord, weights: Mapping[Relation, Weights]) -> ScoredPair:
    """The pair of a confirmed link, however unlikely it is."""
    pair = score_pair(one, other, weights, least=-inf)
    if pair is None:
        raise ValidationError(
            f"{one.id!r} and {other.id!r} cannot be linked: documents of these types have no relation"
        )
    return pair


def _aliases_of(names: Pairs, confirmed: Iterable[ScoredPair]) -> PartyAliases:
    """The aliases that are given, and those that confirmed links show."""
    given = [PartyAlias(identity(one), identity(other)) for one, other in names]
    learned = [
        alias for pair in confirmed for alias in aliases_between(pair.relation, pair.first, pair.second)
    ]
    return PartyAliases([*given, *learned])


def _pairs_by_aliases(
    by_id: Mapping[str, MatchRecord], weights: Mapping[Relation, Weights], aliases: PartyAliases
) -> dict[tuple[str, str, Relation], ScoredPair]:
    """The pairs of records with a party that has other names, found and scored under all of them."""
    if not aliases:
        return {}
    index = CandidateIndex(by_id.values())
    found: dict[tuple[str, str, Relation], ScoredPair] = {}
    for record in by_id.values():
        if any(map(aliases.others, parties_of(record))):
            for other in index.find(record, asked=aliases.asked_keys(record)):
                if pair := aliases.score_pair(record, other, weights):
                    found[pair.key] = pair
    return found
