"""Events that people see, in the order in which readers may rely on them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn


@dataclass(frozen=True)
class EventRow:
    """One visible change. kind: `created`, `queued`, `step`, `finished`, `failed`, `changed`, `deleted`.

    Without a document: `paused`, `resumed`, when something of the installation is.
    """

    id: int
    tenant_id: UUID
    document_id: UUID | None
    kind: str
    at: datetime


async def since(conn: Conn, event_id: int, *, limit: int) -> list[EventRow]:
    """Up to `limit` events after `event_id`, oldest first.

    An event is shown once every transaction that was running when it was written has ended, so that no
    smaller id can appear after a larger one was read.
    """
    async with conn.cursor(row_factory=class_row(EventRow)) as cur:
        await cur.execute(
            """
            SELECT id, tenant_id, document_id, kind, at
              FROM event
             WHERE id > %(event_id)s
               AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
             ORDER BY id
             LIMIT %(limit)s
            """,
            {"event_id": event_id, "limit": limit},
        )
        return await cur.fetchall()


async def last_id(conn: Conn) -> int:
    """The newest event that `since` shows, 0 if there is none."""
    cur = await conn.execute(
        """
        SELECT coalesce(max(id), 0)
          FROM event
         WHERE transaction_id < pg_snapshot_xmin(pg_current_snapshot())
        """
    )
    (last,) = await cur.fetchone() or (0,)
    return last
