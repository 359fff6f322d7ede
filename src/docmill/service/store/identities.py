"""Identities of users at OpenID providers. Everything here needs a transaction of accounts."""

from uuid import UUID

from docmill.service.store.database import Conn


async def user_of(conn: Conn, issuer: str, subject: str) -> UUID | None:
    """The user whom a provider calls `subject`."""
    cur = await conn.execute(
        "SELECT user_id FROM identities WHERE issuer = %(issuer)s AND subject = %(subject)s",
        {"issuer": issuer, "subject": subject},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def is_known(conn: Conn, issuer: str, user_id: UUID) -> bool:
    """True if a user has signed in through this provider before."""
    cur = await conn.execute(
        "SELECT FROM identities WHERE issuer = %(issuer)s AND user_id = %(user_id)s",
        {"issuer": issuer, "user_id": user_id},
    )
    return cur.rowcount > 0


async def add(conn: Conn, issuer: str, subject: str, user_id: UUID) -> None:
    """Note whom a provider calls `subject`."""
    await conn.execute(
        """
        INSERT INTO identities (issuer, subject, user_id)
        VALUES (%(issuer)s, %(subject)s, %(user_id)s)
        ON CONFLICT (issuer, subject) DO NOTHING
        """,
        {"issuer": issuer, "subject": subject, "user_id": user_id},
    )
