"""Watches sources: each by one worker at a time, and again after whatever ended it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from docmill.errors import DocmillError, InternalError, SetupError, TransientError
from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.sources.registry import WATCHED
from docmill.service.sources.sources import Sources
from docmill.service.store import doc_sources
from docmill.service.store.database import Database
from docmill.service.store.doc_sources import SourceRow

log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""Between looks for sources that nobody watches, such as new ones and those of a worker that died."""
_TURN_S = 60.0
"""How long a source is watched while others wait for their turn: time for a look at a large mailbox."""
_FIRST_RETRY_S = 5.0
_LONGEST_RETRY_S = 900.0
_SETUP_RETRY_S = 60.0
"""First pause after what a person must change: mail servers lock out whoever tries in vain too often."""


@dataclass(slots=True)
class _Watch:
    """A source that is watched, `since` a time of the event loop. version: None until its row was read."""

    task: asyncio.Task[None]
    since: float
    version: int | None = None


class SourceWatching:
    """Watches up to `concurrency` sources in this process. Any number of processes may, on one database.

    Where there are more sources than all of them watch at once, the sources take turns of `turn_s`. A lease
    tells the others that a source is watched. Should two ever watch one, each item is still taken once: that
    is for `ItemIntake` to see to.
    """

    def __init__(
        self,
        sources: Sources,
        database: Database,
        worker_id: str,
        *,
        lease_s: float,
        concurrency: int,
        kinds: Sequence[str] = WATCHED,
        turn_s: float = _TURN_S,
    ) -> None:
        self._sources = sources
        self._database = database
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._concurrency = concurrency
        self._kinds = kinds
        self._turn_s = turn_s
        self._takes_turns = False
        self._watches: dict[UUID, _Watch] = {}
        self._held_at = 0.0

    async def work_for_ever(self) -> None:
        """Watch what nobody watches, until cancelled; then let go of all."""
        try:
            await keep_doing(self._look, what="watching sources", pause_s=_LOOK_S)
        finally:
            await cancel_and_wait([watch.task for watch in self._watches.values()])

    async def _look(self) -> None:
        """End what is no longer to be watched as it is, hold the rest, and begin what nobody watches."""
        await self._end_changed()
        now = asyncio.get_running_loop().time()
        async with self._database.transaction() as conn:
            if self._watches and now >= self._held_at + self._lease_s / 3:
                await doc_sources.hold(
                    conn, list(self._watches), worker_id=self._worker_id, lease_s=self._lease_s
                )
                self._held_at = now
        while len(self._watches) < self._concurrency and await self._begin_one():
            pass
        await self._end_turns()

    async def _end_turns(self) -> None:
        """End the watches that began first, if others wait for a turn and these have had theirs."""
        if len(self._watches) < self._concurrency:
            return
        async with self._database.transaction() as conn:
            waiting = await doc_sources.count_unwatched(conn, self._kinds)
        if waiting and not self._takes_turns:
            log.warning(
                "more sources than are watched at once: they take turns; raise sources.concurrency or start "
                "another worker",
                extra={"waiting": waiting, "concurrency": self._concurrency},
            )
        self._takes_turns = waiting > 0
        over_since = asyncio.get_running_loop().time() - self._turn_s
        over = [watch for watch in self._watches.values() if watch.since <= over_since]
        for watch in over[:waiting]:
            watch.task.cancel()

    async def _end_changed(self) -> None:
        """End the watches of sources that were paused, removed, changed, or taken by another worker."""
        if not self._watches:
            return
        async with self._database.transaction() as conn:
            current = await doc_sources.watched(conn, list(self._watches), worker_id=self._worker_id)
        for source_id, watch in list(self._watches.items()):
            if watch.version is not None and current.get(source_id) != watch.version:
                watch.task.cancel()

    async def _begin_one(self) -> bool:
        """Begin a watch; False if every source is watched, or waits for its next attempt."""
        async with self._database.transaction() as conn:
            claimed = await doc_sources.claim(
                conn, self._kinds, worker_id=self._worker_id, lease_s=self._lease_s
            )
        if claimed is None or claimed[0] in self._watches:
            return False
        source_id, tenant_id = claimed
        task = asyncio.create_task(self._watch(source_id, tenant_id))
        self._watches[source_id] = _Watch(task, asyncio.get_running_loop().time())
        task.add_done_callback(lambda _: self._watches.pop(source_id, None))
        return True

    async def _watch(self, source_id: UUID, tenant_id: UUID) -> None:
        """Watch one source until it is paused, changed or removed, it fails, or this is cancelled."""
        try:
            row = await self._sources.get(source_id, tenant_id=tenant_id)
            if row is not None:
                self._watches[source_id].version = row.version
                try:
                    await self._sources.open(row).watch(self._sources.item_intake(row))
                except Exception as error:  # noqa: BLE001  any fault, also one of ours, is shown to people
                    await self._note(row, error)
        finally:
            with suppress(TransientError):  # without a database, the lease ends by itself
                async with self._database.tenant(tenant_id) as conn:
                    await doc_sources.release(conn, source_id, worker_id=self._worker_id)

    async def _note(self, row: SourceRow, error: Exception) -> None:
        """Note a failure, for people to see, and when the source is tried again."""
        known = error if isinstance(error, DocmillError) else InternalError("a fault in docmill; see its log")
        log.warning(
            "a source cannot be watched",
            extra={"source_id": str(row.id), "tenant_id": str(row.tenant_id), "code": known.code},
            exc_info=None if known is error else error,
        )
        first_s = _SETUP_RETRY_S if isinstance(known, SetupError) else _FIRST_RETRY_S
        wanted_s = known.retry_after_s if isinstance(known, TransientError) else None
        async with self._database.tenant(row.tenant_id) as conn:
            current = await doc_sources.get(conn, row.id)
            failures = 0 if current is None else current.failures
            retry_s = max(wanted_s or 0.0, min(first_s * 2 ** min(failures, 10), _LONGEST_RETRY_S))
            await doc_sources.note_failure(conn, row.id, known, retry_s=retry_s)
