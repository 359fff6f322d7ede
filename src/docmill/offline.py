"""The pipeline that needs nothing but this machine: no network, no key, no server."""

import os

from docmill.pipeline import Steps, TimeLimits
from docmill.pooled import PooledClassifier, PooledExtractor
from docmill.ports import Exporter, Reader
from docmill.reading.converter import LocalConverter
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool
from docmill.understanding.gate import RuleGate

READING = ReadingOptions()
LIMITS = TimeLimits()


def reading_pool(workers: int | None = None) -> Pool:
    """Processes that read documents, as many as the machine has cores unless told otherwise."""
    return Pool(workers or os.cpu_count() or 1)


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
        classifier=PooledClassifier(pool),
        extractor=PooledExtractor(pool),
        gate=RuleGate(),
        exporter=exporter,
        limits=limits,
    )
