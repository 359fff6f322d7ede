"""Keeps results of stages in the state store, but only those that are of use for long enough."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from docmill.resilience.concurrency import off_loop
from docmill.runs.states import StageResult, StateStore

DELAY_S = 0.2
"""A result waits so long before it is written: that of a document that ends before it is never written."""


class _Waiting(NamedTuple):
    since: float
    dump: Callable[[], bytes]
    size: float


class WriteBehindJournal:
    """`StageJournal` of one run."""

    def __init__(self, store: StateStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._waiting: dict[str, dict[str, _Waiting]] = {}

    def keep(self, path: str, stage: str, dump: Callable[[], bytes], *, size: float) -> None:
        """See `StageJournal.keep`."""
        self._waiting.setdefault(path, {})[stage] = _Waiting(time.monotonic(), dump, size)

    async def load(self, path: str) -> Mapping[str, bytes]:
        """See `StageJournal.load`."""
        return await self._store.stages(self._run_id, path)

    def of_document(self, path: str, *, prefix: str = "") -> "StoredJournal":
        """See `StageJournal.of_document`. prefix: of the names of all that it keeps."""
        return StoredJournal(self._store, self._run_id, path, prefix)

    def forget(self, path: str) -> None:
        """Drop what is not written yet of a document that has come to its end."""
        self._waiting.pop(path, None)

    async def flush(self, paths: Sequence[str] | None = None) -> None:
        """Write what waits: that of these documents, or all that has waited for long enough."""
        before = time.monotonic() - DELAY_S
        due = [
            (path, stage, waiting)
            for path in (list(self._waiting) if paths is None else paths)
            for stage, waiting in self._waiting.get(path, {}).items()
            if paths is not None or waiting.since <= before
        ]
        if not due:
            return
        results = [
            StageResult(path, stage, await off_loop(waiting.dump, size=waiting.size))
            for path, stage, waiting in due
        ]
        await self._store.keep_stages(self._run_id, results)
        for path, stage, waiting in due:
            kept = self._waiting.get(path)
            if kept is not None and kept.get(stage) is waiting:
                del kept[stage]
                if not kept:
                    del self._waiting[path]

    async def flush_again_and_again(self) -> None:
        """Write what has waited for long enough, until cancelled."""
        while True:
            await asyncio.sleep(DELAY_S)
            await self.flush()


class StoredJournal:
    """`Journal` of one document of a run. prefix: see `WriteBehindJournal.of_document`."""

    def __init__(self, store: StateStore, run_id: str, path: str, prefix: str = "") -> None:
        self._store = store
        self._run_id = run_id
        self._path = path
        self._prefix = prefix

    async def get(self, step: str) -> bytes | None:
        """See `Journal.get`."""
        name = self._prefix + step
        return (await self._store.stages(self._run_id, self._path, prefix=name)).get(name)

    async def put(self, step: str, result: bytes) -> None:
        """See `Journal.put`."""
        if await self.get(step) is None:
            await self.replace(step, result)

    async def replace(self, step: str, result: bytes) -> None:
        """See `Journal.replace`."""
        kept = StageResult(self._path, self._prefix + step, result)
        await self._store.keep_stages(self._run_id, [kept])

    async def entries(self, folder: str) -> list[str]:
        """See `Journal.entries`."""
        found = await self._store.stages(self._run_id, self._path, prefix=f"{self._prefix}{folder}/")
        return [name.removeprefix(self._prefix) for name in found]

    async def remove(self, step: str) -> None:
        """See `Journal.remove`."""
        await self._store.remove_stages(self._run_id, self._path, prefix=self._prefix + step)
