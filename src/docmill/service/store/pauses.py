"""Pauses until a person mends something. They belong to the installation and to no tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from docmill.service.protocol.pause import Cause
from docmill.service.store.database import Conn, storable


@dataclass(frozen=True)
class PauseRow:
    """A part that documents wait for. message: what a person must do. since: when the first worker saw it."""

    part: str
    step: str | None
    code: str
    message: str
    since: datetime


async def record(conn: Conn, worker_id: str, causes: Sequence[Cause]) -> None:
    """Store the present pauses of a worker in its rows. Triggers notify the tenants.

    Rows that no worker has confirmed for some time are removed: whoever wrote them was killed.
    """
    await conn.execute(
        """
        DELETE FROM pause
         WHERE (worker_id = %(worker_id)s AND NOT part = ANY(%(parts)s))
            OR seen_at < clock_timestamp() - interval '3 minutes'
        """,
        {"worker_id": worker_id, "parts": [cause.part for cause in causes]},
    )
    for cause in causes:
        await conn.execute(
            """
            INSERT INTO pause (worker_id, part, step, code, message)
            VALUES (%(worker_id)s, %(part)s, %(step)s, %(code)s, %(message)s)
            ON CONFLICT (worker_id, part) DO UPDATE
               SET step = excluded.step,
                   code = excluded.code,
                   message = excluded.message,
                   seen_at = clock_timestamp()
            """,
            {
                "worker_id": worker_id,
                "part": cause.part,
                "step": cause.step,
                "code": cause.code,
                "message": storable(cause.message),
            },
        )


async def current(conn: Conn) -> list[PauseRow]:
    """The parts that are paused in any worker, each once, the longest paused first."""
    async with conn.cursor(row_factory=class_row(PauseRow)) as cur:
        await cur.execute(
            """
            SELECT part, step, code, message, since
              FROM (
                  SELECT DISTINCT ON (part) part, step, code, message, since
                    FROM pause
                   WHERE seen_at >= clock_timestamp() - interval '3 minutes'
                   ORDER BY part, since
              ) AS first
             ORDER BY since, part
            """
        )
        return await cur.fetchall()
