"""Processes a claimed document: its reader, journal, observer and exporter in the vault."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from docmill.errors import CorruptError, DocmillError, UnsupportedFileTypeError, room_in
from docmill.model.document import Document
from docmill.model.result import Extraction, Result
from docmill.model.statement_columns import StatementColumns
from docmill.pipeline import DocumentIO, PartLimits, Steps, process
from docmill.ports import Findings, Original, Ref
from docmill.resilience.breaker import Breaker
from docmill.resilience.concurrency import VALUE, off_loop
from docmill.sections.serial_numbers import ASN_PREFIX, serial_numbers
from docmill.service.config.fingerprint import Fingerprint
from docmill.service.intake.accept import Intake
from docmill.service.intake.members import VaultMemberReceiver
from docmill.service.observe.tracing import NO_TRACER, Tracer, TraceSpan, failure_code
from docmill.service.processing.lease import Lease
from docmill.service.processing.work_folders import folder_for, note_begun
from docmill.service.protocol.pause import current_passage, guarded_part
from docmill.service.review.corrections import CorrectionFinder
from docmill.service.review.reviews import Reviews
from docmill.service.storage.blobs import Blobs
from docmill.service.store import statement_columns
from docmill.service.store import tags as tag_store
from docmill.service.store.claims import Claim
from docmill.service.store.database import Database
from docmill.service.store.result_columns import StoredFindings, StoredResult, cost_values, result_values
from docmill.understanding.duplicates import signature_of
from docmill.understanding.statement_files import find_statement
from docmill.workers.fair_semaphore import scheduled_for, with_turn_callback

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

log = logging.getLogger(__name__)

_PACKED = ".json.zst"
_NONE_REPLACED: Mapping[str, str] = {}

OFFERED = 100
NEWEST = 1000
"""Documents whose tags are counted: a house's habits show in them, and asking stays cheap."""
FRESH_S = 60.0
_TENANTS = 1000
"""Most tenants whose tags are cached."""


class TagsInUse:
    """The tags of each tenant, asked of the database once a minute at most."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._known: OrderedDict[UUID, tuple[float, Sequence[str]]] = OrderedDict()

    async def of(self, tenant_id: UUID) -> Sequence[str]:
        """The most used first; none if they cannot be had, since no document needs them."""
        asked_at, tags = self._known.get(tenant_id, (float("-inf"), ()))
        if self._clock() - asked_at < FRESH_S:
            return tags
        try:
            async with self._database.tenant(tenant_id) as conn:
                tags = await tag_store.in_use(conn, documents=NEWEST, limit=OFFERED)
        except DocmillError as error:
            log.warning("the tags in use are not known", extra={"code": error.code})
        self._known[tenant_id] = (self._clock(), tags)
        self._known.move_to_end(tenant_id)
        if len(self._known) > _TENANTS:
            self._known.popitem(last=False)
        return tags


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProcessor:
    """Processes the documents that a worker has claimed.

    place: a folder of the worker's own. fingerprint: of the steps. corrections: from reviewed documents.
    asn_prefix: of the codes with archive serial numbers.
    max_attempts: after so many, what there is counts where a model fails that could be asked later; so it
    does after `patience_s` where one was left alone.
    """

    steps: Steps
    blobs: Blobs
    database: Database
    intake: Intake
    reviews: Reviews
    place: Path
    fingerprint: Fingerprint
    tags: TagsInUse
    parts: PartLimits = field(default_factory=PartLimits)
    corrections: CorrectionFinder | None = None
    tracer: Tracer = NO_TRACER
    asn_prefix: str = ASN_PREFIX
    max_attempts: int = 1
    patience_s: float = inf
    # Apart, because a store that is full still reads, and each reading would speak for the next writing.
    reads: Breaker = field(default_factory=lambda: Breaker("file store, reading"))
    writes: Breaker = field(default_factory=lambda: Breaker("file store, writing"))

    async def process(self, lease: Lease) -> Result:
        """Process the claimed document and store its result, which is returned for the metrics.

        Raises what `pipeline.process` raises, and ClaimLostError.
        """
        claim = lease.claim
        steps = replace(self.steps, fingerprint=await self.fingerprint.now())
        journal = BlobJournal.of_claim(self.blobs, claim, self.writes)
        # Of this claim alone: an earlier one may have been lost here and not be over yet.
        async with folder_for(self.place, f"{claim.ingestion_id}-{claim.fence}") as folder:
            journal.on_found = begin = BegunMarker(folder, lease.note_begun)
            if not steps.reads_in_turns:
                begin()
            with scheduled_for(claim.tenant_id, claim.document_id), with_turn_callback(begin):
                result = await process(
                    Ref(claim.file_path, claim.file_name),
                    steps,
                    DocumentIO(
                        reader=BlobReader(
                            self.blobs, folder, self.reads, partial(self._known_columns, claim.tenant_id)
                        ),
                        exporter=LeaseExporter(lease, steps.fingerprint, journal, asn_prefix=self.asn_prefix),
                        journal=journal,
                        receiver=VaultMemberReceiver(
                            self.intake, self.database, claim, folder, self.parts, self.writes
                        ),
                        observer=LeaseObserver(lease, self.tracer, journal),
                        tags=partial(self.tags.of, claim.tenant_id),
                        corrections=self.corrections
                        and self.corrections.of(claim.tenant_id, claim.document_id),
                        document_type=claim.document_type,
                        is_reread=journal.is_of_earlier("transcription"),
                    ),
                    attempt=claim.attempt,
                    max_attempts=self.max_attempts,
                    may_wait=claim.waited_s < self.patience_s,
                    spending=lease.spending,
                )
        try:  # the result is stored, whatever becomes of judging it with earlier reviews
            await self.reviews.settle(claim.document_id, tenant_id=claim.tenant_id)
        except DocmillError as error:
            log.warning("reviews are not weighed anew", extra={"code": error.code})
        await self._keep_columns(claim.tenant_id, result)
        return result

    async def _known_columns(self, tenant_id: UUID) -> tuple[StatementColumns, ...]:
        """What is known of the tables of the tenant's banks."""
        async with self.database.tenant(tenant_id) as conn:
            rows = await statement_columns.of_tenant(conn, tenant_id=tenant_id)
        return tuple(row.content for row in rows)

    async def _keep_columns(self, tenant_id: UUID, result: Result) -> None:
        """Keep what was found of a bank's table for the next file; without that, it is found again."""
        if result.document is None or not result.document.embedded:
            return
        data = await asyncio.to_thread(find_statement, result.document)
        if data is None or data.mapping is None:
            return
        try:
            async with self.database.tenant(tenant_id) as conn:
                await statement_columns.keep(conn, data.mapping, tenant_id=tenant_id)
        except DocmillError as error:
            log.warning("columns of a statement are not kept", extra={"code": error.code})


class BegunMarker:
    """To be called when the work on a document begins, or goes on: before, no worker can have died of it.

    folder: where that is noted, for who looks into the folder of a dead worker. on_begun: called once.
    """

    def __init__(self, folder: Path, on_begun: Callable[[], None]) -> None:
        self._folder = folder
        self._on_begun = on_begun
        self._is_begun = False

    def __call__(self) -> None:
        """The work begins or goes on."""
        if not self._is_begun:
            self._is_begun = True
            note_begun(self._folder)
            self._on_begun()


async def _no_columns() -> tuple[StatementColumns, ...]:
    return ()


class BlobReader:
    """`Reader` of originals and their readable copies, whose keys end in the hash of their content."""

    def __init__(
        self,
        blobs: Blobs,
        folder: Path,
        breaker: Breaker,
        known_columns: Callable[[], Awaitable[tuple[StatementColumns, ...]]] = _no_columns,
    ) -> None:
        self._blobs = blobs
        self._folder = folder
        self._breaker = breaker
        self._known_columns = known_columns

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`. Raises ServerError if the work folder is full, too."""
        path = self._folder / "original"
        with room_in("the work folder"):  # not within the breaker: that is not the file store's failure
            async with guarded_part(self._breaker):
                content_hash = await self._blobs.download(ref.key, path)
        if content_hash != ref.key.rpartition("/")[2]:
            raise CorruptError(f"the stored file {ref.key!r} has been changed; upload it again")
        _, _, content_hash, *_ = ref.key.split("/")  # a readable copy goes by the hash of its original
        return Original(path, ref.name, content_hash, await self._known_columns())


class BlobJournal:
    """`Journal` beside the files of one ingestion; each entry is written once.

    fence: of the claim under which it is used; what is written in place of an unreadable entry is named by
    it, so that who has lost the claim overwrites nothing. replaced: the keys of such entries, by step.
    """

    def __init__(
        self,
        blobs: Blobs,
        ingestion_id: UUID,
        breaker: Breaker,
        *,
        fence: int = 0,
        replaced: Mapping[str, str] = _NONE_REPLACED,
    ) -> None:
        self._blobs = blobs
        self._ingestion_id = ingestion_id
        self._breaker = breaker
        self._fence = fence
        self._replaced = dict(replaced)
        self.on_found: Callable[[], None] = lambda: None
        """Called when an entry was there."""

    @classmethod
    def of_claim(cls, blobs: Blobs, claim: Claim, breaker: Breaker) -> "BlobJournal":
        """The journal of a claimed ingestion, whose row names its files."""
        paths = {"transcription": claim.transcription_file_path, "preprocessed": claim.preprocessed_file_path}
        replaced = {step: path for step, path in paths.items() if path is not None}
        return cls(blobs, claim.ingestion_id, breaker, fence=claim.fence, replaced=replaced)

    def key(self, step: str) -> str:
        """The key of a step's result."""
        return self._replaced.get(step) or journal_key(self._ingestion_id, step)

    def is_of_earlier(self, step: str) -> bool:
        """True if the result of the step was taken over from an earlier ingestion of the document."""
        return not self.key(step).startswith(f"ingestions/{self._ingestion_id}/")

    async def get(self, step: str) -> bytes | None:
        """See `Journal.get`."""
        entry = await self._blobs.find(self.key(step))
        if entry is not None:
            self.on_found()
        return entry

    async def put(self, step: str, result: bytes) -> None:
        """See `Journal.put`."""
        async with guarded_part(self._breaker):
            await self._blobs.put_once(self.key(step), result)

    async def replace(self, step: str, result: bytes) -> None:
        """See `Journal.replace`. The row names the new file once the claim stores its findings."""
        key = journal_key(self._ingestion_id, step, fence=self._fence)
        async with guarded_part(self._breaker):
            await self._blobs.put_once(key, result)
        self._replaced[step] = key

    async def entries(self, folder: str) -> list[str]:
        """See `Journal.entries`."""
        keys = await self._blobs.keys(f"ingestions/{self._ingestion_id}/{folder}")
        return [key.split("/", 2)[2].removesuffix(_PACKED) for key in keys]

    async def remove(self, step: str) -> None:
        """See `Journal.remove`."""
        await self._blobs.delete(journal_key(self._ingestion_id, step))


def journal_key(ingestion_id: UUID, step: str, *, fence: int | None = None) -> str:
    """The key of an ingestion's result of `step`. fence: of the claim that replaces an unreadable one."""
    name = step if fence is None else f"{step}-{fence}"
    return f"ingestions/{ingestion_id}/{name}{'.pdf' if step == 'preprocessed' else _PACKED}"


class LeaseObserver:
    """`Observer` for the holder of a claim: notes steps and findings in the database, logs them, makes spans.

    Raises the setup error of a step that is paused.
    """

    def __init__(self, lease: Lease, tracer: Tracer = NO_TRACER, journal: BlobJournal | None = None) -> None:
        self._lease = lease
        self._key = journal.key if journal else partial(journal_key, lease.claim.ingestion_id)
        self._tracer = tracer
        self._spans: dict[str, AbstractContextManager[TraceSpan]] = {}

    async def step_started(self, step: str) -> None:
        """See `Observer.step_started`."""
        if (passage := current_passage()) is not None:
            passage.enter_step(step)
        await self._lease.step_started(step)
        log.debug("step started", extra={"step": step})
        if self._tracer.enabled:
            span = self._spans[step] = self._tracer.span(step)
            span.__enter__()

    def step_ended(self, step: str, *, seconds: float, error: BaseException | None) -> None:
        """See `Observer.step_ended`. A failure is a warning, whatever follows from it."""
        if (passage := current_passage()) is not None:
            passage.leave(step, error)
        self._lease.timings_s[step] = round(seconds, 4)
        if span := self._spans.pop(step, None):
            # With its traceback, which a context manager would take from the error otherwise.
            span.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
        code = failure_code(error)
        if code is None and not log.isEnabledFor(logging.DEBUG):
            return
        extra: dict[str, Any] = {"step": step, "duration_ms": round(seconds * 1000)}
        if code is None:
            log.debug("step ended", extra=extra)
        else:
            log.warning("step failed", extra={**extra, "code": code})

    async def record(self, findings: Findings) -> None:
        """See `Observer.record`."""
        size = _size(findings.document, findings.extraction)
        await self._lease.record(await off_loop(_findings_to_store, findings, self._key, size=size))


def _findings_to_store(findings: Findings, key: Callable[[str], str]) -> StoredFindings:
    document = findings.document
    return StoredFindings(
        **result_values(
            key,
            document=document,
            classification=findings.classification,
            extraction=findings.extraction,
            verdict=findings.verdict,
        ),
        media_type=findings.media_type,
        page_count=len(document.pages) if document else findings.page_count,
        text=_search_text(document) if document else None,
        language=document.language if document else None,
    )


class LeaseExporter:
    """`Exporter` that completes the ingestion, for the holder of its claim only."""

    def __init__(
        self,
        lease: Lease,
        fingerprint: str,
        journal: BlobJournal | None = None,
        *,
        asn_prefix: str = ASN_PREFIX,
    ) -> None:
        self._lease = lease
        self._fingerprint = fingerprint
        self._asn_prefix = asn_prefix
        self._key = journal.key if journal else partial(journal_key, lease.claim.ingestion_id)

    async def export(self, ref: Ref, result: Result) -> None:
        """See `Exporter.export`. Raises ClaimLostError if another worker holds the claim."""
        del ref
        size = _size(result.document, result.extraction)
        stored = await off_loop(_result_to_store, result, self._key, self._fingerprint, size=size)
        numbers = serial_numbers(result.document, self._asn_prefix) if result.document is not None else ()
        await self._lease.finish(
            replace(
                stored,
                timings_s=dict(self._lease.timings_s),
                serial_numbers=numbers,
                archive_serial_number=numbers[0] if len(numbers) == 1 else None,
            )
        )


def _result_to_store(result: Result, key: Callable[[str], str], fingerprint: str) -> StoredResult:
    document, classification = result.document, result.classification
    if classification.language is None and document is not None:
        classification = classification.model_copy(update={"language": document.language})
    data = result.extraction and result.extraction.data.model_dump(mode="json")
    is_one = document is not None and not document.is_collection
    return StoredResult(
        **result_values(
            key,
            document=document,
            classification=classification,
            extraction=result.extraction,
            verdict=result.verdict,
        ),
        **cost_values(result.usage),
        media_type=result.media_type,
        page_count=len(document.pages) if document else None,
        text=_search_text(document) if document else None,
        pipeline_fingerprint=fingerprint,
        error_code=UnsupportedFileTypeError.code if result.refusal else None,
        error_message=result.refusal,
        signature=signature_of(document, classification.document_type, data) if document and is_one else None,
    )


def _search_text(document: Document) -> str:
    """The text by which the document is found; for an archive, the names of what it holds."""
    return document.text if document.pages else "\n".join(part.name for part in document.parts)


def _size(document: Document | None, extraction: Extraction | None) -> int:
    """The size of what is to be stored, in words."""
    return (document.word_count if document else 0) + VALUE * len(extraction.evidence if extraction else ())
