"""Sends what waits for webhooks, each webhook by itself, so that a slow one delays no other."""

import asyncio
import logging
from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

from docmill.errors import DocmillError, ungrouped
from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.events.wakeups import TOPIC, Wakeups
from docmill.service.observe.metrics import Metrics
from docmill.service.store import webhook_deliveries, webhooks
from docmill.service.store.database import Database, new_id
from docmill.service.store.webhook_deliveries import ClaimedDelivery
from docmill.service.webhooks.webhook_sender import WebhookSender

log = logging.getLogger(__name__)

_AT_ONCE = 100
"""Webhooks that one process serves at a time."""
_BATCH = 5
"""Messages to one webhook at a time: what is lost with a process waits for the end of its lease."""
_RESERVE_S = 30.0
"""For the database, beside the time limits of the requests of a batch."""
_FORGET = 1000


class WebhookDeliverer:
    """Sends deliveries that are due, of all tenants. Any number may run on one database.

    A delivery is claimed for a time. If its process dies, another sends it after that, with the same id, so
    that it arrives at least once. A process that only loses the database sends it as soon as that is back.
    """

    def __init__(
        self, database: Database, wakeups: Wakeups, sender: WebhookSender, *, timeout_s: float, keep_days: int
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._sender = sender
        self._lease_s = _BATCH * timeout_s + _RESERVE_S
        self._keep_days = keep_days
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._interrupted: dict[UUID, UUID] = {}
        """Tokens of claims that a failure of the database left behind, with their tenants."""
        self._metrics: Metrics | None = None

    async def work_for_ever(self, metrics: Metrics | None = None) -> None:
        """Send what is due, until cancelled. metrics: where attempts are counted."""
        self._metrics = metrics
        try:
            await keep_doing(self._start_due, what="sending to webhooks")
        finally:
            await cancel_and_wait(list(self._tasks.values()))

    async def send_due(self) -> None:
        """Send all that is due now, and return when it was tried once."""
        await self._release_interrupted()
        async with self._database.connection() as conn:
            due = await webhooks.due(conn, [], limit=_AT_ONCE)
        await asyncio.gather(*(self.serve(tenant_id, webhook_id) for tenant_id, webhook_id in due))

    async def forget_old(self) -> None:
        """Forget events past their time, with the log of their deliveries, in small steps."""
        while True:
            async with self._database.connection() as conn:
                count = await webhook_deliveries.forget_old(conn, days=self._keep_days, limit=_FORGET)
            if count < _FORGET:
                return

    async def _start_due(self) -> None:
        """Start on webhooks with something to send, then wait for more."""
        heard = self._wakeups.next(TOPIC)
        await self._release_interrupted()
        self._tasks = {id_: task for id_, task in self._tasks.items() if not task.done()}
        free = _AT_ONCE - len(self._tasks)
        if free > 0:
            async with self._database.connection() as conn:
                due = await webhooks.due(conn, list(self._tasks), limit=free)
            for tenant_id, webhook_id in due:
                self._tasks[webhook_id] = asyncio.create_task(self._serve_safely(tenant_id, webhook_id))
        await self._wakeups.wait(heard)

    async def _serve_safely(self, tenant_id: UUID, webhook_id: UUID) -> None:
        try:
            await self.serve(tenant_id, webhook_id)
        except DocmillError as error:  # the database is away; what was claimed comes again
            log.warning("cannot serve a webhook", extra={"webhook_id": str(webhook_id), "code": error.code})
        except Exception:  # it must not stop the others
            log.exception("a fault in docmill: a webhook is not served")

    async def serve(self, tenant_id: UUID, webhook_id: UUID) -> None:
        """Send what is due to a webhook: messages about one document in their order, others together."""
        while True:
            token = new_id()
            try:
                with ungrouped(DocmillError):
                    count = await self._send_batch(webhook_id, token, tenant_id=tenant_id)
            except DocmillError:
                self._interrupted[token] = tenant_id
                raise
            if not count:
                return

    async def _send_batch(self, webhook_id: UUID, token: UUID, *, tenant_id: UUID) -> int:
        """Claim a batch and send it; how many messages it had."""
        async with self._database.tenant(tenant_id) as conn:
            batch = await webhook_deliveries.claim(
                conn, webhook_id, token=token, limit=_BATCH, lease_s=self._lease_s
            )
        by_document = sorted(batch, key=_document_of)  # stable: the order in time stays
        async with asyncio.TaskGroup() as group:
            for _, deliveries in groupby(by_document, key=_document_of):
                group.create_task(self._send_in_order(list(deliveries), tenant_id))
        return len(batch)

    async def _release_interrupted(self) -> None:
        """Release what interrupted claims still hold; it would wait for the end of their leases."""
        for token, tenant_id in list(self._interrupted.items()):
            async with self._database.tenant(tenant_id) as conn:
                await webhook_deliveries.release(conn, token)
            del self._interrupted[token]

    async def _send_in_order(self, deliveries: Sequence[ClaimedDelivery], tenant_id: UUID) -> None:
        for delivery in deliveries:
            await self._sender.send(delivery, tenant_id=tenant_id, metrics=self._metrics)


def _document_of(delivery: ClaimedDelivery) -> str:
    return str(delivery.document_id)
