"""The matcher of the vault: candidates from the database, decided offline with all that is around them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING
from uuid import UUID

from docmill.matching import records_of
from docmill.matching.aliases import NO_ALIASES, PartyAliases, parties_of
from docmill.matching.bookings import is_lost_booking, moved_bookings
from docmill.matching.pairs import LEAST_LOG_ODDS, ScoredPair
from docmill.matching.questions import Judgement
from docmill.matching.scoring import shipped_weights
from docmill.resilience.concurrency import off_loop
from docmill.service.match_refinement import links_between
from docmill.service.ports.matching import Counts, DocumentToMatch
from docmill.service.store import (
    match_clusters,
    match_decisions,
    match_edges,
    match_questions,
    match_records,
    match_regions,
    party_aliases,
)
from docmill.service.store.database import Conn, Database, lock_matches

if TYPE_CHECKING:
    from docmill.matching.match_record import MatchRecord

_CHARACTERS_OF_WORD = 6


@dataclass(frozen=True, slots=True)
class RecordDecision:
    """The pairs of a document's records with their candidates. aliases: of the parties of each record."""

    pairs: tuple[ScoredPair, ...]
    aliases: tuple[tuple["MatchRecord", PartyAliases], ...]


@dataclass(frozen=True)
class RecordMatcher:
    """`Matcher` by the shipped weights, without any other machine.

    A document's pairs are scored alone; what follows from them is decided for all records that pairs connect,
    in the transaction that writes it. So the order in which documents come makes no difference.
    """

    database: Database

    async def prepare(self, document: DocumentToMatch) -> Counts:
        """See `Matcher.prepare`. A document that cannot be matched any more has no records."""
        async with self.database.tenant(document.tenant_id) as conn:
            source = await match_records.source_of(conn, document.id)
            records: list[MatchRecord] = []
            if source is not None:
                values = source.document_type, source.data, source.text
                size = len(source.text) / _CHARACTERS_OF_WORD
                records = await off_loop(records_of, str(document.id), *values, size=size)
            await _follow_bookings(conn, document, records)
            await match_records.replace(conn, document.id, records, tenant_id=document.tenant_id)
        return {"records": len(records)}

    async def decide(self, document: DocumentToMatch) -> RecordDecision:
        """See `Matcher.decide`."""
        tenant_id = document.tenant_id
        aliases: list[tuple[MatchRecord, PartyAliases]] = []
        pairs: list[ScoredPair] = []
        async with self.database.tenant(tenant_id) as conn:
            records = await match_records.of_document(conn, document.id)
            partners = await match_regions.partners(
                conn, [record.id for record in records], tenant_id=tenant_id
            )
            for record in records:
                known = await party_aliases.of_parties(conn, parties_of(record), tenant_id=tenant_id)
                of_record, own = PartyAliases(known), partners[record.id]
                aliases.append((record, of_record))
                asked = of_record.asked_keys(record)
                others = await match_records.candidates(conn, record, tenant_id=tenant_id, asked=asked)
                # Also those that had asked for this one: with so many candidates, it may not ask for them.
                asking = await match_records.of_ids(conn, own.ids - {other.id for other in others})
                pairs.extend(_scored(record, [*others, *asking.values()], of_record, own.confirmed))
        return RecordDecision(tuple({pair.key: pair for pair in pairs}.values()), tuple(aliases))

    async def decide_by_rules(self, document: DocumentToMatch) -> None:
        """See `Matcher.decide_by_rules`."""
        del document

    def counts(self, decision: RecordDecision) -> Counts:
        """See `Matcher.counts`."""
        return {"pairs": len(decision.pairs)}

    async def write(
        self,
        conn: Conn,
        document: DocumentToMatch,
        decision: RecordDecision,
        judgements: Sequence[Judgement] = (),
    ) -> Counts:
        """See `Matcher.write`. judgements: what was answered about the document's uncertain links."""
        tenant_id = document.tenant_id
        await match_questions.replace_judgements(conn, document.id, judgements, tenant_id=tenant_id)
        # A candidate may have been deleted or changed since it was scored: then it has asked for itself.
        ids = {record.id for pair in decision.pairs for record in (pair.first, pair.second)}
        there = await match_records.existing(conn, ids)
        scored = [pair for pair in decision.pairs if pair.first.id in there and pair.second.id in there]
        scored.extend(await _pairs_since(conn, decision.aliases, scored, tenant_id=tenant_id))
        concerned = await match_edges.replace_of_document(conn, document.id, scored, tenant_id=tenant_id)
        now = [match_decisions.Pair(*pair.key) for pair in scored]
        await match_decisions.follow_order(conn, now, tenant_id=tenant_id)
        await match_records.remove_gone(conn, document.id)
        return await decide_around(conn, concerned.ids, wholes=concerned.wholes, tenant_id=tenant_id)


async def _follow_bookings(conn: Conn, document: DocumentToMatch, records: Sequence["MatchRecord"]) -> None:
    """Let decisions about bookings of a statement follow these to the places that they have now."""
    decided = await match_decisions.ids_decided(conn, document.id, tenant_id=document.tenant_id)
    if not any("#" in id_ for id_ in decided):
        return
    await lock_matches(conn, document.tenant_id)  # before records are written, as whoever decides does
    before = {record.id: record for record in await match_records.of_document(conn, document.id)}
    lost = frozenset(filter(is_lost_booking, decided))
    moved = moved_bookings(before, {record.id: record for record in records}, lost)
    if decided & moved.keys():
        await match_decisions.follow_ids(conn, moved, tenant_id=document.tenant_id)


async def _pairs_since(
    conn: Conn,
    aliases: Sequence[tuple["MatchRecord", PartyAliases]],
    scored: Sequence[ScoredPair],
    *,
    tenant_id: UUID,
) -> list[ScoredPair]:
    """The pairs of a document with those that have asked for it since its own were scored.

    They were matched at the same time, and it may have too many candidates to ask for them.
    """
    own = {record.id for record, _ in aliases}
    known = {record.id for pair in scored for record in (pair.first, pair.second)}
    partners = await match_regions.partners(conn, own, tenant_id=tenant_id)
    others = {id_ for each in partners.values() for id_ in each.ids} - known - own
    if not others:
        return []
    asking = await match_records.of_ids(conn, others)
    return [
        pair
        for record, of_record in aliases
        for pair in _scored(record, asking.values(), of_record, partners[record.id].confirmed)
    ]


def _scored(
    record: "MatchRecord", others: Iterable["MatchRecord"], aliases: PartyAliases, confirmed: Collection[str]
) -> Iterator[ScoredPair]:
    """The pairs of a record with others. confirmed: ids of those that a person has linked to it.

    Such links have shown aliases, which are no evidence for these links themselves.
    """
    for other in others:
        is_confirmed = other.id in confirmed
        known, least = (NO_ALIASES, -inf) if is_confirmed else (aliases, LEAST_LOG_ODDS)
        if pair := known.score_pair(record, other, shipped_weights(), least=least):
            yield pair


async def decide_around(
    conn: Conn, ids: Collection[str], *, tenant_id: UUID, wholes: Collection[str] | None = None
) -> Counts:
    """Decide again about the regions of these records, and give them their clusters; how many and what links.

    What people said of them counts. wholes: ids of records whose sums may be others; None for these. The
    caller has locked the matches of the tenant.
    """
    changed = await match_regions.find_explained(conn, ids if wholes is None else wholes, tenant_id=tenant_id)
    region = await match_regions.region_of(conn, {*ids, *changed}, tenant_id=tenant_id)
    links, refined = await links_between(conn, region.records, region.pairs, tenant_id=tenant_id)
    await match_edges.settle(conn, region.inside, refined, raw=links, tenant_id=tenant_id)
    await match_clusters.recompute(conn, region.inside, tenant_id=tenant_id)
    states = Counter(link.state for link in refined)
    return {
        "records": len(region.records),
        "links": states["automatic"],
        "suggestions": states["suggested"],
    }
