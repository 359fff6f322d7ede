"""What the state store in Redis asks of the server. Blocks; for one thread at a time."""

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

from docmill.errors import RunExistsError, UnknownRunError
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
from docmill.runs.stores import redis_scripts as scripts
from docmill.runs.stores.redis_connection import RedisConnection
from docmill.runs.stores.redis_records import (
    StoredRow,
    Value,
    changed_run_fields,
    delayed,
    document_arguments,
    letter_of,
    run_fields,
    run_of,
    settlement_arguments,
    state_of,
)

PREFIX = "docmill:runs"
PAGE = 1000
"""Documents of one script or answer: the server does nothing else in the meantime."""
_STAGE_BYTES = 8 << 20
_Item = TypeVar("_Item")

_INDEX_S = 3600.0
"""So often the list of runs is told of a run that is written to; more often if runs are kept briefly."""


def key_of(run_id: str, name: str) -> str:
    """A key of a run. The run is its hash tag, so that a cluster keeps all of a run in one slot."""
    tag = _quoted(run_id) or "%"  # an empty one would be none, and no other is quoted so
    return f"{PREFIX}:{{{tag}}}:{name}"


class RedisQueries:
    """The methods of `StateStore`, for callers that may wait."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._indexed: dict[str, float] = {}
        """When the list of runs was told of a run last."""
        self._held: dict[tuple[str, str], dict[str, str]] = {}
        """Numbers of the documents that were given to an owner of a run and are not settled, by path."""

    def create_run(self, run: Run) -> None:
        """See `StateStore.create_run`."""
        if not self._change(scripts.CREATE_RUN, run.run_id, run_fields(run), is_indexed=False):
            raise RunExistsError(f"there is a run {run.run_id!r} already; resume it, or choose another name")
        self._index(run)

    def find_run(self, run_id: str) -> Run:
        """See `StateStore.find_run`."""
        (fields,) = self._connection.hashes([key_of(run_id, "run")])
        if not fields:
            raise _unknown(run_id)
        return run_of(fields)

    def list_runs(self) -> Sequence[Run]:
        """See `StateStore.list_runs`."""
        runs: list[Run] = []
        for ids in _batches(self._connection.members(PREFIX)):
            rows = self._connection.hashes([key_of(_text(run_id), "run") for run_id in ids])
            runs += [run_of(fields) for fields in rows if fields]
            if gone := [run_id for run_id, fields in zip(ids, rows, strict=True) if not fields]:
                self._connection.remove_members(PREFIX, gone)
        return runs

    def update_run(
        self, run_id: str, status: RunStatus, completed_at: datetime | None, fingerprint: str | None
    ) -> None:
        """See `StateStore.update_run`."""
        self._change(scripts.UPDATE_RUN, run_id, changed_run_fields(status, completed_at, fingerprint))

    def remove_run(self, run_id: str) -> None:
        """See `StateStore.remove_run`."""
        self._change(scripts.REMOVE_RUN, run_id, [], is_indexed=False)
        self._connection.remove_members(PREFIX, [run_id.encode("utf-8", "surrogatepass")])
        self._indexed.pop(run_id, None)

    def begin_listing(self, run_id: str) -> int:
        """See `StateStore.begin_listing`."""
        return int(self._change(scripts.BEGIN_LISTING, run_id, []))

    def add(self, run_id: str, documents: Sequence[NewDocument], listing: int) -> Added:
        """See `StateStore.add`."""
        new = changed = 0
        for batch in _batches(documents):
            arguments = [argument for document in batch for argument in document_arguments(document)]
            counts = self._change(scripts.ADD, run_id, [listing, *arguments])
            new, changed = new + counts[0], changed + counts[1]
        return Added(new, changed)

    def end_listing(self, run_id: str, listing: int) -> int:
        """See `StateStore.end_listing`."""
        passed = total = 0
        while True:
            seen, vanished = self._change(scripts.END_LISTING, run_id, [listing, passed, PAGE])
            passed, total = passed + seen - vanished, total + vanished
            if seen < PAGE:
                return total

    def claim(self, run_id: str, owner: str, limit: int, lease_s: float) -> Sequence[DocumentState]:
        """See `StateStore.claim`."""
        rows = self._change(scripts.CLAIM, run_id, [_quoted(owner), limit, lease_s])
        states = [state_of(StoredRow(*row[1:])) for row in rows]
        held = self._held.setdefault((run_id, owner), {})
        held.update((state.path, row[0]) for state, row in zip(states, rows, strict=True))
        return states

    def settle(self, run_id: str, settlements: Sequence[Settlement], owner: str) -> Collection[str]:
        """See `StateStore.settle`."""
        each = [settlement_arguments(end) for end in settlements]
        # The same settlement, with the same moments, is the same call, also when the runner repeats it.
        request = hashlib.sha256(json.dumps([owner, each]).encode()).hexdigest()
        arguments = [argument for one in each for argument in delayed(one)]
        lost = self._change(scripts.SETTLE, run_id, [_quoted(owner), *arguments], request=request)
        held = self._held.get((run_id, owner), {})
        for end in settlements:
            held.pop(end.path, None)
        return [_text(path) for path in lost]

    def renew(self, run_id: str, owner: str, lease_s: float) -> None:
        """See `StateStore.renew`."""
        held = self._held.get((run_id, owner))
        numbers = [""] if held is None else ["known", *held.values()]
        self._change(scripts.RENEW, run_id, [_quoted(owner), lease_s, *numbers])

    def release(self, run_id: str, owner: str) -> None:
        """See `StateStore.release`."""
        self._change(scripts.RELEASE, run_id, [_quoted(owner)])
        self._held.pop((run_id, owner), None)

    def next_due_s(self, run_id: str) -> float | None:
        """See `StateStore.next_due_s`."""
        due_s = self._ask(scripts.NEXT_DUE, run_id, [])
        return float(due_s) if due_s else None

    def count(self, run_id: str) -> Mapping[DocumentStatus, int]:
        """See `StateStore.count`."""
        found: list[Any] = self._ask(scripts.COUNT, run_id, [])
        names = [_text(name) for name in found[::2]]
        counts: Any = {name: int(number) for name, number in zip(names, found[1::2], strict=True)}
        return {name: number for name, number in counts.items() if number}

    def page(
        self, run_id: str, status: DocumentStatus | None, after: int
    ) -> tuple[int, list[DocumentState]] | None:
        """A page of `StateStore.documents`, and the number after which the next one begins; None at the end.

        after: that number of the page before.
        """
        last, *rows = self._ask(scripts.DOCUMENTS, run_id, [status or "", after, PAGE])
        return (int(last), [state_of(StoredRow(*row)) for row in rows]) if last else None

    def find_document(self, run_id: str, path: str) -> DocumentState | None:
        """See `StateStore.find_document`."""
        rows = self._ask(scripts.DOCUMENT, run_id, [path])
        return state_of(StoredRow(*rows[0])) if rows else None

    def requeue(self, run_id: str, paths: Sequence[str] | None) -> int:
        """See `StateStore.requeue`."""
        return self._change_each(scripts.REQUEUE, run_id, paths)

    def keep_stages(self, run_id: str, results: Sequence[StageResult]) -> None:
        """See `StateStore.keep_stages`."""
        for batch in _batches_by_size(results):
            arguments: list[Value] = [value for result in batch for value in result]
            self._change(scripts.KEEP_STAGES, run_id, arguments)

    def stages(self, run_id: str, path: str, prefix: str) -> Mapping[str, bytes]:
        """See `StateStore.stages`."""
        found: list[bytes] = self._ask(scripts.STAGES, run_id, [prefix, path])
        return {_text(name): content for name, content in zip(found[::2], found[1::2], strict=True)}

    def remove_stages(self, run_id: str, path: str, prefix: str) -> None:
        """See `StateStore.remove_stages`."""
        self._change(scripts.REMOVE_STAGES, run_id, [prefix, path])

    def dead_letters(self, run_id: str, after: int) -> tuple[int, list[DeadLetter]] | None:
        """A page of `StateStore.dead_letters`, with the number of the last one; None behind the last one.

        after: the last number of the page before.
        """
        found: list[Any] = self._ask(scripts.DEAD_LETTERS, run_id, [after, PAGE])
        return (int(found[-1]), [letter_of(stored) for stored in found[:-1]]) if found else None

    def purge(self, run_id: str, paths: Sequence[str] | None) -> int:
        """See `StateStore.purge`."""
        return self._change_each(scripts.PURGE, run_id, paths)

    def close(self) -> None:
        """See `StateStore.close`."""
        self._connection.close()

    def _change_each(self, script: str, run_id: str, paths: Sequence[str] | None) -> int:
        """Change the documents of these paths, or all that the script finds, some at a time."""
        if paths is not None:
            return sum(int(self._change(script, run_id, ["", *batch])) for batch in _batches(paths))
        total = 0
        while count := int(self._change(script, run_id, [PAGE])):
            total += count
        return total

    def _change(
        self,
        script: str,
        run_id: str,
        arguments: Iterable[Value],
        *,
        request: str | None = None,
        is_indexed: bool = True,
    ) -> Any:  # noqa: ANN401  what the script gives
        """What a script gives. request: the same for a call that may be the repetition of another."""
        keys = [*_keys(run_id), key_of(run_id, f"reply:{request or uuid4().hex}")]
        result = self._run(script, run_id, keys, [self._connection.ttl_ms, *arguments])
        if is_indexed:
            indexed = self._indexed.get(run_id)
            every_s = min(_INDEX_S, self._connection.ttl_ms / 100_000)
            if indexed is None or time.monotonic() > indexed + every_s:
                self._index(self.find_run(run_id))
        return result

    def _ask(self, script: str, run_id: str, arguments: Iterable[Value]) -> Any:  # noqa: ANN401  as above
        return self._run(script, run_id, _keys(run_id), arguments)

    def _run(self, script: str, run_id: str, keys: Sequence[str], arguments: Iterable[Value]) -> Any:  # noqa: ANN401
        result = self._connection.run_script(script, keys, list(arguments))
        if result is None:
            raise _unknown(run_id)
        return result

    def _index(self, run: Run) -> None:
        """Put a run into the list of runs, and have the list live as long as the run."""
        arguments: list[Value] = [self._connection.ttl_ms, run.started_at.timestamp(), run.run_id]
        self._connection.run_script(scripts.INDEX_RUN, [PREFIX], arguments)
        self._indexed[run.run_id] = time.monotonic()


def _keys(run_id: str) -> list[str]:
    return [key_of(run_id, name) for name in scripts.KEYS]


def _quoted(name: str) -> str:
    """The name without braces and colons."""
    return quote(name, safe="", errors="surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")


def _unknown(run_id: str) -> UnknownRunError:
    return UnknownRunError(f"there is no run {run_id!r}; `docmill runs list` names all")


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + PAGE] for start in range(0, len(items), PAGE))


def _batches_by_size(results: Sequence[StageResult]) -> Iterator[Sequence[StageResult]]:
    batch: list[StageResult] = []
    size = 0
    for result in results:
        if batch and size + len(result.content) > _STAGE_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(result)
        size += len(result.content)
    if batch:
        yield batch
