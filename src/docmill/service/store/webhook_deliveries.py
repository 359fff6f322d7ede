"""Deliveries of events to webhooks: claimed for a time, logged attempt by attempt, kept for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.service.store.database import Conn, new_id, storable

DeliveryState = Literal["pending", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this process sends until its lease ends. attempts: that were made before."""

    id: UUID
    claim_token: UUID
    webhook_id: UUID
    event_id: UUID
    document_id: UUID | None
    type: str
    content: dict[str, Any]
    happened_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt. status: of the answer, None without one. error: None for a success."""

    at: datetime
    duration_ms: int
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A delivery in the log. next_attempt_at: None once it has ended. log: its attempts, as JSON."""

    id: UUID
    event_id: UUID
    type: str
    document_id: UUID | None
    state: DeliveryState
    attempts: int
    created_at: datetime
    ended_at: datetime | None
    next_attempt_at: datetime | None
    log: list[dict[str, Any]]

    @property
    def tries(self) -> list[AttemptRow]:
        """Its attempts, the first one first."""
        return [
            AttemptRow(
                datetime.fromisoformat(entry["at"]), entry["duration_ms"], entry["status"], entry["error"]
            )
            for entry in self.log
        ]


async def add_test(conn: Conn, webhook_id: UUID, *, tenant_id: UUID, kind: str, lease_s: float) -> UUID:
    """Add an event and its delivery to one webhook, claimed already; the id of the delivery."""
    event_id, delivery_id = new_id(), new_id()
    await conn.execute(
        """
        INSERT INTO webhook_event (id, tenant_id, type, content)
        VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(content)s)
        """,
        {"id": event_id, "tenant_id": tenant_id, "kind": kind, "content": Jsonb({})},
    )
    await conn.execute(
        """
        INSERT INTO webhook_delivery (id, tenant_id, webhook_id, event_id, lease_until, claim_token)
        VALUES (%(id)s, %(tenant_id)s, %(webhook_id)s, %(event_id)s,
                clock_timestamp() + make_interval(secs => %(lease_s)s), %(id)s)
        """,
        {
            "id": delivery_id,
            "tenant_id": tenant_id,
            "webhook_id": webhook_id,
            "event_id": event_id,
            "lease_s": lease_s,
        },
    )
    return delivery_id


async def claim(
    conn: Conn, webhook_id: UUID, *, token: UUID, limit: int, lease_s: float
) -> list[ClaimedDelivery]:
    """Claim deliveries to a webhook that are due, the oldest first.

    None of them while it is not active, or its person is no owner.
    token: a new id; by it the claim can be released even if the answer to this was lost.
    """
    cur = await conn.execute(
        """
        UPDATE webhook_delivery
           SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s), claim_token = %(token)s
         WHERE id IN (
               SELECT webhook_delivery.id
                 FROM webhook_delivery
                 JOIN webhook ON webhook.id = webhook_id
                WHERE webhook_id = %(webhook_id)s
                  AND webhook.state = 'active'
                  AND answers_for_webhooks(webhook.tenant_id, responsible_id)
                  AND coalesce(not_before <= clock_timestamp(), true)
                  AND webhook_delivery.state = 'pending'
                  AND next_attempt_at <= clock_timestamp()
                  AND coalesce(lease_until <= clock_timestamp(), true)
                ORDER BY webhook_delivery.created_at
                LIMIT %(limit)s
                  FOR UPDATE OF webhook_delivery SKIP LOCKED
               )
        RETURNING id
        """,
        {"webhook_id": webhook_id, "limit": limit, "lease_s": lease_s, "token": token},
    )
    return await claimed(conn, [id_ for (id_,) in await cur.fetchall()])


async def release(conn: Conn, token: UUID) -> None:
    """Let others send what a claim still holds, at once."""
    await conn.execute(
        """
        UPDATE webhook_delivery
           SET lease_until = NULL, claim_token = NULL
         WHERE claim_token = %(token)s
        """,
        {"token": token},
    )


async def claimed(conn: Conn, ids: Sequence[UUID]) -> list[ClaimedDelivery]:
    """The deliveries with what happened, the oldest first."""
    if not ids:
        return []
    async with conn.cursor(row_factory=class_row(ClaimedDelivery)) as cur:
        await cur.execute(
            """
            SELECT webhook_delivery.id, claim_token, webhook_id, event_id, document_id, type, content,
                   webhook_event.created_at AS happened_at, attempts
              FROM webhook_delivery
              JOIN webhook_event ON webhook_event.id = event_id
             WHERE webhook_delivery.id = ANY(%(ids)s)
             ORDER BY webhook_event.created_at, webhook_delivery.id
            """,
            {"ids": list(ids)},
        )
        return await cur.fetchall()


async def note_attempt(
    conn: Conn,
    delivery: ClaimedDelivery,
    *,
    tenant_id: UUID,
    attempt: AttemptRow,
    state: DeliveryState,
    delay_s: float | None,
) -> bool:
    """Log an attempt, which ends the claim. False if the claim was lost: another process sends it.

    delay_s: until the next attempt; up to a tenth is added at random, so that deliveries that failed together
    do not return together.
    """
    cur = await conn.execute(
        """
        UPDATE webhook_delivery
           SET state = %(state)s,
               attempts = attempts + 1,
               lease_until = NULL,
               claim_token = NULL,
               next_attempt_at = clock_timestamp()
                   + make_interval(secs => coalesce(%(delay_s)s, 0) * (1 + random() / 10)),
               ended_at = CASE WHEN %(state)s <> 'pending' THEN clock_timestamp() END
         WHERE id = %(id)s AND claim_token = %(token)s
        """,
        {"id": delivery.id, "token": delivery.claim_token, "state": state, "delay_s": delay_s},
    )
    is_held = cur.rowcount == 1
    await conn.execute(
        """
        INSERT INTO webhook_attempt (id, tenant_id, delivery_id, at, duration_ms, status, error)
        SELECT %(id)s, %(tenant_id)s, id, %(at)s, %(duration_ms)s, %(status)s, %(error)s
          FROM webhook_delivery
         WHERE id = %(delivery_id)s
        """,
        {
            "id": new_id(),
            "tenant_id": tenant_id,
            "delivery_id": delivery.id,
            "at": attempt.at,
            "duration_ms": attempt.duration_ms,
            "status": attempt.status,
            "error": storable(attempt.error),
        },
    )
    return is_held


async def page(
    conn: Conn,
    webhook_id: UUID,
    *,
    state: DeliveryState | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[DeliveryRow]:
    """Deliveries of a webhook, the newest first. after: the last id of the page before."""
    async with conn.cursor(row_factory=class_row(DeliveryRow)) as cur:
        await cur.execute(
            """
            SELECT delivery.id, event_id, type, document_id, delivery.state, attempts, delivery.created_at,
                   ended_at, CASE WHEN delivery.state = 'pending' THEN next_attempt_at END AS next_attempt_at,
                   coalesce((SELECT jsonb_agg(jsonb_build_object(
                                        'at', at, 'duration_ms', duration_ms, 'status', status,
                                        'error', error) ORDER BY at)
                               FROM webhook_attempt WHERE delivery_id = delivery.id), '[]') AS log
              FROM webhook_delivery delivery
              JOIN webhook_event ON webhook_event.id = event_id
             WHERE webhook_id = %(webhook_id)s
               AND (%(state)s::text IS NULL OR delivery.state = %(state)s)
               AND (%(after)s::uuid IS NULL OR (delivery.created_at, delivery.id) <
                       (SELECT created_at, id FROM webhook_delivery WHERE id = %(after)s))
             ORDER BY delivery.created_at DESC, delivery.id DESC
             LIMIT %(limit)s
            """,
            {"webhook_id": webhook_id, "state": state, "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def send_again(conn: Conn, webhook_id: UUID, delivery_id: UUID) -> bool:
    """Send a delivery again, whatever became of it. False if the webhook has none of that id."""
    cur = await conn.execute(
        """
        UPDATE webhook_delivery
           SET state = 'pending', attempts = 0, next_attempt_at = clock_timestamp(), ended_at = NULL
         WHERE webhook_id = %(webhook_id)s AND id = %(id)s
        """,
        {"webhook_id": webhook_id, "id": delivery_id},
    )
    return cur.rowcount == 1


async def send_failed_again(conn: Conn, webhook_id: UUID, *, since: datetime | None) -> int:
    """Send all deliveries again that have failed for good, of events since then; their number."""
    cur = await conn.execute(
        """
        UPDATE webhook_delivery
           SET state = 'pending', attempts = 0, next_attempt_at = clock_timestamp(), ended_at = NULL
         WHERE webhook_id = %(webhook_id)s
           AND state = 'failed'
           AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
        """,
        {"webhook_id": webhook_id, "since": since},
    )
    return cur.rowcount


async def forget_old(conn: Conn, *, days: int, limit: int) -> int:
    """Forget up to `limit` events of all tenants, with their deliveries, that are past their time."""
    cur = await conn.execute(
        "SELECT forget_webhook_events(%(days)s, %(limit)s)", {"days": days, "limit": limit}
    )
    (count,) = await cur.fetchone() or (0,)
    return count
