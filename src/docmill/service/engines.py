"""The engines that the settings name, put together for one process."""

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial

from docmill.errors import MisconfiguredError
from docmill.reading.convert import DEFAULT_ENGINE
from docmill.reading.engines.engine import LocalReader, PageReader
from docmill.reading.engines.remote import RemoteCaller, RemoteReader, TranscribingReader
from docmill.reading.files.options import ReadingOptions
from docmill.resilience.breaker import Breaker
from docmill.resilience.time_limits import Guard, Slots
from docmill.service.config.settings import Settings
from docmill.service.observe.tracing import NO_TRACER, Tracer, asking, traced_calls
from docmill.service.protocol.pause import guarded_part, paused_part
from docmill.workers.pool import Pool


def reading_options(settings: Settings) -> ReadingOptions:
    """What the settings say of reading."""
    return ReadingOptions(
        max_pages=settings.limits.pages,
        max_dimension_px=settings.image.max_dimension_px,
        quality_threshold=settings.ocr.quality_threshold,
        languages=settings.ocr.languages,
        split=settings.reading.split == "auto",
        separator=settings.reading.separator,
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
        yield [
            _reader(name, settings, pool, options, stack=stack, tracer=tracer)
            for name in settings.ocr.engines
        ]


def _reader(
    name: str,
    settings: Settings,
    pool: Pool,
    options: ReadingOptions,
    *,
    stack: AsyncExitStack,
    tracer: Tracer,
) -> PageReader:
    match name:
        case "documentai":
            return _documentai(settings, pool, options, stack=stack, tracer=tracer)
        case "vision":
            return _vision(settings, pool, options, tracer)
        case _:
            return LocalReader(name, pool, options, partial(paused_part, name))


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
        from docmill.llm.providers import model_of  # noqa: PLC0415
        from docmill.reading.engines.vision import VisionModel  # noqa: PLC0415
    llm = settings.llm
    key = llm.api_key.get_secret_value() if llm.api_key else None
    model = model_of(llm.provider, llm.model or "", base_url=llm.base_url, api_key=key)
    guard = traced_calls(
        tracer, _guard("vision", settings), f"chat {llm.model}", asking(llm.provider, llm.model or "")
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
