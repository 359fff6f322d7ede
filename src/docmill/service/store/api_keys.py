"""API keys of a tenant. Their hashes are seen by transactions of accounts alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """A key, without its secret. expires_at: None for one that holds until it is revoked."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    created_by: UUID
    created_by_name: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    is_usable: bool


@dataclass(frozen=True, slots=True)
class UsedKey:
    """A key that came with a request. is_due: its last use was noted more than a minute ago."""

    id: UUID
    tenant_id: UUID
    tenant_name: str
    name: str
    scopes: list[str]
    created_by: UUID
    is_due: bool


async def page(conn: Conn) -> list[ApiKeyRow]:
    """The keys of the transaction's tenant, the newest first, those that hold no more at the end."""
    async with conn.cursor(row_factory=class_row(ApiKeyRow)) as cur:
        await cur.execute(
            """
            SELECT api_keys.id, api_keys.name, prefix, scopes, created_by, users.name AS created_by_name,
                   api_keys.created_at, expires_at, last_used_at, revoked_at,
                   revoked_at IS NULL AND coalesce(expires_at > now(), true) AS is_usable
              FROM api_keys LEFT JOIN users ON users.id = created_by
             ORDER BY is_usable DESC, api_keys.id DESC
            """
        )
        return await cur.fetchall()


async def add(
    conn: Conn,
    *,
    tenant_id: UUID,
    name: str,
    prefix: str,
    secret_hash: bytes,
    scopes: Sequence[str],
    created_by: UUID,
    expires_at: datetime | None,
) -> UUID:
    """Add a key; its id."""
    key_id = new_id()
    await conn.execute(
        """
        INSERT INTO api_keys (id, tenant_id, name, prefix, secret_hash, scopes, created_by, expires_at)
        VALUES (%(id)s, %(tenant_id)s, %(name)s, %(prefix)s, %(secret_hash)s, %(scopes)s, %(created_by)s,
                %(expires_at)s)
        """,
        {
            "id": key_id,
            "tenant_id": tenant_id,
            "name": name,
            "prefix": prefix,
            "secret_hash": secret_hash,
            "scopes": list(scopes),
            "created_by": created_by,
            "expires_at": expires_at,
        },
    )
    return key_id


async def revoke(conn: Conn, key_id: UUID) -> bool:
    """End a key of the transaction's tenant. False if there is none of that id."""
    cur = await conn.execute(
        """
        UPDATE api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE id = %(id)s
        """,
        {"id": key_id},
    )
    return cur.rowcount > 0


async def revoke_of_user(conn: Conn, tenant_id: UUID, user_id: UUID) -> int:
    """End the keys of a tenant that a user made; how many ended. Needs a transaction of accounts."""
    cur = await conn.execute(
        """
        UPDATE api_keys SET revoked_at = clock_timestamp()
         WHERE tenant_id = %(tenant_id)s AND created_by = %(user_id)s AND revoked_at IS NULL
        """,
        {"tenant_id": tenant_id, "user_id": user_id},
    )
    return cur.rowcount


async def find(conn: Conn, secret_hash: bytes) -> UsedKey | None:
    """The key with this secret, if it still holds. Needs a transaction of accounts."""
    async with conn.cursor(row_factory=class_row(UsedKey)) as cur:
        await cur.execute(
            """
            SELECT api_keys.id, tenant_id, tenant.name AS tenant_name, api_keys.name, scopes, created_by,
                   coalesce(last_used_at < now() - interval '1 minute', true) AS is_due
              FROM api_keys JOIN tenant ON tenant.id = tenant_id
             WHERE secret_hash = %(secret_hash)s
               AND revoked_at IS NULL
               AND coalesce(expires_at > now(), true)
            """,
            {"secret_hash": secret_hash},
        )
        return await cur.fetchone()


async def touch(conn: Conn, key_id: UUID) -> None:
    """Note that a key was used just now. Needs a transaction of accounts and of the key's tenant."""
    await conn.execute(
        "UPDATE api_keys SET last_used_at = clock_timestamp() WHERE id = %(id)s", {"id": key_id}
    )
