"""The state store in Redis: for runs that runners on several machines share."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime

from docmill.runs.states import (
    Added,
    DeadLetter,
    DocumentState,
    DocumentStatus,
    NewDocument,
    Run,
    RunStatus,
    Settlement,
    StageResult,
)
from docmill.runs.stores.one_thread import OneThread
from docmill.runs.stores.redis_connection import RedisConnection
from docmill.runs.stores.redis_queries import RedisQueries


class RedisStore:
    """`StateStore` in a Redis server, which any number of runners on any machines may use at the same time.

    A change is as durable as the server makes it: see its settings `appendonly` and `appendfsync`. A lost
    connection is made again, and calls are repeated for half a minute without being carried out twice. A run
    is forgotten some time after its last change, 30 days unless the address says otherwise.

    address: `redis://` or `rediss://`, see `RedisConnection`; it connects with the first call. Raises
    MisconfiguredError for an address that cannot be used. Needs the extra `docmill[redis]`.
    """

    def __init__(self, address: str) -> None:
        self._queries = RedisQueries(RedisConnection(address))
        self._thread = OneThread("docmill-runs-redis")

    async def create_run(self, run: Run) -> None:
        """See `StateStore.create_run`."""
        await self._thread.call(self._queries.create_run, run)

    async def find_run(self, run_id: str) -> Run:
        """See `StateStore.find_run`."""
        return await self._thread.call(self._queries.find_run, run_id)

    async def list_runs(self) -> Sequence[Run]:
        """See `StateStore.list_runs`."""
        return await self._thread.call(self._queries.list_runs)

    async def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        completed_at: datetime | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """See `StateStore.update_run`."""
        await self._thread.call(self._queries.update_run, run_id, status, completed_at, fingerprint)

    async def remove_run(self, run_id: str) -> None:
        """See `StateStore.remove_run`."""
        await self._thread.call(self._queries.remove_run, run_id)

    async def begin_listing(self, run_id: str) -> int:
        """See `StateStore.begin_listing`."""
        return await self._thread.call(self._queries.begin_listing, run_id)

    async def add(self, run_id: str, documents: Sequence[NewDocument], *, listing: int) -> Added:
        """See `StateStore.add`."""
        return await self._thread.call(self._queries.add, run_id, documents, listing)

    async def end_listing(self, run_id: str, *, listing: int) -> int:
        """See `StateStore.end_listing`."""
        return await self._thread.call(self._queries.end_listing, run_id, listing)

    async def claim(self, run_id: str, *, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
        """See `StateStore.claim`."""
        return await self._thread.call(self._queries.claim, run_id, owner, limit, lease_s)

    async def settle(self, run_id: str, settlements: Sequence[Settlement], *, owner: str) -> Collection[str]:
        """See `StateStore.settle`."""
        return await self._thread.call(self._queries.settle, run_id, settlements, owner)

    async def renew(self, run_id: str, *, owner: str, lease_s: float) -> None:
        """See `StateStore.renew`."""
        await self._thread.call(self._queries.renew, run_id, owner, lease_s)

    async def release(self, run_id: str, *, owner: str) -> None:
        """See `StateStore.release`."""
        await self._thread.call(self._queries.release, run_id, owner)

    async def next_due_s(self, run_id: str) -> float | None:
        """See `StateStore.next_due_s`."""
        return await self._thread.call(self._queries.next_due_s, run_id)

    async def count(self, run_id: str) -> Mapping[DocumentStatus, int]:
        """See `StateStore.count`."""
        return await self._thread.call(self._queries.count, run_id)

    async def documents(
        self, run_id: str, *, status: DocumentStatus | None = None
    ) -> AsyncIterator[DocumentState]:
        """See `StateStore.documents`."""
        after = 0
        while page := await self._thread.call(self._queries.page, run_id, status, after):
            after, states = page
            for state in states:
                yield state

    async def find_document(self, run_id: str, path: str) -> DocumentState | None:
        """See `StateStore.find_document`."""
        return await self._thread.call(self._queries.find_document, run_id, path)

    async def requeue(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.requeue`."""
        return await self._thread.call(self._queries.requeue, run_id, paths)

    async def keep_stages(self, run_id: str, results: Sequence[StageResult]) -> None:
        """See `StateStore.keep_stages`."""
        await self._thread.call(self._queries.keep_stages, run_id, results)

    async def stages(self, run_id: str, path: str, *, prefix: str = "") -> Mapping[str, bytes]:
        """See `StateStore.stages`."""
        return await self._thread.call(self._queries.stages, run_id, path, prefix)

    async def remove_stages(self, run_id: str, path: str, *, prefix: str = "") -> None:
        """See `StateStore.remove_stages`."""
        await self._thread.call(self._queries.remove_stages, run_id, path, prefix)

    async def dead_letters(self, run_id: str) -> AsyncIterator[DeadLetter]:
        """See `StateStore.dead_letters`."""
        after = 0
        while page := await self._thread.call(self._queries.dead_letters, run_id, after):
            after, letters = page
            for letter in letters:
                yield letter

    async def purge(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.purge`."""
        return await self._thread.call(self._queries.purge, run_id, paths)

    async def close(self) -> None:
        """See `StateStore.close`."""
        await self._thread.call(self._queries.close)
        self._thread.close()
