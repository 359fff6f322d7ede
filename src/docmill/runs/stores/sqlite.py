"""The state store in a SQLite file: the default."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from docmill.errors import MisconfiguredError, ServerError
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
from docmill.runs.stores import sqlite_queries as queries
from docmill.runs.stores.one_thread import OneThread

_Arguments = TypeVarTuple("_Arguments")
_Value = TypeVar("_Value")

_BUSY_S = 30.0


class SqliteStore:
    """`StateStore` in one file, which several processes of a machine may use at the same time.

    Every change is on the disk when its call returns. path: of the file; it is made where there is none.
    Raises MisconfiguredError where it cannot be opened, or is not a file of runs.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._thread = OneThread("docmill-runs")
        self._connection: sqlite3.Connection | None = None

    async def create_run(self, run: Run) -> None:
        """See `StateStore.create_run`."""
        await self._do(queries.create_run, run)

    async def find_run(self, run_id: str) -> Run:
        """See `StateStore.find_run`."""
        return await self._do(queries.find_run, run_id)

    async def list_runs(self) -> Sequence[Run]:
        """See `StateStore.list_runs`."""
        return await self._do(queries.list_runs)

    async def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        completed_at: datetime | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """See `StateStore.update_run`."""
        await self._do(queries.update_run, run_id, status, completed_at, fingerprint)

    async def remove_run(self, run_id: str) -> None:
        """See `StateStore.remove_run`."""
        await self._do(queries.remove_run, run_id)

    async def begin_listing(self, run_id: str) -> int:
        """See `StateStore.begin_listing`."""
        return await self._do(queries.begin_listing, run_id)

    async def add(self, run_id: str, documents: Sequence[NewDocument], *, listing: int) -> Added:
        """See `StateStore.add`."""
        return await self._do(queries.add, run_id, documents, listing)

    async def end_listing(self, run_id: str, *, listing: int) -> int:
        """See `StateStore.end_listing`."""
        return await self._do(queries.end_listing, run_id, listing)

    async def claim(self, run_id: str, *, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
        """See `StateStore.claim`."""
        return await self._do(queries.claim, run_id, owner, limit, lease_s)

    async def settle(self, run_id: str, settlements: Sequence[Settlement], *, owner: str) -> Collection[str]:
        """See `StateStore.settle`."""
        return await self._do(queries.settle, run_id, settlements, owner)

    async def renew(self, run_id: str, *, owner: str, lease_s: float) -> None:
        """See `StateStore.renew`."""
        await self._do(queries.renew, run_id, owner, lease_s)

    async def release(self, run_id: str, *, owner: str) -> None:
        """See `StateStore.release`."""
        await self._do(queries.release, run_id, owner)

    async def next_due_s(self, run_id: str) -> float | None:
        """See `StateStore.next_due_s`."""
        return await self._do(queries.next_due_s, run_id)

    async def count(self, run_id: str) -> Mapping[DocumentStatus, int]:
        """See `StateStore.count`."""
        return await self._do(queries.count, run_id)

    async def documents(
        self, run_id: str, *, status: DocumentStatus | None = None
    ) -> AsyncIterator[DocumentState]:
        """See `StateStore.documents`."""
        after = 0
        while page := await self._do(queries.page, run_id, status, after):
            for _, state in page:
                yield state
            after = page[-1][0]

    async def find_document(self, run_id: str, path: str) -> DocumentState | None:
        """See `StateStore.find_document`."""
        return await self._do(queries.find_document, run_id, path)

    async def requeue(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.requeue`."""
        return await self._do(queries.requeue, run_id, paths)

    async def keep_stages(self, run_id: str, results: Sequence[StageResult]) -> None:
        """See `StateStore.keep_stages`."""
        await self._do(queries.keep_stages, run_id, results)

    async def stages(self, run_id: str, path: str, *, prefix: str = "") -> Mapping[str, bytes]:
        """See `StateStore.stages`."""
        return await self._do(queries.stages, run_id, path, prefix)

    async def remove_stages(self, run_id: str, path: str, *, prefix: str = "") -> None:
        """See `StateStore.remove_stages`."""
        await self._do(queries.remove_stages, run_id, path, prefix)

    async def dead_letters(self, run_id: str) -> AsyncIterator[DeadLetter]:
        """See `StateStore.dead_letters`."""
        after = 0
        while page := await self._do(queries.dead_letters, run_id, after):
            for _, letter in page:
                yield letter
            after = page[-1][0]

    async def purge(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.purge`."""
        return await self._do(queries.purge, run_id, paths)

    async def close(self) -> None:
        """See `StateStore.close`."""
        await self._thread.call(self._close)
        self._thread.close()

    async def _do(
        self, work: "Callable[[sqlite3.Connection, *_Arguments], _Value]", *args: *_Arguments
    ) -> _Value:
        return await self._thread.call(self._in_transaction, work, args)

    def _in_transaction(self, work: Callable[..., _Value], args: tuple[object, ...]) -> _Value:
        try:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection, *args)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise _translate(error, self._path) from error
        return result

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MisconfiguredError(
                f"cannot make the folder of {str(self._path)!r}: {error.strerror}"
            ) from error
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
            )
            connection.execute("BEGIN IMMEDIATE")
            is_known = queries.prepare(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        if not is_known:
            connection.close()
            raise MisconfiguredError(
                f"{str(self._path)!r} is no file of runs of this release; give another file"
            )
        self._connection = connection
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _translate(error: sqlite3.Error, path: Path) -> Exception:
    """The error in a person's words: trying again helps against a busy or full disk, and nothing else."""
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith(("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_IOERR")):
        return ServerError(f"cannot write {str(path)!r}: {error}")
    if code.startswith(("SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_READONLY")):
        return MisconfiguredError(
            f"cannot use {str(path)!r} for the states of runs: {error}; give another file"
        )
    return error
