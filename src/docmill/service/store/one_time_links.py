"""Links that work once: for the first account, for invitations and for new passwords.

All but `invitations` and `delete` needs a transaction of accounts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id
from docmill.service.store.memberships import Role

Kind = Literal["first", "invitation", "password"]


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link. tenant_id, role, email: of an invitation; user_id: whose password it sets.

    is_mailed: only a mail to `email` has the link.
    """

    id: UUID
    kind: Kind
    tenant_id: UUID | None
    role: Role | None
    email: str | None
    user_id: UUID | None
    created_by: UUID | None
    created_at: datetime
    expires_at: datetime
    is_mailed: bool


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """What an invitation leads into. email: the only address that can accept it; None for any.

    is_mailed: only a mail to that address has the link. api_key_id: the key that made it, and with which it
    ends.
    """

    tenant_id: UUID
    role: Role
    email: str | None
    created_by: UUID
    is_mailed: bool = False
    api_key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class InvitationRow:
    """An invitation that nobody has accepted yet."""

    id: UUID
    role: Role
    email: str | None
    created_at: datetime
    expires_at: datetime


async def add(
    conn: Conn,
    *,
    token_hash: bytes,
    kind: Kind,
    lifetime: timedelta,
    invitation: NewInvitation | None = None,
    user_id: UUID | None = None,
) -> UUID:
    """Add a link; its id. Links whose time is over are deleted."""
    await conn.execute("DELETE FROM one_time_links WHERE expires_at <= now()")
    link_id = new_id()
    await conn.execute(
        """
        INSERT INTO one_time_links
            (id, token_hash, kind, tenant_id, role, email, is_mailed, user_id, created_by, api_key_id,
             expires_at)
        VALUES (%(id)s, %(token_hash)s, %(kind)s, %(tenant_id)s, %(role)s, %(email)s, %(is_mailed)s,
                %(user_id)s, %(created_by)s, %(api_key_id)s,
                least(clock_timestamp() + %(lifetime)s,
                      (SELECT expires_at FROM api_keys WHERE id = %(api_key_id)s)))
        """,
        {
            "id": link_id,
            "token_hash": token_hash,
            "kind": kind,
            "tenant_id": invitation and invitation.tenant_id,
            "role": invitation and invitation.role,
            "email": invitation and invitation.email,
            "is_mailed": invitation is not None and invitation.is_mailed,
            "user_id": user_id,
            "created_by": invitation and invitation.created_by,
            "api_key_id": invitation and invitation.api_key_id,
            "lifetime": lifetime,
        },
    )
    return link_id


async def find(conn: Conn, token_hash: bytes, kind: Kind) -> LinkRow | None:
    """The link of a token, if it still works."""
    async with conn.cursor(row_factory=class_row(LinkRow)) as cur:
        await cur.execute(
            """
            SELECT id, kind, tenant_id, role, email, user_id, created_by, created_at, expires_at,
                   is_mailed
              FROM one_time_links
             WHERE token_hash = %(token_hash)s AND kind = %(kind)s AND expires_at > now()
            """,
            {"token_hash": token_hash, "kind": kind},
        )
        return await cur.fetchone()


async def take(conn: Conn, token_hash: bytes, kind: Kind) -> LinkRow | None:
    """Use a link up; None if it does not work (any more). Of several at once, one gets it."""
    async with conn.cursor(row_factory=class_row(LinkRow)) as cur:
        await cur.execute(
            """
            DELETE FROM one_time_links
             WHERE token_hash = %(token_hash)s AND kind = %(kind)s AND expires_at > now()
            RETURNING id, kind, tenant_id, role, email, user_id, created_by, created_at, expires_at,
                      is_mailed
            """,
            {"token_hash": token_hash, "kind": kind},
        )
        return await cur.fetchone()


async def delete_of_kind(conn: Conn, kind: Kind, *, user_id: UUID | None = None) -> None:
    """Delete the links of a kind, or those of them that are for a user."""
    await conn.execute(
        """
        DELETE FROM one_time_links
         WHERE kind = %(kind)s AND (%(user_id)s::uuid IS NULL OR user_id = %(user_id)s)
        """,
        {"kind": kind, "user_id": user_id},
    )


async def delete_invitations_by(conn: Conn, tenant_id: UUID, user_id: UUID) -> None:
    """Withdraw the open invitations into a tenant that a user has made."""
    await conn.execute(
        """
        DELETE FROM one_time_links
         WHERE kind = 'invitation' AND tenant_id = %(tenant_id)s AND created_by = %(user_id)s
        """,
        {"tenant_id": tenant_id, "user_id": user_id},
    )


async def invitations(conn: Conn) -> list[InvitationRow]:
    """The open invitations of the transaction's tenant, the newest first."""
    async with conn.cursor(row_factory=class_row(InvitationRow)) as cur:
        await cur.execute(
            """
            SELECT id, role, email, created_at, expires_at
              FROM one_time_links
             WHERE kind = 'invitation' AND expires_at > now()
             ORDER BY id DESC
            """
        )
        return await cur.fetchall()


async def delete(conn: Conn, link_id: UUID) -> bool:
    """Withdraw an invitation of the transaction's tenant. False if there is none of that id."""
    cur = await conn.execute(
        "DELETE FROM one_time_links WHERE id = %(id)s AND kind = 'invitation'", {"id": link_id}
    )
    return cur.rowcount > 0
