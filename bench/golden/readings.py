"""Readings: what `docmill` read on each document, kept, and what it makes of them without reading again.

A journal remembers finished steps, so a document whose transcription it has is not read again. Nor is its
picture looked at: whoever understands it is not told where the original is.
"""

import asyncio
import hashlib
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.golden.records import Record, error_record
from docmill import (
    DocmillError,
    DocumentIO,
    Original,
    Ref,
    Result,
    Schema,
    Steps,
    process,
    reading_pool,
    steps_for,
)

STEP = "transcription"
"""Under this name a journal remembers what was read."""
AHEAD = 2


class Reading(NamedTuple):
    """The reading of a document. transcription: as journals keep it; empty if it could not be read."""

    source: str
    name: str
    content_hash: str
    transcription: bytes


class Readings:
    """Kept readings of all kinds, in one file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._rows = sqlite3.connect(path, isolation_level=None)
        self._rows.execute(
            "create table if not exists reading"
            " (kind text, source text, name text, content_hash text, transcription blob,"
            " primary key (kind, source))"
        )

    def of(self, kind: str) -> list[Reading]:
        rows = self._rows.execute(
            "select source, name, content_hash, transcription from reading where kind = ? order by source",
            (kind,),
        )
        return [Reading(*row) for row in rows]

    def sources(self, kind: str) -> set[str]:
        return {row[0] for row in self._rows.execute("select source from reading where kind = ?", (kind,))}

    def keep(self, kind: str, readings: Iterable[Reading]) -> None:
        """All of them, or none: a document and its parts belong together."""
        self._rows.execute("begin")
        self._rows.executemany(
            "insert or replace into reading values (?, ?, ?, ?, ?)", [(kind, *item) for item in readings]
        )
        self._rows.execute("commit")

    def close(self) -> None:
        self._rows.close()


class Journal:
    """`docmill.ports.Journal` in memory."""

    def __init__(self, transcription: bytes = b"") -> None:
        self.kept: dict[str, bytes] = {STEP: transcription} if transcription else {}

    async def get(self, step: str) -> bytes | None:
        return self.kept.get(step)

    async def put(self, step: str, result: bytes) -> None:
        self.kept.setdefault(step, result)

    async def replace(self, step: str, result: bytes) -> None:
        self.kept[step] = result

    async def entries(self, folder: str) -> list[str]:
        return sorted(step for step in self.kept if step.startswith(f"{folder}/"))

    async def remove(self, step: str) -> None:
        self.kept.pop(step, None)


class Reader:
    """`docmill.ports.Reader` of one file, whatever is asked for."""

    def __init__(self, path: Path, content_hash: str) -> None:
        self._path, self._content_hash = path, content_hash

    async def read(self, ref: Ref) -> Original:
        return Original(self._path, ref.name, self._content_hash)


class Nowhere:
    """`docmill.ports.Exporter` that keeps nothing."""

    async def export(self, ref: Ref, result: Result) -> None:
        del ref, result


class Parts:
    """`docmill.ports.PartsReceiver` that keeps the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: Sequence[Any] = ()

    async def folder(self, ref: Ref) -> Path:
        del ref
        return self._folder

    async def receive(self, ref: Ref, parts: Sequence[Any]) -> list[Any]:
        del ref
        self.files = parts
        return [file.part for file in parts]


class Unseeing:
    """A step without access to the original."""

    def __init__(self, step: Any) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._step, name)
        return _without_original(found) if callable(found) else found


def _without_original(call: Callable[..., Any]) -> Callable[..., Any]:
    def called(*given: Any, **named: Any) -> Any:
        kept = [None if isinstance(item, Original) else item for item in given]
        return call(
            *kept, **{name: None if isinstance(item, Original) else item for name, item in named.items()}
        )

    return called


@asynccontextmanager
async def _steps(
    jobs: int, schema: Schema | None = None, *, is_seeing: bool = False
) -> AsyncGenerator[Steps]:
    async with reading_pool(jobs) as pool:
        steps = steps_for(pool, schema=schema)
        yield (
            steps
            if is_seeing
            else replace(
                steps,
                understander=Unseeing(steps.understander),
                extractor=Unseeing(steps.extractor),
                router=Unseeing(steps.router),
            )
        )


async def read_files(files: Mapping[str, Path], jobs: int, done: Callable[[list[Reading]], None]) -> None:
    """Read every file and the documents in it; each with its parts goes to `done`."""
    async with _steps(jobs) as steps:
        slots = asyncio.Semaphore(jobs * AHEAD)

        async def read(source: str, path: Path) -> None:
            async with slots:
                done(await _read(source, path, path.name, steps))

        async with asyncio.TaskGroup() as tasks:
            for source, path in files.items():
                tasks.create_task(read(source, path))


async def _read(source: str, path: Path, name: str, steps: Steps) -> list[Reading]:
    content_hash = await asyncio.to_thread(_hash, path)
    journal = Journal()
    with TemporaryDirectory(prefix="docmill-golden-") as folder:
        parts = Parts(Path(folder))
        io = DocumentIO(Reader(path, content_hash), Nowhere(), journal, receiver=parts)
        try:
            await process(Ref(source, name), steps, io)
        except DocmillError as error:
            if STEP in journal.kept:
                raise
            print(f"  not read: {source}: {error.code}", flush=True)
        found = [Reading(source, name, content_hash, journal.kept.get(STEP, b""))]
        for file in parts.files:
            if file.path is not None:
                inner = f"{source}/{file.part.name}"
                found += await _read(inner, file.path, file.part.name.rpartition("/")[2], steps)
    return found


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def understood(
    readings: Sequence[Reading],
    jobs: int,
    schema: Schema | None,
    done: Callable[[Record], None],
    *,
    originals: Path | None = None,
) -> None:
    """Understand each reading and pass its record to `done`.

    originals: the folder of the files that were read, for second looks at them; without, there are none.
    """
    async with _steps(jobs, schema, is_seeing=originals is not None) as steps:
        slots = asyncio.Semaphore(jobs * AHEAD)

        async def understand(reading: Reading) -> None:
            async with slots:
                done(await _understood(reading, steps, originals))

        async with asyncio.TaskGroup() as tasks:
            for reading in readings:
                tasks.create_task(understand(reading))


async def _understood(reading: Reading, steps: Steps, originals: Path | None) -> Record:
    path = Path("/dev/null") if originals is None else originals / Path(reading.source).name
    reader = Reader(path, reading.content_hash)
    io = DocumentIO(reader, Nowhere(), Journal(reading.transcription))
    try:
        result = await process(Ref(reading.source, reading.name), replace(steps, unpacker=None), io)
    except DocmillError as error:
        return error_record(reading.source, error)
    return result_record(reading.source, result)


def result_record(source: str, result: Result) -> Record:
    """The record of a result without its text, and without durations and costs, which differ by run."""
    extraction, verdict = result.extraction, result.verdict
    return {
        "source": source,
        "media_type": result.media_type,
        "classification": result.classification.model_dump(mode="json"),
        "data": extraction and extraction.data.model_dump(mode="json"),
        "evidence": {path: item.model_dump(mode="json") for path, item in extraction.evidence.items()}
        if extraction
        else {},
        "reason": extraction and extraction.reason,
        "verdict": verdict and {"passed": verdict.passed, **verdict.model_dump(mode="json")},
        "refusal": result.refusal,
        "parts": [asdict(part) for part in result.document.parts] if result.document else [],
    }
