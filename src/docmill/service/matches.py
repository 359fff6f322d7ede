"""Matches as people see and change them: links of documents, their clusters, and decisions about them."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import inf
from uuid import UUID

from docmill.errors import ChangedError, ValidationError
from docmill.matching.amounts import total
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Discrepancy
from docmill.matching.pairs import in_order, score_pair
from docmill.matching.relations import DUPLICATED, RULES
from docmill.matching.returned_payments import may_be_return
from docmill.matching.scoring import shipped_weights
from docmill.matching.three_way import NOTHING_TO_COMPARE, ThreeWayMatch, three_way_match
from docmill.service.events.wakeups import EventFeed
from docmill.service.match_discrepancies import cluster_discrepancies
from docmill.service.record_matcher import decide_around
from docmill.service.store import bin as bin_store
from docmill.service.store import documents, match_decisions, match_edges, match_links, match_records
from docmill.service.store.database import Conn, Database, lock_matches
from docmill.service.store.match_decisions import Decision, Pair, document_of
from docmill.service.store.match_edges import RELATED
from docmill.service.store.match_links import DocumentSummary, LinkCursor, LinkRow, Status

MOST_RECORDS = 200
"""Records of a cluster that are shown, the nearest to a document first."""
_MOST_CHOICES = 40
"""Ways to link two documents that are offered: a bank statement has hundreds of payments."""


class NotMatchableError(ValidationError):
    """These documents cannot be linked in this way; the message says why."""


@dataclass(frozen=True, slots=True)
class MatchedRecord:
    """A document, or a payment of a bank statement, as an end of a link.

    payment: its number in the statement, from 1. number: of the document, as printed. amount: with tax, if
    that is known. counterparty: of a payment, the other side, by name or account; is_incoming: who paid.
    """

    id: str
    document: DocumentSummary
    payment: int | None = None
    kind: str | None = None
    number: str = ""
    day: date | None = None
    amount: Decimal | None = None
    currency: str = ""
    counterparty: str = ""
    is_incoming: bool | None = None


@dataclass(frozen=True, slots=True)
class DocumentMatches:
    """The links of a document, the likeliest first, and the cluster that it is in.

    own_ids: of its records. links: of its records, without those that others outrank. cluster_links: the
    automatic and confirmed ones between all records of the cluster. records: the ends of all of these.
    is_whole: False if the cluster has more than `MOST_RECORDS` records.
    """

    document_id: UUID
    own_ids: tuple[str, ...]
    links: tuple[LinkRow, ...]
    cluster_links: tuple[LinkRow, ...]
    records: Mapping[str, MatchedRecord]
    discrepancies: tuple[Discrepancy, ...]
    three_way: ThreeWayMatch
    is_whole: bool = True

    def other_id(self, link: LinkRow) -> str:
        """The end of a link of this document that is not its own."""
        return link.second_id if link.first_id in self.own_ids else link.first_id

    def of_status(self, *statuses: Status) -> list[LinkRow]:
        """The links with one of these statuses."""
        return [link for link in self.links if link.status in statuses]


@dataclass(frozen=True, slots=True)
class ListedMatch:
    """A link in the list of all, with its ends and the discrepancies between them."""

    link: LinkRow
    first: MatchedRecord
    second: MatchedRecord
    discrepancies: tuple[Discrepancy, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchPage:
    """A part of the list. follow: the place of the next part, None at the end."""

    matches: tuple[ListedMatch, ...]
    follow: LinkCursor | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to link a document with another one by hand. other: the other end."""

    pair: Pair
    own: MatchedRecord
    other: MatchedRecord


@dataclass(frozen=True)
class Matches:
    """The matches of a vault's tenants. Each change is one transaction, and open pages are told of it."""

    database: Database
    feed: EventFeed

    async def of_document(self, document_id: UUID, *, tenant_id: UUID) -> DocumentMatches:
        """The matches of a document; empty for one that is not there."""
        async with self.database.tenant(tenant_id) as conn:
            own_ids = await _own_ids(conn, document_id, tenant_id=tenant_id)
            touching = await match_links.touching(conn, own_ids, tenant_id=tenant_id)
            cluster_links, suggested, is_whole = await _cluster_of(
                conn, own_ids, touching, tenant_id=tenant_id
            )
            shown = [link for link in touching if link.status != "outranked"]
            ids = _ids_of([*shown, *cluster_links])
            contents = await match_records.of_ids(conn, ids.union(own_ids, _ids_of(suggested)))
            ends = await _ends(conn, ids | set(own_ids), contents)
            members = _ids_of(cluster_links).union(own_ids)
            sellers = {
                record.seller.key
                for id_, record in contents.items()
                if id_ in members and record.kind == "invoice" and record.seller.key
            }
            of_sellers = await match_records.first_invoices_by_account(conn, sellers, tenant_id=tenant_id)
        linked = _ids_of(cluster_links)
        cluster = {id_: record for id_, record in contents.items() if id_ in linked}
        active = [
            link.link for link in cluster_links if link.first_id in cluster and link.second_id in cluster
        ]
        return DocumentMatches(
            document_id,
            tuple(own_ids),
            tuple(link for link in shown if link.first_id in ends and link.second_id in ends),
            tuple(link for link in cluster_links if link.first_id in ends and link.second_id in ends),
            ends,
            tuple(
                await asyncio.to_thread(
                    cluster_discrepancies,
                    members,
                    contents,
                    [*cluster_links, *suggested],
                    of_sellers=of_sellers,
                )
            ),
            # A statement belongs to many deals, which have no sum together.
            NOTHING_TO_COMPARE
            if len(own_ids) > 1
            else await asyncio.to_thread(three_way_match, cluster, active),
            is_whole,
        )

    async def page(
        self,
        *,
        tenant_id: UUID,
        status: Status | None = None,
        relation: str | None = None,
        document_id: UUID | None = None,
        with_discrepancies: bool = False,
        after: LinkCursor | None = None,
        limit: int = 50,
    ) -> MatchPage:
        """A part of the list of all links, the likeliest first.

        with_discrepancies: only links whose records differ. A part may be shorter then than the limit, though
        others follow it.
        """
        async with self.database.tenant(tenant_id) as conn:
            ids = None if document_id is None else await _own_ids(conn, document_id, tenant_id=tenant_id)
            rows = await match_links.page(
                conn,
                tenant_id=tenant_id,
                status=status,
                relation=relation,
                ids=ids,
                after=after,
                limit=limit + 1,
            )
            follow = None
            if len(rows) > limit:
                last = rows[limit - 1]
                follow = LinkCursor(1.0 if last.score is None else last.score, last.pair.id)
            listed = await self._listed(conn, rows[:limit], tenant_id=tenant_id)
        if with_discrepancies:
            listed = [each for each in listed if each.discrepancies]
        return MatchPage(tuple(listed), follow)

    async def count_suggested(self, *, tenant_id: UUID, most: int) -> int:
        """The number of links that a person should decide about, at most `most`."""
        async with self.database.tenant(tenant_id) as conn:
            return await match_links.count_suggested(conn, tenant_id=tenant_id, most=most)

    async def get(self, match_id: UUID, *, tenant_id: UUID) -> ListedMatch | None:
        """The link with this id; None if there is none."""
        async with self.database.tenant(tenant_id) as conn:
            pair = await match_decisions.pair_of(conn, match_id, tenant_id=tenant_id)
            if pair is None:
                return None
            links = await match_links.touching(conn, [pair.first_id], tenant_id=tenant_id)
            own = [link for link in links if link.pair == pair]
            listed = await self._listed(conn, own, tenant_id=tenant_id)
        return listed[0] if listed else None

    async def called(self, beginning: str, *, tenant_id: UUID, limit: int) -> list[ListedMatch]:
        """Up to `limit` links whose id begins so. Raises ValidationError for what can begin no id."""
        between = match_links.ids_beginning_with(beginning)
        if between is None:
            raise ValidationError(
                f"{beginning!r} is no id of a link: give its first {match_links.LEAST_DIGITS} digits or more"
            )
        async with self.database.tenant(tenant_id) as conn:
            rows = await match_links.page(conn, tenant_id=tenant_id, between=between, limit=limit)
            return await self._listed(conn, rows, tenant_id=tenant_id)

    async def choices(
        self, document_id: UUID, other_ids: Collection[UUID], *, tenant_id: UUID
    ) -> Mapping[UUID, Sequence[Choice]]:
        """The ways in which a document can be linked with each of others, the likeliest first."""
        async with self.database.tenant(tenant_id) as conn:
            wanted = {document_id, *other_ids}
            ids = await match_links.record_ids(conn, wanted, tenant_id=tenant_id)
            contents = await match_records.of_ids(conn, ids)
            ends = await _ends(conn, {*ids, *map(str, wanted)}, contents)
            decided = await match_links.touching(
                conn, await _own_ids(conn, document_id, tenant_id=tenant_id), tenant_id=tenant_id
            )
        taken = {link.pair for link in decided if link.is_active}
        own = [contents[id_] for id_ in ids if document_of(id_) == document_id and id_ in contents]
        found: dict[UUID, Sequence[Choice]] = {}
        for other_id in other_ids:
            if other_id == document_id or str(other_id) not in ends or str(document_id) not in ends:
                continue
            others = [contents[id_] for id_ in ids if document_of(id_) == other_id and id_ in contents]
            pairs = [*_possible_pairs(own, others), _related(str(document_id), str(other_id))]
            found[other_id] = [
                Choice(pair, ends[first], ends[second])
                for pair in pairs
                if pair not in taken
                for first, second in [_own_first(pair, document_id)]
            ]
        return found

    async def decide(
        self, match_id: UUID, decision: Decision, *, tenant_id: UUID, decided_by: UUID
    ) -> ListedMatch | None:
        """Confirm or decline a link that was found or made; the link as it is then, None if there is none.

        Decided again in the same way, nothing changes. A declined pair is never linked by the matcher, and a
        confirmed one stays linked, whatever is found later.
        """
        async with self.database.tenant(tenant_id) as conn:
            await lock_matches(conn, tenant_id)
            pair = await match_decisions.pair_of(conn, match_id, tenant_id=tenant_id)
            if pair is not None:
                await _decide(conn, pair, decision, tenant_id=tenant_id, decided_by=decided_by)
        self.feed.announce()
        return await self.get(match_id, tenant_id=tenant_id)

    async def undo(
        self, match_id: UUID, *, tenant_id: UUID, decided_at: datetime | None = None
    ) -> ListedMatch | None:
        """Take the last decision about a link back; the link as it is then, None if nothing is left of it.

        What was decided before holds again, else what the matcher finds. decided_at: of the decision that the
        person saw. Raises ChangedError if nobody has decided about it, or if another decision holds by now.
        """
        async with self.database.tenant(tenant_id) as conn:
            await lock_matches(conn, tenant_id)
            pair = await match_decisions.pair_of(conn, match_id, tenant_id=tenant_id)
            if pair is None:
                return None
            held = await match_decisions.get(conn, pair, tenant_id=tenant_id)
            if held is None:
                raise ChangedError("There is no decision about this link to be undone.")
            if decided_at is not None and held.decided_at != decided_at:
                raise ChangedError("Somebody has decided about this link meanwhile. Look at it as it is now.")
            await match_decisions.undo(conn, pair, held, tenant_id=tenant_id)
            await decide_around(conn, {pair.first_id, pair.second_id}, tenant_id=tenant_id)
        self.feed.announce()
        return await self.get(match_id, tenant_id=tenant_id)

    async def link(self, pair: Pair, *, tenant_id: UUID, decided_by: UUID) -> ListedMatch:
        """Link two records by hand, in either order; linked already, they stay as they are.

        Raises NotMatchableError if they cannot be linked so.
        """
        async with self.database.tenant(tenant_id) as conn:
            await lock_matches(conn, tenant_id)
            pair = await _checked(conn, pair)
            await _decide(conn, pair, "confirmed", tenant_id=tenant_id, decided_by=decided_by)
        self.feed.announce()
        linked = await self.get(pair.id, tenant_id=tenant_id)
        if linked is None:
            raise ChangedError("One of the documents was deleted meanwhile.")
        return linked

    async def _listed(self, conn: Conn, links: Sequence[LinkRow], *, tenant_id: UUID) -> list[ListedMatch]:
        ids = _ids_of(links)
        members = await match_links.cluster_members(conn, ids, tenant_id=tenant_id)
        all_ids = ids.union(*members.values())
        around = await match_links.touching(conn, all_ids, tenant_id=tenant_id)
        around = [link for link in around if link.is_active or link.status == "suggested"]
        contents = await match_records.of_ids(conn, all_ids | _ids_of(around))
        ends = await _ends(conn, ids, contents)
        found = [
            each
            for cluster in set(members.values())
            for each in await asyncio.to_thread(cluster_discrepancies, cluster, contents, around)
        ]
        return [
            ListedMatch(
                link,
                ends[link.first_id],
                ends[link.second_id],
                tuple(each for each in found if _is_between(each, link)) if link.is_active else (),
            )
            for link in links
            if link.first_id in ends and link.second_id in ends
        ]


async def _decide(conn: Conn, pair: Pair, decision: Decision, *, tenant_id: UUID, decided_by: UUID) -> None:
    if not await match_decisions.decide(conn, pair, decision, tenant_id=tenant_id, decided_by=decided_by):
        return
    if decision == "confirmed":
        # The matcher may have given the pair up. What it excludes is decided again only if it is there.
        records = await match_records.of_ids(conn, [pair.first_id, pair.second_id])
        if len(records) == 2:  # noqa: PLR2004  both
            one, other = records.values()
            scored = score_pair(one, other, shipped_weights(), least=-inf)
            if scored is not None and scored.relation == pair.relation:
                await match_edges.add(conn, [scored], tenant_id=tenant_id)
    await decide_around(conn, {pair.first_id, pair.second_id}, tenant_id=tenant_id)


async def _own_ids(conn: Conn, document_id: UUID, *, tenant_id: UUID) -> list[str]:
    """The ids of a document's records, with its own: it can be linked without having a record."""
    ids = await match_links.record_ids(conn, [document_id], tenant_id=tenant_id)
    return list(dict.fromkeys([str(document_id), *ids]))


async def _cluster_of(
    conn: Conn, own_ids: Iterable[str], touching: Sequence[LinkRow], *, tenant_id: UUID
) -> tuple[list[LinkRow], list[LinkRow], bool]:
    """The active links around a document, suggested ones of the same records, and whether these are all."""
    seen = set(own_ids)
    links: dict[Pair, LinkRow] = {}
    newest = [link for link in touching if link.is_active]
    suggested = {link.pair: link for link in touching if link.status == "suggested"}
    while newest:
        links.update((link.pair, link) for link in newest)
        reached = _ids_of(newest) - seen
        if not reached:
            break
        if len(seen) + len(reached) > MOST_RECORDS:
            return list(links.values()), list(suggested.values()), False
        seen |= reached
        around = await match_links.touching(conn, reached, tenant_id=tenant_id)
        newest = [link for link in around if link.is_active and link.pair not in links]
        suggested.update((link.pair, link) for link in around if link.status == "suggested")
    return list(links.values()), list(suggested.values()), True


def _ids_of(links: Iterable[LinkRow]) -> set[str]:
    """The ids of the records at the ends of links."""
    return {id_ for link in links for id_ in (link.first_id, link.second_id)}


async def _ends(
    conn: Conn, ids: Collection[str], contents: Mapping[str, MatchRecord]
) -> dict[str, MatchedRecord]:
    """The ends of links, without those of deleted documents."""
    summaries = await match_links.documents(conn, {document_of(id_) for id_ in ids})
    return {
        id_: _end(id_, summary, contents.get(id_))
        for id_ in ids
        if (summary := summaries.get(document_of(id_))) is not None
    }


def _end(id_: str, summary: DocumentSummary, record: MatchRecord | None) -> MatchedRecord:
    _, _, number = id_.partition("#")
    payment = int(number) if number.isdecimal() else None
    if record is None:
        return MatchedRecord(id_, summary, payment, day=summary.document_date)
    return MatchedRecord(
        id_,
        summary,
        payment,
        record.kind,
        record.number.value if record.number else "",
        record.issue_date or summary.document_date,
        total(record),
        record.currency,
        _counterparty(record),
        record.is_incoming,
    )


def _counterparty(record: MatchRecord) -> str:
    """The other side of a payment, by name or account; empty if it is not known, and of documents."""
    if record.kind != "payment":
        return ""
    party = record.buyer if record.is_incoming else record.seller
    return party.name or party.iban


def _is_between(discrepancy: Discrepancy, link: LinkRow) -> bool:
    one, other = link.first_id, link.second_id
    return (discrepancy.record_id == one and other in discrepancy.other_ids) or (
        discrepancy.record_id == other and one in discrepancy.other_ids
    )


def _possible_pairs(own: Sequence[MatchRecord], others: Sequence[MatchRecord]) -> list[Pair]:
    """The relations that two documents' records can have, those with the nearest amounts first."""
    pairs: list[tuple[Decimal, Pair]] = []
    for one in own:
        for other in others:
            for pair in _relations_of(one, other):
                amounts = total(one), total(other)
                distance = (
                    Decimal("Infinity")
                    if amounts[0] is None or amounts[1] is None
                    else abs(amounts[0] - amounts[1])
                )
                pairs.append((distance, pair))
    pairs.sort(key=lambda each: (each[0], each[1].first_id, each[1].second_id))
    return [pair for _, pair in pairs[:_MOST_CHOICES]]


def _relations_of(one: MatchRecord, other: MatchRecord) -> list[Pair]:
    """The relations that two records can have by their kinds, each in the order that the matcher has.

    Two payments are one booking, told twice, if both go in one direction; else one may return the other.
    """
    if one.kind == other.kind == "payment":
        relation = "payment_to_return" if may_be_return(one, other) else "duplicate"
        first, second = in_order(one, other)
        return [Pair(first.id, second.id, relation)]
    if one.kind == other.kind:
        first, second = in_order(one, other)
        rule = RULES.get((one.kind, other.kind))
        relations = [rule.relation] if rule else []
        if one.kind in DUPLICATED:
            relations.append("duplicate")
        return [Pair(first.id, second.id, relation) for relation in relations]
    if rule := RULES.get((one.kind, other.kind)):
        return [Pair(one.id, other.id, rule.relation)]
    if rule := RULES.get((other.kind, one.kind)):
        return [Pair(other.id, one.id, rule.relation)]
    return []


def _related(one: str, other: str) -> Pair:
    first, second = sorted((one, other))
    return Pair(first, second, RELATED)


def _own_first(pair: Pair, document_id: UUID) -> tuple[str, str]:
    if document_of(pair.first_id) == document_id:
        return pair.first_id, pair.second_id
    return pair.second_id, pair.first_id


async def _checked(conn: Conn, pair: Pair) -> Pair:
    """The pair in the order of its relation. Raises NotMatchableError if there can be no such link."""
    ids = [document_of(pair.first_id), document_of(pair.second_id)]
    is_within_one = ids[0] == ids[1] and pair.relation != "payment_to_return"
    if is_within_one or pair.first_id == pair.second_id:
        raise NotMatchableError("A document cannot be linked with itself. Choose another one.")
    for document_id in ids:
        if await documents.get(conn, document_id) is None:
            async with bin_store.showing_bin(conn):
                is_deleted = await documents.get(conn, document_id) is not None
            raise NotMatchableError(
                "One of the documents is in the bin. Restore it first."
                if is_deleted
                else "There is no such document to link with."
            )
    if pair.relation == RELATED:
        if "#" in pair.first_id or "#" in pair.second_id:
            raise NotMatchableError("A payment cannot be related to a document. Link the whole statement.")
        return _related(*map(str, ids))
    records = await match_records.of_ids(conn, [pair.first_id, pair.second_id])
    if len(records) < 2:  # noqa: PLR2004  both
        summaries = await match_links.documents(conn, set(ids))
        missing = {pair.first_id, pair.second_id} - records.keys()
        if any(summaries[document_of(id_)].document_type == "bank_statement" for id_ in missing):
            raise NotMatchableError(
                "Name a payment of the bank statement by its number, from 1, that it has."
            )
        raise NotMatchableError(
            "One of the documents has no values by which it can be matched. Link them as related instead."
        )
    for possible in _relations_of(records[pair.first_id], records[pair.second_id]):
        if possible.relation == pair.relation:
            return possible
    raise NotMatchableError(
        "Documents of these types cannot have this relation. Choose another one, or link them as related."
    )
