"""Aliases of parties, learned from links that people confirmed although the names were not alike.

A card statement says `AMZN MKTP DE*2X3Y4`, and the invoice is of Amazon EU: once a person has linked the two,
they are one party for the documents of that organisation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from docmill.matching.candidate_keys import KeyKind, asked_keys
from docmill.matching.comparison import Parties, sides_of
from docmill.matching.match_record import MatchRecord, PartyIdentity
from docmill.matching.outcome import Link, Reason, Relation
from docmill.matching.pairs import LEAST_LOG_ODDS, ScoredPair, score_pair
from docmill.matching.parties import (
    SIMILAR_NAME,
    Likeness,
    compare_parties,
    name_keys,
    name_likeness,
    party_key,
)
from docmill.matching.relations import RULES
from docmill.matching.scoring import Weights

MOST_PARTIES = 3
"""Most parties with unlike names that an identity may stand for. With more, it is an intermediary (PayPal) or
a general word (`Lastschrift`), and stands for none."""

_WORDS_OF_TEXT = 3
_SHORTEST_WORD = 3


@dataclass(frozen=True, slots=True)
class PartyAlias:
    """Two identities of one party."""

    first: PartyIdentity
    second: PartyIdentity


def party_of_text(text: str) -> PartyIdentity:
    """The party that the text of a payment stands for: its first words, without those that have digits."""
    words = [word for word in party_key(text).split() if len(word) >= _SHORTEST_WORD and word.isalpha()]
    key = " ".join(words[:_WORDS_OF_TEXT])
    return PartyIdentity(name=key, key=key)


def with_party_of_text(record: MatchRecord) -> MatchRecord:
    """The record; a payment whose other side is not known has that of its text."""
    if record.kind != "payment":
        return record
    party = party_of_text(record.other_values.get("text", ""))
    if record.is_incoming:
        return record if record.buyer else replace(record, buyer=party)
    return record if record.seller else replace(record, seller=party)


def aliases_between(relation: Relation, first: MatchRecord, second: MatchRecord) -> tuple[PartyAlias, ...]:
    """The aliases that follow from a link: parties of one side of the business that do not look the same.

    Not the side of the account's owner: that has only an IBAN, which says nothing of the documents. A payment
    that is returned may come back in the name of the bank.
    """
    if relation == "payment_to_return":
        return ()
    sides = sides_of(relation, with_party_of_text(first), with_party_of_text(second))
    return tuple(
        PartyAlias(*parties)
        for parties in sides
        if all(parties)
        and not (second.kind == "payment" and parties[1] == _owner(second))
        and not _contradict(*parties)
        and compare_parties(*parties) < Likeness.SAME_NAME
    )


def _owner(payment: MatchRecord) -> PartyIdentity:
    return payment.seller if payment.is_incoming else payment.buyer


def lookup_keys(party: PartyIdentity) -> tuple[str, ...]:
    """The keys under which a party's aliases are found: its identifiers, and the beginnings of its words."""
    identifiers = [f"={identifier}" for identifier in (party.vat_id, party.iban) if identifier]
    return (*identifiers, *name_keys(party.key))


def parties_of(record: MatchRecord) -> tuple[PartyIdentity, ...]:
    """The parties of a record that are known, by which it is looked for in aliases."""
    record = with_party_of_text(record)
    return tuple(filter(None, (record.seller, record.buyer)))


class PartyAliases:
    """The aliases that concern some records, and what follows from them."""

    def __init__(self, aliases: Iterable[PartyAlias] = ()) -> None:
        self._aliases = tuple(dict.fromkeys(aliases))

    def __bool__(self) -> bool:
        return bool(self._aliases)

    def others(self, party: PartyIdentity) -> list[PartyIdentity]:
        """The other identities of a party; none of one that stands for too many."""
        others = [
            other
            for alias in self._aliases
            for own, other in ((alias.first, alias.second), (alias.second, alias.first))
            if party and _is(party, own) and not _contradict(party, other)
        ]
        return [] if _count_unlike(others) > MOST_PARTIES else others

    def is_same(self, one: PartyIdentity, other: PartyIdentity) -> bool:
        """True if an alias says that two parties are one; never for those whose VAT identifiers differ."""
        return (
            not _contradict(one, other)
            and any(_is(other, each) for each in self.others(one))
            and any(_is(one, each) for each in self.others(other))
        )

    def asked_keys(self, record: MatchRecord) -> dict[int, KeyKind]:
        """The keys by which a record looks for others, also under the aliases of its parties."""
        keys: dict[int, KeyKind] = {}
        known = with_party_of_text(record)
        for other in self.others(known.seller):
            keys.update(asked_keys(replace(record, seller=other)))
        for other in self.others(known.buyer):
            keys.update(asked_keys(replace(record, buyer=other)))
        return keys | asked_keys(record)

    def score_pair(
        self,
        one: MatchRecord,
        other: MatchRecord,
        weights: Mapping[Relation, Weights],
        *,
        least: float = LEAST_LOG_ODDS,
    ) -> ScoredPair | None:
        """See `docmill.matching.pairs.score_pair`. Parties that are one by an alias count as the same name.

        The second record is scored with the identity that the first has of the party.
        """
        if not self._aliases:
            return score_pair(one, other, weights, least=least)
        rule = RULES.get((one.kind, other.kind))
        if rule is None and (other.kind, one.kind) in RULES:
            one, other = other, one
            rule = RULES[one.kind, other.kind]
        relation: Relation = rule.relation if rule else "duplicate"
        seen_one, seen_other = with_party_of_text(one), with_party_of_text(other)
        known: dict[PartyIdentity, PartyIdentity] = {}
        for party, of_other in sides_of(relation, seen_one, seen_other):
            if compare_parties(party, of_other) < Likeness.SAME_NAME and self.is_same(party, of_other):
                # No identifier: that would be stronger evidence than a name.
                known[of_other] = replace(party, vat_id="", iban="") if party.key else party
        scored = replace(
            other,
            seller=known.get(seen_other.seller, other.seller),
            buyer=known.get(seen_other.buyer, other.buyer),
        )
        pair = score_pair(one, scored, weights, least=least)
        if pair is None:
            return None
        of_id = {one.id: one, other.id: other}
        return replace(pair, first=of_id[pair.first.id], second=of_id[pair.second.id])


NO_ALIASES = PartyAliases()


def with_alias_reasons(links: Iterable[Link], pairs: Iterable[ScoredPair]) -> list[Link]:
    """The links, whose reasons say where a party is the same by an alias alone."""
    by_key = {pair.key: pair for pair in pairs}
    return [
        replace(link, reasons=tuple(_alias_reasons(link.reasons, pair)))
        if (pair := by_key.get((link.first_id, link.second_id, link.relation)))
        else link
        for link in links
    ]


def _alias_reasons(reasons: Iterable[Reason], pair: ScoredPair) -> Iterator[Reason]:
    sides: Mapping[str, Parties] = dict(
        zip(
            ("party", "other_party"),
            sides_of(pair.relation, with_party_of_text(pair.first), with_party_of_text(pair.second)),
            strict=True,
        )
    )
    for reason in reasons:
        name, _, level = reason.code.rpartition("_same_")
        if level and name in sides and compare_parties(*sides[name]) < Likeness.SAME_NAME:
            first, second = sides[name]
            values = {"first": _shown(first), "second": _shown(second)}
            yield Reason(f"{name}_alias", reason.weight, values)
        else:
            yield reason


def _shown(party: PartyIdentity) -> str:
    return party.name or party.iban or party.vat_id


def _is(party: PartyIdentity, other: PartyIdentity) -> bool:
    return not _contradict(party, other) and compare_parties(party, other) >= Likeness.CLOSE_NAME


def _contradict(one: PartyIdentity, other: PartyIdentity) -> bool:
    return bool(one.vat_id and other.vat_id and one.vat_id != other.vat_id)


def _count_unlike(parties: Iterable[PartyIdentity]) -> int:
    """The number of parties that are not alike."""
    unlike: list[PartyIdentity] = []
    for party in parties:
        if not any(
            compare_parties(party, other) >= Likeness.SAME_NAME
            or (party.key and other.key and name_likeness(party.key, other.key) >= SIMILAR_NAME)
            for other in unlike
        ):
            unlike.append(party)
    return len(unlike)
