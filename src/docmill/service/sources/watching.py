"""Watches sources: each by one worker at a time, and again after whatever ended it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
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
_FIRST_RETRY_S = 5.0
_LONGEST_RETRY_S = 900.0
_SETUP_RETRY_S = 60.0
"""First pause after what a person must change: mail servers lock out whoever tries in vain too often."""


class SourceWatching:
    """Watches up to `concurrency` sources in this process. Any number of processes may, on one database.

    A lease tells the others that a source is watched. Should two ever watch one, each item is still taken
    once: that is for `ItemIntake` to see to.
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
    ) -> None:
        self._sources = sources
        self._database = database
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._concurrency = concurrency
        self._kinds = kinds
        self._watches: set[asyncio.Task[None]] = set()

    async def work_for_ever(self) -> None:
        """Watch what nobody watches, until cancelled; then let go of all."""
        try:
            await keep_doing(self._begin_watches, what="watching sources", pause_s=_LOOK_S)
        finally:
            await cancel_and_wait(self._watches)

    async def _begin_watches(self) -> None:
        while len(self._watches) < self._concurrency:
            async with self._database.transaction() as conn:
                claimed = await doc_sources.claim(
                    conn, self._kinds, worker_id=self._worker_id, lease_s=self._lease_s
                )
            if claimed is None:
                return
            watch = asyncio.create_task(self._watch(*claimed))
            self._watches.add(watch)
            watch.add_done_callback(self._watches.discard)

    async def _watch(self, source_id: UUID, tenant_id: UUID) -> None:
        """Watch one source until it is paused, changed or removed, it fails, or this is cancelled."""
        try:
            row = await self._sources.get(source_id, tenant_id=tenant_id)
            if row is not None:
                try:
                    await self._hold_and_take(row)
                except Exception as error:  # noqa: BLE001  any fault, also one of ours, is shown to people
                    await self._note(row, error)
        finally:
            with suppress(TransientError):  # without a database, the lease ends by itself
                async with self._database.tenant(tenant_id) as conn:
                    await doc_sources.release(conn, source_id, worker_id=self._worker_id)

    async def _hold_and_take(self, row: SourceRow) -> None:
        """Take what arrives for as long as the lease can be renewed."""
        connection = self._sources.open(row)
        taking = asyncio.create_task(connection.watch(self._sources.item_intake(row)))
        holding = asyncio.create_task(self._hold(row))
        try:
            await asyncio.wait({taking, holding}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = [task for task in (taking, holding) if task.done()]
            await cancel_and_wait([taking, holding])
        for task in ended:
            task.result()

    async def _hold(self, row: SourceRow) -> None:
        """Renew the lease until it is lost. A database that does not answer for so long loses it, too."""
        renewed_at = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < renewed_at + self._lease_s:
            try:
                async with self._database.tenant(row.tenant_id) as conn:
                    is_held = await doc_sources.renew(
                        conn,
                        row.id,
                        worker_id=self._worker_id,
                        lease_s=self._lease_s,
                        version=row.version,
                    )
            except TransientError:
                await asyncio.sleep(self._lease_s / 10)
                continue
            if not is_held:
                return
            renewed_at = asyncio.get_running_loop().time()
            await asyncio.sleep(min(self._lease_s / 3, _LOOK_S))

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
