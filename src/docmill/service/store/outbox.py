"""The outbox: messages of a transaction that wait to be sent to an outside queue; counts of what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id


async def add(conn: Conn, queue: str, bodies: Sequence[str], *, delay_s: float) -> None:
    """Add messages, due `delay_s` from now. By default of the table, their tenant is the transaction's."""
    await conn.execute(
        """
        INSERT INTO outbox (id, queue, body, due_at)
        SELECT id, %(queue)s, body, clock_timestamp() + make_interval(secs => %(delay_s)s)
          FROM unnest(%(ids)s::uuid[], %(bodies)s::text[]) AS promised (id, body)
        """,
        {"queue": queue, "ids": [new_id() for _ in bodies], "bodies": list(bodies), "delay_s": delay_s},
    )


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A message that is to be sent. tenant_id: None if it was added in a transaction of no tenant."""

    id: UUID
    body: str
    tenant_id: UUID | None


async def take_due(conn: Conn, queue: str, *, limit: int) -> list[UnsentMessage]:
    """Up to `limit` messages that are due; others pass over them until the transaction ends."""
    async with conn.cursor(row_factory=class_row(UnsentMessage)) as cur:
        await cur.execute(
            """
            SELECT id, body, tenant_id
              FROM outbox
             WHERE queue = %(queue)s AND due_at <= now()
             ORDER BY due_at
             LIMIT %(limit)s
               FOR UPDATE SKIP LOCKED
            """,
            {"queue": queue, "limit": limit},
        )
        return await cur.fetchall()


async def remove(conn: Conn, ids: Sequence[UUID]) -> None:
    """Remove messages that were sent."""
    await conn.execute("DELETE FROM outbox WHERE id = ANY(%(ids)s)", {"ids": list(ids)})


@dataclass(frozen=True, slots=True)
class Backlog:
    """The numbers of what waits, by queue. dead_letters: of all tenants; unsent: for an outside queue.

    A queue of which nothing waits may be absent.
    """

    dead_letters: Mapping[str, int]
    unsent: Mapping[str, int]


async def backlog(conn: Conn) -> Backlog:
    """The numbers of what waits now, across tenants."""
    letters = await conn.execute("SELECT queue, letters FROM dead_letters_by_queue()")
    dead_letters = dict(await letters.fetchall())
    promised = await conn.execute("SELECT queue, count(*) FROM outbox GROUP BY queue")
    return Backlog(dead_letters, dict(await promised.fetchall()))
