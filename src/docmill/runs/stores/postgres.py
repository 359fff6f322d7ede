"""The state store in PostgreSQL, which the runners of several machines may share."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

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
from docmill.runs.stores import postgres_documents as documents_sql
from docmill.runs.stores import postgres_results as results_sql
from docmill.runs.stores import postgres_runs as runs_sql
from docmill.runs.stores.one_thread import OneThread
from docmill.runs.stores.postgres_transactions import PostgresTransactions

if TYPE_CHECKING:
    from docmill.runs.stores.postgres_tables import Connection

_Arguments = TypeVarTuple("_Arguments")
_Value = TypeVar("_Value")


class PostgresStore:
    """`StateStore` in the schema `docmill_runs` of a database, created where it is missing.

    Leases and waits are by the server's clock. A lost connection is made anew, and what was lost with it is
    repeated unless it took place; a server that was there before is waited for for half a minute.
    url: of the database, `postgresql://…`. Raises MisconfiguredError for a malformed one.
    """

    def __init__(self, url: str) -> None:
        self._transactions = PostgresTransactions(url)
        self._thread = OneThread("docmill-runs")

    async def create_run(self, run: Run) -> None:
        """See `StateStore.create_run`."""
        await self._write(runs_sql.create_run, run)

    async def find_run(self, run_id: str) -> Run:
        """See `StateStore.find_run`."""
        return await self._read(runs_sql.find_run, run_id)

    async def list_runs(self) -> Sequence[Run]:
        """See `StateStore.list_runs`."""
        return await self._read(runs_sql.list_runs)

    async def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        completed_at: datetime | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """See `StateStore.update_run`."""
        await self._write(runs_sql.update_run, run_id, status, completed_at, fingerprint)

    async def remove_run(self, run_id: str) -> None:
        """See `StateStore.remove_run`."""
        await self._write(runs_sql.remove_run, run_id)

    async def begin_listing(self, run_id: str) -> int:
        """See `StateStore.begin_listing`."""
        return await self._write(runs_sql.begin_listing, run_id)

    async def add(self, run_id: str, documents: Sequence[NewDocument], *, listing: int) -> Added:
        """See `StateStore.add`."""
        return await self._write(documents_sql.add, run_id, documents, listing)

    async def end_listing(self, run_id: str, *, listing: int) -> int:
        """See `StateStore.end_listing`."""
        return await self._write(documents_sql.end_listing, run_id, listing)

    async def claim(self, run_id: str, *, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
        """See `StateStore.claim`."""
        return await self._write(documents_sql.claim, run_id, owner, limit, lease_s)

    async def settle(self, run_id: str, settlements: Sequence[Settlement], *, owner: str) -> Collection[str]:
        """See `StateStore.settle`."""
        return await self._write(documents_sql.settle, run_id, settlements, owner)

    async def renew(self, run_id: str, *, owner: str, lease_s: float) -> None:
        """See `StateStore.renew`."""
        await self._write(documents_sql.renew, run_id, owner, lease_s)

    async def release(self, run_id: str, *, owner: str) -> None:
        """See `StateStore.release`."""
        await self._write(documents_sql.release, run_id, owner)

    async def next_due_s(self, run_id: str) -> float | None:
        """See `StateStore.next_due_s`."""
        return await self._read(documents_sql.next_due_s, run_id)

    async def count(self, run_id: str) -> Mapping[DocumentStatus, int]:
        """See `StateStore.count`."""
        return await self._read(documents_sql.count, run_id)

    async def documents(
        self, run_id: str, *, status: DocumentStatus | None = None
    ) -> AsyncIterator[DocumentState]:
        """See `StateStore.documents`."""
        after = 0
        while page := await self._read(documents_sql.page, run_id, status, after):
            for _, state in page:
                yield state
            after = page[-1][0]

    async def find_document(self, run_id: str, path: str) -> DocumentState | None:
        """See `StateStore.find_document`."""
        return await self._read(documents_sql.find_document, run_id, path)

    async def requeue(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.requeue`."""
        return await self._write(documents_sql.requeue, run_id, paths)

    async def keep_stages(self, run_id: str, results: Sequence[StageResult]) -> None:
        """See `StateStore.keep_stages`."""
        await self._write(results_sql.keep_stages, run_id, results)

    async def stages(self, run_id: str, path: str, *, prefix: str = "") -> Mapping[str, bytes]:
        """See `StateStore.stages`."""
        return await self._read(results_sql.stages, run_id, path, prefix)

    async def remove_stages(self, run_id: str, path: str, *, prefix: str = "") -> None:
        """See `StateStore.remove_stages`."""
        await self._write(results_sql.remove_stages, run_id, path, prefix)

    async def dead_letters(self, run_id: str) -> AsyncIterator[DeadLetter]:
        """See `StateStore.dead_letters`."""
        after = 0
        while page := await self._read(results_sql.dead_letters, run_id, after):
            for _, letter in page:
                yield letter
            after = page[-1][0]

    async def purge(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.purge`."""
        return await self._write(results_sql.purge, run_id, paths)

    async def close(self) -> None:
        """See `StateStore.close`."""
        await self._thread.call(self._transactions.close)
        self._thread.close()

    async def _read(self, work: "Callable[[Connection, *_Arguments], _Value]", *args: *_Arguments) -> _Value:
        return await self._thread.call(self._run, work, args)

    async def _write(self, work: "Callable[[Connection, *_Arguments], _Value]", *args: *_Arguments) -> _Value:
        return await self._thread.call(self._run_writing, work, args)

    def _run(self, work: Callable[..., _Value], args: tuple[object, ...]) -> _Value:
        return self._transactions.run(work, args, writes=False)

    def _run_writing(self, work: Callable[..., _Value], args: tuple[object, ...]) -> _Value:
        return self._transactions.run(work, args, writes=True)
