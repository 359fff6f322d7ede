"""Peer of runs: the patterns of a production guide of another library, as its text describes them.

That library cannot be installed here, so its patterns are written anew: an orchestrator that begins all
documents at once and only logs their errors, and a resumable pipeline that writes the state of all documents
into one JSON file before and after every attempt, waits between attempts without giving up its place, and
puts documents that failed for good into a file each, named after their path.

Components are those of `bench.data.run_components`: reader and converter are plain functions.
"""

import asyncio
import json
import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from docmill.ports import Ref
from docmill.runs.document_bytes import DocumentBytes

log = logging.getLogger(__name__)

Status = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True)
class Components:
    """The components that take a document from its source to its export."""

    reader: Any
    converter: Any
    extractor: Any
    exporter: Any
    schema: type[Any]


async def run_orchestrator(components: Components, refs: Sequence[Ref], *, concurrency: int = 5) -> None:
    """Process all documents, with reading and converting in threads; nothing is kept, errors are logged."""
    slots = asyncio.Semaphore(concurrency)
    loop = asyncio.get_running_loop()

    def read_and_convert(ref: Ref) -> Any:
        content = components.reader.read(ref, None)
        return components.converter.convert(DocumentBytes(ref.name, content=content), None)

    async def process(ref: Ref) -> None:
        document = await loop.run_in_executor(threads, read_and_convert, ref)
        async with slots:
            data = await components.extractor.extract(document, components.schema, None)
            await components.exporter.export(document, data, None)

    with ThreadPoolExecutor(concurrency) as threads:
        for error in await asyncio.gather(*map(process, refs), return_exceptions=True):
            if isinstance(error, BaseException):
                log.error("a document failed: %s", error)


def _now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass
class DocumentRecord:
    """The state of a document. last_attempt, completed_at: in the form of ISO 8601."""

    path: str
    status: Status = "pending"
    error: str | None = None
    attempts: int = 0
    last_attempt: str | None = None
    completed_at: str | None = None


@dataclass
class RunRecord:
    """The state of a run."""

    run_id: str
    documents: dict[str, DocumentRecord] = field(default_factory=dict[str, DocumentRecord])
    started_at: str = field(default_factory=_now)
    completed_at: str | None = None


class CheckpointFolder:
    """Keeps each run as one JSON file, which is written whole every time. folder: None to keep nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def save(self, run: RunRecord) -> None:
        if self._folder is None:
            return
        draft = self._folder / f"{run.run_id}.tmp"
        draft.write_text(json.dumps(_run_as_json(run), indent=2), encoding="utf-8")
        draft.rename(draft.with_suffix(".json"))

    def load(self, run_id: str) -> RunRecord:
        assert self._folder is not None
        stored = json.loads((self._folder / f"{run_id}.json").read_text(encoding="utf-8"))
        documents = {path: DocumentRecord(**document) for path, document in stored.pop("documents").items()}
        return RunRecord(documents=documents, **stored)

    def run_ids(self) -> list[str]:
        return [] if self._folder is None else sorted(path.stem for path in self._folder.glob("*.json"))


class DeadLetterFolder:
    """A JSON file for each document that failed for good."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, record: DocumentRecord, stage: str) -> None:
        letter = {
            "path": record.path,
            "error": record.error or "Unknown error",
            "attempts": record.attempts,
            "failed_at": _now(),
            "stage": stage,
        }
        name = record.path.replace("/", "_").replace("\\", "_")
        (self._folder / f"{name}.json").write_text(json.dumps(letter, indent=2), encoding="utf-8")


class ResumablePipeline:
    """Processes documents with checkpoints, attempts and dead letters.

    takes_up_in_progress: whether a resumed run also processes what was being processed when the last one
    ended. The guide does not, and names only pending and failed documents.
    """

    def __init__(
        self,
        components: Components,
        checkpoints: CheckpointFolder,
        dead_letters: DeadLetterFolder | None = None,
        *,
        max_attempts: int = 3,
        concurrency: int = 5,
        backoff_base: float = 2.0,
        takes_up_in_progress: bool = False,
    ) -> None:
        self._components = components
        self._checkpoints = checkpoints
        self._dead_letters = dead_letters
        self._max_attempts = max_attempts
        self._backoff_base = backoff_base
        self._slots = asyncio.Semaphore(concurrency)
        self._left: set[Status] = {"pending", "failed"}
        if takes_up_in_progress:
            self._left.add("in_progress")

    async def run(self, refs: Iterable[Ref], run_id: str | None = None) -> RunRecord:
        """Begin a run, or go on with the one that is named; `refs` are for a new one."""
        if run_id is None:
            run = RunRecord(str(uuid4())[:8], {ref.key: DocumentRecord(ref.key) for ref in refs})
            self._checkpoints.save(run)
        else:
            run = self._checkpoints.load(run_id)
        left = [record for record in run.documents.values() if record.status in self._left]
        await asyncio.gather(*(self._process(record, run) for record in left), return_exceptions=True)
        run.completed_at = _now()
        self._checkpoints.save(run)
        return run

    async def _process(self, record: DocumentRecord, run: RunRecord) -> None:
        parts, ref, stage = self._components, Ref(record.path, record.path), "read"
        async with self._slots:
            while record.attempts < self._max_attempts:
                record.attempts += 1
                record.last_attempt = _now()
                record.status = "in_progress"
                self._checkpoints.save(run)
                try:
                    stage = "read"
                    content = parts.reader.read(ref, None)
                    stage = "convert"
                    document = parts.converter.convert(DocumentBytes(ref.name, content=content), None)
                    stage = "extract"
                    data = await parts.extractor.extract(document, parts.schema, None)
                    stage = "export"
                    await parts.exporter.export(document, data, None)
                except Exception as error:  # noqa: BLE001  as the guide does
                    record.error = f"[{stage}] {error}"
                    if record.attempts < self._max_attempts:
                        await asyncio.sleep(self._backoff_base**record.attempts)
                    continue
                record.status = "completed"
                record.completed_at = _now()
                self._checkpoints.save(run)
                return
            record.status = "failed"
            self._checkpoints.save(run)
            if self._dead_letters is not None:
                self._dead_letters.add(record, stage)


def _run_as_json(run: RunRecord) -> dict[str, Any]:
    documents = {path: vars(record) for path, record in run.documents.items()}
    return {**vars(run), "documents": documents}
