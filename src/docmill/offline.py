"""The pipeline that needs nothing but this machine: no network, no key, no server."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from docmill.batch.folder import FolderReader
from docmill.batch.memory import MemoryExporter, MemoryJournal
from docmill.model import Result
from docmill.pipeline import Steps, TimeLimits, process
from docmill.pooled import PooledClassifier, PooledExtractor
from docmill.ports import Exporter, Reader, Ref
from docmill.reading.converter import LocalConverter
from docmill.reading.engines.reader import PageReader
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool
from docmill.reading.unpacker import PooledUnpacker
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
    readers: Sequence[PageReader] = (),
) -> Steps:
    """Steps that read in `pool` and understand by rule. readers: see `LocalConverter`."""
    return Steps(
        reader=reader,
        converter=LocalConverter(pool, reading, readers),
        classifier=PooledClassifier(pool),
        extractor=PooledExtractor(pool),
        gate=RuleGate(),
        exporter=exporter,
        limits=limits,
        unpacker=PooledUnpacker(pool, reading),
    )


def process_file(path: Path | str, *, passwords: Sequence[str] = ()) -> Result:
    """One file through the pipeline, in a child process, with nothing but this machine.

    passwords: to try if the file is protected. For many files, keep a pool: see `reading_pool`,
    `offline_steps` and `process`. Raises DocmillError.
    """
    return asyncio.run(_processed(Path(path), replace(READING, passwords=tuple(passwords))))


async def _processed(path: Path, reading: ReadingOptions) -> Result:
    async with reading_pool(1) as pool:
        steps = offline_steps(pool, reader=FolderReader(path), exporter=MemoryExporter(), reading=reading)
        return await process(Ref(path.name, path.name), steps, MemoryJournal())
