"""Runs many documents through the pipeline, as many at the same time as the policy allows."""

import asyncio
import logging
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from docmill.batch.in_memory import MemoryJournal
from docmill.batch.records import (
    EarlierRecord,
    Record,
    RecordExporter,
    RecordFile,
    failure_record,
    part_source,
)
from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    ServerError,
    SetupError,
    TimeLimitError,
    TransientError,
    UnsupportedFileTypeError,
    ungrouped,
)
from docmill.files import digest
from docmill.model.document import Part
from docmill.model.result import Result, Verdict
from docmill.pipeline import DocumentIO, PartLimits, Steps, process
from docmill.ports import Exporter, Original, PartFile, Reader, Ref
from docmill.resilience.attempts import AfterFailure, GiveUp, Retry, after_failure, internal_error
from docmill.resilience.concurrency import off_loop
from docmill.resilience.spending import Spending
from docmill.understanding.duplicates import DuplicateIndex, duplicate_failure, signature_of
from docmill.workers.fair_semaphore import scheduled_for

log = logging.getLogger(__name__)

Status = Literal["completed", "needs_review", "not_read", "failed", "unchanged"]
"""The status of a record; completed documents that were not read or had not changed have their own."""


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The outcome of one document.

    title: the title of the document, or the reason why it was not read. left_out: the parts that could not be
    extracted, each with the reason.
    """

    ref: Ref
    status: Status
    title: str
    attempts: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delay:
    """A pause before a document's next attempt. error: of the last attempt."""

    ref: Ref
    error: TransientError | SetupError
    seconds: float


@dataclass
class Report:
    """Totals of a run: documents by status, failed ones by error code, pages and time."""

    by_status: Counter[Status] = field(default_factory=Counter[Status])
    by_error: Counter[str] = field(default_factory=Counter[str])
    pages: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """The number of documents that the run accounts for."""
        return self.by_status.total()


@dataclass(frozen=True, slots=True)
class Policy:
    """Retry policy and concurrency of a run.

    max_waiting: documents that may wait for their next attempt without a slot. max_open_containers: documents
    whose parts may be in progress before another document is begun. document_type: of every document, as a
    person says; None to recognise it. keeps_text: whether records have the texts, too.
    """

    concurrency: int = 4
    max_attempts: int = 3
    max_waiting: int = 1000
    max_open_containers: int = 8
    parts: PartLimits = field(default_factory=PartLimits)
    document_type: str | None = None
    keeps_text: bool = False


@dataclass
class PartCounter:
    """Counter of the parts extracted from one document of the folder, at any depth."""

    limits: PartLimits
    taken: int = 0


class StoredParts:
    """`PartsReceiver` of one document. depth: the number of documents that contain it, directly or not."""

    def __init__(self, counter: PartCounter, depth: int) -> None:
        self.files: list[PartFile] = []
        self._counter = counter
        self._depth = depth
        self._folder: Path | None = None

    async def folder(self, ref: Ref) -> Path:
        """See `PartsReceiver.folder`."""
        del ref
        self._counter.limits.check_depth(self._depth)
        await self.remove()
        try:
            self._folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="docmill-parts-"))
        except OSError as error:
            raise ServerError(f"cannot make a folder for parts: {error.strerror}") from error
        return self._folder

    async def receive(self, ref: Ref, parts: Sequence[PartFile]) -> list[Part]:
        """See `PartsReceiver.receive`."""
        del ref
        counter = self._counter
        counter.taken -= len(self.files)
        self.files = counter.limits.admit(parts, taken=counter.taken)
        counter.taken += len(self.files)
        return [file.part for file in self.files]

    async def remove(self) -> None:
        """Remove the files once their documents are processed."""
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


class PartReader:
    """`Reader` of one part."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        return Original(self._path, ref.name, await asyncio.to_thread(digest, self._path))


class Runner:
    """Runs `process()` on every document of a run and on the parts within it.

    reader: of the documents that are not part of another. The callbacks run in the event loop and must not
    block. on_done: for each document. on_found: with the number of further parts. on_delay: when a document
    begins to wait for its next attempt. on_waiting: with the number of waiting documents, when that changes.
    """

    def __init__(
        self,
        steps: Steps,
        reader: Reader,
        records: RecordFile,
        *,
        policy: Policy = Policy(),
        on_done: Callable[[DocumentOutcome], None] = lambda _: None,
        on_found: Callable[[int], None] = lambda _: None,
        on_delay: Callable[[Delay], None] = lambda _: None,
        on_waiting: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._steps = steps
        self._reader = reader
        self._exporter = RecordExporter(records, with_text=policy.keeps_text)
        self._duplicates = DuplicateIndex[str]()
        self._records = records
        self._policy = policy
        self._on_done = on_done
        self._on_found = on_found
        self._on_delay = on_delay
        self._on_waiting = on_waiting
        self._report = Report()
        self._earlier: Mapping[str, EarlierRecord] = {}
        self._slots = asyncio.Semaphore(policy.concurrency)
        self._may_wait = asyncio.Semaphore(policy.max_waiting)
        self._waiting = 0
        self._open_containers = 0
        self._container_closed = asyncio.Event()

    async def run(self, refs: Iterable[Ref], *, earlier: Mapping[str, EarlierRecord] | None = None) -> Report:
        """Process the documents, and the parts within them.

        earlier: the records of earlier runs, by source. A document whose content is the same is not processed
        again, nor are its parts. Raises SetupError at once, since a person must act before the run can go on,
        also if records cannot be written.
        """
        started = time.perf_counter()
        self._earlier = earlier or {}
        with ungrouped(SetupError):
            async with asyncio.TaskGroup() as tasks:
                for ref in refs:
                    while self._open_containers >= self._policy.max_open_containers:
                        self._container_closed.clear()
                        await self._container_closed.wait()
                    await self._slots.acquire()
                    tasks.create_task(
                        self._process_with_parts(ref, self._reader, PartCounter(self._policy.parts))
                    )
        self._report.seconds = time.perf_counter() - started
        return self._report

    async def _process_with_parts(
        self, ref: Ref, reader: Reader, counter: PartCounter, depth: int = 0
    ) -> None:
        """Process a document and everything in it. The caller has taken a slot for it."""
        parts = StoredParts(counter, depth)
        try:
            await self._process_alone(ref, reader, parts)
            if any(file.path for file in parts.files):
                await self._process_parts(ref, parts.files, counter, depth + 1)
        finally:
            await parts.remove()

    async def _process_parts(
        self, container: Ref, files: Sequence[PartFile], counter: PartCounter, depth: int
    ) -> None:
        """Process the stored parts. Only few documents have parts on disk at a time, to save space."""
        self._open_containers += 1
        try:
            async with asyncio.TaskGroup() as tasks:
                for file in files:
                    if file.path is not None:
                        self._on_found(1)
                        await self._slots.acquire()
                        ref = Ref(part_source(container.key, file.part), file.part.name.rpartition("/")[2])
                        reader = PartReader(file.path)
                        tasks.create_task(self._process_with_parts(ref, reader, counter, depth))
        finally:
            self._open_containers -= 1
            self._container_closed.set()

    async def _process_alone(self, ref: Ref, source: Reader, parts: StoredParts) -> None:
        """Process a document without its parts. It gives its slot back while it waits for an attempt."""
        reader = _RememberingReader(source)
        exporter = _RetainingExporter(self._exporter, self._name_duplicates)
        io = DocumentIO(
            reader, exporter, MemoryJournal(), receiver=parts, document_type=self._policy.document_type
        )
        spending, attempt = Spending(), 1
        try:
            while True:
                error = await self._attempt(ref, io, exporter, spending=spending, attempt=attempt)
                if error is None:
                    return
                next_step = self._after_failure(error, attempt=exporter.tries or attempt)
                if isinstance(next_step, GiveUp):
                    if exporter.result is not None and isinstance(error, ServerError | TimeLimitError):
                        raise _unwritable(error) from error
                    record = failure_record(
                        ref,
                        error,
                        content_hash=reader.content_hash,
                        attempts=attempt,
                        parts=[file.part for file in parts.files],
                        usage=spending.total,
                    )
                    await self._fail(ref, error, record)
                    return
                await self._wait(ref, next_step)
                attempt += next_step.counts
        finally:
            self._slots.release()

    async def _name_duplicates(self, ref: Ref, result: Result) -> Result:
        """The result with a failed check for each document of this run that seems to be the same."""
        document, extraction, verdict = result.document, result.extraction, result.verdict
        if document is None or extraction is None or verdict is None:
            return result
        data = extraction.data.model_dump(mode="json")
        document_type = result.classification.document_type
        signature = await off_loop(signature_of, document, document_type, data, size=document.word_count)
        others = [] if signature is None else self._duplicates.add(ref.key, signature)
        failures = [
            duplicate_failure(other, why)
            for other, why in others
            # A document in another is no duplicate of that.
            if not (ref.key.startswith(f"{other}/") or other.startswith(f"{ref.key}/"))
        ]
        return replace(result, verdict=Verdict(failures=(*verdict.failures, *failures)))

    def _after_failure(self, error: DocmillError, *, attempt: int) -> AfterFailure:
        return after_failure(
            error,
            attempt=attempt,
            max_attempts=self._policy.max_attempts,
            jitter=random.random(),  # noqa: S311  spreads load, guards nothing
        )

    async def _wait(self, ref: Ref, retry: Retry) -> None:
        """Wait for the next attempt, without the slot."""
        async with self._may_wait:
            self._slots.release()
            self._waiting += 1
            self._on_waiting(self._waiting)
            self._on_delay(Delay(ref, retry.error, retry.delay_s))
            try:
                await asyncio.sleep(retry.delay_s)
            finally:
                self._waiting -= 1
                self._on_waiting(self._waiting)
                await self._slots.acquire()

    async def _attempt(
        self,
        ref: Ref,
        io: DocumentIO,
        exporter: "_RetainingExporter",
        *,
        spending: Spending,
        attempt: int,
    ) -> DocmillError | None:
        earlier = self._earlier.get(ref.key)
        try:
            if exporter.result is not None:
                await exporter.export(ref, exporter.result)
            else:
                original = None if earlier is None else await io.reader.read(ref)
                if earlier is None or original is None or original.content_hash != earlier.content_hash:
                    with scheduled_for(None, ref.key):
                        await process(
                            ref,
                            self._steps,
                            io,
                            original=original,
                            attempt=attempt,
                            max_attempts=self._policy.max_attempts,
                            spending=spending,
                        )
        except SetupError:
            raise
        except DocmillError as error:
            return error
        except Exception as error:
            log.exception("fault in docmill", extra={"source": ref.key})
            return internal_error(error, repr(ref.name))
        # Outside the `try`: an error from here on must not give the document a second record.
        if exporter.result is not None:
            self._report_result(ref, exporter.result)
        elif earlier is not None:
            self._report_unchanged(ref, earlier)
        return None

    def _report_unchanged(self, ref: Ref, earlier: EarlierRecord) -> None:
        """Report a document and the parts within it as unchanged since an earlier run."""
        self._report_done(DocumentOutcome(ref, "unchanged", ref.name))
        self._on_found(len(earlier.parts))
        for source in earlier.parts:
            self._report_unchanged(Ref(source, source.rpartition("/")[2]), self._earlier[source])

    def _report_result(self, ref: Ref, result: Result) -> None:
        if result.refusal:
            self._report.by_error[UnsupportedFileTypeError.code] += 1
            self._report_done(DocumentOutcome(ref, "not_read", result.refusal, result.attempt))
            return
        parts = result.document.parts if result.document else ()
        self._report.pages += len(result.document.pages) if result.document else 0
        self._report_done(
            DocumentOutcome(
                ref,
                result.status,
                result.classification.title or ref.name,
                result.attempt,
                tuple(f"{part.name}: {part.problem}" for part in parts if part.problem),
            )
        )

    async def _fail(self, ref: Ref, error: DocmillError, record: Record) -> None:
        attempt = 1
        while True:
            try:
                await asyncio.to_thread(self._records.write, record)
                break
            except ServerError as unwritten:
                next_step = self._after_failure(unwritten, attempt=attempt)
                if isinstance(next_step, GiveUp):
                    raise _unwritable(unwritten) from unwritten
                await self._wait(ref, next_step)
                attempt += 1
        self._report.by_error[error.code] += 1
        self._report_done(DocumentOutcome(ref, "failed", error.message, record["attempts"]))

    def _report_done(self, outcome: DocumentOutcome) -> None:
        self._report.by_status[outcome.status] += 1
        self._on_done(outcome)


def _unwritable(error: TransientError) -> MisconfiguredError:
    """The error of a run whose records cannot be written."""
    return MisconfiguredError(
        f"{error.message}. What was written is whole; see that there is room, then run the same command again"
        " to go on"
    )


class _RetainingExporter:
    """`Exporter` that keeps the result, so that only the export is repeated if it fails.

    prepare: changes the result once, before its first export. tries: the number of exports so far, also of
    failed ones.
    """

    def __init__(self, exporter: Exporter, prepare: Callable[[Ref, Result], Awaitable[Result]]) -> None:
        self._exporter = exporter
        self._prepare = prepare
        self.result: Result | None = None
        self.tries = 0

    async def export(self, ref: Ref, result: Result) -> None:
        if self.result is None:
            self.result = await self._prepare(ref, result)
        self.tries += 1
        await self._exporter.export(ref, self.result)


class _RememberingReader:
    """`Reader` that keeps the hash of the last original, for the record of a failed document."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.content_hash: str | None = None

    async def read(self, ref: Ref) -> Original:
        original = await self._reader.read(ref)
        self.content_hash = original.content_hash
        return original
