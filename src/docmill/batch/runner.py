"""Many documents through the pipeline, as many at once as the machine takes."""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from docmill.batch.memory import MemoryJournal
from docmill.batch.records import Known, RecordFile, failure_record
from docmill.errors import DocmillError, InternalError, SetupError, TransientError, first_of, retry_delay_s
from docmill.model import Result
from docmill.pipeline import Steps, process
from docmill.ports import Original, Reader, Ref

log = logging.getLogger(__name__)

Status = Literal["completed", "needs_review", "failed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one document. title: what the pipeline calls it, or why it failed."""

    ref: Ref
    status: Status
    title: str
    attempts: int = 0


@dataclass
class Report:
    """What a run did: how many documents by status, the failed by error code, and how long it took."""

    by_status: Counter[Status] = field(default_factory=Counter[Status])
    by_error: Counter[str] = field(default_factory=Counter[str])
    pages: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """How many documents the run accounts for."""
        return self.by_status.total()


@dataclass(frozen=True, slots=True)
class Policy:
    """How hard a run tries. waiting: documents that may wait for their next attempt without a slot."""

    concurrency: int = 4
    max_attempts: int = 3
    waiting: int = 1000


class Runner:
    """Takes every document through `process()`, and writes the record of those that fail.

    The records of the others are `steps.exporter`'s to write. on_done is called in the event loop for each
    document; it must not block.
    """

    def __init__(
        self,
        steps: Steps,
        records: RecordFile,
        *,
        policy: Policy = Policy(),
        on_done: Callable[[Done], None] = lambda _: None,
    ) -> None:
        self._steps = steps
        self._records = records
        self._policy = policy
        self._on_done = on_done
        self._report = Report()

    async def run(self, refs: Iterable[Ref], *, known: Mapping[str, Known] | None = None) -> Report:
        """Process what is new.

        known: by source, the documents whose record is already there; with the same content they are not
        processed again. Raises SetupError at once: a person must act before going on.
        """
        started = time.perf_counter()
        slots = asyncio.Semaphore(self._policy.concurrency)
        waiting = asyncio.Semaphore(self._policy.waiting)
        try:
            async with asyncio.TaskGroup() as tasks:
                for ref in refs:
                    await slots.acquire()
                    tasks.create_task(self._document(ref, (known or {}).get(ref.key), slots, waiting))
        except* SetupError as errors:
            raise first_of(errors) from errors
        self._report.seconds = time.perf_counter() - started
        return self._report

    async def _document(
        self, ref: Ref, known: Known | None, slots: asyncio.Semaphore, waiting: asyncio.Semaphore
    ) -> None:
        """One document to its end. Holds a slot while it works and none while it waits."""
        journal, reader, attempt = MemoryJournal(), _RememberingReader(self._steps.reader), 1
        try:
            while True:
                error = await self._attempt(ref, reader, journal, attempt=attempt, known=known)
                if error is None:
                    return
                if not isinstance(error, TransientError) or (
                    error.attempted and attempt >= self._policy.max_attempts
                ):
                    await self._failed(ref, error, reader.content_hash, attempts=attempt)
                    return
                async with waiting:
                    slots.release()
                    try:
                        await asyncio.sleep(retry_delay_s(error, attempt=attempt, jitter=random.random()))  # noqa: S311
                    finally:
                        await slots.acquire()
                attempt += error.attempted
        finally:
            slots.release()

    async def _attempt(
        self,
        ref: Ref,
        reader: "_RememberingReader",
        journal: MemoryJournal,
        *,
        attempt: int,
        known: Known | None,
    ) -> DocmillError | None:
        steps = replace(self._steps, reader=reader)
        try:
            if known is not None and (await reader.read(ref)).content_hash == known.content_hash:
                self._done(Done(ref, "unchanged", ref.name))
                return None
            self._succeeded(ref, await process(ref, steps, journal, attempt=attempt))
        except SetupError:
            raise
        except DocmillError as error:
            return error
        except Exception as error:
            log.exception("fault in docmill", extra={"source": ref.key})
            internal = InternalError(
                f"docmill failed on {ref.name!r} with {type(error).__name__}; see the log"
            )
            internal.__cause__ = error
            return internal
        return None

    def _succeeded(self, ref: Ref, result: Result) -> None:
        believed = result.verdict is None or result.verdict.passed
        self._report.pages += len(result.document.pages) if result.document else 0
        if result.refusal:
            self._report.by_error["unsupported_file_type"] += 1
        title = result.refusal or result.classification.title or ref.name
        self._done(Done(ref, "completed" if believed else "needs_review", title, result.attempt))

    async def _failed(
        self, ref: Ref, error: DocmillError, content_hash: str | None, *, attempts: int
    ) -> None:
        record = failure_record(ref, error, content_hash=content_hash, attempts=attempts)
        await asyncio.to_thread(self._records.write, record)
        self._report.by_error[error.code] += 1
        self._done(Done(ref, "failed", error.message, attempts))

    def _done(self, done: Done) -> None:
        self._report.by_status[done.status] += 1
        self._on_done(done)


class _RememberingReader:
    """A reader that knows the hash of what it last read, for the record of a failed document."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.content_hash: str | None = None

    async def read(self, ref: Ref) -> Original:
        original = await self._reader.read(ref)
        self.content_hash = original.content_hash
        return original
