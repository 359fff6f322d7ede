"""What people decided about pairs of records: that they belong together, or that they do not."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.service.store.database import Conn
from docmill.service.store.match_edges import link_id

Decision = Literal["confirmed", "declined"]

MOST_EARLIER = 20
"""Decisions about a pair that are kept beside the one that holds, to be gone back to."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records and their relation, in its order. relation: one of matching's, or `related`."""

    first_id: str
    second_id: str
    relation: str

    @property
    def id(self) -> UUID:
        """See `link_id`."""
        return link_id(self.first_id, self.second_id, self.relation)

    def values(self, tenant_id: UUID) -> dict[str, Any]:
        """The parameters of a statement about the pair."""
        return {
            "tenant_id": tenant_id,
            "first_id": self.first_id,
            "second_id": self.second_id,
            "relation": self.relation,
        }


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """The decision that holds about a pair. earlier: those that it replaced, the newest last."""

    decision: Decision
    decided_by: UUID | None
    decided_at: datetime
    earlier: list[dict[str, Any]]


def document_of(record_id: str) -> UUID:
    """The document of a record."""
    return UUID(record_id.partition("#")[0])


async def get(conn: Conn, pair: Pair, *, tenant_id: UUID) -> DecisionRow | None:
    """The decision that holds about a pair."""
    async with conn.cursor(row_factory=class_row(DecisionRow)) as cur:
        await cur.execute(
            """
            SELECT decision, decided_by, decided_at, earlier
              FROM match_decision
             WHERE tenant_id = %(tenant_id)s
               AND first_id = %(first_id)s AND second_id = %(second_id)s AND relation = %(relation)s
            """,
            pair.values(tenant_id),
        )
        return await cur.fetchone()


async def decide(conn: Conn, pair: Pair, decision: Decision, *, tenant_id: UUID, decided_by: UUID) -> bool:
    """Store a decision about a pair in place of the one before; False if that was the same.

    The newest `MOST_EARLIER` before it are kept.
    """
    cur = await conn.execute(
        """
        INSERT INTO match_decision AS held (id, tenant_id, first_document_id, second_document_id, first_id,
                                            second_id, relation, decision, decided_by)
        VALUES (%(id)s, %(tenant_id)s, %(first_document_id)s, %(second_document_id)s, %(first_id)s,
                %(second_id)s, %(relation)s, %(decision)s, %(decided_by)s)
            ON CONFLICT (tenant_id, first_id, second_id, relation) DO UPDATE
           SET decision = excluded.decision,
               decided_by = excluded.decided_by,
               decided_at = clock_timestamp(),
               earlier =
                   CASE WHEN jsonb_array_length(held.earlier) < %(most_earlier)s THEN held.earlier
                        ELSE held.earlier - 0 END
                   || jsonb_build_object('decision', held.decision,
                                         'decided_by', held.decided_by, 'decided_at', held.decided_at)
         WHERE held.decision <> excluded.decision
        """,
        {
            **pair.values(tenant_id),
            "id": pair.id,
            "first_document_id": document_of(pair.first_id),
            "second_document_id": document_of(pair.second_id),
            "decision": decision,
            "decided_by": decided_by,
            "most_earlier": MOST_EARLIER,
        },
    )
    return cur.rowcount > 0


async def undo(conn: Conn, pair: Pair, held: DecisionRow, *, tenant_id: UUID) -> None:
    """Put the decision before in place of the one that holds, or none."""
    if not held.earlier:
        await conn.execute(
            """
            DELETE FROM match_decision
             WHERE tenant_id = %(tenant_id)s
               AND first_id = %(first_id)s AND second_id = %(second_id)s AND relation = %(relation)s
            """,
            pair.values(tenant_id),
        )
        return
    *earlier, before = held.earlier
    await conn.execute(
        """
        UPDATE match_decision
           SET decision = %(decision)s, decided_by = %(decided_by)s::uuid,
               decided_at = %(decided_at)s::timestamptz, earlier = %(earlier)s
         WHERE tenant_id = %(tenant_id)s
           AND first_id = %(first_id)s AND second_id = %(second_id)s AND relation = %(relation)s
        """,
        {**pair.values(tenant_id), **before, "earlier": Jsonb(earlier)},
    )


async def follow_order(conn: Conn, pairs: Collection[Pair], *, tenant_id: UUID) -> None:
    """Turn decisions about duplicates round whose order has changed with the dates of the documents.

    pairs: in the order that they have now; those that are no duplicates are left out. Where something was
    decided in that order as well, both decisions stay.
    """
    duplicates = [pair for pair in pairs if pair.relation == "duplicate"]
    if not duplicates:
        return
    # Removed and written anew, so that what was learned from either order is looked at again.
    await conn.execute(
        """
        WITH now AS (
            SELECT id, first_id, second_id
              FROM unnest(%(ids)s::uuid[], %(firsts)s::text[], %(seconds)s::text[])
                   AS pair (id, first_id, second_id)
        ), turned AS (
            DELETE FROM match_decision AS held
             USING now
             WHERE held.tenant_id = %(tenant_id)s AND held.relation = 'duplicate'
               AND held.first_id = now.second_id AND held.second_id = now.first_id
               AND NOT EXISTS (SELECT FROM match_decision AS other
                                WHERE other.tenant_id = %(tenant_id)s AND other.relation = 'duplicate'
                                  AND other.first_id = now.first_id AND other.second_id = now.second_id)
            RETURNING now.id, held.first_document_id, held.second_document_id, now.first_id, now.second_id,
                      held.decision, held.decided_by, held.decided_at, held.earlier
        )
        INSERT INTO match_decision (id, tenant_id, first_document_id, second_document_id, first_id, second_id,
                                    relation, decision, decided_by, decided_at, earlier)
        SELECT id, %(tenant_id)s, second_document_id, first_document_id, first_id, second_id, 'duplicate',
               decision, decided_by, decided_at, earlier
          FROM turned
        """,
        {
            "tenant_id": tenant_id,
            "ids": [pair.id for pair in duplicates],
            "firsts": [pair.first_id for pair in duplicates],
            "seconds": [pair.second_id for pair in duplicates],
        },
    )


async def ids_decided(conn: Conn, document_id: UUID, *, tenant_id: UUID) -> set[str]:
    """The ids of a document's records about which people have decided something."""
    cur = await conn.execute(
        """
        SELECT first_id FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND first_document_id = %(id)s
         UNION
        SELECT second_id FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND second_document_id = %(id)s
        """,
        {"tenant_id": tenant_id, "id": document_id},
    )
    return {id_ for (id_,) in await cur.fetchall()}


async def follow_ids(conn: Conn, moved: Mapping[str, str], *, tenant_id: UUID) -> None:
    """Give the decisions about records that have another id the new one.

    moved: by the ids before; one may be given to one record and taken by another at once.
    """
    cur = await conn.execute(
        """
        DELETE FROM match_decision
         WHERE tenant_id = %(tenant_id)s AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
        RETURNING first_id, second_id, relation, decision, decided_by, decided_at, earlier
        """,
        {"tenant_id": tenant_id, "ids": list(moved)},
    )
    for first_id, second_id, relation, decision, decided_by, decided_at, earlier in await cur.fetchall():
        pair = Pair(moved.get(first_id, first_id), moved.get(second_id, second_id), relation)
        # Written anew, so that what was learned from it is looked at again.
        await conn.execute(
            """
            INSERT INTO match_decision (id, tenant_id, first_document_id, second_document_id, first_id,
                                        second_id, relation, decision, decided_by, decided_at, earlier)
            VALUES (%(id)s, %(tenant_id)s, %(first_document_id)s, %(second_document_id)s, %(first_id)s,
                    %(second_id)s, %(relation)s, %(decision)s, %(decided_by)s, %(decided_at)s, %(earlier)s)
                ON CONFLICT DO NOTHING
            """,
            {
                **pair.values(tenant_id),
                "id": pair.id,
                "first_document_id": document_of(pair.first_id),
                "second_document_id": document_of(pair.second_id),
                "decision": decision,
                "decided_by": decided_by,
                "decided_at": decided_at,
                "earlier": Jsonb(earlier),
            },
        )


async def pair_of(conn: Conn, id_: UUID, *, tenant_id: UUID) -> Pair | None:
    """The pair with this id, of which the matcher or a person said something; None if there is none.

    Those of deleted documents are not there.
    """
    async with conn.cursor(row_factory=class_row(Pair)) as cur:
        await cur.execute(
            """
            SELECT first_id, second_id, relation
              FROM (SELECT first_id, second_id, relation, one.document_id AS first_document_id,
                           other.document_id AS second_document_id
                      FROM match_edge
                      JOIN match_record AS one ON one.id = first_id
                      JOIN match_record AS other ON other.id = second_id
                     WHERE match_edge.tenant_id = %(tenant_id)s AND match_edge.id = %(id)s
                     UNION
                    SELECT first_id, second_id, relation, first_document_id, second_document_id
                      FROM match_decision
                     WHERE tenant_id = %(tenant_id)s AND id = %(id)s) AS pair
              JOIN document AS one ON one.id = first_document_id
              JOIN document AS other ON other.id = second_document_id
             LIMIT 1
            """,
            {"tenant_id": tenant_id, "id": id_},
        )
        return await cur.fetchone()
