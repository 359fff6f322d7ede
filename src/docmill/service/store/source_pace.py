"""The pace at which items of sources are taken, shared by all processes.

The generic cell rate algorithm (ITU-T I.371): one moment is kept for each limit, from which all follows.
"""

from uuid import UUID

from docmill.service.store.database import Conn


async def reserve(conn: Conn, limited_id: UUID, *, per_s: float, may_wait: bool) -> float:
    """Seconds until an item may be taken: 0 for now. Its place is kept, but if it may not wait and must.

    limited_id: of a source, or of a tenant for all its sources. What came less often before may come at once,
    as much as in a second.
    """
    interval_s = 1 / per_s
    cur = await conn.execute(
        """
        INSERT INTO source_pace AS pace (tenant_id, limited_id, next_at)
        VALUES (current_tenant(), %(id)s, clock_timestamp() + make_interval(secs => %(interval_s)s))
            ON CONFLICT (tenant_id, limited_id) DO UPDATE
           SET next_at = greatest(pace.next_at, clock_timestamp()) + make_interval(secs => %(interval_s)s)
         WHERE %(may_wait)s OR pace.next_at <= clock_timestamp() + make_interval(secs => %(burst_s)s)
        RETURNING extract(epoch FROM next_at - clock_timestamp())::float8 - %(interval_s)s - %(burst_s)s
        """,
        {
            "id": limited_id,
            "interval_s": interval_s,
            "burst_s": max(0.0, 1 - interval_s),
            "may_wait": may_wait,
        },
    )
    row = await cur.fetchone()
    if row is None:
        cur = await conn.execute(
            """
            SELECT extract(epoch FROM next_at - clock_timestamp())::float8 - %(burst_s)s
              FROM source_pace
             WHERE limited_id = %(id)s
            """,
            {"id": limited_id, "burst_s": max(0.0, 1 - interval_s)},
        )
        row = await cur.fetchone()
        return max(0.001, row[0] if row else 0.001)
    return max(0.0, row[0])
