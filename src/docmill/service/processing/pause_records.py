"""Records a worker's pauses, and what it leaves alone, in the database, so that people see them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from docmill.errors import DocmillError
from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.processing.outage_notices import end_outages
from docmill.service.protocol.pause import Cause
from docmill.service.store import notifications, outages, pauses
from docmill.service.store.database import Database, lock_file
from docmill.service.store.notifications import Notification

log = logging.getLogger(__name__)

CONFIRM_S = 60.0
"""Rows are confirmed so often while something is paused; of a worker that is killed they go out of date."""

REMOVE_S = 5.0
"""A worker that ends waits no longer for its rows to be removed."""


class PauseRecords:
    """The rows of one worker. causes: of its pauses. announce: called when people can see a change.

    outages: the codes of the parts that fail and are left alone.

    tenant_id: the one that notifications of pauses are filed under.
    """

    def __init__(
        self,
        database: Database,
        worker_id: str,
        causes: Callable[[], Sequence[Cause]],
        announce: Callable[[], None],
        *,
        tenant_id: UUID,
        outages: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._database = database
        self._worker_id = worker_id
        self._causes = causes
        self._announce = announce
        self._tenant_id = tenant_id
        self._outages = outages
        self._down: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._has_rows = False

    def note_change(self) -> None:
        """Have the pauses written soon: they have changed."""
        self._changed.set()

    @asynccontextmanager
    async def keep_up_to_date(self) -> AsyncGenerator[None]:
        """Keep the rows up to date during the block, and remove them after it."""
        writing = asyncio.create_task(keep_doing(self.write_next, what="records of pauses"))
        try:
            yield
        finally:
            await cancel_and_wait([writing])
            await self.remove()

    async def write_next(self) -> None:
        """Wait for a change, or until rows must be confirmed, and write the pauses."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_S if self._has_rows or self._down else None):
                await self._changed.wait()
        self._changed.clear()
        try:
            await self._write(self._causes())
            await self._write_outages(self._outages())
        except DocmillError:
            self._changed.set()  # the change is still to be written
            raise

    async def remove(self) -> None:
        """Remove the rows at the end of the worker, which then waits for nothing."""
        try:
            async with asyncio.timeout(REMOVE_S):
                if self._has_rows:
                    await self._write(())
                if self._down:  # what is down stays down; other workers go on to confirm it
                    async with self._database.tenant(self._tenant_id) as conn:
                        await outages.withdraw(conn, self._down, worker_id=self._worker_id)
        except (DocmillError, TimeoutError) as error:
            log.warning("cannot remove what was paused", extra={"reason": type(error).__name__})

    async def _write_outages(self, codes: Mapping[str, str]) -> None:
        """End the outages whose parts have answered and that no worker sees; confirm those that there are."""
        if answering := self._down - codes.keys():
            async with self._database.tenant(self._tenant_id) as conn:
                await outages.withdraw(conn, answering, worker_id=self._worker_id)
                await end_outages(conn, answering, tenant_id=self._tenant_id)
        if codes:
            async with self._database.tenant(self._tenant_id) as conn:
                await outages.confirm(conn, codes, worker_id=self._worker_id)
        self._down = frozenset(codes)

    async def _write(self, causes: Sequence[Cause]) -> None:
        async with self._database.tenant(self._tenant_id) as conn:
            # Workers meet an error at the same moment: one after the other, so that only the first tells.
            await lock_file(conn, "pauses")
            paused = {row.part for row in await pauses.current(conn)}
            await pauses.record(conn, self._worker_id, causes)
            for cause in causes:
                if cause.part not in paused:  # the first worker that waits for it tells people
                    await notifications.add(
                        conn, Notification("pause", self._tenant_id, None, cause.message, link="/ops")
                    )
        self._has_rows = bool(causes)
        self._announce()
