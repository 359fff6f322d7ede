"""The steps of a process whose settings are given: engines, language models and learned models."""

import logging
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.pipeline import Steps, TimeLimits
from docmill.reading.convert import DEFAULT_ENGINE
from docmill.reading.engines.engine import LocalReader, PageReader
from docmill.reading.engines.remote import RemoteCaller, RemoteReader, TranscribingReader
from docmill.reading.files.options import ReadingOptions
from docmill.resilience.breaker import Breaker
from docmill.resilience.time_limits import Guard, Slots
from docmill.service.config.fingerprint import stamp
from docmill.service.config.settings import ChosenModel, Settings
from docmill.service.model_matcher import ModelMatcher
from docmill.service.observe.tracing import NO_TRACER, Tracer, model_attributes, traced_calls
from docmill.service.protocol.pause import guarded_part, paused_part
from docmill.service.record_matcher import RecordMatcher
from docmill.service.store.database import Database
from docmill.understanding.user_schemas.schema_model import model_in
from docmill.wiring import LanguageModels, steps_for
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.understanding.llm.client import ModelClient

log = logging.getLogger(__name__)


def reading_options(settings: Settings) -> ReadingOptions:
    """The options of reading by the settings."""
    return ReadingOptions(
        max_pages=settings.limits.pages,
        max_dimension_px=settings.image.max_dimension_px,
        quality_threshold=settings.ocr.quality_threshold,
        languages=settings.ocr.languages,
        split=settings.reading.split == "auto",
        separator=settings.reading.separator,
        asn_prefix=settings.reading.asn_prefix,
        max_parts=settings.limits.parts,
        max_part_bytes=settings.limits.file_bytes,
        max_unpacked_bytes=settings.limits.unpacked_bytes,
    )


@asynccontextmanager
async def page_readers(
    settings: Settings, pool: Pool, options: ReadingOptions, tracer: Tracer = NO_TRACER
) -> AsyncGenerator[list[PageReader]]:
    """The engines in the order in which they are asked; connections are closed at the end of the block.

    Raises MisconfiguredError for one whose library is not installed.
    """
    async with AsyncExitStack() as stack:
        readers: list[PageReader] = []
        for name in settings.ocr.engines:
            match name:
                case "documentai":
                    reader = _documentai(settings, pool, options, stack=stack, tracer=tracer)
                case "vision":
                    reader = _vision(settings, pool, options, tracer)
                case _:
                    reader = LocalReader(name, pool, options, partial(paused_part, name))
            readers.append(reader)
        yield readers


def _documentai(
    settings: Settings, pool: Pool, options: ReadingOptions, *, stack: AsyncExitStack, tracer: Tracer
) -> PageReader:
    # Here, since it takes a second and 40 MB, which only who wants it should spend.
    with _installed("documentai", extra="documentai"):
        from docmill.reading.engines.document_ai import DocumentAiEngine, Processor  # noqa: PLC0415

    chosen = settings.documentai
    processor = Processor(
        project=chosen.project or "",
        location=chosen.location,
        processor=chosen.processor or "",
        version=chosen.version,
        endpoint=chosen.endpoint,
    )
    engine = DocumentAiEngine(
        processor,
        credentials_file=chosen.credentials_file,
        adc=chosen.adc,
        limit_s=settings.limits.ai_s,
    )
    stack.push_async_callback(engine.close)
    guard = traced_calls(tracer, _guard("documentai", settings), "process documentai")
    caller = RemoteCaller(pool, options, guard, Slots(chosen.concurrency))
    return RemoteReader("documentai", engine, caller)


def _vision(settings: Settings, pool: Pool, options: ReadingOptions, tracer: Tracer) -> PageReader:
    # Here, since it takes seconds and 100 MB, which only who wants it should spend.
    with _installed("vision", extra="llm"):
        from docmill.llm import model_of  # noqa: PLC0415
        from docmill.reading.engines.vision import VisionModel  # noqa: PLC0415
    llm = settings.llm
    key = llm.api_key.get_secret_value() if llm.api_key else None
    model = model_of(llm.provider, llm.model or "", base_url=llm.base_url, api_key=key)
    guard = traced_calls(
        tracer,
        _guard("vision", settings),
        f"chat {llm.model}",
        model_attributes(llm.provider, llm.model or ""),
    )
    return TranscribingReader(
        "vision",
        VisionModel(model, limit_s=settings.limits.ai_s),
        LocalReader(DEFAULT_ENGINE, pool, options),
        caller=RemoteCaller(pool, options, guard, Slots(llm.concurrency)),
        budget=llm.budget_usd,
    )


def _guard(provider: str, settings: Settings) -> Guard:
    """A breaker of the provider's own, and the time limit of every call."""
    return partial(guarded_part, Breaker(provider), limit_s=settings.limits.ai_s)


@contextmanager
def _installed(name: str, *, extra: str) -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise MisconfiguredError(
            f"ocr.engines names {name!r}, which is not installed; run: pip install 'docmill[{extra}]'"
        ) from error


def models_of(settings: Settings, tracer: Tracer = NO_TRACER) -> LanguageModels:
    """The models that the settings name; none if they name none.

    Raises MisconfiguredError if a model is named and the library is not installed.
    """
    chosen = settings.understanding
    clients = {
        name: _client(name, model, settings, tracer)
        for name, model in (("small", chosen.small), ("large", chosen.large))
        if model is not None
    }
    return LanguageModels(
        for_fields={f"{name} model": client for name, client in clients.items()},
        for_types=None if chosen.classify == "rules" else clients[chosen.classify],
        budget=settings.llm.budget_usd,
        limit_s=settings.limits.ai_all_s,
    )


def _client(name: str, chosen: ChosenModel, settings: Settings, tracer: Tracer) -> "ModelClient":
    """The client of one model, with a breaker and slots of its own."""
    # Imported here, since it takes seconds and 100 MB.
    try:
        from docmill.llm import Price, model_of  # noqa: PLC0415
        from docmill.understanding.llm.client import ModelClient  # noqa: PLC0415
    except ImportError as error:
        raise MisconfiguredError(
            f"understanding.{name} names a model, whose library is not installed; "
            "run: pip install 'docmill[llm]'"
        ) from error
    whole = chosen.within(settings.llm)
    provider, limit_s = whole.provider or "openai", settings.limits.ai_s
    price = None
    if chosen.input_usd is not None:
        price = Price(chosen.input_usd, chosen.output_usd or Decimal(0))
    return ModelClient(
        model_of(
            provider,
            whole.model,
            base_url=whole.base_url,
            api_key=whole.api_key.get_secret_value() if whole.api_key else None,
        ),
        traced_calls(
            tracer,
            _guard(f"{name} model", settings),
            f"chat {whole.model}",
            model_attributes(provider, whole.model),
        ),
        Slots(settings.llm.concurrency),
        output="tool" if provider == "anthropic" else "native",
        sees=chosen.sees,
        price=price,
        limit_s=limit_s,
    )


def open_matcher(
    settings: Settings, database: Database, tracer: Tracer = NO_TRACER
) -> RecordMatcher | ModelMatcher:
    """The matcher that the settings ask for.

    A model's library is loaded with the first question: a web server asks none. A call that fails is not
    repeated at once, since a decision is tried again as a whole.
    """
    rules, name = RecordMatcher(database), settings.matching.model
    if name == "off":
        return rules
    chosen: ChosenModel | None = getattr(settings.understanding, name)
    assert chosen is not None, "the settings have checked that"

    @cache
    def client() -> "ModelClient":
        remedy = "link the document by hand, or choose another model"
        return replace(_client(name, chosen, settings, tracer), pauses_s=(), remedy=remedy)

    return ModelMatcher(rules, client, settings.llm.budget_usd)


class LearnedModels(Mapping[str, str]):
    """The models by the names of schemas. A file that changed is read again when its model is asked for next.

    It looks at the disk. Raises MisconfiguredError when made if a file holds no model; of one that holds none
    later, the last model stays in use.
    """

    def __init__(self, places: Mapping[str, Path]) -> None:
        self._places = dict(places)
        self._files = {path: (stamp(path), model_in(path)) for path in {*places.values()}}

    def __getitem__(self, name: str) -> str:
        path = self._places[name]
        last_stamp, text = self._files[path]
        if (new_stamp := stamp(path)) != last_stamp:
            try:
                text = model_in(path)
            except MisconfiguredError as error:
                log.warning("a new model cannot be read; the last stays", extra={"code": error.code})
            else:
                log.info("a new model is in use")
            self._files[path] = new_stamp, text
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@asynccontextmanager
async def open_steps(
    settings: Settings,
    pool: Pool,
    *,
    reading: ReadingOptions | None = None,
    limits: TimeLimits | None = None,
    schema: Schema | None = None,
    schema_models: Mapping[str, str] | None = None,
    tracer: Tracer = NO_TRACER,
) -> AsyncGenerator[Steps]:
    """Build the steps that the settings ask for, in `pool`; engines are disconnected at the block's end.

    reading, limits, schema_models: instead of those of the settings. schema: used for every document.
    Raises MisconfiguredError if a library is not installed or a file holds no model.
    """
    reading = reading or reading_options(settings)
    async with page_readers(settings, pool, reading, tracer) as engines:
        yield steps_for(
            pool,
            reading=reading,
            limits=limits or settings.limits.times,
            engines=engines,
            schemas=settings.own.by_choice,
            schema=schema,
            schema_models=LearnedModels(settings.own.models()) if schema_models is None else schema_models,
            models=models_of(settings, tracer),
        )
