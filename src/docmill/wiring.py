"""The pipeline that needs nothing but this machine: no network, no key, no server."""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from docmill.batch.folder import FolderReader
from docmill.batch.in_memory import MemoryExporter, MemoryJournal
from docmill.errors import MisconfiguredError
from docmill.model.result import Result, Schema
from docmill.pipeline import Steps, TimeLimits, process
from docmill.ports import Exporter, Reader, Ref
from docmill.reading.convert import LocalConverter
from docmill.reading.engines.engine import PageReader
from docmill.reading.files.options import ReadingOptions
from docmill.reading.page_source import PageSource
from docmill.reading.unpack import PooledUnpacker
from docmill.understanding.gate import RuleGate
from docmill.understanding.pooled import PooledClassifier, PooledExtractor
from docmill.understanding.router import GateRouter
from docmill.understanding.second_look import SecondLook
from docmill.understanding.types.retelling import FieldNamer
from docmill.workers.pool import Pool

Found = TypeVar("Found")

READING = ReadingOptions()
LIMITS = TimeLimits()
NO_MODELS: Mapping[str, str] = {}


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
    schema: Schema | None = None,
    models: Mapping[str, str] = NO_MODELS,
) -> Steps:
    """Steps that read in `pool` and understand by rule. readers: see `LocalConverter`.

    schema: the one to read whatever a document is. models: what was learned, by the names of schemas, as
    `model_in` of understanding.user_schemas.learned has it.
    """
    return Steps(
        reader=reader,
        converter=LocalConverter(pool, reading, readers),
        classifier=PooledClassifier(pool),
        extractor=PooledExtractor(pool, models),
        router=GateRouter(RuleGate(), [SecondLook(PageSource(pool, reading))]),
        exporter=exporter,
        limits=limits,
        unpacker=PooledUnpacker(pool, reading),
        schema=schema,
        namer=FieldNamer(),
    )


def waited_for(call: Coroutine[Any, Any, Found], *, instead: str) -> Found:
    """What the call gives, from code that is not asynchronous.

    Raises MisconfiguredError within a running event loop, and names what to use `instead`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    call.close()
    raise MisconfiguredError(
        f"an event loop is running here, as in a notebook; write: await docmill.{instead}(…)"
    )


def reader_of(path: Path) -> FolderReader:
    """What reads this one file. Raises MisconfiguredError if there is none."""
    if path.is_dir():
        raise MisconfiguredError(
            f"{str(path)!r} is a folder; give one file, or use `docmill run` for all of it"
        )
    if not path.exists():
        raise MisconfiguredError(f"there is no file {str(path)!r}; give one that exists")
    return FolderReader(path)


def process_file(path: Path | str, *, passwords: Sequence[str] = ()) -> Result:
    """One file through the pipeline, in a child process, with nothing but this machine.

    passwords: to try if the file is protected. For many files, keep a pool: see `reading_pool`,
    `offline_steps` and `process`. Raises DocmillError.
    """
    return waited_for(aprocess_file(path, passwords=passwords), instead="aprocess_file")


async def aprocess_file(path: Path | str, *, passwords: Sequence[str] = ()) -> Result:
    """`process_file` for code within an event loop, such as a notebook."""
    path, reading = Path(path), replace(READING, passwords=tuple(passwords))
    reader = reader_of(path)
    async with reading_pool(1) as pool:
        steps = offline_steps(pool, reader=reader, exporter=MemoryExporter(), reading=reading)
        return await process(Ref(path.name, path.name), steps, MemoryJournal())
