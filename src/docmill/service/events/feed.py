"""New events of a tenant, as they come."""

from collections.abc import AsyncGenerator
from uuid import UUID

from docmill.service.events.wakeups import Wakeups
from docmill.service.store import events
from docmill.service.store.database import Database
from docmill.service.store.events import EventRow

TOPIC = "event"


class EventFeed:
    """Tells waiting clients that documents have changed."""

    def __init__(self, database: Database, wakeups: Wakeups) -> None:
        self._database = database
        self._wakeups = wakeups

    def announce(self) -> None:
        """Wake the waiting. Call it after a commit that changed documents or ingestions."""
        self._wakeups.announce(TOPIC)

    async def follow(
        self, tenant_id: UUID, after: int, *, limit: int = 500
    ) -> AsyncGenerator[list[EventRow]]:
        """Batches of events after id `after`, for ever; each waits until there are some."""
        while True:
            heard = self._wakeups.next(TOPIC)
            async with self._database.tenant(tenant_id) as conn:
                batch = await events.since(conn, after, limit=limit)
            if batch:
                after = batch[-1].id
                yield batch
            else:
                await self._wakeups.wait(heard)
