"""A document of a folder through docmill's own steps, and the documents within it."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from docmill.errors import DocmillError, DocumentError, UnsupportedFileTypeError
from docmill.model.document import Part
from docmill.model.result import Result, Verdict
from docmill.pipeline import DocumentIO, PartLimits, Steps, process
from docmill.ports import Findings, Original, Ref
from docmill.resilience.concurrency import off_loop
from docmill.resilience.spending import Spending
from docmill.runs.failures import as_docmill_error
from docmill.runs.flow import Outcome
from docmill.runs.folders.document_records import failure_record, result_record
from docmill.runs.folders.nested_refs import container_of, part_ref, ref_of, stored_document
from docmill.runs.folders.part_files import PartCounts, PartFiles, PartsOfDocument
from docmill.runs.folders.record_file import EarlierRecord, RecordFile
from docmill.runs.stages import OnStageEnd, Work
from docmill.runs.states import DocumentState, NewDocument
from docmill.runs.write_behind import WriteBehindJournal
from docmill.understanding.duplicates import DuplicateIndex, duplicate_failure, signature_of
from docmill.workers.fair_semaphore import scheduled_for

Status = Literal["completed", "needs_review", "not_read", "failed", "unchanged"]
"""The status of a record; completed documents that were not read or had not changed have their own."""


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The outcome of one document.

    title: the title of the document, or the reason why it was not read. pages: that were read. code: of the
    error, if there is one. left_out: the parts that could not be extracted, each with the reason.
    """

    ref: Ref
    status: Status
    title: str
    attempts: int = 0
    pages: int = 0
    code: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderPolicy:
    """How a run treats documents.

    document_type: of every document, as a person says; None to recognise it.
    keeps_text: whether records have the texts, too.
    """

    parts: PartLimits = field(default_factory=PartLimits)
    document_type: str | None = None
    keeps_text: bool = False


class FolderFlow:
    """`DocumentFlow` of docmill's own steps. Every document gets a record, also one that failed.

    earlier: records that the file has. A document with one whose content is the same is not processed again,
    nor are its parts. on_done: told of each document, in the event loop; must not block.
    """

    def __init__(
        self,
        steps: Steps,
        files: PartFiles,
        records: RecordFile,
        journal: WriteBehindJournal,
        *,
        earlier: Mapping[str, EarlierRecord],
        policy: FolderPolicy,
        on_done: Callable[[DocumentOutcome], None],
    ) -> None:
        self._steps = steps
        self._files = files
        self._records = records
        self._journal = journal
        self._earlier = earlier
        self._policy = policy
        self._on_done = on_done
        self._duplicates = DuplicateIndex[str]()
        self._part_counts: PartCounts = defaultdict(Counter)
        self._attempts: dict[str, _Attempts] = {}

    async def flush(self) -> None:
        """See `DocumentFlow.flush`."""
        await asyncio.to_thread(self._records.flush)

    async def process(self, state: DocumentState, work: Work) -> Outcome:
        """See `DocumentFlow.process`."""
        ref = ref_of(state)
        if (trusted := self._trusted_record(ref)) is not None:
            return self._pass_over(ref, trusted, state, work)
        async with self._files.original(ref) as original:
            work.document.content_hash = original.content_hash
            recorded = self._earlier.get(ref.key)
            is_recorded = recorded is not None and recorded.content_hash == original.content_hash
            if state.done_as is not None and original.content_hash == state.content_hash and is_recorded:
                self._on_done(DocumentOutcome(ref, "unchanged", ref.name))
                return Outcome(original.content_hash, is_unchanged=True)
            earlier = self._complete_record(ref.key)
            # One that failed in this run and is here again is to be tried again.
            is_retried = earlier is not None and earlier.error is not None and state.error is not None
            if earlier is not None and earlier.content_hash == original.content_hash and not is_retried:
                return self._pass_over(ref, earlier, state, work)
            with scheduled_for(None, ref.key):
                return await self._process(ref, original, state, work)

    def fail(self, state: DocumentState, work: Work, error: DocmillError) -> None:
        """See `DocumentFlow.fail`."""
        ref, attempt = ref_of(state), state.attempts + 1
        attempts = self._attempts.pop(state.path, _Attempts())
        if attempts.was_recorded:
            self._on_done(DocumentOutcome(ref, "unchanged", error.message))
            return
        record = failure_record(
            ref,
            error,
            content_hash=work.document.content_hash or None,
            attempts=attempt,
            media_type=attempts.media_type or None,
            parts=() if attempts.received is None else attempts.received.parts,
            usage=attempts.spending.total,
        )
        self._records.write(record)
        self._on_done(DocumentOutcome(ref, "failed", error.message, attempt, code=error.code))

    async def _process(self, ref: Ref, original: Original, state: DocumentState, work: Work) -> Outcome:
        attempts = self._attempts.setdefault(state.path, _Attempts())
        received = attempts.received = PartsOfDocument(
            self._files, ref, self._policy.parts, self._part_counts
        )
        recorder, noted = _Recorder(self._record), _Noted(work.on_stage_end)
        prefix = f"{self._steps.fingerprint}/{original.content_hash}/"
        io = DocumentIO(
            _ReadBefore(original),
            recorder,
            self._journal.of_document(state.path, prefix=prefix),
            receiver=received,
            observer=noted,
            document_type=self._policy.document_type,
        )
        spending, before = attempts.spending, attempts.spending.total
        try:
            await process(
                ref,
                self._steps,
                io,
                original=original,
                attempt=state.attempts + 1,
                max_attempts=work.document.max_attempts,
                spending=spending,
            )
        finally:
            await received.remove()
            attempts.media_type = noted.media_type
            work.document.count_usage(before.up_to(spending.total))
            work.parts = _stored_parts(ref, received.parts, noted.media_type, original.content_hash)
        result = recorder.result
        assert result is not None, "the pipeline exports what it returns"
        work.timings_s.update(result.timings_s)
        del self._attempts[state.path]
        self._on_done(_outcome_of(ref, result))
        return Outcome(original.content_hash, needs_review=result.status == "needs_review")

    async def _record(self, ref: Ref, result: Result) -> Result:
        """Write the record of a document, with a failed check for each that seems to be the same."""
        result = await self._name_duplicates(ref, result)
        self._records.write(result_record(ref, result, with_text=self._policy.keeps_text))
        return result

    async def _name_duplicates(self, ref: Ref, result: Result) -> Result:
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

    def _trusted_record(self, ref: Ref) -> EarlierRecord | None:
        """The record of a part whose container has not changed: it need not even be taken out."""
        container = container_of(ref)
        holder = None if container is None else self._earlier.get(container.key)
        is_same = holder is not None and holder.content_hash == ref.version
        return self._complete_record(ref.key) if is_same else None

    def _complete_record(self, source: str) -> EarlierRecord | None:
        """The record of a document, if all that is within it has one, too."""
        record = self._earlier.get(source)
        if record is None or (record.parts and not record.media_type):
            return None
        is_complete = all(self._complete_record(f"{source}/{part.name}") for part in record.parts)
        return record if is_complete else None

    def _pass_over(self, ref: Ref, earlier: EarlierRecord, state: DocumentState, work: Work) -> Outcome:
        """Leave a document as its record says. Raises its error again if it failed."""
        content_hash = earlier.content_hash or ""
        work.document.content_hash = content_hash
        work.parts = _stored_parts(ref, earlier.parts, earlier.media_type, content_hash)
        if earlier.error is not None:
            self._attempts[state.path] = _Attempts(was_recorded=True)
            code, step, message = earlier.error
            error = DocumentError(message)
            error.code = code  # pyright: ignore[reportAttributeAccessIssue]  of this one
            error.step = step or None
            raise error
        self._on_done(DocumentOutcome(ref, "unchanged", ref.name))
        return Outcome(content_hash, needs_review=earlier.status == "needs_review", is_unchanged=True)


@dataclass(slots=True)
class _Attempts:
    """What is known of a document between its attempts.

    received: the parts of the last one. was_recorded: it failed in an earlier run, whose record stays.
    """

    spending: Spending = field(default_factory=Spending)
    received: PartsOfDocument | None = None
    media_type: str = ""
    was_recorded: bool = False


class _ReadBefore:
    """`Reader` of a document that was read already."""

    def __init__(self, original: Original) -> None:
        self._original = original

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        del ref
        return self._original


class _Noted:
    """`Observer` that notes of which media type a document is, and tells the end of each step."""

    def __init__(self, on_stage_end: OnStageEnd | None) -> None:
        self._on_stage_end = on_stage_end
        self.media_type = ""

    async def step_started(self, step: str) -> None:
        """See `Observer.step_started`."""

    def step_ended(self, step: str, *, seconds: float, error: BaseException | None) -> None:
        """See `Observer.step_ended`. A step that was cancelled has not come to an end."""
        if self._on_stage_end is None:
            return
        if error is None:
            self._on_stage_end(step, seconds, None)
        elif isinstance(error, Exception):
            self._on_stage_end(step, seconds, as_docmill_error(error, step))

    async def record(self, findings: Findings) -> None:
        """See `Observer.record`."""
        self.media_type = findings.media_type or self.media_type


class _Recorder:
    """`Exporter` by a function. result: as it was written."""

    def __init__(self, record: Callable[[Ref, Result], Awaitable[Result]]) -> None:
        self._record = record
        self.result: Result | None = None

    async def export(self, ref: Ref, result: Result) -> None:
        """See `Exporter.export`."""
        self.result = await self._record(ref, result)


def _stored_parts(
    ref: Ref, parts: Sequence[Part], media_type: str, content_hash: str
) -> Sequence[NewDocument]:
    return [
        stored_document(part_ref(ref, part, media_type=media_type, content_hash=content_hash))
        for part in parts
        if part.problem is None
    ]


def _outcome_of(ref: Ref, result: Result) -> DocumentOutcome:
    if result.refusal:
        return DocumentOutcome(
            ref, "not_read", result.refusal, result.attempt, code=UnsupportedFileTypeError.code
        )
    document = result.document
    parts = () if document is None else document.parts
    return DocumentOutcome(
        ref,
        result.status,
        result.classification.title or ref.name,
        result.attempt,
        pages=0 if document is None else len(document.pages),
        left_out=tuple(f"{part.name}: {part.problem}" for part in parts if part.problem),
    )
