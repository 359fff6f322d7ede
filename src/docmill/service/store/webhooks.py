"""Webhooks: addresses of a tenant that are told what happens to its documents."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, storable

WebhookState = Literal["active", "paused", "disabled"]

NO_OWNER = "Its person is no owner any more."
KEY_REVOKED = "The API key that made it was revoked."


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook. reason: why it was disabled. failing_since: the first failure since the last success.

    not_before: the receiver asked to wait. previous_until: until when the secret of before signs, too.
    pending, failed: deliveries that wait, and that have failed for good.
    """

    id: UUID
    url: str
    events: list[str]
    with_data: bool
    state: WebhookState
    reason: str | None
    failing_since: datetime | None
    not_before: datetime | None
    previous_until: datetime | None
    created_by: UUID
    created_at: datetime
    last_success_at: datetime | None
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class SendingWebhook:
    """A webhook as sending to it needs it. secrets: encrypted; each signs, the newest first."""

    id: UUID
    url: str
    with_data: bool
    secrets: list[bytes] = field(repr=False)


_COLUMNS = """
    webhook.id, url, events, with_data, webhook.state, reason, failing_since, not_before,
    CASE WHEN previous_until > now() THEN previous_until END AS previous_until, created_by, created_at,
    (SELECT max(ended_at) FROM webhook_delivery
      WHERE webhook_id = webhook.id AND state = 'succeeded') AS last_success_at,
    (SELECT count(*) FROM webhook_delivery WHERE webhook_id = webhook.id AND state = 'pending') AS pending,
    (SELECT count(*) FROM webhook_delivery WHERE webhook_id = webhook.id AND state = 'failed') AS failed
"""


async def page(conn: Conn) -> list[WebhookRow]:
    """The webhooks of the transaction's tenant, the oldest first."""
    async with conn.cursor(row_factory=class_row(WebhookRow)) as cur:
        await cur.execute(f"SELECT {_COLUMNS} FROM webhook ORDER BY id")  # noqa: S608  our own columns
        return await cur.fetchall()


async def get(conn: Conn, webhook_id: UUID) -> WebhookRow | None:
    """The webhook, if the tenant has one of that id."""
    async with conn.cursor(row_factory=class_row(WebhookRow)) as cur:
        await cur.execute(
            f"SELECT {_COLUMNS} FROM webhook WHERE id = %(id)s",  # noqa: S608  our own columns
            {"id": webhook_id},
        )
        return await cur.fetchone()


async def lock_tenant(conn: Conn) -> int:
    """The number of the tenant's webhooks, which no other transaction adds to until this one ends."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || current_tenant()::text, 0))"
    )
    cur = await conn.execute("SELECT count(*) FROM webhook")
    (count,) = await cur.fetchone() or (0,)
    return count


async def add(
    conn: Conn,
    webhook_id: UUID,
    *,
    tenant_id: UUID,
    url: str,
    events: Sequence[str],
    with_data: bool,
    secret: bytes,
    created_by: UUID,
) -> None:
    """Add a webhook. secret: encrypted."""
    await conn.execute(
        """
        INSERT INTO webhook
            (id, tenant_id, url, events, with_data, secret, created_by, responsible_id)
        VALUES (%(id)s, %(tenant_id)s, %(url)s, %(events)s, %(with_data)s, %(secret)s, %(created_by)s,
                %(created_by)s)
        """,
        {
            "id": webhook_id,
            "tenant_id": tenant_id,
            "url": url,
            "events": list(events),
            "with_data": with_data,
            "secret": secret,
            "created_by": created_by,
        },
    )


async def bind_to_key(conn: Conn, webhook_id: UUID, api_key_id: UUID) -> None:
    """Have a webhook end with the API key that made or changed it."""
    await conn.execute(
        "UPDATE webhook SET api_key_id = %(api_key_id)s WHERE id = %(id)s",
        {"id": webhook_id, "api_key_id": api_key_id},
    )


async def change(
    conn: Conn, webhook_id: UUID, *, url: str | None, events: Sequence[str] | None, with_data: bool | None
) -> bool:
    """Change what is given. False if the tenant has no webhook of that id."""
    cur = await conn.execute(
        """
        UPDATE webhook
           SET url = coalesce(%(url)s, url),
               events = coalesce(%(events)s, events),
               with_data = coalesce(%(with_data)s, with_data)
         WHERE id = %(id)s
        """,
        {
            "id": webhook_id,
            "url": url,
            "events": None if events is None else list(events),
            "with_data": with_data,
        },
    )
    return cur.rowcount == 1


async def pause(conn: Conn, webhook_id: UUID) -> bool:
    """Send nothing until `resume`. False if the tenant has no webhook of that id."""
    cur = await conn.execute(
        "UPDATE webhook SET state = 'paused', reason = NULL WHERE id = %(id)s", {"id": webhook_id}
    )
    return cur.rowcount == 1


async def pause_of_person(conn: Conn, tenant_id: UUID, user_id: UUID) -> None:
    """Stop the webhooks of a tenant for which a person answers. Needs a transaction of accounts."""
    await conn.execute(
        """
        UPDATE webhook SET state = 'paused', reason = %(reason)s
         WHERE tenant_id = %(tenant_id)s AND responsible_id = %(user_id)s AND state = 'active'
        """,
        {"tenant_id": tenant_id, "user_id": user_id, "reason": NO_OWNER},
    )


async def pause_of_keys(conn: Conn, api_key_ids: Sequence[UUID]) -> None:
    """Stop the webhooks of the transaction's tenant that API keys have made."""
    await conn.execute(
        """
        UPDATE webhook SET state = 'paused', reason = %(reason)s
         WHERE api_key_id = ANY(%(ids)s) AND state = 'active'
        """,
        {"ids": list(api_key_ids), "reason": KEY_REVOKED},
    )


async def resume(conn: Conn, webhook_id: UUID) -> bool:
    """Send again, at once what has waited. False if the tenant has no webhook of that id."""
    cur = await conn.execute(
        """
        UPDATE webhook
           SET state = 'active', reason = NULL, failing_since = NULL, not_before = NULL
         WHERE id = %(id)s
        """,
        {"id": webhook_id},
    )
    await conn.execute(
        """
        UPDATE webhook_delivery
           SET next_attempt_at = least(next_attempt_at, clock_timestamp())
         WHERE webhook_id = %(id)s AND state = 'pending'
        """,
        {"id": webhook_id},
    )
    return cur.rowcount == 1


async def rotate(conn: Conn, webhook_id: UUID, *, secret: bytes, overlap_s: float) -> bool:
    """Give a webhook another secret; the one of before signs, too, for `overlap_s`. False as `resume`."""
    cur = await conn.execute(
        """
        UPDATE webhook
           SET previous_secret = CASE WHEN %(overlap_s)s > 0 THEN secret END,
               previous_until = clock_timestamp() + make_interval(secs => %(overlap_s)s),
               secret = %(secret)s
         WHERE id = %(id)s
        """,
        {"id": webhook_id, "secret": secret, "overlap_s": overlap_s},
    )
    return cur.rowcount == 1


async def remove(conn: Conn, webhook_id: UUID) -> bool:
    """Remove a webhook and its deliveries. False if the tenant has none of that id."""
    cur = await conn.execute("DELETE FROM webhook WHERE id = %(id)s", {"id": webhook_id})
    return cur.rowcount == 1


async def sending(conn: Conn, webhook_id: UUID) -> SendingWebhook | None:
    """The webhook for sending to it, whatever its state; None if the tenant has none of that id."""
    async with conn.cursor(row_factory=class_row(SendingWebhook)) as cur:
        await cur.execute(
            """
            SELECT id, url, with_data,
                   CASE WHEN previous_until > clock_timestamp() AND previous_secret IS NOT NULL
                        THEN ARRAY[secret, previous_secret] ELSE ARRAY[secret] END AS secrets
              FROM webhook
             WHERE id = %(id)s
            """,
            {"id": webhook_id},
        )
        return await cur.fetchone()


async def due(conn: Conn, busy: Sequence[UUID], *, limit: int) -> list[tuple[UUID, UUID]]:
    """Webhooks of all tenants that have something to send now, as tenant and id, but for those in `busy`."""
    cur = await conn.execute(
        "SELECT tenant_id, id FROM due_webhooks(%(busy)s, %(limit)s)", {"busy": list(busy), "limit": limit}
    )
    return await cur.fetchall()


async def note_success(conn: Conn, webhook_id: UUID) -> None:
    """The receiver works."""
    await conn.execute(
        """
        UPDATE webhook SET failing_since = NULL, not_before = NULL
         WHERE id = %(id)s AND (failing_since IS NOT NULL OR not_before IS NOT NULL)
        """,
        {"id": webhook_id},
    )


async def note_failure(
    conn: Conn, webhook_id: UUID, *, wait_s: float | None, disable_after_s: float, reason: str
) -> bool:
    """The receiver failed; whether the webhook is disabled by that.

    wait_s: as long it asked to be left alone. disable_after_s: so long without a success, 0 for at once.
    """
    await conn.execute(
        """
        UPDATE webhook
           SET failing_since = coalesce(failing_since, clock_timestamp()),
               not_before = coalesce(clock_timestamp() + make_interval(secs => %(wait_s)s), not_before)
         WHERE id = %(id)s
        """,
        {"id": webhook_id, "wait_s": wait_s},
    )
    cur = await conn.execute(
        """
        UPDATE webhook
           SET state = 'disabled', reason = %(reason)s
         WHERE id = %(id)s
           AND state = 'active'
           AND failing_since <= clock_timestamp() - make_interval(secs => %(after_s)s)
        """,
        {"id": webhook_id, "after_s": disable_after_s, "reason": storable(reason)},
    )
    return cur.rowcount == 1
