"""The matcher of the vault: candidates from the database, decided offline with all that is around them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING
from uuid import UUID

from docmill.matching import records_of
from docmill.matching.aliases import PartyAliases, parties_of
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

    async def decide(self, document: DocumentToMatch) -> tuple[ScoredPair, ...]:
        """See `Matcher.decide`: the pairs of the document's records with their candidates."""
        tenant_id = document.tenant_id
        pairs: list[ScoredPair] = []
        async with self.database.tenant(tenant_id) as conn:
            for record in await match_records.of_document(conn, document.id):
                aliases = await _aliases_of(conn, record, tenant_id=tenant_id)
                asked = aliases.asked_keys(record)
                others = await match_records.candidates(conn, record, tenant_id=tenant_id, asked=asked)
                # Also those that had asked for this one: with so many candidates, it may not ask for them.
                partners = await match_edges.partners(conn, [record.id], tenant_id=tenant_id)
                confirmed = await match_regions.confirmed_partners(conn, record.id, tenant_id=tenant_id)
                wanted = (partners | confirmed) - {other.id for other in others}
                asking = await match_records.of_ids(conn, wanted)
                pairs.extend(_scored(record, [*others, *asking.values()], aliases, confirmed))
        return tuple({pair.key: pair for pair in pairs}.values())

    def counts(self, decision: tuple[ScoredPair, ...]) -> Counts:
        """See `Matcher.counts`."""
        return {"pairs": len(decision)}

    async def write(
        self,
        conn: Conn,
        document: DocumentToMatch,
        decision: tuple[ScoredPair, ...],
        judgements: Sequence[Judgement] = (),
    ) -> Counts:
        """See `Matcher.write`. judgements: what was answered about the document's uncertain links."""
        tenant_id = document.tenant_id
        await match_questions.replace_judgements(conn, document.id, judgements, tenant_id=tenant_id)
        # A candidate may have been deleted or changed since it was scored: then it has asked for itself.
        ids = {record.id for pair in decision for record in (pair.first, pair.second)}
        there = await match_records.existing(conn, ids)
        scored = [pair for pair in decision if pair.first.id in there and pair.second.id in there]
        scored.extend(await _pairs_since(conn, document, scored))
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
    conn: Conn, document: DocumentToMatch, scored: Sequence[ScoredPair]
) -> list[ScoredPair]:
    """The pairs of a document with those that have asked for it since its own were scored.

    They were matched at the same time, and it may have too many candidates to ask for them.
    """
    tenant_id = document.tenant_id
    records = await match_records.of_document(conn, document.id)
    own = {record.id for record in records}
    known = {record.id for pair in scored for record in (pair.first, pair.second)}
    others = await match_edges.partners(conn, own, tenant_id=tenant_id) - known - own
    if not others:
        return []
    asking = await match_records.of_ids(conn, others)
    pairs: list[ScoredPair] = []
    for record in records:
        aliases = await _aliases_of(conn, record, tenant_id=tenant_id)
        confirmed = await match_regions.confirmed_partners(conn, record.id, tenant_id=tenant_id)
        pairs.extend(_scored(record, asking.values(), aliases, confirmed))
    return pairs


async def _aliases_of(conn: Conn, record: "MatchRecord", *, tenant_id: UUID) -> PartyAliases:
    return PartyAliases(await party_aliases.of_parties(conn, parties_of(record), tenant_id=tenant_id))


def _scored(
    record: "MatchRecord", others: Iterable["MatchRecord"], aliases: PartyAliases, confirmed: Collection[str]
) -> Iterator[ScoredPair]:
    """The pairs of a record with others. confirmed: ids of those that a person has linked to it."""
    for other in others:
        least = -inf if other.id in confirmed else LEAST_LOG_ODDS
        if pair := aliases.score_pair(record, other, shipped_weights(), least=least):
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
