"""Notifications about failures: stored with the failure, sent later by every channel."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id, storable

NotificationKind = Literal[
    "matching_failed",
    "setup_error",
    "pause",
    "outage",
    "outage_over",
    "source_failed",
    "webhook_disabled",
]

LONGEST_ERROR = 500
_GROUPS = 20
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Notification:
    """A failure that somebody should know of.

    tenant_id: of pauses of the installation, the tenant of its first migration. error: a sentence without
    text of the document. attempts: deliveries until the failure, 0 where nothing was tried. link: a path of
    the vault's pages, such as `/documents/…`.
    """

    kind: NotificationKind
    tenant_id: UUID
    document_id: UUID | None
    error: str
    attempts: int = 0
    link: str | None = None


@dataclass(frozen=True, slots=True)
class DueMessage:
    """A message that is due. last_id: of its newest notification; failures: how often it was tried."""

    tenant_id: UUID
    channel: str
    last_id: UUID
    failures: int


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many notifications of a message have the same kind and error."""

    kind: NotificationKind
    error: str
    count: int


@dataclass(frozen=True, slots=True)
class Unsent:
    """The notifications of a message. errors: the most frequent first; first: the oldest ones, up to ten."""

    ids: Sequence[UUID]
    oldest_at: datetime
    errors: Sequence[ErrorCount]
    first: Sequence[Notification]

    @property
    def total(self) -> int:
        """The number of notifications."""
        return len(self.ids)


async def add(conn: Conn, notification: Notification) -> None:
    """Store a notification, in the transaction of what it tells of: it is sent after the commit."""
    await conn.execute(
        """
        INSERT INTO notification (id, tenant_id, kind, document_id, error, attempts, link)
        VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(document_id)s, %(error)s, %(attempts)s, %(link)s)
        """,
        {
            "id": new_id(),
            "tenant_id": notification.tenant_id,
            "kind": notification.kind,
            "document_id": notification.document_id,
            "error": storable(notification.error)[:LONGEST_ERROR],
            "attempts": notification.attempts,
            "link": notification.link,
        },
    )


async def next_due(conn: Conn, channels: Sequence[str], *, window_s: float) -> DueMessage | None:
    """The message that is due and has waited longest, of all tenants."""
    async with conn.cursor(row_factory=class_row(DueMessage)) as cur:
        await cur.execute(
            """
            SELECT tenant_id, channel, last_id, failures
              FROM due_notification(%(channels)s, make_interval(secs => %(window_s)s))
            """,
            {"channels": list(channels), "window_s": window_s},
        )
        return await cur.fetchone()


async def begin(conn: Conn, message: DueMessage) -> None:
    """Store what the message holds, so that it holds the same when it is tried again."""
    await conn.execute(
        """
        INSERT INTO notification_delivery (tenant_id, channel, last_id, next_attempt_at)
        VALUES (%(tenant_id)s, %(channel)s, %(last_id)s, clock_timestamp())
            ON CONFLICT (tenant_id, channel) DO UPDATE SET last_id = excluded.last_id
        """,
        {"tenant_id": message.tenant_id, "channel": message.channel, "last_id": message.last_id},
    )


async def unsent(conn: Conn, message: DueMessage) -> Unsent | None:
    """The notifications of a message; None if their documents have been deleted meanwhile."""
    cur = await conn.execute(
        """
        SELECT array_agg(id ORDER BY id), min(created_at)
          FROM notification
         WHERE id <= %(last_id)s AND %(channel)s <> ALL (sent_to)
        """,
        {"channel": message.channel, "last_id": message.last_id},
    )
    ids, oldest_at = await cur.fetchone() or (None, None)
    if ids is None or oldest_at is None:
        return None
    # By ids, since a transaction that began earlier may add one with an older id at any moment.
    wanted = {"ids": ids, "groups": _GROUPS, "shown": _SHOWN}
    async with conn.cursor(row_factory=class_row(ErrorCount)) as counts:
        await counts.execute(
            """
            SELECT kind, error, count(*)
              FROM notification
             WHERE id = ANY(%(ids)s)
             GROUP BY kind, error
             ORDER BY count(*) DESC, kind, error
             LIMIT %(groups)s
            """,
            wanted,
        )
        errors = await counts.fetchall()
    async with conn.cursor(row_factory=class_row(Notification)) as first:
        await first.execute(
            """
            SELECT kind, tenant_id, document_id, error, attempts, link
              FROM notification
             WHERE id = ANY(%(ids)s)
             ORDER BY id
             LIMIT %(shown)s
            """,
            wanted,
        )
        return Unsent(ids, oldest_at, errors, await first.fetchall())


async def note_sent(
    conn: Conn, message: DueMessage, ids: Collection[UUID], *, channels: Sequence[str]
) -> None:
    """Note that a channel has sent the notifications with these ids, and no others, as a message.

    channels: all of them; what all have sent is removed.
    """
    await conn.execute(
        """
        UPDATE notification
           SET sent_to = array_append(sent_to, %(channel)s)
         WHERE id = ANY(%(ids)s) AND %(channel)s <> ALL (sent_to)
        """,
        {"channel": message.channel, "ids": list(ids)},
    )
    await conn.execute(
        """
        UPDATE notification_delivery
           SET last_id = NULL, failures = 0, next_attempt_at = NULL, sent_at = clock_timestamp()
         WHERE tenant_id = %(tenant_id)s AND channel = %(channel)s
        """,
        {"tenant_id": message.tenant_id, "channel": message.channel},
    )
    await conn.execute("DELETE FROM notification WHERE sent_to @> %(channels)s", {"channels": list(channels)})


async def note_failure(conn: Conn, message: DueMessage, *, delay_s: float, give_up_after_s: float) -> int:
    """Note that a channel could not send a message; how many notifications it gives up for their age.

    If it gives up all, the message has come to its end.
    """
    cur = await conn.execute(
        """
        UPDATE notification
           SET sent_to = array_append(sent_to, %(channel)s)
         WHERE id <= %(last_id)s
           AND %(channel)s <> ALL (sent_to)
           AND created_at <= clock_timestamp() - make_interval(secs => %(give_up_after_s)s)
        """,
        {"channel": message.channel, "last_id": message.last_id, "give_up_after_s": give_up_after_s},
    )
    given_up = cur.rowcount
    await conn.execute(
        """
        UPDATE notification_delivery
           SET failures = failures + 1,
               next_attempt_at = clock_timestamp() + make_interval(secs => %(delay_s)s),
               last_id = CASE WHEN EXISTS (SELECT FROM notification
                                            WHERE id <= %(last_id)s AND %(channel)s <> ALL (sent_to))
                              THEN last_id END
         WHERE tenant_id = %(tenant_id)s AND channel = %(channel)s
        """,
        {
            "tenant_id": message.tenant_id,
            "channel": message.channel,
            "last_id": message.last_id,
            "delay_s": delay_s,
        },
    )
    return given_up


async def forget_old(conn: Conn) -> None:
    """Forget notifications past their time, sent or not, of all tenants."""
    await conn.execute("SELECT forget_notifications()")
