"""A state store in memory: for notebooks, tests and runs that need not be resumed."""

import heapq
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from docmill.errors import RunExistsError, UnknownRunError
from docmill.runs.states import (
    DONE,
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


@dataclass(slots=True)
class _Entry:
    """A document. lease_ends, due: by `time.time`. number: its place in the list."""

    state: DocumentState
    number: int
    listing: int
    owner: str | None = None
    lease_ends: float = 0.0
    due: float = 0.0
    stages: dict[str, bytes] | None = None


@dataclass(slots=True)
class _StoredRun:
    run: Run
    entries: dict[str, _Entry] = field(default_factory=dict[str, _Entry])
    waiting: list[tuple[float, int, str]] = field(default_factory=list[tuple[float, int, str]])
    """A heap of what may be claimed, by when and by its place in the list; it may name what is no more."""
    in_progress: set[str] = field(default_factory=set[str])
    dead: dict[str, DeadLetter] = field(default_factory=dict[str, DeadLetter])


class MemoryStore:
    """`StateStore` for as long as the process lives."""

    def __init__(self) -> None:
        self._runs: dict[str, _StoredRun] = {}

    async def create_run(self, run: Run) -> None:
        """See `StateStore.create_run`."""
        if run.run_id in self._runs:
            raise RunExistsError(f"there is a run {run.run_id!r} already; resume it, or choose another name")
        self._runs[run.run_id] = _StoredRun(run)

    async def find_run(self, run_id: str) -> Run:
        """See `StateStore.find_run`."""
        return self._stored(run_id).run

    async def list_runs(self) -> Sequence[Run]:
        """See `StateStore.list_runs`."""
        return sorted((stored.run for stored in self._runs.values()), key=lambda run: run.started_at)[::-1]

    async def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        completed_at: datetime | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """See `StateStore.update_run`."""
        stored = self._stored(run_id)
        stored.run = replace(
            stored.run,
            status=status,
            completed_at=completed_at,
            fingerprint=stored.run.fingerprint if fingerprint is None else fingerprint,
        )

    async def remove_run(self, run_id: str) -> None:
        """See `StateStore.remove_run`."""
        self._stored(run_id)
        del self._runs[run_id]

    async def begin_listing(self, run_id: str) -> int:
        """See `StateStore.begin_listing`."""
        stored = self._stored(run_id)
        stored.run = replace(stored.run, listing=stored.run.listing + 1)
        return stored.run.listing

    async def add(self, run_id: str, documents: Sequence[NewDocument], *, listing: int) -> Added:
        """See `StateStore.add`."""
        stored = self._stored(run_id)
        new = changed = 0
        for document in documents:
            entry = stored.entries.get(document.path)
            if entry is None:
                new += 1
                state = DocumentState(
                    document.path, document.name, metadata=document.metadata, version=document.version
                )
                entry = stored.entries[document.path] = _Entry(state, len(stored.entries) + 1, listing)
                heapq.heappush(stored.waiting, (0.0, entry.number, document.path))
                continue
            if entry.listing >= listing:
                continue
            entry.listing = listing
            state, is_other = entry.state, entry.state.version != document.version
            is_doubtful = is_other or not document.version
            entry.state = replace(
                state, version=document.version, metadata=document.metadata or state.metadata
            )
            if state.status == "vanished" or (
                is_doubtful if state.status in DONE else is_other and state.status == "failed"
            ):
                changed += 1
                if state.status in DONE:
                    entry.state = replace(entry.state, done_as=state.status)
                self._make_pending(stored, entry)
        return Added(new, changed)

    async def end_listing(self, run_id: str, *, listing: int) -> int:
        """See `StateStore.end_listing`."""
        missing = [
            entry
            for entry in self._stored(run_id).entries.values()
            if entry.listing < listing and entry.state.status in ("pending", "failed")
        ]
        for entry in missing:
            entry.state = replace(entry.state, status="vanished")
        return len(missing)

    async def claim(self, run_id: str, *, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
        """See `StateStore.claim`."""
        stored, now = self._stored(run_id), time.time()
        for path in [path for path in stored.in_progress if stored.entries[path].lease_ends <= now]:
            entry = stored.entries[path]
            entry.state = replace(entry.state, is_uncertain=True)
            self._make_pending(stored, entry)
        claimed: list[DocumentState] = []
        while stored.waiting and stored.waiting[0][0] <= now and len(claimed) < limit:
            due, _, path = heapq.heappop(stored.waiting)
            entry = stored.entries[path]
            if entry.state.status != "pending" or entry.due != due:
                continue
            entry.owner, entry.lease_ends = owner, now + lease_s
            entry.state = _claimed(entry.state)
            stored.in_progress.add(path)
            claimed.append(entry.state)
        return claimed

    async def settle(self, run_id: str, settlements: Sequence[Settlement], *, owner: str) -> Collection[str]:
        """See `StateStore.settle`."""
        stored = self._stored(run_id)
        lost: list[str] = []
        for end in settlements:
            entry = stored.entries.get(end.path)
            if entry is None or entry.owner != owner or end.path not in stored.in_progress:
                lost.append(end.path)
                continue
            stored.in_progress.discard(end.path)
            entry.owner = None
            state = entry.state
            if end.is_unchanged:
                entry.state = replace(state, status=end.status, done_as=None, is_uncertain=False)
                continue
            entry.state = _settled(state, end)
            if end.status == "pending":
                self._make_pending(stored, entry, due=end.retry_at.timestamp() if end.retry_at else 0.0)
            elif end.status in DONE:
                entry.stages = None
                stored.dead.pop(end.path, None)
            if end.dead_letter is not None:
                stored.dead.pop(end.path, None)
                stored.dead[end.path] = end.dead_letter
        return lost

    async def renew(self, run_id: str, *, owner: str, lease_s: float) -> None:
        """See `StateStore.renew`."""
        stored, ends = self._stored(run_id), time.time() + lease_s
        for path in stored.in_progress:
            if stored.entries[path].owner == owner:
                stored.entries[path].lease_ends = ends

    async def release(self, run_id: str, *, owner: str) -> None:
        """See `StateStore.release`."""
        stored = self._stored(run_id)
        for path in [path for path in stored.in_progress if stored.entries[path].owner == owner]:
            entry = stored.entries[path]
            entry.state = replace(entry.state, is_uncertain=True)
            self._make_pending(stored, entry)

    async def next_due_s(self, run_id: str) -> float | None:
        """See `StateStore.next_due_s`."""
        stored = self._stored(run_id)
        while stored.waiting:
            due, _, path = stored.waiting[0]
            entry = stored.entries[path]
            if entry.state.status == "pending" and entry.due == due:
                break
            heapq.heappop(stored.waiting)
        times = [stored.entries[path].lease_ends for path in stored.in_progress]
        times += [stored.waiting[0][0]] if stored.waiting else []
        return max(0.0, min(times) - time.time()) if times else None

    async def count(self, run_id: str) -> Mapping[DocumentStatus, int]:
        """See `StateStore.count`."""
        return Counter(entry.state.status for entry in self._stored(run_id).entries.values())

    async def documents(
        self, run_id: str, *, status: DocumentStatus | None = None
    ) -> AsyncIterator[DocumentState]:
        """See `StateStore.documents`."""
        for entry in list(self._stored(run_id).entries.values()):
            if status is None or entry.state.status == status:
                yield entry.state

    async def find_document(self, run_id: str, path: str) -> DocumentState | None:
        """See `StateStore.find_document`."""
        entry = self._stored(run_id).entries.get(path)
        return entry and entry.state

    async def requeue(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.requeue`."""
        stored = self._stored(run_id)
        chosen = stored.entries if paths is None else paths
        failed = [
            entry
            for entry in map(stored.entries.get, chosen)
            if entry is not None and entry.state.status == "failed"
        ]
        for entry in failed:
            entry.state = replace(entry.state, attempts=0)
            self._make_pending(stored, entry)
        return len(failed)

    async def keep_stages(self, run_id: str, results: Sequence[StageResult]) -> None:
        """See `StateStore.keep_stages`."""
        stored = self._stored(run_id)
        for result in results:
            entry = stored.entries[result.path]
            if entry.stages is None:
                entry.stages = {}
            entry.stages[result.stage] = result.content

    async def stages(self, run_id: str, path: str, *, prefix: str = "") -> Mapping[str, bytes]:
        """See `StateStore.stages`."""
        entry = self._stored(run_id).entries.get(path)
        kept = (entry and entry.stages) or {}
        return {stage: kept[stage] for stage in sorted(kept) if stage.startswith(prefix)}

    async def remove_stages(self, run_id: str, path: str, *, prefix: str = "") -> None:
        """See `StateStore.remove_stages`."""
        entry = self._stored(run_id).entries.get(path)
        if entry is not None and entry.stages is not None:
            entry.stages = {
                stage: content for stage, content in entry.stages.items() if not stage.startswith(prefix)
            }

    async def dead_letters(self, run_id: str) -> AsyncIterator[DeadLetter]:
        """See `StateStore.dead_letters`."""
        for letter in list(self._stored(run_id).dead.values()):
            yield letter

    async def purge(self, run_id: str, paths: Sequence[str] | None = None) -> int:
        """See `StateStore.purge`."""
        dead = self._stored(run_id).dead
        removed = [path for path in (list(dead) if paths is None else paths) if path in dead]
        for path in removed:
            del dead[path]
        return len(removed)

    async def close(self) -> None:
        """See `StateStore.close`."""

    def _stored(self, run_id: str) -> _StoredRun:
        try:
            return self._runs[run_id]
        except KeyError:
            raise UnknownRunError(f"there is no run {run_id!r}; `list_runs` names all") from None

    def _make_pending(self, stored: _StoredRun, entry: _Entry, *, due: float = 0.0) -> None:
        stored.in_progress.discard(entry.state.path)
        entry.owner, entry.due = None, due
        entry.state = replace(entry.state, status="pending")
        heapq.heappush(stored.waiting, (due, entry.number, entry.state.path))


def _claimed(state: DocumentState) -> DocumentState:
    """The state of a document in progress. All fields are named: `replace` takes three times as long."""
    return DocumentState(
        state.path,
        state.name,
        "in_progress",
        state.content_hash,
        state.error,
        state.attempts,
        state.last_attempt,
        state.completed_at,
        state.metadata,
        state.version,
        state.is_uncertain,
        state.done_as,
        state.timings_s,
        state.tokens,
        state.cost,
    )


def _settled(state: DocumentState, end: Settlement) -> DocumentState:
    """The state after an attempt. All fields are named, as in `_claimed`."""
    is_done = end.status in DONE
    return DocumentState(
        state.path,
        state.name,
        end.status,
        end.content_hash or state.content_hash,
        end.error,
        end.attempts,
        end.at,
        end.at if is_done else None,
        state.metadata,
        state.version,
        state.is_uncertain and not is_done,
        None if is_done else state.done_as,
        end.timings_s,
        state.tokens + end.tokens,
        state.cost + end.cost,
    )
