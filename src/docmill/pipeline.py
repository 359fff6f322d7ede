"""The way of one document, from original bytes to data that can be believed, or not. Read this first."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

import zstandard

from docmill.errors import (
    DocmillError,
    DocumentError,
    ServerError,
    SetupError,
    TimeLimitError,
    TooLargeError,
    TransientError,
    UnsupportedFileTypeError,
)
from docmill.model import codec
from docmill.model.document import Document, Part
from docmill.model.result import DOCUMENT_TYPES, Classification, Extraction, Result, Schema
from docmill.model.steps_taken import StepTaken
from docmill.page_journal import JournalOfPages
from docmill.ports import (
    Converter,
    Corrector,
    Exporter,
    Extractor,
    Findings,
    Journal,
    Observer,
    Original,
    PartFile,
    PartsReceiver,
    Reader,
    Ref,
    Router,
    Teacher,
    Understander,
    Understood,
    Unpacker,
)
from docmill.resilience.off_loop import STORED_BYTES, off_loop
from docmill.resilience.spending import Spending
from docmill.resilience.time_limits import TimeLimit
from docmill.schemas.registry import REGISTRY
from docmill.understanding.types.summary import describe

log = logging.getLogger(__name__)

SURE = 0.5
"""From this confidence on, a document that says no title is called by its file's name and needs no person."""
AI_STEP_S = 300.0
"""Default time limit for all model calls of one step together, in seconds."""
RULES_S = 120.0
"""How long rules with a second look may take within a step: more than their own limits are together."""
_UNKNOWN_TYPE = "application/octet-stream"
_NEWER_RELEASE_S = 60.0
"""How long a document waits for a worker of the release that has read it."""
_LISTED = 10
"""So many parts are named in the summary of what holds them."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds a step may take before it is cancelled.

    document_s: for the whole document; each of its pages adds page_s. classify_s, extract_s: for models with
    all their calls, and for rules, which have limits of their own within them: what rules find is kept when
    models take too long.
    """

    document_s: float = 600
    page_s: float = 10
    read_s: float = 60
    unpack_s: float = 300
    classify_s: float = AI_STEP_S + RULES_S
    extract_s: float = AI_STEP_S + RULES_S
    export_s: float = 60


@dataclass(frozen=True, slots=True)
class PartLimits:
    """How much one document may bring with it.

    depth: in how many others, one within the other, a document may stand. in_all: parts at any depth.
    """

    depth: int = 5
    in_all: int = 5000

    @property
    def too_deep(self) -> str:
        """The problem of a document that is not unpacked."""
        return f"it stands {self.depth} deep in other files; unpack it and give what it holds"

    @property
    def too_many(self) -> str:
        """The problem of a part that is not taken."""
        return f"more than {self.in_all} files came with one; unpack it and give it by itself"

    def check_depth(self, depth: int) -> None:
        """Raise TooLargeError for a document that stands in `depth` others and may not be unpacked."""
        if depth >= self.depth:
            raise TooLargeError(self.too_deep)

    def admit(self, files: Sequence[PartFile], *, taken: int) -> list[PartFile]:
        """The parts; those beyond the limit have a problem instead of a file. taken: how many came before."""
        room = max(0, self.in_all - taken)
        left_out = (replace(file.part, problem=file.part.problem or self.too_many) for file in files[room:])
        return [*files[:room], *(PartFile(part, None) for part in left_out)]


@dataclass(frozen=True, slots=True)
class Steps:
    """What is done with every document, and by what. Without an unpacker, parts are named and not taken out.

    schemas: by document type. schema: the one to read whatever the document is; None for that of its type.
    extractor: asked where the fields are not read yet. corrector: applies what people said of earlier
    documents. fingerprint: of everything that results depend on
    besides the file. reads_in_turns: whether the converter first of all waits for its turn in a pool; until
    then work on the document has not begun.
    """

    converter: Converter
    understander: Understander
    extractor: Extractor
    router: Router
    limits: TimeLimits = TimeLimits()
    unpacker: Unpacker | None = None
    schemas: Mapping[str, Schema] = field(default_factory=lambda: REGISTRY)
    schema: Schema | None = None
    corrector: Corrector | None = None
    fingerprint: str = ""
    reads_in_turns: bool = False

    @property
    def wanted(self) -> Mapping[str, Schema]:
        """The schemas to read documents by, by document type."""
        if self.schema is None:
            return self.schemas
        return dict.fromkeys((*self.schemas, *DOCUMENT_TYPES), self.schema)

    def schema_for(self, document_type: str) -> Schema:
        """What is to be read from a document of this type."""
        return self.schema or self.schemas.get(document_type) or self.schemas["other"]


@dataclass(frozen=True, slots=True)
class DocumentIO:
    """Where one document comes from, where its results go, and what is known where it belongs.

    journal: keeps finished steps for the next attempt. receiver: takes its parts. observer: hears how far it
    is. tags: asked for those in use, the most used first. teacher: heard before fields are read.
    """

    reader: Reader
    exporter: Exporter
    journal: Journal
    receiver: PartsReceiver | None = None
    observer: Observer | None = None
    tags: Callable[[], Awaitable[Sequence[str]]] | None = None
    teacher: Teacher | None = None


async def process(
    ref: Ref,
    steps: Steps,
    io: DocumentIO,
    *,
    attempt: int = 1,
    max_attempts: int = 1,
    spending: Spending | None = None,
) -> Result:
    """Take one document from its source to its export.

    A step that the journal remembers is not repeated. attempt: counts from 1; the result carries it.
    max_attempts: at the last one, what there is counts where a model fails that could be asked later; before
    it, nothing is exported, and the observer is told what there is. spending: of all attempts; what this one
    spends is counted there. Raises what the steps raise, with the error's `step` set, such an error of a
    model, too; TimeLimitError when a limit is reached. An unsupported type is a result, not an error.
    """
    clock = _Clock(io.observer)
    with (spending or Spending()).counting() as counted:
        async with _Limited("process", steps.limits.document_s) as limit:
            pages = JournalOfPages(
                io.journal, steps.fingerprint, limit, page_s=steps.limits.page_s, observer=io.observer
            )
            found = await _found(ref, _Attempt(steps, io, pages, clock, attempt, counted))
            result = replace(found, timings_s=clock.timings_s, attempt=attempt)
            error = _retry_error(result)
            if error is not None and (attempt < max_attempts or _costs_no_attempt(error)):
                await clock.record(
                    Findings(
                        classification=result.classification,
                        extraction=result.extraction,
                        verdict=result.verdict,
                    )
                )
                raise error
            async with clock.step("export", steps.limits.export_s):
                await io.exporter.export(ref, result)
    return result


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What every step of an attempt works with. number: from 1."""

    steps: Steps
    io: DocumentIO
    pages: JournalOfPages
    clock: "_Clock"
    number: int
    spending: Spending


async def _found(ref: Ref, attempt: _Attempt) -> Result:
    """What there is to be found out about a document."""
    steps, io, clock = attempt.steps, attempt.io, attempt.clock
    async with clock.step("read", steps.limits.read_s):
        original = await io.reader.read(ref)
    try:
        async with clock.step("transcribe"):
            document = await _transcription(original, attempt)
    except UnsupportedFileTypeError as error:
        return _refused(ref, original, error)
    except DocumentError as error:
        await clock.record(Findings(media_type=error.media_type))
        raise
    await clock.record(Findings(media_type=document.media_type, document=document))
    if document.parts and steps.unpacker and io.receiver:
        async with clock.step("unpack", steps.limits.unpack_s):
            parts = await _received(ref, original, document, steps.unpacker, io.receiver)
        document = replace(document, parts=tuple(parts))
    result = (
        _collection(ref, original, document)
        if document.is_collection
        else await _understood(ref, original, document, attempt)
    )
    return replace(result, spent=attempt.spending.total)


async def _transcription(original: Original, attempt: _Attempt) -> Document:
    journal, pages, spending = attempt.io.journal, attempt.pages, attempt.spending
    stored = await journal.get("transcription")
    document = None if stored is None else await _stored_document(stored)
    if document is not None:
        spending.assume(document.usage)
        pages.allow_time_for(len(document.pages))
        if len(document.pages) > 1:  # its worker may have died before it removed them
            await pages.clear()
        return document
    pages.is_anew = stored is not None
    before = spending.attempt
    document = await attempt.steps.converter.convert(original, pages)
    if not pages.has_entries:  # what their pages cost was counted when they were read
        spending.count_reported(document.usage, since=before)
    await pages.keep("transcription", await off_loop(codec.dumps, document, size=document.word_count))
    if pages.has_entries:
        await pages.clear()
    return document


async def _stored_document(stored: bytes) -> Document | None:
    """The transcription of an earlier attempt; None if it cannot be read, for then it is made anew.

    Raises ServerError, which is no attempt, for that of a later release: its workers go on with it.
    """
    try:
        return await off_loop(codec.loads, stored, size=len(stored) / STORED_BYTES)
    except codec.NewerFormatError as error:
        raise ServerError(
            "the document was read by a newer release of docmill, whose workers go on with it; start one, or "
            "update this one",
            retry_after_s=_NEWER_RELEASE_S,
            attempted=False,
        ) from error
    except ValueError:
        log.warning("the stored transcription cannot be read and is made anew")
        return None


async def _received(
    ref: Ref, original: Original, document: Document, unpacker: Unpacker, receiver: PartsReceiver
) -> list[Part]:
    """The parts, on their way to be documents. One that cannot be taken out does not stop the whole."""
    try:
        folder = await receiver.folder(ref)
        files = await unpacker.unpack(original, document, folder)
    except DocumentError as error:
        log.warning("parts are not taken out", extra={"code": error.code})
        files = [
            PartFile(replace(part, problem=part.problem or error.message), None) for part in document.parts
        ]
    return await receiver.receive(ref, files)


async def _understood(ref: Ref, original: Original, document: Document, attempt: _Attempt) -> Result:
    steps, clock = attempt.steps, attempt.clock
    (classification, read), tags = await _classified(document, original, attempt)
    if classification != Classification():
        await clock.record(Findings(classification=classification))
    schema = steps.schema_for(classification.document_type)
    async with clock.step("extract", steps.limits.extract_s):
        before = attempt.spending.attempt
        if read is None or read.document_type != schema.name:
            read = await steps.extractor.extract(document, schema, original)
        read = await _corrected(document, schema, read, attempt)
        extraction, verdict = await steps.router.judge(read, document, schema, original)
        attempt.spending.count_reported(extraction.usage, since=before)
    if classification.model_error is not None:
        error = classification.model_error
        note = f"({error.code}): {error.message}"
        extraction = extraction.with_step(StepTaken(kind="not_classified", note=note))
    classification = describe(document, classification, extraction, tags)
    # What it holds is what a person looks for; what it surely is needs no person, only a name.
    if classification.title is None and (document.parts or classification.confidence >= SURE):
        classification = classification.model_copy(update={"title": ref.name})
    return Result(
        content_hash=original.content_hash,
        media_type=document.media_type,
        classification=classification,
        document=document,
        extraction=extraction,
        verdict=verdict,
    )


async def _corrected(document: Document, schema: Schema, read: Extraction, attempt: _Attempt) -> Extraction:
    """What was read, put right by what people said of earlier documents."""
    teacher, corrector = attempt.io.teacher, attempt.steps.corrector
    if teacher is None or corrector is None:
        return read
    corrections = (await teacher.taught(document, schema)).learned
    return await corrector.correct(document, schema, read, corrections) if corrections else read


def _collection(ref: Ref, original: Original, document: Document) -> Result:
    """A document that is said by its parts: what it holds is extracted from them, and not twice."""
    names = [part.name for part in document.parts]
    return Result(
        content_hash=original.content_hash,
        media_type=document.media_type,
        classification=Classification(title=ref.name, summary=_listed(names), confidence=1),
        document=document,
    )


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    plural = "" if len(names) == 1 else "s"
    return f"Holds {len(names)} document{plural}: {', '.join(names[:_LISTED])}{more}"


def _retry_error(result: Result) -> TransientError | SetupError | None:
    """Why to try again later: the error of a model that may say more then. The result is of use without it.

    It was an attempt if any model was asked: what is paid again and again must come to an end.
    """
    extraction, classification = result.extraction, result.classification
    told = {"classify": classification.model_error, "extract": extraction and extraction.model_error}
    errors = {step: error for step, error in told.items() if isinstance(error, TransientError | SetupError)}
    if extraction is None or not errors:
        return None
    step, error = next(
        ((step, one) for step, one in errors.items() if one.attempted), next(iter(errors.items()))
    )
    was_paid = not (classification.usage.is_nothing and extraction.usage.is_nothing)
    if isinstance(error, TransientError) and not error.attempted and was_paid:
        error = type(error)(error.message, retry_after_s=error.retry_after_s)
    error.step = step
    return error


def _costs_no_attempt(error: TransientError | SetupError) -> bool:
    """Whether a document waits for as long as it takes: a model was left alone, or a person must act."""
    return not error.attempted or (isinstance(error, SetupError) and not error.is_own)


async def _classified(
    document: Document, original: Original, attempt: _Attempt
) -> tuple[Understood, Sequence[str]]:
    """What the document is, its fields, and the tags in use where it belongs.

    Unknown rather than an error, since it is of use without that. What a model said in an earlier attempt is
    not asked again.
    """
    steps, io = attempt.steps, attempt.io
    tags: Sequence[str] = ()
    try:
        async with attempt.clock.step("classify", steps.limits.classify_s):
            if attempt.number > 1 and (stored := await _stored_classification(io.journal)) is not None:
                return Understood(stored), tags
            if io.tags is not None:
                tags = tuple(await io.tags())
            before = attempt.spending.attempt
            found = await steps.understander.understand(document, original, schemas=steps.wanted, tags=tags)
            classification = found.classification
            attempt.spending.count_reported(classification.usage, since=before)
            if classification.model_error is None and not classification.usage.is_nothing:
                packed = zstandard.compress(classification.model_dump_json().encode())
                await io.journal.put("classification", packed)
            return found, tags
    except (TransientError, DocumentError) as error:
        if isinstance(error, TransientError) and not error.attempted:
            raise  # nobody was asked: the document waits until somebody can be
        log.warning("classification failed", extra={"code": error.code})
        return Understood(Classification()), tags


async def _stored_classification(journal: Journal) -> Classification | None:
    """What the journal remembers; None if it cannot be read, for then it is found out anew."""
    stored = await journal.get("classification")
    if stored is None:
        return None
    try:
        return Classification.model_validate_json(zstandard.decompress(stored))
    except (ValueError, zstandard.ZstdError):
        return None


def _refused(ref: Ref, original: Original, error: UnsupportedFileTypeError) -> Result:
    """A file that no reader takes is kept, and found by its name."""
    return Result(
        content_hash=original.content_hash,
        media_type=error.media_type or _UNKNOWN_TYPE,
        classification=Classification(title=ref.name),
        refusal=error.message,
    )


@dataclass
class _Clock:
    """Announces and times steps, and tells what they found."""

    observer: Observer | None
    timings_s: dict[str, float] = field(default_factory=dict[str, float])

    async def record(self, findings: Findings) -> None:
        if self.observer is not None:
            await self.observer.record(findings)

    def step(self, name: str, limit_s: float | None = None) -> "_Step":
        return _Step(self, name, limit_s)


class _Limited(TimeLimit):
    """Cancels what takes longer than `limit_s`, and marks every error with the step it came from."""

    def __init__(self, step: str, limit_s: float | None) -> None:
        super().__init__(limit_s)
        self._step = step
        self._limit_s = limit_s

    def prolong(self, seconds: float) -> None:
        super().prolong(seconds)
        if self._limit_s is not None:
            self._limit_s += seconds

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except TimeoutError as expiry:
            late = TimeLimitError(
                f"{self._step!r} took longer than {self._limit_s:g} s and was stopped; it will be tried again"
            )
            late.step = self._step
            raise late from expiry
        if isinstance(error, DocmillError):
            error.step = error.step or self._step


class _Step(_Limited):
    """One step of a document."""

    def __init__(self, clock: _Clock, name: str, limit_s: float | None) -> None:
        super().__init__(name, limit_s)
        self._clock = clock
        self._started = 0.0

    async def __aenter__(self) -> Self:
        if self._clock.observer is not None:
            await self._clock.observer.step_started(self._step)
        self._started = time.perf_counter()
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raised = error
        try:
            await super().__aexit__(kind, error, trace)
        except BaseException as other:
            raised = other
            raise
        finally:
            seconds = self._clock.timings_s[self._step] = time.perf_counter() - self._started
            if self._clock.observer is not None:
                self._clock.observer.step_ended(self._step, seconds=seconds, error=raised)
