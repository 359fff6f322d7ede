"""API keys of a tenant. Their hashes are seen by transactions of accounts alone."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.errors import ValidationError
from docmill.service.store import webhooks
from docmill.service.store.database import Conn, enter_tenant, new_id
from docmill.service.store.memberships import Role

KeyKind = Literal["program", "app"]


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """A key, without its secret. expires_at: None for one that holds until it is revoked.

    kind: app, of a device that signed in with a person's password. responsible_id: whose role limits it;
    role: that role, None for who is no member (any more). parent_id: the key that made it.
    """

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
    kind: KeyKind
    responsible_id: UUID
    responsible_name: str | None
    role: Role | None
    parent_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKeyRow:
    """A key to add. parent_id: the key that makes it."""

    tenant_id: UUID
    name: str
    prefix: str
    secret_hash: bytes = field(repr=False)
    scopes: Sequence[str]
    created_by: UUID
    expires_at: datetime | None
    kind: KeyKind = "program"
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class UsedKey:
    """A key that came with a request. is_due: its last use was noted more than a minute ago.

    responsible_id: whose role limits it; role: that role, None for who is no member (any more).
    """

    id: UUID
    tenant_id: UUID
    tenant_name: str
    name: str
    scopes: list[str]
    responsible_id: UUID
    role: Role | None
    is_due: bool


@dataclass(frozen=True, slots=True)
class AppKeyRow:
    """A key of a device, as its person sees it. last_used_at: None before its first use."""

    id: UUID
    tenant_id: UUID
    tenant_name: str
    name: str
    prefix: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


async def page(conn: Conn, *, app_idle: timedelta) -> list[ApiKeyRow]:
    """The keys of the transaction's tenant, the newest first, those that hold no more at the end.

    app_idle: after so long without use, a key of a device holds no more.
    """
    async with conn.cursor(row_factory=class_row(ApiKeyRow)) as cur:
        await cur.execute(
            """
            SELECT api_keys.id, api_keys.name, prefix, scopes, created_by, users.name AS created_by_name,
                   api_keys.created_at, expires_at, last_used_at, revoked_at,
                   revoked_at IS NULL AND coalesce(expires_at > now(), true)
                       AND (kind <> 'app' OR coalesce(last_used_at, api_keys.created_at) > now() - %(idle)s)
                       AS is_usable,
                   kind, responsible_id, person.name AS responsible_name, role, parent_id
              FROM api_keys
              LEFT JOIN users ON users.id = created_by
              LEFT JOIN users AS person ON person.id = responsible_id
              LEFT JOIN memberships ON memberships.tenant_id = api_keys.tenant_id
                                   AND memberships.user_id = responsible_id AND ended_at IS NULL
             ORDER BY is_usable DESC, api_keys.id DESC
            """,
            {"idle": app_idle},
        )
        return await cur.fetchall()


async def add(conn: Conn, key: NewKeyRow) -> UUID:
    """Add a key; its id. Its maker answers for it."""
    key_id = new_id()
    await conn.execute(
        """
        INSERT INTO api_keys
            (id, tenant_id, name, prefix, secret_hash, scopes, created_by, responsible_id, expires_at, kind,
             parent_id)
        VALUES (%(id)s, %(tenant_id)s, %(name)s, %(prefix)s, %(secret_hash)s, %(scopes)s, %(created_by)s,
                %(created_by)s, %(expires_at)s, %(kind)s, %(parent_id)s)
        """,
        {"id": key_id, **asdict(key), "scopes": list(key.scopes)},
    )
    return key_id


async def lock(conn: Conn, key_id: UUID) -> tuple[bool, datetime | None]:
    """Whether a key of the transaction's tenant holds, and its end. It is not revoked until this ends."""
    cur = await conn.execute(
        """
        SELECT revoked_at IS NULL AND coalesce(expires_at > now(), true), expires_at
          FROM api_keys WHERE id = %(id)s FOR SHARE
        """,
        {"id": key_id},
    )
    return await cur.fetchone() or (False, None)


async def check_lasting(conn: Conn, key_id: UUID | None, what: str) -> None:
    """Check that a key may make what lasts until it is removed. None, for a person, always may.

    Raises ValidationError for a key with an end: what it makes would outlive it.
    """
    if key_id is None:
        return
    holds, expires_at = await lock(conn, key_id)
    if not holds or expires_at is not None:
        raise ValidationError(
            f"This API key ends, and {what} would outlive it. Use a key without an end, or have a person"
            " make it."
        )


async def revoke(conn: Conn, key_id: UUID) -> bool:
    """End a key of the transaction's tenant and all that it made. False if there is none of that id.

    The keys that it made are revoked, their invitations are withdrawn, and their webhooks and sources stop
    until somebody takes them over.
    """
    ended = await _revoke_line(conn, key_id)
    await conn.execute("DELETE FROM one_time_links WHERE api_key_id = ANY(%(ids)s)", {"ids": ended})
    await webhooks.pause_of_keys(conn, ended)
    await conn.execute(
        "UPDATE doc_source SET state = 'paused' WHERE api_key_id = ANY(%(ids)s) AND removed_at IS NULL",
        {"ids": ended},
    )
    return bool(ended)


async def _revoke_line(conn: Conn, key_id: UUID) -> list[UUID]:
    """Revoke a key and those that come from it; their ids.

    A statement does not see a key that one of them has made while it waited for that transaction. The next
    one does: it is repeated until it finds no more.
    """
    ended: set[UUID] = set()
    while True:
        cur = await conn.execute(
            """
            WITH RECURSIVE line AS (
                SELECT id FROM api_keys WHERE id = %(id)s
                 UNION
                SELECT api_keys.id FROM api_keys JOIN line ON parent_id = line.id
            )
            UPDATE api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp())
             WHERE id IN (SELECT id FROM line)
            RETURNING id
            """,
            {"id": key_id},
        )
        found = {id_ for (id_,) in await cur.fetchall()}
        if found <= ended:
            return list(ended)
        ended |= found


async def find(conn: Conn, secret_hash: bytes, *, app_idle: timedelta) -> UsedKey | None:
    """The key with this secret, if it still holds. Needs a transaction of accounts.

    app_idle: after so long without use, a key of a device holds no more.
    """
    async with conn.cursor(row_factory=class_row(UsedKey)) as cur:
        await cur.execute(
            """
            SELECT api_keys.id, api_keys.tenant_id, tenant.name AS tenant_name, api_keys.name, scopes,
                   responsible_id, role,
                   coalesce(last_used_at < now() - interval '1 minute', true) AS is_due
              FROM api_keys
              JOIN tenant ON tenant.id = api_keys.tenant_id
              LEFT JOIN memberships ON memberships.tenant_id = api_keys.tenant_id
                                   AND memberships.user_id = responsible_id AND ended_at IS NULL
             WHERE secret_hash = %(secret_hash)s
               AND revoked_at IS NULL
               AND coalesce(expires_at > now(), true)
               AND (kind <> 'app' OR coalesce(last_used_at, api_keys.created_at) > now() - %(idle)s)
            """,
            {"secret_hash": secret_hash, "idle": app_idle},
        )
        return await cur.fetchone()


async def limits(conn: Conn, key_id: UUID) -> tuple[list[str], UUID] | None:
    """The scopes of a key of the transaction's tenant and who answers for it; None if it holds no more."""
    cur = await conn.execute(
        """
        SELECT scopes, responsible_id
          FROM api_keys
         WHERE id = %(id)s AND revoked_at IS NULL AND coalesce(expires_at > now(), true)
        """,
        {"id": key_id},
    )
    return await cur.fetchone()


async def take_over(conn: Conn, key_id: UUID, user_id: UUID) -> bool:
    """Have another person answer for a key. False if the transaction's tenant has none that holds."""
    cur = await conn.execute(
        """
        UPDATE api_keys SET responsible_id = %(user_id)s
         WHERE id = %(id)s AND kind = 'program' AND revoked_at IS NULL AND coalesce(expires_at > now(), true)
        """,
        {"id": key_id, "user_id": user_id},
    )
    return cur.rowcount == 1


async def app_keys(conn: Conn, user_id: UUID, *, idle: timedelta) -> list[AppKeyRow]:
    """The keys of a person's devices that hold, the newest first. Needs a transaction of accounts."""
    async with conn.cursor(row_factory=class_row(AppKeyRow)) as cur:
        await cur.execute(
            """
            SELECT api_keys.id, tenant_id, tenant.name AS tenant_name, api_keys.name, prefix,
                   api_keys.created_at, last_used_at, expires_at
              FROM api_keys JOIN tenant ON tenant.id = tenant_id
             WHERE responsible_id = %(user_id)s
               AND kind = 'app'
               AND revoked_at IS NULL
               AND coalesce(expires_at > now(), true)
               AND coalesce(last_used_at, api_keys.created_at) > now() - %(idle)s
             ORDER BY api_keys.id DESC
            """,
            {"user_id": user_id, "idle": idle},
        )
        return await cur.fetchall()


async def revoke_of_person(
    conn: Conn, user_id: UUID, *, kinds: Collection[KeyKind], only: UUID | None = None
) -> int:
    """End a person's keys in all tenants, or one of them; how many ended. Needs a transaction of accounts.

    Each tenant is entered in turn, as row-level security asks for; the transaction is in none afterwards.
    """
    cur = await conn.execute(
        """
        SELECT DISTINCT tenant_id
          FROM api_keys
         WHERE responsible_id = %(user_id)s AND kind = ANY(%(kinds)s) AND revoked_at IS NULL
        """,
        {"user_id": user_id, "kinds": list(kinds)},
    )
    ended = 0
    for (tenant_id,) in await cur.fetchall():
        await enter_tenant(conn, tenant_id)
        cur = await conn.execute(
            """
            UPDATE api_keys SET revoked_at = clock_timestamp()
             WHERE tenant_id = %(tenant_id)s AND responsible_id = %(user_id)s AND kind = ANY(%(kinds)s)
               AND revoked_at IS NULL AND (%(only)s::uuid IS NULL OR id = %(only)s)
            """,
            {"tenant_id": tenant_id, "user_id": user_id, "kinds": list(kinds), "only": only},
        )
        ended += cur.rowcount
    await enter_tenant(conn, None)
    return ended


async def revoke_app_keys(conn: Conn, tenant_id: UUID, user_id: UUID) -> None:
    """End the keys of a person's devices in the transaction's tenant. Needs a transaction of accounts."""
    await conn.execute(
        """
        UPDATE api_keys SET revoked_at = clock_timestamp()
         WHERE tenant_id = %(tenant_id)s AND responsible_id = %(user_id)s AND kind = 'app'
           AND revoked_at IS NULL
        """,
        {"tenant_id": tenant_id, "user_id": user_id},
    )


async def touch(conn: Conn, key_id: UUID) -> None:
    """Note that a key was used just now. Needs a transaction of accounts and of the key's tenant."""
    await conn.execute(
        "UPDATE api_keys SET last_used_at = clock_timestamp() WHERE id = %(id)s", {"id": key_id}
    )
