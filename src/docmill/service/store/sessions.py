"""Sessions of signed-in people. Everything here needs a transaction of accounts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session and its user. is_due: it was last seen more than a minute ago."""

    id: UUID
    user_id: UUID
    email: str
    name: str
    language: str | None
    tenant_id: UUID | None
    is_due: bool


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as its user sees it in a list."""

    id: UUID
    address: str | None
    user_agent: str | None
    created_at: datetime
    last_seen_at: datetime


async def find(conn: Conn, token_hash: bytes, *, idle: timedelta, longest: timedelta) -> SessionRow | None:
    """The session of a token, unless it was idle or lasts too long."""
    async with conn.cursor(row_factory=class_row(SessionRow)) as cur:
        await cur.execute(
            """
            SELECT sessions.id, user_id, email, name, language, tenant_id,
                   last_seen_at < now() - interval '1 minute' AS is_due
              FROM sessions JOIN users ON users.id = user_id
             WHERE token_hash = %(token_hash)s
               AND last_seen_at > now() - %(idle)s
               AND sessions.created_at > now() - %(longest)s
            """,
            {"token_hash": token_hash, "idle": idle, "longest": longest},
        )
        return await cur.fetchone()


async def begin(
    conn: Conn,
    *,
    token_hash: bytes,
    user_id: UUID,
    tenant_id: UUID | None,
    address: str | None,
    user_agent: str | None,
) -> UUID:
    """Begin a session; its id."""
    session_id = new_id()
    await conn.execute(
        """
        INSERT INTO sessions (id, token_hash, user_id, tenant_id, address, user_agent)
        VALUES (%(id)s, %(token_hash)s, %(user_id)s, %(tenant_id)s, %(address)s, %(user_agent)s)
        """,
        {
            "id": session_id,
            "token_hash": token_hash,
            "user_id": user_id,
            "tenant_id": tenant_id,
            "address": address,
            "user_agent": user_agent,
        },
    )
    return session_id


async def touch(conn: Conn, session_id: UUID) -> None:
    """Note that a session was used just now."""
    await conn.execute(
        "UPDATE sessions SET last_seen_at = clock_timestamp() WHERE id = %(id)s", {"id": session_id}
    )


async def rotate(conn: Conn, session_id: UUID, token_hash: bytes, *, tenant_id: UUID | None) -> None:
    """Give a session another token, after which the old one is worth nothing, and a tenant."""
    await conn.execute(
        """
        UPDATE sessions SET token_hash = %(token_hash)s, tenant_id = %(tenant_id)s WHERE id = %(id)s
        """,
        {"id": session_id, "token_hash": token_hash, "tenant_id": tenant_id},
    )


async def of_user(conn: Conn, user_id: UUID, *, idle: timedelta, longest: timedelta) -> list[SessionSummary]:
    """The sessions of a user that still hold, the one used last first."""
    async with conn.cursor(row_factory=class_row(SessionSummary)) as cur:
        await cur.execute(
            """
            SELECT id, address, user_agent, created_at, last_seen_at
              FROM sessions
             WHERE user_id = %(user_id)s
               AND last_seen_at > now() - %(idle)s
               AND created_at > now() - %(longest)s
             ORDER BY last_seen_at DESC, id
            """,
            {"user_id": user_id, "idle": idle, "longest": longest},
        )
        return await cur.fetchall()


async def end(conn: Conn, session_id: UUID, *, user_id: UUID) -> bool:
    """End a session of a user. False if the user has none of that id."""
    cur = await conn.execute(
        "DELETE FROM sessions WHERE id = %(id)s AND user_id = %(user_id)s",
        {"id": session_id, "user_id": user_id},
    )
    return cur.rowcount > 0


async def end_of_user(
    conn: Conn, user_id: UUID, *, but: UUID | None = None, tenant_id: UUID | None = None
) -> int:
    """End the sessions of a user, all but one; how many ended. tenant_id: only those that work there."""
    cur = await conn.execute(
        """
        DELETE FROM sessions
         WHERE user_id = %(user_id)s
           AND id IS DISTINCT FROM %(but)s
           AND (%(tenant_id)s::uuid IS NULL OR tenant_id = %(tenant_id)s)
        """,
        {"user_id": user_id, "but": but, "tenant_id": tenant_id},
    )
    return cur.rowcount


async def delete_old(conn: Conn, *, idle: timedelta, longest: timedelta) -> None:
    """Delete the sessions that hold no longer."""
    await conn.execute(
        """
        DELETE FROM sessions
         WHERE last_seen_at <= now() - %(idle)s OR created_at <= now() - %(longest)s
        """,
        {"idle": idle, "longest": longest},
    )
