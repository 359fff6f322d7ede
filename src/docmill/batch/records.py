"""The output of a run: one JSON line per document, failed ones too, and never two for the same document."""

import asyncio
import fcntl
import json
import os
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TextIO

from docmill.batch.parts import part_source
from docmill.errors import DocmillError, MisconfiguredError, ServerError
from docmill.model import Part, Result
from docmill.ports import Ref

Record = dict[str, Any]

_AS_JSON = "backslashreplace"
"""Writes half a character, which UTF-8 does not have, in the way in which JSON reads it back."""


def result_record(ref: Ref, result: Result) -> Record:
    """The record of a document that went through the pipeline."""
    extraction, verdict = result.extraction, result.verdict
    believed = verdict is None or verdict.passed
    return {
        "source": ref.key,
        "content_hash": result.content_hash,
        "status": "completed" if believed else "needs_review",
        "document_type": result.classification.document_type,
        "data": extraction and extraction.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extraction.evidence.items()}
        if extraction
        else {},
        "reason": extraction and extraction.reason,
        "verdict": verdict and {"passed": verdict.passed, **verdict.model_dump(mode="json")},
        "error": result.refusal
        and {"code": "unsupported_file_type", "step": "transcribe", "message": result.refusal},
        "attempts": result.attempt,
        "usage": result.usage and result.usage.model_dump(mode="json"),
        "timings_s": _rounded(result.timings_s),
        "parts": _part_records(ref, result.document.parts if result.document else ()),
    }


def failure_record(
    ref: Ref, error: DocmillError, *, content_hash: str | None, attempts: int, parts: Sequence[Part] = ()
) -> Record:
    """The record of a document that could not be processed."""
    return {
        "source": ref.key,
        "content_hash": content_hash,
        "status": "failed",
        "document_type": None,
        "data": None,
        "evidence": {},
        "reason": None,
        "verdict": None,
        "error": {"code": error.code, "step": error.step, "message": error.message},
        "attempts": attempts,
        "usage": None,
        "timings_s": {},
        "parts": _part_records(ref, parts),
    }


def _part_records(ref: Ref, parts: Sequence[Part]) -> list[Record]:
    """What a document holds, and the source of each part's own record; none has the part with a problem."""
    return [
        {"source": None if part.problem else part_source(ref.key, part), **asdict(part)} for part in parts
    ]


def _rounded(timings_s: dict[str, float]) -> dict[str, float]:
    return {step: round(seconds, 4) for step, seconds in timings_s.items()}


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Two runs on one file would lose records. Raises BlockingIOError while another holds it."""
    if not path.is_file():
        yield
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


class Known(NamedTuple):
    """What an earlier run says of a document. parts: the sources of its parts' records."""

    content_hash: str | None
    status: str
    parts: tuple[str, ...] = ()


class RecordFile:
    """A JSON Lines file that a run appends to, and a later run goes on from.

    Lines are flushed as they are written: a killed run loses the record being written and no other. Bytes of
    a file's name that are no UTF-8 are kept, by the escape that JSON has for them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._file: TextIO | None = None

    def open(self, *, keep: Callable[[Record], bool]) -> dict[str, Known]:
        """Open for appending; what the records that `keep` accepts say, by source. The others are dropped.

        So is the record of a document one of whose parts has none: they are to be taken out again. Raises
        MisconfiguredError if the file cannot be written or holds something else.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(self._path):
                kept = self._complete(keep) if self._path.is_file() else {}
                self._file = self._path.open("a", encoding="utf-8", errors=_AS_JSON)
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MisconfiguredError(
                f"another run is writing {str(self._path)!r}; wait for it or give another --out"
            ) from error
        except OSError as error:
            raise MisconfiguredError(f"cannot write {str(self._path)!r}: {error.strerror}") from error
        return kept

    def known(self, *, keep: Callable[[Record], bool]) -> dict[str, Known]:
        """What `open` would give; nothing is written. Raises MisconfiguredError as it does."""
        try:
            kept = {
                record["source"]: _known(record)
                for _, record in (self._records() if self._path.is_file() else ())
                if keep(record)
            }
        except OSError as error:
            raise MisconfiguredError(f"cannot read {str(self._path)!r}: {error.strerror}") from error
        while lacking := _lacking(kept):
            kept = {source: known for source, known in kept.items() if source not in lacking}
        return kept

    def read(self) -> Iterator[Record]:
        """Every record that is there, in the order in which documents were done. Raises as `open` does."""
        try:
            for _, record in self._records() if self._path.is_file() else ():
                yield record
        except OSError as error:
            raise MisconfiguredError(f"cannot read {str(self._path)!r}: {error.strerror}") from error

    def _complete(self, keep: Callable[[Record], bool]) -> dict[str, Known]:
        """As `_sifted`, without the documents that lack a part; dropping one can make another lack it."""
        kept = self._sifted(keep)
        while lacking := _lacking(kept):
            kept = self._sifted(partial(_is_not_of, lacking))
        return kept

    def _sifted(self, keep: Callable[[Record], bool]) -> dict[str, Known]:
        """Write the file anew with the records to keep. It must be a regular one: a device would be lost."""
        kept: dict[str, Known] = {}
        target = self._path.resolve()
        draft = target.with_name(target.name + ".draft")
        try:
            with draft.open("w", encoding="utf-8", errors=_AS_JSON) as file:
                for line, record in self._records():
                    if keep(record):
                        kept[record["source"]] = _known(record)
                        file.write(line)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        return kept

    def write(self, record: Record) -> None:
        """Append one record; safe to call from several threads.

        Raises ServerError if the disk takes no more.
        """
        assert self._file is not None, "open() comes first"
        line = json.dumps(record, ensure_ascii=False) + "\n"
        try:
            with self._lock:
                self._file.write(line)
                self._file.flush()
        except OSError as error:
            raise ServerError(f"cannot write {str(self._path)!r}: {error.strerror}") from error

    def close(self) -> None:
        """Nothing more will be written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _records(self) -> Iterator[tuple[str, Record]]:
        # A killed run may have stopped within a letter.
        with self._path.open(encoding="utf-8", errors="surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    return  # the line a killed run was writing
                try:
                    record = json.loads(line)
                    _ = record["source"], record["status"], record["content_hash"], _part_sources(record)
                except (ValueError, TypeError, KeyError) as error:
                    raise MisconfiguredError(
                        f"line {number} of {str(self._path)!r} is not a record of docmill; give another --out"
                    ) from error
                yield line, record


def _known(record: Record) -> Known:
    return Known(record["content_hash"], record["status"], _part_sources(record))


def _lacking(kept: Mapping[str, Known]) -> set[str]:
    """The documents one of whose parts has no record."""
    return {source for source, known in kept.items() if any(part not in kept for part in known.parts)}


def _is_not_of(sources: Container[str], record: Record) -> bool:
    return record["source"] not in sources


def _part_sources(record: Record) -> tuple[str, ...]:
    return tuple(part["source"] for part in record.get("parts", ()) if part["source"] is not None)


class RecordExporter:
    """`Exporter` into a record file."""

    def __init__(self, records: RecordFile) -> None:
        self._records = records

    async def export(self, ref: Ref, result: Result) -> None:
        """See `Exporter.export`."""
        await asyncio.to_thread(self._records.write, result_record(ref, result))
