"""Parts of the installation that fail and are left alone for now. They belong to no tenant."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from psycopg.rows import class_row

from docmill.service.store.database import Conn

TOLD_AFTER_S = 900.0
"""People are told of an outage that lasts for so long. Shorter ones end before anybody could do anything."""

_CONFIRMED_WITHIN_S = 180.0
"""Workers confirm an outage each minute; what is older may be over."""

_FORGOTTEN_AFTER_S = 3600.0
"""An outage that no worker has confirmed for so long is over, or nobody needs that part any more."""


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage. code: of the error by which the part failed last. for_s: how long it has lasted."""

    part: str
    code: str
    for_s: float


async def confirm(conn: Conn, codes: Mapping[str, str], *, worker_id: str) -> None:
    """Store the outages that a worker sees. codes: of their errors, by part."""
    parts = list(codes)
    await conn.execute(
        """
        INSERT INTO outage (part, code)
        SELECT part, code FROM unnest(%(parts)s::text[], %(codes)s::text[]) AS seen (part, code)
         ORDER BY part
            ON CONFLICT (part) DO UPDATE
           SET code = excluded.code, seen_at = clock_timestamp()
        """,
        {"parts": parts, "codes": list(codes.values())},
    )
    await conn.execute(
        """
        INSERT INTO outage_sighting (part, worker_id)
        SELECT part, %(worker_id)s FROM unnest(%(parts)s::text[]) AS seen (part)
            ON CONFLICT (part, worker_id) DO UPDATE SET seen_at = clock_timestamp()
        """,
        {"parts": parts, "worker_id": worker_id},
    )


async def withdraw(conn: Conn, parts: Collection[str], *, worker_id: str) -> None:
    """Note that a worker sees these outages no more."""
    # One after the other: of two that withdraw at the same moment, each would count on the other.
    await conn.execute(
        "SELECT FROM outage WHERE part = ANY(%(parts)s) ORDER BY part FOR UPDATE", {"parts": list(parts)}
    )
    await conn.execute(
        "DELETE FROM outage_sighting WHERE worker_id = %(worker_id)s AND part = ANY(%(parts)s)",
        {"worker_id": worker_id, "parts": list(parts)},
    )


async def end(conn: Conn, parts: Collection[str]) -> list[Outage]:
    """Forget outages of parts that no worker leaves alone any more; those of which people were told."""
    async with conn.cursor(row_factory=class_row(Outage)) as cur:
        await cur.execute(
            """
            WITH ended AS (
                DELETE FROM outage
                 WHERE part = ANY(%(parts)s)
                   AND NOT EXISTS (
                       SELECT FROM outage_sighting
                        WHERE outage_sighting.part = outage.part
                          AND outage_sighting.seen_at
                              >= clock_timestamp() - make_interval(secs => %(within_s)s)
                   )
                RETURNING *
            )
            SELECT part, code, extract(epoch FROM clock_timestamp() - since)::float8 AS for_s
              FROM ended
             WHERE told_at IS NOT NULL
             ORDER BY part
            """,
            {"parts": list(parts), "within_s": _CONFIRMED_WITHIN_S},
        )
        return await cur.fetchall()


async def unconfirmed(conn: Conn) -> list[str]:
    """The parts whose outages no worker has confirmed for an hour."""
    cur = await conn.execute(
        "SELECT part FROM outage WHERE seen_at <= clock_timestamp() - make_interval(secs => %(after_s)s)",
        {"after_s": _FORGOTTEN_AFTER_S},
    )
    return [part for (part,) in await cur.fetchall()]


async def take_untold(conn: Conn) -> list[Outage]:
    """The outages of which people must be told now, which counts as done with this transaction."""
    async with conn.cursor(row_factory=class_row(Outage)) as cur:
        await cur.execute(
            """
            UPDATE outage
               SET told_at = clock_timestamp()
             WHERE told_at IS NULL
               AND since <= clock_timestamp() - make_interval(secs => %(after_s)s)
               AND seen_at >= clock_timestamp() - make_interval(secs => %(within_s)s)
            RETURNING part, code, extract(epoch FROM clock_timestamp() - since)::float8 AS for_s
            """,
            {"after_s": TOLD_AFTER_S, "within_s": _CONFIRMED_WITHIN_S},
        )
        return await cur.fetchall()


async def current(conn: Conn) -> list[Outage]:
    """The outages that a worker has confirmed lately, by part."""
    async with conn.cursor(row_factory=class_row(Outage)) as cur:
        await cur.execute(
            """
            SELECT part, code, extract(epoch FROM clock_timestamp() - since)::float8 AS for_s
              FROM outage
             WHERE seen_at >= clock_timestamp() - make_interval(secs => %(within_s)s)
             ORDER BY part
            """,
            {"within_s": _CONFIRMED_WITHIN_S},
        )
        return await cur.fetchall()
