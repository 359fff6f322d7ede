"""Regions: the records whose links are decided together, since one link bears upon the others.

Two records are connected by a likely pair, by one that a sum of several amounts explains, or by a person who
has linked them. Other pairs cannot become links; of these, only candidates for the sums of a region are read.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from docmill.matching.match_record import MatchRecord
from docmill.matching.pairs import ScoredPair
from docmill.matching.scoring import shipped_weights
from docmill.matching.sums import find_sums, rescorer
from docmill.service.store import match_records
from docmill.service.store.database import Conn
from docmill.service.store.match_edges import RELATED, pairs_of_rows

MOST_AROUND = 200
"""Records whose links are decided together, the nearest first; more where a document has more of its own."""
_LEAST_STEPS = 2
"""Steps away from a document that are always gone: to its rivals."""


@dataclass(frozen=True, slots=True)
class Region:
    """Records whose links are decided together, without those of deleted documents.

    inside: ids of those all of whose connections are in the region; only links between these are settled,
    since others may have rivals that nobody has looked at. pairs: between records of the region, and those to
    other records by which one of these may be a sum.
    """

    inside: frozenset[str]
    records: dict[str, MatchRecord]
    pairs: list[ScoredPair]


@dataclass(frozen=True, slots=True)
class Partners:
    """The ids of the records that a pair or a person connects to one.

    confirmed: those that a person has linked to it, in a relation that the matcher knows.
    """

    ids: set[str]
    confirmed: set[str]


async def region_of(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> Region:
    """The region around some records, with these: about `MOST_AROUND`, the nearest first."""
    found, newest, steps = set(ids), set(ids), 0
    while newest and (steps < _LEAST_STEPS or len(found) < MOST_AROUND):
        around = await partners(conn, newest, tenant_id=tenant_id, connected=True)
        newest = {id_ for each in around.values() for id_ in each.ids} - found
        found |= newest
        steps += 1
    cur = await conn.execute(
        """
        SELECT first_id, second_id, relation, pair
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND first_id = ANY(%(ids)s)
           AND (second_id = ANY(%(ids)s) OR wholes @> ARRAY[first_id])
         UNION ALL
        SELECT first_id, second_id, relation, pair
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND second_id = ANY(%(ids)s)
           AND NOT first_id = ANY(%(ids)s) AND wholes @> ARRAY[second_id]
         ORDER BY first_id, second_id, relation
        """,
        {"tenant_id": tenant_id, "ids": list(found)},
    )
    rows = await cur.fetchall()
    ends = {id_ for first_id, second_id, *_ in rows for id_ in (first_id, second_id)}
    records = await match_records.of_ids(conn, found | ends)
    of_region = {id_: record for id_, record in records.items() if id_ in found}
    return Region(frozenset(found - newest), of_region, pairs_of_rows(rows, records))


async def partners(
    conn: Conn, ids: Collection[str], *, tenant_id: UUID, connected: bool = False
) -> Mapping[str, Partners]:
    """The partners of some records, by the ids of these. connected: without those of unlikely pairs."""
    cur = await conn.execute(
        """
        SELECT first_id, second_id, false
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND first_id = ANY(%(ids)s) AND (connects OR NOT %(connected)s)
         UNION ALL
        SELECT second_id, first_id, false
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND second_id = ANY(%(ids)s) AND (connects OR NOT %(connected)s)
         UNION ALL
        SELECT first_id, second_id, true
          FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND first_id = ANY(%(ids)s) AND decision = 'confirmed'
           AND relation <> %(related)s
         UNION ALL
        SELECT second_id, first_id, true
          FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND second_id = ANY(%(ids)s) AND decision = 'confirmed'
           AND relation <> %(related)s
        """,
        {"tenant_id": tenant_id, "ids": sorted(ids), "connected": connected, "related": RELATED},
    )
    found = {id_: Partners(set(), set()) for id_ in ids}
    for id_, other_id, is_confirmed in await cur.fetchall():
        found[id_].ids.add(other_id)
        if is_confirmed:
            found[id_].confirmed.add(other_id)
    return found


async def find_explained(conn: Conn, wholes: Collection[str], *, tenant_id: UUID) -> set[str]:
    """Find the sums of some records anew; the ids of all records of which one has begun or ended.

    Only a sum that adds up in one way counts. Pairs that a person has parted are in none.
    """
    if not wholes:
        return set()
    cur = await conn.execute(
        """
        SELECT first_id, second_id, relation, pair, explained,
               EXISTS (SELECT FROM match_decision
                        WHERE match_decision.tenant_id = match_edge.tenant_id
                          AND match_decision.first_id = match_edge.first_id
                          AND match_decision.second_id = match_edge.second_id
                          AND decision = 'declined' AND match_decision.relation <> %(related)s) AS is_parted
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s
           AND (first_id = ANY(%(wholes)s) OR second_id = ANY(%(wholes)s))
           AND wholes && %(wholes)s::text[]
         ORDER BY first_id, second_id, relation
        """,
        {"tenant_id": tenant_id, "wholes": sorted(wholes), "related": RELATED},
    )
    rows = await cur.fetchall()
    ends = {id_ for first_id, second_id, *_ in rows for id_ in (first_id, second_id)}
    unparted = [row[:4] for row in rows if not row[5]]
    pairs = pairs_of_rows(unparted, await match_records.of_ids(conn, ends))
    explained: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for group in find_sums(pairs, rescorer(shipped_weights()), wholes=wholes):
        if group.is_only:
            for pair in group.pairs:
                explained[pair.key].add(group.whole_id)
    changed: list[tuple[tuple[str, str, str], list[str]]] = []
    for first_id, second_id, relation, _, before, _ in rows:
        key = first_id, second_id, relation
        now = explained[key] | (set(before) - set(wholes))
        if now != set(before):
            changed.append((key, sorted(now)))
    await _store_explained(conn, changed, tenant_id=tenant_id)
    return {id_ for (first_id, second_id, _), _ in changed for id_ in (first_id, second_id)}


async def _store_explained(
    conn: Conn, changed: Collection[tuple[tuple[str, str, str], list[str]]], *, tenant_id: UUID
) -> None:
    if not changed:
        return
    await conn.execute(
        """
        UPDATE match_edge
           SET explained = array_remove(ARRAY[CASE WHEN is_first THEN match_edge.first_id END,
                                              CASE WHEN is_second THEN match_edge.second_id END], NULL)
          FROM unnest(%(firsts)s::text[], %(seconds)s::text[], %(relations)s::text[], %(is_first)s::bool[],
                      %(is_second)s::bool[])
               AS changed (first_id, second_id, relation, is_first, is_second)
         WHERE match_edge.tenant_id = %(tenant_id)s
           AND match_edge.first_id = changed.first_id
           AND match_edge.second_id = changed.second_id
           AND match_edge.relation = changed.relation
        """,
        {
            "tenant_id": tenant_id,
            "firsts": [key[0] for key, _ in changed],
            "seconds": [key[1] for key, _ in changed],
            "relations": [key[2] for key, _ in changed],
            "is_first": [key[0] in ids for key, ids in changed],
            "is_second": [key[1] in ids for key, ids in changed],
        },
    )
