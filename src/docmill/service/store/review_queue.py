"""The documents that wait for a person, in the order in which they are reviewed."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn

Order = Literal["oldest", "due"]
"""Oldest first; or those first whose day of payment comes first, then the oldest of the others."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a document in the queue.

    number: from 1; None for a document that waits for nobody. total: documents in the queue. previous,
    following: the nearest ones that nobody else reviews now, from end to start if need be; None without any.
    """

    number: int | None
    total: int
    previous: UUID | None
    following: UUID | None


async def count(conn: Conn, *, most: int | None = None) -> int:
    """The number of documents in the queue. most: to count to."""
    cur = await conn.execute(
        "SELECT count(*) FROM (SELECT FROM review_queue LIMIT %(most)s) counted", {"most": most}
    )
    row = await cur.fetchone()
    assert row is not None, "an aggregate has a row"
    return row[0]


async def page(conn: Conn, *, order: Order, offset: int, limit: int) -> list[UUID]:
    """The ids of up to `limit` documents of the queue after the first `offset`."""
    cur = await conn.execute(
        """
        SELECT id
          FROM review_queue
         ORDER BY CASE WHEN %(order)s = 'due' THEN due_date END NULLS LAST, id
        OFFSET %(offset)s LIMIT %(limit)s
        """,
        {"order": order, "offset": offset, "limit": limit},
    )
    return [document_id for (document_id,) in await cur.fetchall()]


async def position(conn: Conn, document_id: UUID, *, user_id: UUID, order: Order) -> Position:
    """The place of a document in the queue, and its neighbours for this person.

    A document that is no longer in it has the neighbours that it would have.
    """
    async with conn.cursor(row_factory=class_row(Position)) as cur:
        await cur.execute(
            """
            WITH queue AS MATERIALIZED (
                SELECT id, CASE WHEN %(order)s = 'due' THEN coalesce(due_date, '~') ELSE '' END AS due
                  FROM review_queue
            ),
            placed AS (
                SELECT id, due, row_number() OVER (ORDER BY due, id) AS number FROM queue
            ),
            own AS (
                SELECT CASE WHEN %(order)s <> 'due' THEN ''
                            WHEN structured_data ->> 'due_date' ~ '^[0-9]{4}-'
                            THEN structured_data ->> 'due_date' ELSE '~' END AS due
                  FROM document WHERE id = %(document_id)s
            ),
            free AS (
                SELECT placed.id, number, (placed.due, placed.id) < (own.due, %(document_id)s) AS is_before
                  FROM placed, own
                 WHERE placed.id <> %(document_id)s
                   AND NOT EXISTS (
                       SELECT FROM review_lock
                        WHERE review_lock.document_id = placed.id
                          AND user_id <> %(user_id)s
                          AND seen_at > clock_timestamp() - interval '2 minutes'
                   )
            )
            SELECT (SELECT number FROM placed WHERE id = %(document_id)s) AS number,
                   (SELECT count(*) FROM placed) AS total,
                   (SELECT id FROM free ORDER BY is_before DESC, number DESC LIMIT 1) AS previous,
                   (SELECT id FROM free ORDER BY is_before, number LIMIT 1) AS following
            """,
            {"order": order, "document_id": document_id, "user_id": user_id},
        )
        row = await cur.fetchone()
    assert row is not None, "scalar subqueries have a row"
    return row


async def first(conn: Conn, *, user_id: UUID, order: Order) -> UUID | None:
    """The first document of the queue that nobody else reviews now."""
    cur = await conn.execute(
        """
        SELECT id
          FROM review_queue
         WHERE NOT EXISTS (
                   SELECT FROM review_lock
                    WHERE review_lock.document_id = review_queue.id
                      AND user_id <> %(user_id)s
                      AND seen_at > clock_timestamp() - interval '2 minutes'
               )
         ORDER BY CASE WHEN %(order)s = 'due' THEN due_date END NULLS LAST, id
         LIMIT 1
        """,
        {"order": order, "user_id": user_id},
    )
    row = await cur.fetchone()
    return row[0] if row else None
