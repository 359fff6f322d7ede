"""Tenants: the organisations that own documents. Their names are changed by transactions of accounts."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant. people: the number of its members."""

    id: UUID
    name: str
    created_at: datetime
    people: int


async def all_tenants(conn: Conn) -> list[TenantRow]:
    """Every tenant, the oldest first."""
    async with conn.cursor(row_factory=class_row(TenantRow)) as cur:
        await cur.execute(
            """
            SELECT id, name, created_at,
                   (SELECT count(*) FROM memberships
                     WHERE tenant_id = tenant.id AND ended_at IS NULL)::integer AS people
              FROM tenant
             ORDER BY id
            """
        )
        return await cur.fetchall()


async def add(conn: Conn, name: str) -> UUID:
    """Add a tenant; its id."""
    tenant_id = new_id()
    await conn.execute(
        "INSERT INTO tenant (id, name) VALUES (%(id)s, %(name)s)", {"id": tenant_id, "name": name}
    )
    return tenant_id


async def rename(conn: Conn, tenant_id: UUID, name: str) -> None:
    """Give a tenant another name."""
    await conn.execute("UPDATE tenant SET name = %(name)s WHERE id = %(id)s", {"id": tenant_id, "name": name})
