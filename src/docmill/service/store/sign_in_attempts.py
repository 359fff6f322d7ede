"""Counts of attempts to sign in and of mailed invitations, shared by all web servers.

Needs a transaction of accounts.
"""

from datetime import timedelta

from docmill.service.store.database import Conn

_KEPT = timedelta(hours=1)
"""Of the longest window for which anything is counted."""


async def count(conn: Conn, subject: bytes, *, window: timedelta) -> tuple[int, float]:
    """Count an attempt; how many there are in the window, and the seconds until it ends.

    One statement, so that attempts at the same time are all counted before any of them is tried.
    """
    cur = await conn.execute(
        """
        INSERT INTO sign_in_attempts AS known (subject, attempts)
        VALUES (%(subject)s, 1)
        ON CONFLICT (subject) DO UPDATE
           SET attempts = CASE WHEN known.since > now() - %(window)s THEN known.attempts + 1 ELSE 1 END,
               since = CASE WHEN known.since > now() - %(window)s THEN known.since ELSE now() END
        RETURNING attempts, extract(epoch FROM since + %(window)s - now())::double precision
        """,
        {"subject": subject, "window": window},
    )
    attempts, wait_s = await cur.fetchone() or (0, 0.0)
    return attempts, max(0.0, wait_s)


async def forget(conn: Conn, subjects: list[bytes], *, window: timedelta) -> None:
    """Forget the attempts of subjects, and all that no window holds any more."""
    await conn.execute(
        """
        DELETE FROM sign_in_attempts WHERE subject = ANY(%(subjects)s) OR since <= now() - %(kept)s
        """,
        {"subjects": subjects, "kept": max(window, _KEPT)},
    )
