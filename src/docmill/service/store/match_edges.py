"""Links between records that are matched: what the matcher found, and what people decided."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from docmill.matching.amounts import AmountComparison
from docmill.matching.evidence import LEVELS, Evidence
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link, Reason, Relation
from docmill.matching.pairs import LEAST_LOG_ODDS, ScoredPair, score_pair
from docmill.matching.scoring import shipped_weights
from docmill.matching.sums import wholes_of
from docmill.matching.version import MATCHING_VERSION
from docmill.service.store.database import Conn, storable_values

RELATED = "related"
"""The relation of documents that a person links, and that have no other."""


@dataclass(frozen=True, slots=True)
class Concerned:
    """What is to be decided again after pairs were replaced.

    ids: of records whose links may be others. wholes: of records whose sums may be others.
    """

    ids: set[str]
    wholes: set[str]


@dataclass(frozen=True, slots=True)
class DecidedPairs:
    """Pairs of records that people have linked, and those that they have parted."""

    confirmed: frozenset[tuple[str, str]]
    declined: frozenset[tuple[str, str]]


_LINKS = UUID("0b8de1d4-5c0e-5f0a-9d43-52a1f2f0c9be")
"""Namespace of the ids of links."""
_AMOUNT = TypeAdapter(AmountComparison)
_REASONS = TypeAdapter(tuple[Reason, ...])


async def replace_of_document(
    conn: Conn, document_id: UUID, pairs: Sequence[ScoredPair], *, tenant_id: UUID
) -> Concerned:
    """Store the pairs of a document's records instead of those before; the same ones stay as they are."""
    cur = await conn.execute(
        "SELECT id, is_gone FROM match_record WHERE tenant_id = %(tenant_id)s AND document_id = %(id)s",
        {"tenant_id": tenant_id, "id": document_id},
    )
    own = dict(await cur.fetchall())
    cur = await conn.execute(
        """
        SELECT id, first_id, second_id, connects, wholes, pair
          FROM match_edge
         WHERE tenant_id = %(tenant_id)s AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
        """,
        {"tenant_id": tenant_id, "ids": list(own)},
    )
    wanted = {link_id(*pair.key): (sorted(wholes_of(pair)), _content(pair)) for pair in pairs}
    changed: list[UUID] = []
    concerned = Concerned({id_ for id_, is_gone in own.items() if not is_gone}, set())
    for id_, first_id, second_id, connects, wholes, content in await cur.fetchall():
        if wanted.get(id_) != (sorted(wholes), content):
            changed.append(id_)
        concerned.wholes.update(wholes)
        if connects:
            concerned.ids.update((first_id, second_id))
    if changed:
        await conn.execute(
            "DELETE FROM match_edge WHERE tenant_id = %(tenant_id)s AND id = ANY(%(ids)s)",
            {"tenant_id": tenant_id, "ids": changed},
        )
    await add(conn, pairs, tenant_id=tenant_id)
    for pair in pairs:
        concerned.wholes.update(wholes_of(pair))
    return concerned


async def add(conn: Conn, pairs: Sequence[ScoredPair], *, tenant_id: UUID) -> None:
    """Store pairs, undecided; those that are there stay as they are."""
    wholes = [wholes_of(pair) for pair in pairs]
    await conn.execute(
        """
        INSERT INTO match_edge (id, tenant_id, first_id, second_id, relation, pair, is_likely, wholes)
        SELECT id, %(tenant_id)s, first_id, second_id, relation, pair, is_likely,
               array_remove(ARRAY[CASE WHEN is_whole_first THEN first_id END,
                                  CASE WHEN is_whole_second THEN second_id END], NULL)
          FROM unnest(%(ids)s::uuid[], %(firsts)s::text[], %(seconds)s::text[], %(relations)s::text[],
                      %(pairs)s::jsonb[], %(likely)s::bool[], %(whole_firsts)s::bool[],
                      %(whole_seconds)s::bool[])
               AS made (id, first_id, second_id, relation, pair, is_likely, is_whole_first, is_whole_second)
            ON CONFLICT DO NOTHING
        """,
        {
            "tenant_id": tenant_id,
            "ids": [link_id(*pair.key) for pair in pairs],
            "firsts": [pair.first.id for pair in pairs],
            "seconds": [pair.second.id for pair in pairs],
            "relations": [pair.relation for pair in pairs],
            "pairs": [Jsonb(_content(pair)) for pair in pairs],
            "likely": [pair.log_odds > LEAST_LOG_ODDS for pair in pairs],
            "whole_firsts": [pair.first.id in ids for pair, ids in zip(pairs, wholes, strict=True)],
            "whole_seconds": [pair.second.id in ids for pair, ids in zip(pairs, wholes, strict=True)],
        },
    )


def pairs_of_rows(
    rows: Iterable[tuple[str, str, Relation, Mapping[str, Any]]], records: Mapping[str, MatchRecord]
) -> list[ScoredPair]:
    """The pairs of rows; without those one of whose records is not among these."""
    read = (
        _pair(records[first_id], records[second_id], relation, content)
        for first_id, second_id, relation, content in rows
        if first_id in records and second_id in records
    )
    return [pair for pair in read if pair is not None]


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


async def decided(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> DecidedPairs:
    """What people decided about pairs of these records, in a relation that the matcher knows.

    Duplicates in both orders: which of them is the first follows from their dates, which may be corrected.
    """
    cur = await conn.execute(
        """
        SELECT first_id, second_id, decision, relation = 'duplicate'
          FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND relation <> %(related)s
           AND first_id = ANY(%(ids)s) AND second_id = ANY(%(ids)s)
        """,
        {"tenant_id": tenant_id, "ids": list(ids), "related": RELATED},
    )
    pairs: dict[str, set[tuple[str, str]]] = {"confirmed": set(), "declined": set()}
    for first_id, second_id, decision, is_duplicate in await cur.fetchall():
        pairs[decision].add((first_id, second_id))
        if is_duplicate:
            pairs[decision].add((second_id, first_id))
    return DecidedPairs(frozenset(pairs["confirmed"]), frozenset(pairs["declined"]))


def link_id(first_id: str, second_id: str, relation: str) -> UUID:
    """The id of a link, which follows from its records: it is the same whenever they are matched again."""
    return uuid5(_LINKS, f"{first_id} {second_id} {relation}")


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
