"""Memberships: the roles of users in tenants. Changes need a transaction of accounts and of the tenant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn

Role = Literal["owner", "reviewer", "viewer"]


@dataclass(frozen=True, slots=True)
class MembershipRow:
    """A role of a user in a tenant."""

    tenant_id: UUID
    tenant_name: str
    role: Role


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of the transaction's tenant."""

    user_id: UUID
    email: str
    name: str
    role: Role
    created_at: datetime


async def of_user(conn: Conn, user_id: UUID) -> list[MembershipRow]:
    """The current memberships of a user in all tenants, by name. Needs a transaction of accounts."""
    async with conn.cursor(row_factory=class_row(MembershipRow)) as cur:
        await cur.execute(
            """
            SELECT tenant_id, tenant.name AS tenant_name, role
              FROM memberships JOIN tenant ON tenant.id = tenant_id
             WHERE user_id = %(user_id)s AND ended_at IS NULL
             ORDER BY lower(tenant.name), tenant_id
            """,
            {"user_id": user_id},
        )
        return await cur.fetchall()


async def members(conn: Conn, tenant_id: UUID) -> list[MemberRow]:
    """The people of a tenant, by name."""
    async with conn.cursor(row_factory=class_row(MemberRow)) as cur:
        await cur.execute(
            """
            SELECT user_id, email, name, role, memberships.created_at
              FROM memberships JOIN users ON users.id = user_id
             WHERE tenant_id = %(tenant_id)s AND ended_at IS NULL AND email IS NOT NULL
             ORDER BY lower(name), user_id
            """,
            {"tenant_id": tenant_id},
        )
        return await cur.fetchall()


async def role_of(conn: Conn, tenant_id: UUID, user_id: UUID) -> Role | None:
    """The role of a user in a tenant, or None. The row is locked until the transaction ends."""
    cur = await conn.execute(
        """
        SELECT role FROM memberships
         WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND ended_at IS NULL
           FOR UPDATE
        """,
        {"tenant_id": tenant_id, "user_id": user_id},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def present_role(conn: Conn, tenant_id: UUID, user_id: UUID) -> Role | None:
    """The role of a user in the transaction's tenant, or None; not locked."""
    cur = await conn.execute(
        """
        SELECT role FROM memberships
         WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND ended_at IS NULL
        """,
        {"tenant_id": tenant_id, "user_id": user_id},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def put(conn: Conn, tenant_id: UUID, user_id: UUID, role: Role) -> None:
    """Give a user a role in a tenant, whatever it was before."""
    await conn.execute(
        """
        INSERT INTO memberships (tenant_id, user_id, role)
        VALUES (%(tenant_id)s, %(user_id)s, %(role)s)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = excluded.role, ended_at = NULL
        """,
        {"tenant_id": tenant_id, "user_id": user_id, "role": role},
    )


async def end(conn: Conn, tenant_id: UUID, user_id: UUID) -> None:
    """Take a user's role in a tenant away."""
    await conn.execute(
        """
        UPDATE memberships SET ended_at = clock_timestamp()
         WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND ended_at IS NULL
        """,
        {"tenant_id": tenant_id, "user_id": user_id},
    )


async def lock_owners(conn: Conn, tenant_id: UUID) -> set[UUID]:
    """The owners of a tenant, locked until the transaction ends: two must not remove each other at once."""
    cur = await conn.execute(
        """
        SELECT user_id FROM memberships
         WHERE tenant_id = %(tenant_id)s AND role = 'owner' AND ended_at IS NULL
         ORDER BY user_id
           FOR UPDATE
        """,
        {"tenant_id": tenant_id},
    )
    return {user_id for (user_id,) in await cur.fetchall()}
