"""Messages for a queue outside of the database: promised in the transaction, sent after its commit."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.events.wakeups import Wakeups
from docmill.service.ports import Queue
from docmill.service.store import outbox
from docmill.service.store.database import Conn, Database

_BATCH = 100
_SEND_S = 60.0
"""Time limit of one batch, whose rows are locked meanwhile. After it another process may send them."""


class Outbox:
    """`Sender` by an outbox, for any queue. Every process relays the messages of all.

    A message is sent at least once, whatever dies: its row goes only in the transaction that has seen it
    sent. While one process sends a batch, others pass over it. name: tells the queue's rows apart.
    """

    def __init__(self, database: Database, wakeups: Wakeups, queue: Queue, name: str) -> None:
        self._database = database
        self._wakeups = wakeups
        self._queue = queue
        self._name = name
        self._topic = f"outbox:{name}"
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(keep_doing(self._relay, what=f"relaying to queue {self._name}"))]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await cancel_and_wait(self._tasks)

    async def send_in(self, conn: Conn, bodies: Sequence[str], *, delay_s: float = 0) -> None:
        """See `Sender.send_in`."""
        await outbox.add(conn, self._name, bodies, delay_s=delay_s)

    async def hasten_in(self, conn: Conn, body: str) -> None:
        """See `Sender.hasten_in`. Does nothing: queues outside of the database have no such request."""

    def announce(self) -> None:
        """See `Sender.announce`."""
        self._wakeups.announce(self._topic)

    async def relay(self) -> int:
        """Send one batch of due messages; their number."""
        async with self._database.transaction() as conn:
            due = await outbox.take_due(conn, self._name, limit=_BATCH)
            if due:
                async with asyncio.timeout(_SEND_S):
                    await self._queue.send(
                        [message.body for message in due],
                        tenant_ids=[message.tenant_id for message in due],
                    )
                await outbox.remove(conn, [message.id for message in due])
        return len(due)

    async def _relay(self) -> None:
        """Send all that is due, then wait for more."""
        heard = self._wakeups.next(self._topic)
        while await self.relay():
            pass
        await self._wakeups.wait(heard)
