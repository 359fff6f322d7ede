"""Messages that were promised in a transaction and wait to be handed to the queue."""

from collections.abc import Sequence
from uuid import UUID

from docmill.service.store.database import Conn, new_id


async def add(conn: Conn, queue: str, bodies: Sequence[str], *, delay_s: float) -> None:
    """Promise messages, due `delay_s` from now."""
    await conn.execute(
        """
        INSERT INTO outbox (id, queue, body, due_at)
        SELECT id, %(queue)s, body, clock_timestamp() + make_interval(secs => %(delay_s)s)
          FROM unnest(%(ids)s::uuid[], %(bodies)s::text[]) AS promised (id, body)
        """,
        {"queue": queue, "ids": [new_id() for _ in bodies], "bodies": list(bodies), "delay_s": delay_s},
    )


async def take_due(conn: Conn, queue: str, *, limit: int) -> list[tuple[UUID, str]]:
    """Up to `limit` promises that are due, id and body; others pass over them until the transaction ends."""
    cur = await conn.execute(
        """
        SELECT id, body
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
    """The promises are kept."""
    await conn.execute("DELETE FROM outbox WHERE id = ANY(%(ids)s)", {"ids": list(ids)})
