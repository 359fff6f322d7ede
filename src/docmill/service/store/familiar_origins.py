"""Networks and browsers in which a person has signed in before. Needs a transaction of accounts."""

from collections.abc import Collection
from uuid import UUID

from docmill.service.store.database import Conn

_KEPT = 50
"""For each person: of more, those not seen for longest are forgotten."""


async def of_email(conn: Conn, email: str, origins: Collection[bytes]) -> frozenset[bytes]:
    """Those of the origins that are familiar to the account of an e-mail address."""
    cur = await conn.execute(
        """
        SELECT origin
          FROM familiar_origin
          JOIN users ON users.id = user_id
         WHERE email = %(email)s AND origin = ANY(%(origins)s)
        """,
        {"email": email, "origins": list(origins)},
    )
    return frozenset(bytes(origin) for (origin,) in await cur.fetchall())


async def of_user(conn: Conn, user_id: UUID, origin: bytes) -> bool:
    """Return whether an origin is familiar to a person."""
    cur = await conn.execute(
        "SELECT FROM familiar_origin WHERE user_id = %(user_id)s AND origin = %(origin)s",
        {"user_id": user_id, "origin": origin},
    )
    return await cur.fetchone() is not None


async def add(conn: Conn, user_id: UUID, origins: Collection[bytes]) -> None:
    """Note that a person has signed in by these origins."""
    await conn.execute(
        """
        INSERT INTO familiar_origin (user_id, origin)
        SELECT %(user_id)s, unnest(%(origins)s::bytea[])
        ON CONFLICT (user_id, origin) DO UPDATE SET seen_at = now()
        """,
        {"user_id": user_id, "origins": sorted(origins)},
    )
    await conn.execute(
        """
        DELETE FROM familiar_origin
         WHERE user_id = %(user_id)s
           AND origin NOT IN (SELECT origin
                                FROM familiar_origin
                               WHERE user_id = %(user_id)s
                               ORDER BY seen_at DESC
                               LIMIT %(kept)s)
        """,
        {"user_id": user_id, "kept": _KEPT},
    )


async def forget(conn: Conn, user_id: UUID) -> None:
    """Forget all origins of a person."""
    await conn.execute("DELETE FROM familiar_origin WHERE user_id = %(user_id)s", {"user_id": user_id})
