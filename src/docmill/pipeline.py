"""The pipeline: one document from its original bytes to judged data. Read this first."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import zstandard

from docmill.errors import (
    DocumentError,
    InternalError,
    ServerError,
    SetupError,
    TooLargeError,
    TransientError,
    UnsupportedFileTypeError,
)
from docmill.model import codec
from docmill.model.document import Document
from docmill.model.result import (
    TYPE_CHECK,
    Classification,
    Extraction,
    Failure,
    Result,
    Schema,
    StepTaken,
)
from docmill.page_journal import JournalOfPages
from docmill.ports import (
    Converter,
    CorrectionSource,
    Corrector,
    Exporter,
    Extractor,
    Findings,
    Journal,
    Judged,
    Observer,
    Original,
    PartFile,
    PartsReceiver,
    Reader,
    Ref,
    Router,
    Understander,
    Understood,
    Unpacker,
)
from docmill.resilience.attempts import is_asked_again
from docmill.resilience.concurrency import STORED_BYTES, off_loop
from docmill.resilience.spending import Spending
from docmill.resilience.time_limits import LimitedStep, StepClock
from docmill.schemas.document_types import DOCUMENT_TYPES
from docmill.schemas.registry import REGISTRY
from docmill.understanding.types.tags import without_doubted_parties

log = logging.getLogger(__name__)

SURE = 0.5
"""From this confidence on, a document that says no title is called by its file's name and needs no person."""
AI_STEP_S = 300.0
"""Default time limit for all model calls of one step together, in seconds."""
RULES_S = 120.0
"""Time limit of rules with a second look within a step; it exceeds the sum of their own limits."""
_UNKNOWN_TYPE = "application/octet-stream"
_UNRECOGNISED = "The type could not be recognised ({reason}): please say of which type the document is."
_NEWER_RELEASE_S = 60.0
"""Longest wait of a document for a worker of the release that has read it."""
_OTHER_XML = (
    "this XML is no e-invoice of a kind that is read; ask for the document as a PDF, or choose a type to have"
    " its text searched for values"
)
_LISTED = 10
"""Most parts that the summary of their container names."""


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
    """Limits on the documents within one document.

    depth: how deeply documents may be nested. in_all: parts at any depth.
    """

    depth: int = 5
    in_all: int = 5000

    def check_depth(self, depth: int) -> None:
        """Raise TooLargeError for a document that stands in `depth` others and may not be unpacked."""
        if depth >= self.depth:
            raise TooLargeError(
                f"it stands {self.depth} deep in other files; unpack it and give what it holds"
            )

    def admit(self, files: Sequence[PartFile], *, taken: int) -> list[PartFile]:
        """The parts; those beyond the limit have a problem instead of a file. taken: how many came before."""
        room = max(0, self.in_all - taken)
        too_many = f"more than {self.in_all} files came with one; unpack it and give it by itself"
        left_out = (replace(file.part, problem=file.part.problem or too_many) for file in files[room:])
        return [*files[:room], *(PartFile(part, None) for part in left_out)]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps that process every document. Without an unpacker, parts are named and not taken out.

    schemas: by document type. schema: the one to read whatever the document is; None for that of its type.
    extractor: asked where the fields are not read yet. corrector: applies what people said of earlier
    documents. fingerprint: of everything that results depend on besides the file. reads_in_turns: whether the
    converter first of all waits for its turn in a pool; until then work on the document has not begun.
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


@dataclass(frozen=True, slots=True)
class DocumentIO:
    """Input and output of one document: its source, the place of its results, and data of its tenant.

    journal: keeps finished steps for the next attempt. receiver: takes its parts. observer: told of its
    progress. tags: returns those in use, the most used first. corrections: of earlier documents, applied to
    the fields. document_type: chosen by a person, in place of the recognised one. is_reread: the journal's
    transcription is that of an earlier processing, which has paid for it.
    """

    reader: Reader
    exporter: Exporter
    journal: Journal
    receiver: PartsReceiver | None = None
    observer: Observer | None = None
    tags: Callable[[], Awaitable[Sequence[str]]] | None = None
    corrections: CorrectionSource | None = None
    document_type: str | None = None
    is_reread: bool = False


async def process(
    ref: Ref,
    steps: Steps,
    io: DocumentIO,
    *,
    original: Original | None = None,
    attempt: int = 1,
    max_attempts: int = 1,
    may_wait: bool = True,
    spending: Spending | None = None,
) -> Result:
    """Take one document from its source to its export.

    A step that the journal remembers is not repeated. original: if the caller has read it already. attempt:
    counts from 1; the result carries it. max_attempts: at the last one, what there is counts where a model
    fails that could be asked later; before it, nothing is exported, and the observer is told what there is.
    may_wait: whether a model that fails and is left alone may be waited for; False if that took too long.
    spending: of all attempts; what this one spends is counted there. Raises what the steps raise, with the
    error's `step` set, such an error of a model, too; TimeLimitError when a limit is reached. An unsupported
    type is a result, not an error.
    """
    clock = StepClock(io.observer)
    with (spending or Spending()).counting() as counted:
        async with LimitedStep("process", steps.limits.document_s) as limit:
            async with clock.step("read", steps.limits.read_s):
                if original is None:
                    original = await io.reader.read(ref)
            pages = JournalOfPages(
                io.journal, steps.fingerprint, limit, page_s=steps.limits.page_s, observer=io.observer
            )
            result = await _understand(
                _Attempt(ref, original, steps, io, pages, clock, attempt, counted, may_wait)
            )
            result = replace(result, timings_s=clock.timings_s, attempt=attempt)
            error = _retry_error(result)
            is_last = attempt >= max_attempts
            if error is not None and is_asked_again(error, is_last=is_last, may_wait=may_wait):
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
    """The arguments of every step of an attempt. number: from 1. may_wait: see `process`."""

    ref: Ref
    original: Original
    steps: Steps
    io: DocumentIO
    pages: JournalOfPages
    clock: StepClock
    number: int
    spending: Spending
    may_wait: bool


async def _understand(attempt: _Attempt) -> Result:
    """Every step between reading and export."""
    ref, original = attempt.ref, attempt.original
    try:
        document = await _transcribe(attempt)
    except UnsupportedFileTypeError as error:  # the file is kept, and found by its name
        return Result(
            content_hash=original.content_hash,
            media_type=error.media_type or _UNKNOWN_TYPE,
            classification=Classification(title=ref.name),
            refusal=error.message,
        )
    document = await _hand_on_parts(document, attempt)
    if document.is_collection:  # its content is extracted from its parts, and not twice
        return Result(
            content_hash=original.content_hash,
            media_type=document.media_type,
            classification=Classification(title=ref.name, summary=_list_parts(document), confidence=1),
            document=document,
            spent=attempt.spending.total,
        )
    understood, tags = await _classify(document, attempt)
    understood = _with_chosen_type(understood, attempt)
    if understood.classification != Classification():
        await attempt.clock.record(Findings(classification=understood.classification))
    extraction, verdict = await _extract(document, understood, attempt)
    unread = _why_unread(document, understood, extraction)
    if unread and attempt.io.document_type is None:  # a person who chose a type wants its fields
        return Result(
            content_hash=original.content_hash,
            media_type=document.media_type,
            classification=Classification(title=ref.name),
            document=document,
            refusal=unread,
            spent=attempt.spending.total,
        )
    classification, read = understood.classification, understood.extraction
    # The understander named the document by the values it read; corrections and second readers give others.
    if read is None or (extraction.data, extraction.evidence) != (read.data, read.evidence):
        # The words of all languages take half a second to load, which a start can do without.
        from docmill.understanding.types.summary import describe  # noqa: PLC0415

        classification = describe(document, classification, extraction, tags)
    classification = without_doubted_parties(classification, extraction)
    # A person looks for the content; a document of a sure type needs no person, only a name.
    if classification.title is None and (document.parts or classification.confidence >= SURE):
        classification = classification.model_copy(update={"title": ref.name})
    return Result(
        content_hash=original.content_hash,
        media_type=document.media_type,
        classification=classification,
        document=document,
        extraction=extraction,
        verdict=verdict,
        spent=attempt.spending.total,
    )


def _why_unread(document: Document, understood: Understood, extraction: Extraction) -> str | None:
    """The reason why the file is only kept; None if its fields count. A model reads what rules cannot."""
    # The rules know pages and no markup; a schema of the user's own may be one for such files.
    if document.is_other_xml and extraction.usage.is_nothing and extraction.document_type in DOCUMENT_TYPES:
        return _OTHER_XML
    is_unknown = understood.classification.document_type == "other" and not extraction.evidence
    return document.unread_reason if is_unknown else None


async def _transcribe(attempt: _Attempt) -> Document:
    """The document's words, read now or by an earlier attempt."""
    pages, spending = attempt.pages, attempt.spending
    try:
        async with attempt.clock.step("transcribe"):
            document = await _stored_transcription(attempt)
            if document is None:
                before = spending.attempt
                document = await attempt.steps.converter.convert(attempt.original, pages)
                if not pages.has_entries:  # the cost of stored pages was counted when they were read
                    spending.count_reported(document.usage, since=before)
                stored = await off_loop(codec.dumps, document, size=document.word_count)
                await pages.keep("transcription", stored)
                if pages.has_entries:
                    await pages.clear()
    except UnsupportedFileTypeError:
        raise
    except DocumentError as error:
        await attempt.clock.record(Findings(media_type=error.media_type))
        raise
    await attempt.clock.record(Findings(media_type=document.media_type, document=document))
    return document


async def _stored_transcription(attempt: _Attempt) -> Document | None:
    """The transcription of an earlier attempt; None if there is none or it cannot be read: it is made anew.

    Raises ServerError, which is no attempt, for that of a later release: its workers go on with it.
    """
    stored = await attempt.io.journal.get("transcription")
    if stored is None:
        return None
    try:
        document = await off_loop(codec.loads, stored, size=len(stored) / STORED_BYTES)
    except codec.NewerFormatError as error:
        raise ServerError(
            "the document was read by a newer release of docmill, whose workers go on with it; start one, or "
            "update this one",
            retry_after_s=_NEWER_RELEASE_S,
            attempted=False,
        ) from error
    except ValueError:
        log.warning("the stored transcription cannot be read and is made anew")
        attempt.pages.is_anew = True
        return None
    if not attempt.io.is_reread:
        attempt.spending.add_earlier_cost(document.usage)
    attempt.pages.allow_time_for(len(document.pages))
    if len(document.pages) > 1:  # its worker may have died before it removed them
        await attempt.pages.clear()
    return document


async def _hand_on_parts(document: Document, attempt: _Attempt) -> Document:
    """Take the document's parts out and have them received; the document with what became of them.

    A part that cannot be taken out does not stop the document.
    """
    unpacker, receiver = attempt.steps.unpacker, attempt.io.receiver
    if not document.parts or unpacker is None or receiver is None:
        return document
    async with attempt.clock.step("unpack", attempt.steps.limits.unpack_s):
        try:
            folder = await receiver.folder(attempt.ref)
            files = await unpacker.unpack(attempt.original, document, folder)
        except DocumentError as error:
            log.warning("parts are not taken out", extra={"code": error.code})
            files = [
                PartFile(replace(part, problem=part.problem or error.message), None)
                for part in document.parts
            ]
        return replace(document, parts=tuple(await receiver.receive(attempt.ref, files)))


async def _classify(document: Document, attempt: _Attempt) -> tuple[Understood, Sequence[str]]:
    """The type of the document, its fields, and the tags in use by its tenant.

    Where it fails, it is tried again in another attempt (`model_error`), and in the end a person is asked for
    the type: the document is of use without. Raises InternalError for a fault of docmill itself, unless a
    person chose the type. A model that answered in an earlier attempt is not asked again.
    """
    steps, io = attempt.steps, attempt.io
    tags: Sequence[str] = ()
    try:
        async with attempt.clock.step("classify", steps.limits.classify_s):
            if attempt.number > 1 and (stored := await io.journal.get("classification")) is not None:
                with suppress(ValueError, zstandard.ZstdError):  # one that cannot be read is made anew
                    return Understood(Classification.model_validate_json(zstandard.decompress(stored))), tags
            if io.tags is not None:
                tags = tuple(await io.tags())
            before = attempt.spending.attempt
            understood = await steps.understander.understand(
                document, attempt.original, schemas=steps.wanted, tags=tags
            )
            classification = understood.classification
            attempt.spending.count_reported(classification.usage, since=before)
            if classification.model_error is None and not classification.usage.is_nothing:
                packed = zstandard.compress(classification.model_dump_json().encode())
                await io.journal.put("classification", packed)
    except (TransientError, DocumentError) as error:
        if isinstance(error, TransientError) and not error.attempted and attempt.may_wait:
            raise  # nobody was asked: the document waits until somebody can be
        log.error("classification failed", extra={"code": error.code})  # noqa: TRY400  its text may quote the page
        if isinstance(error, InternalError) and io.document_type not in steps.wanted:
            raise
        doubt = _UNRECOGNISED.format(reason=error.message.rstrip("."))
        return Understood(Classification(doubt=doubt, model_error=error)), tags
    return understood, tags


def _with_chosen_type(understood: Understood, attempt: _Attempt) -> Understood:
    """The understood document with the type that a person chose, without what belongs to another type.

    A type whose schema is no longer in the settings counts as not chosen. Where every document is read by one
    schema, nobody is asked for the type, which would change nothing.
    """
    chosen, (classification, extraction) = attempt.io.document_type, understood
    if chosen is None:
        return _without_doubt(understood) if attempt.steps.schema is not None else understood
    if chosen not in attempt.steps.wanted:
        log.warning("the chosen type has no schema any more; the recognised one counts")
        return understood
    if chosen != classification.document_type:
        from docmill.understanding.types.summary import change_type  # noqa: PLC0415 - as in `_understand`

        classification, extraction = change_type(classification, chosen), None
    certain = _without_doubt(Understood(classification, extraction))
    return certain._replace(classification=certain.classification.model_copy(update={"confidence": 1.0}))


def _without_doubt(understood: Understood) -> Understood:
    """The understood document without the question of which type it is."""
    classification, extraction = understood
    if extraction is not None:
        failures = tuple(failure for failure in extraction.failures if failure.check != TYPE_CHECK)
        extraction = extraction.model_copy(update={"failures": failures})
    return Understood(classification.model_copy(update={"doubt": ""}), extraction)


def _with_doubt(extraction: Extraction, doubt: str) -> Extraction:
    """The extraction with the question of which type the document is, if that is in doubt."""
    if not doubt or any(failure.check == TYPE_CHECK for failure in extraction.failures):
        return extraction
    asked = Failure(check=TYPE_CHECK, message=doubt)
    return extraction.model_copy(update={"failures": (*extraction.failures, asked)})


async def _extract(document: Document, understood: Understood, attempt: _Attempt) -> Judged:
    """The fields by the schema of the type, corrected, judged, and read again where they are doubted."""
    steps, source = attempt.steps, attempt.io.corrections
    classification, extraction = understood.classification, understood.extraction
    schema = steps.schema or steps.schemas.get(classification.document_type) or steps.schemas["other"]
    async with attempt.clock.step("extract", steps.limits.extract_s):
        before = attempt.spending.attempt
        if extraction is None or extraction.document_type != schema.name:
            extraction = await steps.extractor.extract(document, schema, attempt.original)
        extraction = _with_doubt(extraction, classification.doubt)
        if source is not None and steps.corrector is not None:
            corrections = await source.find(document, schema)
            if corrections:
                extraction = await steps.corrector.correct(document, schema, extraction, corrections)
        extraction, verdict = await steps.router.judge(extraction, document, schema, attempt.original)
        attempt.spending.count_reported(extraction.usage, since=before)
    error = classification.model_error
    if error is not None:
        note = f"({error.code}): {error.message}"
        extraction = extraction.with_step(StepTaken(kind="not_classified", note=note))
    return Judged(extraction, verdict)


def _list_parts(document: Document) -> str:
    """The summary of a collection: the names of its first parts, and how many more there are."""
    names = [part.name for part in document.parts]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    plural = "" if len(names) == 1 else "s"
    return f"Holds {len(names)} document{plural}: {', '.join(names[:_LISTED])}{more}"


def _retry_error(result: Result) -> TransientError | SetupError | None:
    """The error of a model that may answer later; the result is of use without its answer.

    It was an attempt if any model was asked: what is paid again and again must come to an end.
    """
    extraction, classification = result.extraction, result.classification
    if extraction is None:
        return None
    errors = [
        (step, error)
        for step, error in (("classify", classification.model_error), ("extract", extraction.model_error))
        if isinstance(error, TransientError | SetupError)
    ]
    if not errors:
        return None
    step, error = next(((step, error) for step, error in errors if error.attempted), errors[0])
    was_paid = not (classification.usage.is_nothing and extraction.usage.is_nothing)
    if isinstance(error, TransientError) and not error.attempted and was_paid:
        error = type(error)(error.message, retry_after_s=error.retry_after_s)
    error.step = step
    return error
