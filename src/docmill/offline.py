"""The pipeline that needs nothing but this machine: no network, no key, no server."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from docmill.pipeline import Steps, TimeLimits
from docmill.ports import Exporter, Reader
from docmill.reading.converter import LocalConverter, ReadingOptions
from docmill.reading.pool import Pool
from docmill.understanding.classifier import RuleClassifier
from docmill.understanding.extractor import RuleExtractor
from docmill.understanding.gate import RuleGate

READING = ReadingOptions()
LIMITS = TimeLimits()


@asynccontextmanager
async def reading_pool(workers: int | None = None) -> AsyncGenerator[Pool]:
    """Processes that read documents, as many as the machine has cores unless told otherwise."""
    pool = Pool(workers=workers or os.cpu_count() or 1)
    try:
        yield pool
    finally:
        await pool.close()


def offline_steps(
    pool: Pool,
    *,
    reader: Reader,
    exporter: Exporter,
    reading: ReadingOptions = READING,
    limits: TimeLimits = LIMITS,
) -> Steps:
    """Steps that read in `pool` and understand by rule."""
    return Steps(
        reader=reader,
        converter=LocalConverter(pool, reading),
        classifier=RuleClassifier(),
        extractor=RuleExtractor(),
        gate=RuleGate(),
        exporter=exporter,
        limits=limits,
    )
