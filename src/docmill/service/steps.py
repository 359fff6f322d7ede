"""The steps of a process whose settings are given."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from docmill.model.result import Schema
from docmill.pipeline import Steps, TimeLimits
from docmill.reading.files.options import ReadingOptions
from docmill.service.config.settings import Settings
from docmill.service.engines import page_readers, reading_options
from docmill.service.learned import LearnedModels
from docmill.service.models import models_of
from docmill.service.observe.tracing import NO_TRACER, Tracer
from docmill.wiring import steps_for
from docmill.workers.pool import Pool


@asynccontextmanager
async def open_steps(
    settings: Settings,
    pool: Pool,
    *,
    reading: ReadingOptions | None = None,
    limits: TimeLimits | None = None,
    schema: Schema | None = None,
    learned: Mapping[str, str] | None = None,
    tracer: Tracer = NO_TRACER,
) -> AsyncGenerator[Steps]:
    """The steps that the settings ask for, in `pool`; connections of engines are closed with the block.

    reading, limits, learned: instead of those of the settings. schema: the one to read whatever a document
    is. Raises MisconfiguredError if a library is not installed or a file holds no model.
    """
    reading = reading or reading_options(settings)
    async with page_readers(settings, pool, reading, tracer) as engines:
        yield steps_for(
            pool,
            reading=reading,
            limits=limits or settings.limits.times,
            engines=engines,
            schemas=settings.own.by_type,
            schema=schema,
            learned=LearnedModels(settings.own.models()) if learned is None else learned,
            models=models_of(settings, tracer),
        )
