"""The sender of notifications: one message for each tenant and channel, of all that came within a window."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from docmill.errors import DocmillError, TransientError
from docmill.resilience.concurrency import keep_doing
from docmill.service.notify.channels import Channel
from docmill.service.notify.message import Digest
from docmill.service.observe.metrics import Metrics
from docmill.service.store import notifications
from docmill.service.store.database import Conn, Database, try_lock
from docmill.service.store.notifications import DueMessage, Notification

log = logging.getLogger(__name__)

GIVE_UP_S = 24 * 3600.0
_SEND_S = 40.0
"""Limit of one message. The lock is that of an open transaction, which the server ends after a minute."""
_PAUSE_S = 1.0
_FIRST_DELAY_S = 5.0
_LONGEST_DELAY_S = 1800.0
_LOCK = "notifications"


class StoredNotifications:
    """`FailureNotifier` that has every channel told, by a `Notifier`."""

    async def notify(self, conn: Conn, notification: Notification) -> None:
        """See `FailureNotifier.notify`."""
        await notifications.add(conn, notification)


@dataclass(frozen=True)
class Notifier:
    """Sends what `store.notifications` keeps, by every channel. Any number may run on one database.

    window_s: what comes within it is one message. public_url: see `Digest`.
    """

    database: Database
    channels: Sequence[Channel]
    window_s: float
    public_url: str | None = None

    async def work_for_ever(self, metrics: Metrics | None = None) -> None:
        """Send what is due, until cancelled."""
        if self.channels:

            async def work() -> None:
                while await self.send_next(metrics):
                    pass

            await keep_doing(work, what="sending notifications", pause_s=_PAUSE_S)

    async def send_next(self, metrics: Metrics | None = None) -> bool:
        """Send one message that is due; False if none is, or if another process is at it."""
        names = [channel.name for channel in self.channels]
        async with self.database.transaction() as guard:
            if not await try_lock(guard, _LOCK):
                return False
            async with self.database.connection() as conn:
                message = await notifications.next_due(conn, names, window_s=self.window_s)
            if message is None:
                return False
            async with self.database.tenant(message.tenant_id) as conn:
                await notifications.begin(conn, message)
                unsent = await notifications.unsent(conn, message)
            if unsent is not None:
                digest = Digest(
                    _id_of(message, unsent.ids),
                    message.tenant_id,
                    unsent.total,
                    unsent.oldest_at,
                    unsent.errors,
                    unsent.first,
                    self.public_url,
                )
                channel = next(channel for channel in self.channels if channel.name == message.channel)
                if not await self._send(channel, digest, message, metrics):
                    return True
            async with self.database.tenant(message.tenant_id) as conn:
                sent = () if unsent is None else unsent.ids
                await notifications.note_sent(conn, message, sent, channels=names)
        return True

    async def _send(
        self, channel: Channel, digest: Digest, message: DueMessage, metrics: Metrics | None
    ) -> bool:
        """Send a message; whether that worked. If not, it is tried again later, for a day."""
        extra = {"channel": channel.name, "tenant_id": str(message.tenant_id), "count": digest.total}
        try:
            async with asyncio.timeout(_SEND_S):
                await channel.send(digest)
        except (DocmillError, TimeoutError) as error:
            code = error.code if isinstance(error, DocmillError) else "timeout"
            wait_s = error.retry_after_s if isinstance(error, TransientError) else None
            delay_s = max(_delay_s(message.failures), wait_s or 0.0)
            reason = error.message if isinstance(error, DocmillError) else "took too long"
            log.warning("notifications were not sent", extra={**extra, "code": code, "reason": reason})
            async with self.database.tenant(message.tenant_id) as conn:
                given_up = await notifications.note_failure(
                    conn, message, delay_s=delay_s, give_up_after_s=GIVE_UP_S
                )
            if given_up:
                log.error("notifications are given up", extra={**extra, "count": given_up})  # noqa: TRY400 - says it all
            if metrics is not None:
                metrics.notification_ended(channel.name, "given_up" if given_up else "failed")
            return False
        log.info("notifications sent", extra=extra)
        if metrics is not None:
            metrics.notification_ended(channel.name, "sent")
        return True

    async def forget_old(self) -> None:
        """Forget notifications of past days, which no channel was configured for."""
        async with self.database.connection() as conn:
            await notifications.forget_old(conn)


def _id_of(message: DueMessage, ids: Sequence[UUID]) -> str:
    """The id of a message: the same when it is sent again, another one when it tells of more by then.

    Receivers pass over an id that they know, and would never learn of what has come to it.
    """
    named = "/".join((message.channel, str(message.tenant_id), *map(str, ids)))
    return f"msg_{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def _delay_s(failures: int) -> float:
    return min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 4 ** min(failures, 10))
