"""Keys, webhooks and sources whose person has not the role any more that they need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.errors import ValidationError
from docmill.service.store import api_keys
from docmill.service.store.database import DEFAULT_USER_ID, Conn
from docmill.service.store.webhooks import KEY_REVOKED, NO_OWNER

HandoverKind = Literal["key", "webhook", "source"]


@dataclass(frozen=True, slots=True)
class HandoverRow:
    """A thing to keep or end. person: who answered for it. api_key: the revoked key that made it.

    stays_stopped: it stands still for another reason, or it is a source; whoever keeps it resumes it, too.
    """

    kind: HandoverKind
    id: UUID
    name: str
    person: str | None
    api_key: str | None
    stays_stopped: bool


_OWNERS_SCOPES: Sequence[str] = ("administer",)
"""Scopes of keys that owners alone have."""


async def waiting(conn: Conn) -> list[HandoverRow]:
    """What waits for an owner of the transaction's tenant, by kind and name.

    That is what a person made who is no owner any more, keys if they have a scope of owners or their person
    is no member; and what was made by a key that was revoked.
    """
    async with conn.cursor(row_factory=class_row(HandoverRow)) as cur:
        await cur.execute(
            """
            WITH thing AS (
                SELECT 'key' AS kind, id, name, responsible_id, NULL::uuid AS api_key_id, scopes,
                       false AS stays_stopped
                  FROM api_keys
                 WHERE kind = 'program' AND revoked_at IS NULL AND coalesce(expires_at > now(), true)
                 UNION ALL
                SELECT 'webhook', id, url, responsible_id, api_key_id, NULL,
                       state = 'disabled' OR (state = 'paused' AND coalesce(reason, '') <> ALL(%(reasons)s))
                  FROM webhook
                 UNION ALL
                SELECT 'source', id, name, responsible_id, api_key_id, NULL, state <> 'active'
                  FROM doc_source WHERE removed_at IS NULL
            )
            SELECT thing.kind, thing.id, thing.name, users.name AS person, maker.name AS api_key,
                   stays_stopped
              FROM thing
              LEFT JOIN users ON users.id = thing.responsible_id
              LEFT JOIN memberships ON memberships.user_id = thing.responsible_id AND ended_at IS NULL
              LEFT JOIN api_keys AS maker ON maker.id = thing.api_key_id AND maker.revoked_at IS NOT NULL
             WHERE maker.id IS NOT NULL
                OR (thing.responsible_id <> %(machine)s
                    AND role IS DISTINCT FROM 'owner'
                    AND (thing.scopes IS NULL OR role IS NULL OR thing.scopes && %(owners)s))
             ORDER BY thing.kind, thing.name, thing.id
            """,
            {
                "machine": DEFAULT_USER_ID,
                "owners": list(_OWNERS_SCOPES),
                "reasons": [NO_OWNER, KEY_REVOKED],
            },
        )
        return await cur.fetchall()


async def keep(conn: Conn, kind: HandoverKind, thing_id: UUID, user_id: UUID) -> bool:
    """Have an owner answer for a thing that waits. False if none of that id does.

    A webhook that was stopped for its person or key sends again. One that was paused or disabled for another
    reason stays so, and so does a source.
    """
    if not await _is_waiting(conn, kind, thing_id):
        return False
    if kind == "key":
        return await api_keys.take_over(conn, thing_id, user_id)
    if kind == "webhook":
        cur = await conn.execute(
            """
            UPDATE webhook
               SET responsible_id = %(user_id)s, api_key_id = NULL,
                   state = CASE WHEN reason = ANY(%(reasons)s) THEN 'active' ELSE state END,
                   reason = CASE WHEN reason = ANY(%(reasons)s) THEN NULL ELSE reason END
             WHERE id = %(id)s
            """,
            {"id": thing_id, "user_id": user_id, "reasons": [NO_OWNER, KEY_REVOKED]},
        )
    else:
        cur = await conn.execute(
            """
            UPDATE doc_source SET responsible_id = %(user_id)s, api_key_id = NULL
             WHERE id = %(id)s AND removed_at IS NULL
            """,
            {"id": thing_id, "user_id": user_id},
        )
    return cur.rowcount == 1


async def check_kept(conn: Conn, kind: HandoverKind, thing_id: UUID) -> None:
    """Check that nothing waits for an owner before it goes on. Raises ValidationError."""
    if await _is_waiting(conn, kind, thing_id):
        raise ValidationError(
            f"Nobody answers for this {kind}: its person is no owner any more, or its API key was revoked. An"
            " owner can keep it on the page People."
        )


async def _is_waiting(conn: Conn, kind: HandoverKind, thing_id: UUID) -> bool:
    return any((row.kind, row.id) == (kind, thing_id) for row in await waiting(conn))
