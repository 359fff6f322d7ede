"""Links between records that are matched: what the matcher found, and what people decided."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from docmill.matching.amounts import AmountComparison
from docmill.matching.clusters import clusters_of
from docmill.matching.evidence import LEVELS, Evidence
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link, Reason, Relation
from docmill.matching.pairs import ScoredPair, score_pair
from docmill.matching.scoring import shipped_weights
from docmill.matching.version import MATCHING_VERSION
from docmill.service.store.database import Conn, storable_values

MOST_AROUND = 200
"""Records whose links are decided together: those that pairs connect to a document, the nearest first."""

RELATED = "related"
"""The relation of documents that a person links, and that have no other."""

_CLUSTERS = UUID("6f2c1f6e-3d0b-5a37-9a0a-6a1d3c1a7b52")
"""Namespace of the ids of clusters."""
_LINKS = UUID("0b8de1d4-5c0e-5f0a-9d43-52a1f2f0c9be")
"""Namespace of the ids of links."""
_AMOUNT = TypeAdapter(AmountComparison)
_REASONS = TypeAdapter(tuple[Reason, ...])


async def replace_of_document(
    conn: Conn, document_id: UUID, pairs: Sequence[ScoredPair], *, tenant_id: UUID
) -> set[str]:
    """Store the pairs of a document's records instead of those before; the ids of all records concerned."""
    cur = await conn.execute(
        "SELECT id, is_gone FROM match_record WHERE tenant_id = %(tenant_id)s AND document_id = %(id)s",
        {"tenant_id": tenant_id, "id": document_id},
    )
    own = dict(await cur.fetchall())
    cur = await conn.execute(
        """
        DELETE FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
        RETURNING first_id, second_id
        """,
        {"tenant_id": tenant_id, "ids": list(own)},
    )
    concerned = {id_ for row in await cur.fetchall() for id_ in row}
    await add(conn, pairs, tenant_id=tenant_id)
    concerned.update(id_ for id_, is_gone in own.items() if not is_gone)
    return concerned | {record.id for pair in pairs for record in (pair.first, pair.second)}


async def add(conn: Conn, pairs: Sequence[ScoredPair], *, tenant_id: UUID) -> None:
    """Store pairs, undecided; those that are there stay as they are."""
    await conn.execute(
        """
        INSERT INTO match_edge (id, tenant_id, first_id, second_id, relation, pair)
        SELECT id, %(tenant_id)s, first_id, second_id, relation, pair
          FROM unnest(%(ids)s::uuid[], %(firsts)s::text[], %(seconds)s::text[], %(relations)s::text[],
                      %(pairs)s::jsonb[]) AS made (id, first_id, second_id, relation, pair)
            ON CONFLICT DO NOTHING
        """,
        {
            "tenant_id": tenant_id,
            "ids": [link_id(*pair.key) for pair in pairs],
            "firsts": [pair.first.id for pair in pairs],
            "seconds": [pair.second.id for pair in pairs],
            "relations": [pair.relation for pair in pairs],
            "pairs": [Jsonb(_content(pair)) for pair in pairs],
        },
    )


async def partners(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> set[str]:
    """The records that pairs connect to these."""
    cur = await conn.execute(
        """
        SELECT second_id FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND first_id = ANY(%(ids)s)
         UNION
        SELECT first_id FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND second_id = ANY(%(ids)s)
        """,
        {"tenant_id": tenant_id, "ids": sorted(ids)},
    )
    return {id_ for (id_,) in await cur.fetchall()}


async def confirmed_partners(conn: Conn, record_id: str, *, tenant_id: UUID) -> set[str]:
    """The records that a person has linked to this one, in a relation that the matcher knows."""
    cur = await conn.execute(
        """
        SELECT second_id FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND first_id = %(id)s AND decision = 'confirmed'
           AND relation <> %(related)s
         UNION
        SELECT first_id FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND second_id = %(id)s AND decision = 'confirmed'
           AND relation <> %(related)s
        """,
        {"tenant_id": tenant_id, "id": record_id, "related": RELATED},
    )
    return {id_ for (id_,) in await cur.fetchall()}


async def around(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> set[str]:
    """The records that pairs connect to some, with these: at most `MOST_AROUND`, the nearest first."""
    found, newest = set(ids), set(ids)
    while newest and len(found) < MOST_AROUND:
        newest = await partners(conn, newest, tenant_id=tenant_id) - found
        found |= newest
    return found


async def pairs_between(conn: Conn, records: dict[str, MatchRecord], *, tenant_id: UUID) -> list[ScoredPair]:
    """The pairs both of whose records are among these."""
    cur = await conn.execute(
        """
        SELECT first_id, second_id, relation, pair
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND first_id = ANY(%(ids)s) AND second_id = ANY(%(ids)s)
         ORDER BY first_id, second_id, relation
        """,
        {"tenant_id": tenant_id, "ids": list(records)},
    )
    pairs = (
        _pair(records[first_id], records[second_id], relation, content)
        for first_id, second_id, relation, content in await cur.fetchall()
    )
    return [pair for pair in pairs if pair is not None]


async def settle(
    conn: Conn,
    ids: Collection[str],
    links: Sequence[Link],
    *,
    tenant_id: UUID,
    raw: Sequence[Link] | None = None,
) -> None:
    """Store the decision about the pairs between records: which are links, and how sure they are.

    raw: the links before they were refined by what the tenant has taught, whose scores are kept, too.
    """
    raw_scores = {
        (link.first_id, link.second_id, link.relation): link.score for link in (links if raw is None else raw)
    }
    await conn.execute(
        """
        UPDATE match_edge
           SET state = decided.state, score = decided.score, raw_score = decided.raw_score,
               reasons = coalesce(decided.reasons, '[]')
          FROM match_edge AS edge
          LEFT JOIN unnest(%(firsts)s::text[], %(seconds)s::text[], %(relations)s::text[], %(states)s::text[],
                           %(scores)s::float8[], %(raw_scores)s::float8[], %(reasons)s::jsonb[])
                    AS decided (first_id, second_id, relation, state, score, raw_score, reasons)
                 ON decided.first_id = edge.first_id AND decided.second_id = edge.second_id
                AND decided.relation = edge.relation
         WHERE match_edge.id = edge.id
           AND edge.tenant_id = %(tenant_id)s
           AND edge.first_id = ANY(%(ids)s) AND edge.second_id = ANY(%(ids)s)
           AND (edge.state, edge.score, edge.raw_score, edge.reasons) IS DISTINCT FROM
               (decided.state, decided.score, decided.raw_score, coalesce(decided.reasons, '[]'))
        """,
        {
            "tenant_id": tenant_id,
            "ids": list(ids),
            "firsts": [link.first_id for link in links],
            "seconds": [link.second_id for link in links],
            "relations": [link.relation for link in links],
            "states": [link.state for link in links],
            "scores": [link.score for link in links],
            "raw_scores": [raw_scores[link.first_id, link.second_id, link.relation] for link in links],
            "reasons": [Jsonb(storable_values(_REASONS.dump_python(link.reasons))) for link in links],
        },
    )


async def decided(
    conn: Conn, ids: Collection[str], decision: Literal["confirmed", "declined"], *, tenant_id: UUID
) -> frozenset[tuple[str, str]]:
    """The pairs of these records that a person has linked or parted, in a relation that the matcher knows."""
    cur = await conn.execute(
        """
        SELECT first_id, second_id
          FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND decision = %(decision)s AND relation <> %(related)s
           AND first_id = ANY(%(ids)s) AND second_id = ANY(%(ids)s)
        """,
        {"tenant_id": tenant_id, "decision": decision, "ids": list(ids), "related": RELATED},
    )
    return frozenset(await cur.fetchall())  # type: ignore[arg-type]


async def recompute_clusters(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> None:
    """Give these records, and all of their clusters, the clusters that links now connect.

    Connected components over automatic and confirmed links. The id of a cluster follows from its first
    record, so that it is the same in whatever order its documents were matched.
    """
    touched = await _with_clusters(conn, ids, tenant_id=tenant_id)
    connected: set[tuple[str, str]] = set()
    newest = touched
    while newest:
        links = await _links_of(conn, newest, tenant_id=tenant_id)
        connected |= links
        newest = {id_ for link in links for id_ in link} - touched
        touched = touched | newest
    cluster_of = {id_: _cluster_id(cluster) for cluster in clusters_of(connected) for id_ in cluster}
    await conn.execute(
        """
        UPDATE match_record
           SET cluster_id = wanted.cluster_id
          FROM unnest(%(ids)s::text[], %(clusters)s::uuid[]) AS wanted (id, cluster_id)
         WHERE match_record.id = wanted.id
           AND match_record.tenant_id = %(tenant_id)s
           AND match_record.cluster_id IS DISTINCT FROM wanted.cluster_id
        """,
        {
            "tenant_id": tenant_id,
            "ids": sorted(touched),
            "clusters": [cluster_of.get(id_) for id_ in sorted(touched)],
        },
    )
    await conn.execute(
        """
        WITH changed AS (
            SELECT document.id, match_record.cluster_id
              FROM match_record
              JOIN document ON document.id = document_id
             WHERE match_record.tenant_id = %(tenant_id)s
               AND match_record.id = ANY(%(ids)s)
               AND match_record.id = document_id::text
               AND document.cluster_id IS DISTINCT FROM match_record.cluster_id
             ORDER BY document.id
               FOR NO KEY UPDATE OF document
        )
        UPDATE document
           SET cluster_id = changed.cluster_id
          FROM changed
         WHERE document.id = changed.id
        """,
        {"tenant_id": tenant_id, "ids": sorted(touched)},
    )


async def _with_clusters(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> set[str]:
    """These records and all that share a cluster with one of them."""
    cur = await conn.execute(
        """
        SELECT other.id
          FROM match_record
          JOIN match_record AS other USING (tenant_id, cluster_id)
         WHERE tenant_id = %(tenant_id)s AND match_record.id = ANY(%(ids)s)
        """,
        {"tenant_id": tenant_id, "ids": list(ids)},
    )
    return {id_ for (id_,) in await cur.fetchall()} | set(ids)


async def _links_of(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> set[tuple[str, str]]:
    """The automatic and confirmed links of these records."""
    cur = await conn.execute(
        """
        SELECT first_id, second_id
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND state = 'automatic'
           AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
         UNION
        SELECT first_id, second_id
          FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND decision = 'confirmed'
           AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
        """,
        {"tenant_id": tenant_id, "ids": list(ids)},
    )
    return {(first_id, second_id) for first_id, second_id in await cur.fetchall()}


def link_id(first_id: str, second_id: str, relation: str) -> UUID:
    """The id of a link, which follows from its records: it is the same whenever they are matched again."""
    return uuid5(_LINKS, f"{first_id} {second_id} {relation}")


def _cluster_id(cluster: Sequence[str]) -> UUID:
    """The id of a cluster, which follows from that of its first record."""
    return uuid5(_CLUSTERS, cluster[0])


def _pair(
    first: MatchRecord, second: MatchRecord, relation: Relation, content: Mapping[str, Any]
) -> ScoredPair | None:
    """The pair as it was stored; scored anew if that was by another version of matching."""
    if content.get("version") != MATCHING_VERSION:
        return score_pair(first, second, shipped_weights())
    return ScoredPair(
        first,
        second,
        relation,
        _evidence(content["evidence"]),
        _AMOUNT.validate_python(content["amount"]),
        content["log_odds"],
    )


def _content(pair: ScoredPair) -> dict[str, Any]:
    return {
        "version": MATCHING_VERSION,
        "evidence": [int(level) for level in pair.evidence],
        "amount": storable_values(_AMOUNT.dump_python(pair.amount, mode="json")),
        "log_odds": pair.log_odds,
    }


def _evidence(levels: Sequence[int]) -> Evidence:
    return Evidence(*(kind(level) for kind, level in zip(LEVELS, levels, strict=True)))  # type: ignore[arg-type]
