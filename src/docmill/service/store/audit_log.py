"""The audit log of a tenant: who did what, to what, from where. Entries are never changed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.service.store.database import Conn, new_id, storable, storable_values

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry. api_key: the name of the key that was used. address: None for a command."""

    id: UUID
    at: datetime
    user_id: UUID
    user_name: str | None
    api_key_id: UUID | None
    api_key: str | None
    action: str
    target: str | None
    details: dict[str, JsonValue]
    address: str | None


async def add(
    conn: Conn,
    *,
    tenant_id: UUID,
    user_id: UUID,
    action: str,
    target: str | None = None,
    details: Mapping[str, JsonValue] | None = None,
    address: str | None = None,
    api_key_id: UUID | None = None,
) -> None:
    """Add an entry in the transaction of its tenant."""
    await conn.execute(
        """
        INSERT INTO audit_log (id, tenant_id, user_id, api_key_id, action, target, details, address)
        VALUES (%(id)s, %(tenant_id)s, %(user_id)s, %(api_key_id)s, %(action)s, %(target)s, %(details)s,
                %(address)s)
        """,
        {
            "id": new_id(),
            "tenant_id": tenant_id,
            "user_id": user_id,
            "api_key_id": api_key_id,
            "action": action,
            "target": storable(target)[:300] if target is not None else None,
            "details": Jsonb(storable_values(dict(details or {}))),
            "address": address,
        },
    )


async def names(conn: Conn, rows: Sequence[AuditRow]) -> Mapping[str, str]:
    """Names by the ids in the targets of entries: of documents, people, keys and tags that are still here."""
    ids = {part for row in rows for part in (row.target or "").split() if _ID.fullmatch(part)}
    cur = await conn.execute(
        """
        SELECT id::text, coalesce(title, file_name) FROM document WHERE id = ANY(%(ids)s::uuid[])
        UNION ALL SELECT id::text, name FROM users WHERE id = ANY(%(ids)s::uuid[])
        UNION ALL SELECT id::text, name FROM api_keys WHERE id = ANY(%(ids)s::uuid[])
        UNION ALL SELECT id::text, name FROM tag WHERE id = ANY(%(ids)s::uuid[])
        """,
        {"ids": list(ids)},
    )
    return dict(await cur.fetchall())


async def page(
    conn: Conn,
    *,
    user_id: UUID | None = None,
    action: str | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[AuditRow]:
    """Entries of the transaction's tenant, the newest first. after: the last id of the page before."""
    async with conn.cursor(row_factory=class_row(AuditRow)) as cur:
        await cur.execute(
            """
            SELECT audit_log.id, at, user_id, users.name AS user_name, api_key_id, api_keys.name AS api_key,
                   action, target, details, address
              FROM audit_log
                   LEFT JOIN users ON users.id = user_id
                   LEFT JOIN api_keys ON api_keys.id = api_key_id
             WHERE (%(user_id)s::uuid IS NULL OR user_id = %(user_id)s)
               AND (%(action)s::text IS NULL OR action = %(action)s)
               AND (%(after)s::uuid IS NULL OR audit_log.id < %(after)s)
             ORDER BY audit_log.id DESC
             LIMIT %(limit)s
            """,
            {"user_id": user_id, "action": storable(action), "after": after, "limit": limit},
        )
        return await cur.fetchall()
