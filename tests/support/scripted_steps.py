"""A pipeline whose steps do what a test tells them, and what a person sees of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from decimal import Decimal

from docmill.errors import ServerError, TransientError
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Evidence, Extraction, Failure, Schema, StepTaken, Verdict
from docmill.pipeline import Steps
from docmill.ports import Original, PageJournal, Understood
from docmill.schemas.types import Invoice
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.store import dead_letters, documents, ingestions
from docmill.service.store.dead_letters import DeadLetterRow
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.result_columns import StoredResult
from docmill.understanding.router import GateRouter

RunWorker = Callable[[], AbstractAsyncContextManager[asyncio.Task[None]]]
Upload = Callable[..., Awaitable[Accepted]]


NO_RESULT = StoredResult(media_type="application/pdf", classification={}, pipeline_fingerprint="")
"""What a document is completed with when only that it is completed matters."""


class AtOnceError(ServerError):
    """A transient error that is tried again without a wait."""

    delays_s = (0.0,)


async def once(data: bytes) -> AsyncIterator[bytes]:
    """A file that arrives in one piece."""
    yield data


PAID = Usage(input_tokens=10, output_tokens=5, model="scripted", cost=Decimal("0.001"))
INVOICE = Classification(document_type="invoice", title="Invoice 7", summary="One hour", confidence=0.9)


@dataclass
class ScriptedSteps:
    """Steps of a pipeline. A test replaces what it is about.

    convert: called first; raise or wait here. converted: the originals that reached the converter.
    extract_errors: raised by the extractor, one at a time. model_errors: of models that the extractor asked,
    one at a time; without them it finds the total, too.
    """

    document: Document
    convert: Callable[[Original], Awaitable[None]] | None = None
    classification: Classification = INVOICE
    failures: tuple[Failure, ...] = ()
    converted: list[Original] = field(default_factory=list[Original])
    extract_errors: list[Exception] = field(default_factory=list[Exception])
    model_errors: list[TransientError] = field(default_factory=list[TransientError])
    classify_error: Exception | None = None
    pictures: bytes | None = None

    def steps(self) -> Steps:
        return Steps(
            converter=_Converter(self),
            understander=_Classifier(self),
            extractor=_Extractor(self),
            router=GateRouter(_Gate(self)),
        )


@dataclass
class _Converter:
    script: ScriptedSteps

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        self.script.converted.append(original)
        if self.script.convert is not None:
            await self.script.convert(original)
        if self.script.pictures is not None and pages is not None:
            await pages.keep_pictures(self.script.pictures)
        return self.script.document


@dataclass
class _Classifier:
    script: ScriptedSteps

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        assert document.text == self.script.document.text
        if self.script.classify_error is not None:
            raise self.script.classify_error
        return Understood(self.script.classification)


@dataclass
class _Extractor:
    script: ScriptedSteps

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        del original
        assert document.pages
        if self.script.extract_errors:
            raise self.script.extract_errors.pop()
        if self.script.model_errors:
            return _by_rules(schema, self.script.model_errors.pop(0))
        return Extraction(
            document_type=schema.name,
            data=Invoice(number="7", gross_total=Decimal("119.00")),
            evidence={"number": Evidence(page=1, box=None, text="7", match="exact", confidence=0.9)},
            usage=PAID,
            steps=(
                StepTaken(kind="read", by="rules"),
                StepTaken(kind="asked", by="small model: scripted", fields=("number",), mended=("number",)),
            ),
        )


def _by_rules(schema: Schema, error: TransientError) -> Extraction:
    return Extraction(
        document_type=schema.name,
        data=Invoice(number="7"),
        evidence={"number": Evidence(page=1, box=None, text="7", match="exact", confidence=0.9)},
        usage=Usage() if not error.attempted else PAID,
        steps=(
            StepTaken(kind="read", by="rules"),
            StepTaken(kind="failed", by="small model", note=f"({error.code})", fields=("number",)),
        ),
        model_error=error,
    )


@dataclass
class _Gate:
    script: ScriptedSteps

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert document.pages
        assert extraction.data
        assert schema.fields
        return Verdict(failures=self.script.failures)


_GIVEN_UP_S = 120
"""Seconds by the clock: many, since they only end a test that fails, and the machine may be busy."""


@dataclass
class Observer:
    """What a person of the default tenant sees."""

    service: Service

    async def document(self, accepted: Accepted) -> DocumentRow:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            found = await documents.get(conn, accepted.document_id)
        assert found is not None
        return found

    async def ingestion(self, accepted: Accepted) -> IngestionRow:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            return (await ingestions.of_document(conn, accepted.document_id))[0]

    async def letters(self) -> list[DeadLetterRow]:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            return await dead_letters.page(conn, limit=100)

    async def until(self, accepted: Accepted, state: str) -> DocumentRow:
        """The document, once it is in `state`."""
        return await self.when(accepted, lambda document: document.state == state)

    async def when(self, accepted: Accepted, holds: Callable[[DocumentRow], bool]) -> DocumentRow:
        """The document, once `holds` is true of it."""
        async with asyncio.timeout(_GIVEN_UP_S):
            async for _ in self.service.feed.follow(self.service.default_tenant_id, 0):
                document = await self.document(accepted)
                if holds(document):
                    return document
        raise AssertionError


def is_read(document: DocumentRow) -> bool:
    """True once its values are there, whether or not a person is asked about them."""
    return document.state in ("ready", "needs_review", "needs_classification")


async def upload_and_read(upload: Upload, observer: Observer, text: bytes) -> Accepted:
    """Upload a text and wait until it is read."""
    accepted = await upload(text, file_name="paper.txt")
    await observer.when(accepted, is_read)
    return accepted
