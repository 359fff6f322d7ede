"""One document through the stages of a pipeline. Read this first."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from docmill.errors import BadModelOutputError, DocmillError, MisconfiguredError, ValidationError
from docmill.model import codec
from docmill.model.document import Document
from docmill.model.result import Classification
from docmill.ports import Journal
from docmill.resilience.concurrency import STORED_BYTES, VALUE, off_loop
from docmill.runs.context import Context, CurrentDocument, set_current
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.kept_results import (
    dump_classification,
    dump_extraction,
    load_classification,
    load_extraction,
)
from docmill.runs.roles import ExtractionResult
from docmill.runs.stages import Stage, Work
from docmill.runs.states import DocumentState

log = logging.getLogger(__name__)

OTHER = "other"
"""The document type whose route takes what has none of its own."""
_SMALL_BYTES = 100_000
"""Bytes that are hashed in less time than a thread costs."""
_NOTHING: Mapping[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class Route:
    """What is done with the documents of one type. schema_fingerprint: changes with the schema."""

    schema: type[BaseModel]
    schema_fingerprint: str
    extract: Stage
    export: Stage


class StageJournal(Protocol):
    """Keeps results of stages of the run's documents."""

    def keep(self, path: str, stage: str, dump: Callable[[], bytes], *, size: float) -> None:
        """Keep a result soon. dump: makes its bytes; size: see `off_loop`."""
        ...

    async def load(self, path: str) -> Mapping[str, bytes]:
        """What was kept of a document, by stage."""
        ...

    def of_document(self, path: str) -> Journal:
        """A journal for parts of its stages, such as pages."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a document. needs_review: something speaks against its data."""

    content_hash: str
    needs_review: bool = False
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """The stages that every document goes through. classify: None if all have one schema.

    routes: by document type; without `classify`, that of `OTHER` counts. flushes: make durable what exporters
    have taken.
    """

    read: Stage
    convert: Stage
    classify: Stage | None
    routes: Mapping[str, Route]
    journal: StageJournal
    context: Context[Any]
    flushes: Sequence[Callable[[], Awaitable[object]]] = ()

    async def flush(self) -> None:
        """See `DocumentFlow.flush`."""
        for flush in self.flushes:
            await flush()

    def fail(self, state: DocumentState, work: Work, error: DocmillError) -> None:
        """See `DocumentFlow.fail`: exporters take what was read; the state store has the failures."""

    async def process(self, state: DocumentState, work: Work) -> Outcome:
        """Take one document from its source to its export. Raises DocmillError.

        A stage whose result an earlier attempt has kept is not repeated, unless the content has changed.
        """
        current = work.document
        set_current(current)
        content = _as_bytes(await self.read.run(work, current.ref, self.context), state.name)
        try:
            return await self._process(content, state, work)
        finally:
            content.remove()

    async def _process(self, content: DocumentBytes, state: DocumentState, work: Work) -> Outcome:
        current = work.document
        current.document_bytes = content
        current.content_hash = await _compute_hash(content)
        if state.done_as is not None and current.content_hash == state.content_hash:
            return Outcome(current.content_hash, is_unchanged=True)
        kept = await self.journal.load(state.path) if current.may_be_exported else _NOTHING
        document = await self._convert(content, work, kept)
        route = self.routes[OTHER]
        if self.classify is not None:
            current.classification = await self._classify(self.classify, document, work, kept)
            route = self._route_of(current.classification.document_type)
        current.key = result_key(self.context.run_id, current.content_hash, route.schema_fingerprint)
        extracted = await self._extract(route, document, work, kept)
        await route.export.run(work, document, extracted, self.context)
        return Outcome(current.content_hash, needs_review=not extracted.verdict.passed)

    async def _convert(self, content: DocumentBytes, work: Work, kept: Mapping[str, bytes]) -> Document:
        current = work.document
        name = self._kept_name("convert", current)
        current.journal = self.journal.of_document(current.ref.key)
        if (stored := kept.get(name)) is not None:
            try:
                return await off_loop(codec.loads, stored, size=len(stored) / STORED_BYTES)
            except ValueError:
                log.warning("a kept document cannot be read and is converted anew")
        document = await self.convert.run(work, content, self.context)
        if not isinstance(document, Document):
            raise MisconfiguredError(f"the converter returned {type(document).__name__}, no Document")
        current.count_usage(document.usage)
        self.journal.keep(current.ref.key, name, partial(codec.dumps, document), size=document.word_count)
        return document

    async def _classify(
        self, stage: Stage, document: Document, work: Work, kept: Mapping[str, bytes]
    ) -> Classification:
        current = work.document
        name = self._kept_name("classify", current)
        if (stored := kept.get(name)) is not None:
            with suppress(ValueError):  # one that cannot be read is made anew
                return load_classification(stored)
        answer = await stage.run(work, document, self.context)
        classification = Classification(document_type=answer) if isinstance(answer, str) else answer
        if not isinstance(classification, Classification):
            raise MisconfiguredError(f"the classifier returned {type(answer).__name__}, no Classification")
        current.count_usage(classification.usage)
        self.journal.keep(current.ref.key, name, partial(dump_classification, classification), size=1)
        return classification

    async def _extract(
        self, route: Route, document: Document, work: Work, kept: Mapping[str, bytes]
    ) -> ExtractionResult[Any]:
        current = work.document
        name = f"{self._kept_name('extract', current)}/{route.schema_fingerprint}"
        if (stored := kept.get(name)) is not None:
            with suppress(ValueError):
                return load_extraction(stored, route.schema)
        answer: Any = await route.extract.run(work, document, route.schema, self.context)
        extracted: ExtractionResult[Any] = answer
        if not isinstance(answer, ExtractionResult):
            extracted = ExtractionResult(answer)
        if not isinstance(extracted.data, route.schema):
            raise BadModelOutputError(
                f"the extractor returned {type(extracted.data).__name__}, no {route.schema.__name__}"
            )
        current.count_usage(extracted.usage)
        size = VALUE * len(extracted.evidence)
        self.journal.keep(current.ref.key, name, partial(dump_extraction, extracted), size=size)
        return extracted

    def _kept_name(self, stage: str, current: CurrentDocument) -> str:
        """The name of a kept result, which holds for this content and these components alone."""
        return f"{stage}/{self.context.fingerprint}/{current.content_hash}"

    def _route_of(self, document_type: str) -> Route:
        route = self.routes.get(document_type) or self.routes.get(OTHER)
        if route is None:
            error = ValidationError(
                f"it is of the type {document_type!r}, which has no route; add one, or one for {OTHER!r}"
            )
            error.step = "classify"
            raise error
        return route


def result_key(run_id: str, content_hash: str, schema_fingerprint: str) -> str:
    """The key of a result: the same run, content and schema give the same one, whoever computes it."""
    return sha256(f"{run_id}\0{content_hash}\0{schema_fingerprint}".encode()).hexdigest()[:32]


def _as_bytes(answer: object, name: str) -> DocumentBytes:
    match answer:
        case bytes():
            return DocumentBytes(name, content=answer)
        case Path():
            return DocumentBytes(name, path=answer)
        case DocumentBytes():
            return answer
        case _:
            raise MisconfiguredError(
                f"the reader returned {type(answer).__name__}; it must be bytes, a path or DocumentBytes"
            )


async def _compute_hash(content: DocumentBytes) -> str:
    if content.content is not None and len(content.content) < _SMALL_BYTES:
        return content.compute_hash()
    return await asyncio.to_thread(content.compute_hash)
