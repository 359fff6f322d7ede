"""docmill's own reading and understanding as components. Those of one run share a pool of processes."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from docmill.errors import MisconfiguredError, UnsupportedFileTypeError
from docmill.files import digest
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Schema, Verdict
from docmill.page_journal import JournalOfPages
from docmill.pipeline import DocumentIO, Steps, TimeLimits, process
from docmill.ports import Original, PageJournal, Ref, Understood
from docmill.resilience.time_limits import TimeLimit
from docmill.runs.components.config import ComponentConfig
from docmill.runs.context import Context, CurrentDocument
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.fingerprints import fingerprint_of
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.runs.roles import ExtractionResult
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of, words_of
from docmill.understanding.gate import RuleGate
from docmill.understanding.router import GateRouter
from docmill.understanding.user_schemas.schema_model import model_in
from docmill.wiring import NO_SCHEMA_MODELS, READING, reading_pool, steps_for
from docmill.workers.pool import Pool

Data = TypeVar("Data", bound=BaseModel)

_ALL_DOCUMENTS = TimeLimits()


class StandardConfig(ComponentConfig):
    """workers: processes of the pool, as many as the machine has cores unless given.

    settings: a docmill.toml, whose engines and language models are used, and whose limits; without, no
    document leaves this machine.
    """

    workers: int | None = None
    settings: Path | None = None


class StandardConverterConfig(StandardConfig):
    """passwords: to try if a file is protected."""

    passwords: tuple[str, ...] = ()


class StandardExtractorConfig(StandardConfig):
    """labels: words that stand beside a field's value, by its path. model: a file of `docmill learn`."""

    labels: Mapping[str, tuple[str, ...]] = {}
    model: Path | None = None


class StandardConverter:
    """`Converter` that reads documents in processes: text layers as they are, everything else by recognition.

    Recognised pages are kept in the journal of the document while it is read, and each page gives the stage
    more time: a scan of a thousand pages survives time limits and kills.
    """

    def __init__(self, config: StandardConverterConfig | None = None) -> None:
        self.config = config or StandardConverterConfig()
        self._pool = _PoolLease(self.config)

    @property
    def fingerprint(self) -> str:
        """Changes with the settings, also with what their file says."""
        return _fingerprint_of(self.config)

    async def open(self, context: Context[Any]) -> None:
        """Take part in the run's pool."""
        await self._pool.open(context)

    async def close(self) -> None:
        """Leave the pool, which ends with the last of its components."""
        await self._pool.close()

    async def convert(self, document_bytes: DocumentBytes, context: Context[Any]) -> Document:
        """See `Converter.convert`."""
        current = _current_of(context)
        converter = self._pool.steps(passwords=self.config.passwords).converter
        content_hash = current.content_hash if current is not None else ""
        async with _as_original(document_bytes, content_hash) as original:
            if current is None or current.journal is None:
                return await converter.convert(original)
            fingerprint = f"{context.fingerprint}/{original.content_hash}"
            pages = _TimedPages(
                current,
                JournalOfPages(current.journal, fingerprint, TimeLimit(None), page_s=_ALL_DOCUMENTS.page_s),
            )
            return await converter.convert(original, pages)


class StandardClassifier:
    """`Classifier` by docmill's rules: the type of a document, its title, date and the like."""

    def __init__(self, config: StandardConfig | None = None) -> None:
        self.config = config or StandardConfig()
        self._pool = _PoolLease(self.config)

    @property
    def fingerprint(self) -> str:
        """Changes with the settings, also with what their file says."""
        return _fingerprint_of(self.config)

    async def open(self, context: Context[Any]) -> None:
        """Take part in the run's pool."""
        await self._pool.open(context)

    async def close(self) -> None:
        """Leave the pool, which ends with the last of its components."""
        await self._pool.close()

    async def classify(self, document: Document, context: Context[Any]) -> Classification:
        """See `Classifier.classify`."""
        steps = self._pool.steps()
        current = _current_of(context)
        content = None if current is None else current.document_bytes
        if current is None or content is None:
            return (await steps.understander.understand(document, schemas=steps.schemas)).classification
        async with _as_original(content, current.content_hash) as original:
            found = await steps.understander.understand(document, original, schemas=steps.schemas)
        return found.classification


class StandardExtractor:
    """`Extractor` of any Pydantic model, and of the types that docmill knows (`REGISTRY[…].fields`).

    Values are judged, and read again where they are doubted, as `docmill.extract` does it. After a
    classifier, the type that it found counts, with its doubts.
    """

    def __init__(self, config: StandardExtractorConfig | None = None) -> None:
        self.config = config or StandardExtractorConfig()
        self._pool = _PoolLease(self.config)
        self._models: Mapping[str, str] = NO_SCHEMA_MODELS

    @property
    def fingerprint(self) -> str:
        """Changes with the settings, also with what their file says."""
        return _fingerprint_of(self.config)

    async def open(self, context: Context[Any]) -> None:
        """Take part in the run's pool. Raises MisconfiguredError if the trained model cannot be read."""
        if self.config.model is not None:
            self._models = _ForAnySchema(await asyncio.to_thread(model_in, self.config.model))
        await self._pool.open(context)

    async def close(self) -> None:
        """Leave the pool, which ends with the last of its components."""
        await self._pool.close()

    async def extract(
        self, document: Document, schema: type[Data], context: Context[Any]
    ) -> ExtractionResult[Data]:
        """See `Extractor.extract`. Raises UnsupportedFileTypeError for a file that only holds others."""
        current = _current_of(context)
        classification = None if current is None else current.classification
        content = None if current is None else current.document_bytes
        steps = self._steps(document, self._schema(schema, classification), classification)
        ref = Ref("document", "document") if current is None else current.ref
        if content is None:
            steps = replace(steps, router=GateRouter(RuleGate()))
            original = Original(Path(), ref.name, document.content_hash)
            result = await process(ref, steps, _io(), original=original)
        else:
            assert current is not None
            async with _as_original(content, current.content_hash) as original:
                result = await process(
                    ref,
                    steps,
                    _io(),
                    original=original,
                    attempt=current.attempt,
                    max_attempts=current.max_attempts,
                )
        if result.extraction is None:
            reason = result.refusal or f"{ref.name!r} holds several documents; take out the one to read"
            raise UnsupportedFileTypeError(reason, media_type=result.media_type)
        if current is not None and classification is None:
            current.classification = result.classification
        extraction = result.extraction
        return ExtractionResult(
            data=cast("Data", extraction.data),
            evidence=extraction.evidence,
            suggestions=extraction.suggestions,
            verdict=result.verdict or Verdict(),
            usage=extraction.usage if classification is not None else result.usage or Usage(),
            result=result,
        )

    def _schema(self, schema: type[BaseModel], classification: Classification | None) -> Schema:
        labels = {path: words_of(words) for path, words in self.config.labels.items()}
        document_type = "" if classification is None else classification.document_type
        for name in (document_type, *REGISTRY):
            if name in REGISTRY and REGISTRY[name].fields is schema:
                return schema_of(name, labels=labels)
        return schema_of(schema, labels=labels)

    def _steps(self, document: Document, schema: Schema, classification: Classification | None) -> Steps:
        if classification is None:
            steps = self._pool.steps(schema=schema, schema_models=self._models)
        else:
            schemas = {**REGISTRY, classification.document_type: schema}
            steps = self._pool.steps(schemas=schemas, schema_models=self._models)
            steps = replace(steps, understander=_Classified(classification))
        return replace(steps, converter=_Converted(document), reads_in_turns=False, unpacker=None)


def _fingerprint_of(config: StandardConfig) -> str:
    files = [config.settings, getattr(config, "model", None)]
    digests = [None if file is None or not file.is_file() else digest(file) for file in files]
    return fingerprint_of([config.model_dump(mode="json"), digests])


def _io() -> DocumentIO:
    return DocumentIO(_NoReader(), MemoryExporter(), MemoryJournal())


class _NoReader:
    async def read(self, ref: Ref) -> Original:
        raise AssertionError(f"{ref.key!r} was read before")


class _Converted:
    """`Converter` of a document that was converted before."""

    def __init__(self, document: Document) -> None:
        self._document = document

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        """See `Converter.convert`."""
        del original, pages
        return self._document


@dataclass(frozen=True, slots=True)
class _Classified:
    """`Understander` of a document that was classified before."""

    classification: Classification

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        """See `Understander.understand`."""
        del document, original, schemas, tags
        return Understood(self.classification)


class _ForAnySchema(dict[str, str]):
    """One trained model, whatever the schema is called."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401, ARG002  as `dict.get`
        return self._model

    def __bool__(self) -> bool:
        return True


class _TimedPages:
    """`PageJournal` that also extends the time limit of the stage."""

    def __init__(self, current: CurrentDocument, pages: JournalOfPages) -> None:
        self._current = current
        self._pages = pages

    async def opened(self, media_type: str, page_count: int | None) -> None:
        """See `PageJournal.opened`."""
        await self._pages.opened(media_type, page_count)

    def allow_time_for(self, page_count: int) -> None:
        """See `PageJournal.allow_time_for`."""
        self._current.allow_time(_ALL_DOCUMENTS.page_s * page_count)

    def entries(self) -> AsyncGenerator[bytes]:
        """See `PageJournal.entries`."""
        return self._pages.entries()

    async def put(self, first: int, pages: bytes) -> None:
        """See `PageJournal.put`."""
        await self._pages.put(first, pages)

    async def keep_pictures(self, pdf: bytes) -> None:
        """See `PageJournal.keep_pictures`: no run shows them."""


class _PoolLease:
    """A component's part in the pool of its run, with the engines and models of its settings."""

    def __init__(self, config: StandardConfig) -> None:
        self._config = config
        self._key: _PoolKey | None = None
        self._chosen = AsyncExitStack()
        self._reading = READING
        self._given: dict[str, Any] = {}

    @property
    def pool(self) -> Pool:
        """The pool. Raises MisconfiguredError for a component that was not opened."""
        if self._key is None:
            raise MisconfiguredError(
                "a standard component must be opened first: await component.open(context)"
            )
        return _pools[self._key].pool

    def steps(
        self,
        *,
        passwords: tuple[str, ...] = (),
        **given: Any,  # noqa: ANN401  as `steps_for`
    ) -> Steps:
        """The steps by the settings. given: see `steps_for`."""
        reading = replace(self._reading, passwords=passwords) if passwords else self._reading
        return steps_for(self.pool, reading=reading, **{**self._given, **given})

    async def open(self, context: Context[Any]) -> None:
        """Take part in the pool, which is made for the first component that does.

        Raises MisconfiguredError if the settings cannot be used.
        """
        await self.close()
        workers = self._config.workers
        key = id(asyncio.get_running_loop()), context.run_id, context.runner, workers
        shared = _pools.get(key)
        if shared is None:
            shared = _pools[key] = _SharedPool(reading_pool(workers))
        shared.components += 1
        self._key = key
        if self._config.settings is not None:
            await self._choose(self._config.settings)

    async def _choose(self, path: Path) -> None:
        try:
            from docmill.service.config.settings import Settings  # noqa: PLC0415  an extra brings it
            from docmill.service.steps import models_of, page_readers, reading_options  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MisconfiguredError("settings need an extra; run: pip install 'docmill[service]'") from error
        settings = Settings.load(path)
        self._reading = reading_options(settings)
        engines = await self._chosen.enter_async_context(page_readers(settings, self.pool, self._reading))
        self._given = {
            "engines": engines,
            "models": models_of(settings),
            "limits": settings.limits.times,
            "schemas": settings.own.by_choice,
        }

    async def close(self) -> None:
        """Leave the pool; the last component closes it."""
        await self._chosen.aclose()
        if self._key is None:
            return
        shared = _pools[self._key]
        shared.components -= 1
        if shared.components == 0:
            del _pools[self._key]
            self._key = None
            await shared.pool.close()
        self._key = None


@dataclass(slots=True)
class _SharedPool:
    pool: Pool
    components: int = 0


_PoolKey = tuple[int, str, str, int | None]
_pools: dict[_PoolKey, _SharedPool] = {}
"""Pools of the runs of this process. Components are made one by one, so that they meet only here."""


def _current_of(context: Context[Any]) -> CurrentDocument | None:
    """The document at work; None for a component that is used by itself."""
    try:
        return context.document
    except MisconfiguredError:
        return None


@asynccontextmanager
async def _as_original(document_bytes: DocumentBytes, content_hash: str) -> AsyncGenerator[Original]:
    file = document_bytes.as_file(content_hash)
    original = await asyncio.to_thread(file.__enter__)
    try:
        yield original
    finally:
        await asyncio.to_thread(file.__exit__, None, None, None)
