"""The pace at which items of sources are taken, shared by all processes.

The generic cell rate algorithm (ITU-T I.371): one moment is kept for each limit, from which all follows.
"""

from uuid import UUID

from docmill.service.store.database import Conn

_FOR_EVER_S = 1e8
_MORE_S = 0.001
"""Added to the wait of what is refused, in case that time passed between the two statements."""


async def reserve(conn: Conn, limited_id: UUID, *, per_s: float, longest_wait_s: float) -> float:
    """Seconds until an item may be taken: 0 for now. Its place is kept, unless that is longer than it waits.

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
         WHERE pace.next_at <= clock_timestamp() + make_interval(secs => %(burst_s)s + %(longest_s)s)
        RETURNING extract(epoch FROM next_at - clock_timestamp())::float8 - %(interval_s)s - %(burst_s)s
        """,
        {
            "id": limited_id,
            "interval_s": interval_s,
            "burst_s": max(0.0, 1 - interval_s),
            "longest_s": min(longest_wait_s, _FOR_EVER_S),
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
        return max(longest_wait_s + _MORE_S, row[0] if row else 0.0)
    return max(0.0, row[0])
