"""Record file, the output of a run: one JSON line per document, also for failed ones."""

import asyncio
import errno
import fcntl
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from docmill.errors import DocmillError, MisconfiguredError, ServerError, UnsupportedFileTypeError
from docmill.model.document import Part, Usage
from docmill.model.result import Classification, Result
from docmill.ports import Ref

Record = dict[str, Any]

_AS_JSON = "backslashreplace"
"""Writes half a character, which UTF-8 does not have, in the way in which JSON reads it back."""
_LONGEST_TEXT = 100_000
"""Characters of a text that are kept. Matching looks at no more, either."""
_UNKNOWN = Classification()
_DESCRIPTION = ("document_type", "title", "summary", "document_date", "tags", "language")
_BEGINNING = b'{"source": '
"""The first bytes of every record."""


def result_record(ref: Ref, result: Result, *, with_text: bool = False) -> Record:
    """The record of a document that went through the pipeline. with_text: what it says, as far as needed."""
    extraction, verdict = result.extraction, result.verdict
    text = {"text": result.document.text[:_LONGEST_TEXT]} if with_text and result.document else {}
    return {
        "source": ref.key,
        "content_hash": result.content_hash,
        "status": result.status,
        **_described(result.classification),
        "data": extraction and extraction.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extraction.evidence.items()}
        if extraction
        else {},
        "suggestions": extraction.suggestions_as_json if extraction else {},
        "reason": extraction and extraction.reason,
        "verdict": verdict and {"passed": verdict.passed, **verdict.model_dump(mode="json")},
        "error": result.refusal
        and {"code": UnsupportedFileTypeError.code, "step": "transcribe", "message": result.refusal},
        "attempts": result.attempt,
        "usage": result.usage and result.usage.model_dump(mode="json"),
        "timings_s": {step: round(seconds, 4) for step, seconds in result.timings_s.items()},
        "parts": _part_records(ref, result.document.parts if result.document else ()),
        **text,
    }


def _described(classification: Classification) -> Record:
    """What the document is, as its record says it."""
    described = classification.model_dump(mode="json")
    return {name: described[name] for name in _DESCRIPTION}


def failure_record(
    ref: Ref,
    error: DocmillError,
    *,
    content_hash: str | None,
    attempts: int,
    parts: Sequence[Part] = (),
    usage: Usage | None = None,
) -> Record:
    """The record of a document that could not be processed. usage: what its attempts have cost."""
    return {
        "source": ref.key,
        "content_hash": content_hash,
        "status": "failed",
        **_described(_UNKNOWN),
        "document_type": None,
        "data": None,
        "evidence": {},
        "suggestions": {},
        "reason": None,
        "verdict": None,
        "error": {"code": error.code, "step": error.step, "message": error.message},
        "attempts": attempts,
        "usage": usage.model_dump(mode="json") if usage and usage != Usage() else None,
        "timings_s": {},
        "parts": _part_records(ref, parts),
    }


def part_source(whole: str, part: Part) -> str:
    """The source of a part's record: `mail.eml/invoice.pdf`."""
    return f"{whole}/{part.name}"


def _part_records(ref: Ref, parts: Sequence[Part]) -> list[Record]:
    """A part of a document, with the source of the part's own record; a part with a problem has none."""
    return [
        {"source": None if part.problem else part_source(ref.key, part), **asdict(part)} for part in parts
    ]


class AppendOnlyFile:
    """Appends blocks of bytes to a file that this process alone writes.

    A full disk may take the first half of a block. What was written of it is cut off again, at once or, where
    that fails, before the next block; a pipe or device, which cannot be cut, gets a line end instead.
    Raises OSError where the file cannot be opened; BlockingIOError while another process has it open.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status = os.fstat(self._descriptor)
            if not os.path.samestat(status, path.stat()):  # who had the lock has put another file here
                raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing", str(path))
        except OSError:
            os.close(self._descriptor)
            raise
        self.is_regular = stat.S_ISREG(status.st_mode)
        self._end = status.st_size
        self._is_torn = False

    def append(self, content: bytes) -> None:
        """Append all of `content`. Raises OSError, and then nothing of it is kept."""
        self._mend()
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._is_torn = self.is_regular or len(rest) < len(content)
            with suppress(OSError):
                self._mend()
            raise
        self._end += len(content)

    def sync(self) -> None:
        """Bring everything to the disk. Raises OSError."""
        if self.is_regular:
            os.fsync(self._descriptor)

    def cut(self, end: int) -> None:
        """Drop what comes after `end` bytes. Raises OSError."""
        os.ftruncate(self._descriptor, end)
        self._end = end

    def close(self) -> None:
        """Bring everything to the disk, and close.

        Raises OSError if that fails: network file systems may say only now that they are full.
        """
        try:
            self.sync()
        finally:
            os.close(self._descriptor)

    def _mend(self) -> None:
        if not self._is_torn:
            return
        if self.is_regular:
            os.ftruncate(self._descriptor, self._end)
        else:
            os.write(self._descriptor, b"\n")
        self._is_torn = False


class EarlierRecord(NamedTuple):
    """The record of a document by an earlier run. parts: the sources of its parts' records."""

    content_hash: str | None
    status: str
    parts: tuple[str, ...] = ()


class _RecordIndex(NamedTuple):
    """Index of a record file: for each source, its last record and the line on which that stands.

    record_count, torn_count: the number of lines that are records, and of those not written to their end.
    end: of the last record, in bytes. is_torn_within: whether a record comes after a torn line.
    """

    earlier: dict[str, EarlierRecord]
    lines: dict[str, int]
    record_count: int
    torn_count: int
    end: int
    is_torn_within: bool


class RecordFile:
    """A JSON Lines file that a run appends to and a later run continues.

    A record is written whole or not at all: a killed run loses the record being written and no other, and a
    full disk none that was written before. Bytes of a file's name that are no UTF-8 are kept, by the escape
    that JSON has for them.
    torn_count: the number of unfinished lines of an earlier run that `open` has removed.
    """

    def __init__(self, path: Path) -> None:
        self.torn_count = 0
        self._path = path
        self._lock = Lock()
        self._file: AppendOnlyFile | None = None
        self._earlier: Mapping[str, EarlierRecord] = {}
        self._written: set[tuple[str, str | None]] = set()
        self._has_superseded = False

    def open(self, *, keep: Callable[[Record], bool]) -> dict[str, EarlierRecord]:
        """Open for appending, and return the records that `keep` accepts, by source; the others are dropped.

        Dropped is also a document of whose parts one has no record, since its parts must be extracted again.
        Raises MisconfiguredError if the file cannot be written or is not a file of records.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = AppendOnlyFile(self._path)
            if self._file.is_regular:
                latest = self._build_index(keep)
                earlier = _drop_incomplete(latest.earlier)
                self._drop_all_but(earlier, latest)
                self._earlier, self.torn_count = earlier, latest.torn_count
        except (MisconfiguredError, OSError) as error:
            if self._file is not None:
                with suppress(OSError):
                    self._file.close()
                self._file = None
            if isinstance(error, BlockingIOError):
                message = f"another run is writing {str(self._path)!r}; wait for it or give another --out"
                raise MisconfiguredError(message) from error
            if isinstance(error, OSError):
                raise MisconfiguredError(f"cannot write {str(self._path)!r}: {error.strerror}") from error
            raise
        return dict(self._earlier)

    def read_earlier(self, *, keep: Callable[[Record], bool]) -> dict[str, EarlierRecord]:
        """Return what `open` returns, without writing. Raises MisconfiguredError as it does."""
        try:
            return _drop_incomplete(self._build_index(keep).earlier) if self._path.is_file() else {}
        except OSError as error:
            raise MisconfiguredError(f"cannot read {str(self._path)!r}: {error.strerror}") from error

    def read(self) -> Iterator[Record]:
        """Yield every record, in the order in which documents were processed. Raises as `open` does."""
        try:
            for _, record in self._records() if self._path.is_file() else ():
                if record is not None:
                    yield record
        except OSError as error:
            raise MisconfiguredError(f"cannot read {str(self._path)!r}: {error.strerror}") from error

    def write(self, record: Record) -> None:
        """Append one record; safe to call from several threads.

        A record of the same document with the same content is not written again: a write that took too long
        and was given up may still have been done. Raises ServerError if the disk takes no more,
        MisconfiguredError for a pipe that nobody reads.
        """
        assert self._file is not None, "open() comes first"
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", _AS_JSON)
        written = record["source"], record["content_hash"]
        with self._lock:
            if written in self._written:
                return
            try:
                self._file.append(line)
            except BrokenPipeError as error:
                raise MisconfiguredError(f"nobody reads {str(self._path)!r} any more") from error
            except OSError as error:
                raise ServerError(f"cannot write {str(self._path)!r}: {error.strerror}") from error
            self._written.add(written)
            self._has_superseded = self._has_superseded or record["source"] in self._earlier

    def close(self) -> None:
        """Close the file; of a document that was processed again, only the new record stays.

        Raises MisconfiguredError if the disk did not keep what was written.
        """
        with self._lock:
            if self._file is None:
                return
            if self._has_superseded:
                with suppress(OSError):  # the next run does it
                    latest = self._build_index(lambda _: True)
                    self._drop_all_but(latest.earlier, latest)
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                raise MisconfiguredError(
                    f"cannot write {str(self._path)!r}: {error.strerror}; run the same command again"
                ) from error

    def _build_index(self, keep: Callable[[Record], bool]) -> _RecordIndex:
        """Build the index of the file. keep: whether a record is indexed; the others are only counted."""
        earlier: dict[str, EarlierRecord] = {}
        lines: dict[str, int] = {}
        records = torn = offset = end = 0
        is_torn_within = False
        for number, (line, record) in enumerate(self._records()):
            offset += len(line)
            if record is None:
                torn += 1
                continue
            records, end, is_torn_within = records + 1, offset, torn > 0
            earlier.pop(record["source"], None)
            if keep(record):
                earlier[record["source"]] = EarlierRecord(
                    record["content_hash"], record["status"], _part_sources(record)
                )
                lines[record["source"]] = number
        return _RecordIndex(earlier, lines, records, torn, end, is_torn_within)

    def _drop_all_but(self, kept: Collection[str], latest: _RecordIndex) -> None:
        """Remove all from the file but the last records of these documents. Raises OSError."""
        assert self._file is not None
        if len(kept) == latest.record_count and not latest.is_torn_within:
            if latest.torn_count:
                self._file.cut(latest.end)
            return
        numbers = {latest.lines[source] for source in kept}
        target = self._path.resolve()
        draft = target.with_name(target.name + ".draft")
        try:
            with draft.open("wb") as file:
                file.writelines(line for number, (line, _) in enumerate(self._records()) if number in numbers)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        old, self._file = self._file, AppendOnlyFile(self._path)
        old.close()

    def _records(self) -> Iterator[tuple[bytes, Record | None]]:
        """Yield each line with its record, None for a line that was not written to its end."""
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    record = _record_of(line)
                except (ValueError, TypeError, KeyError) as error:
                    raise MisconfiguredError(
                        f"line {number} of {str(self._path)!r} is not a record of docmill; give another file"
                    ) from error
                yield line, record


def _record_of(line: bytes) -> Record | None:
    """The record on a line; None if the line was not written to its end.

    Raises ValueError, TypeError or KeyError for a line that is no record.
    """
    is_begun = line.startswith(_BEGINNING)
    if not line.endswith(b"\n"):
        if is_begun or _BEGINNING.startswith(line) or not line.strip(b"\0"):
            return None
        raise ValueError
    try:
        record: Record = json.loads(line)
    except ValueError:
        if is_begun:
            return None
        raise
    _ = record["source"], record["status"], record["content_hash"], _part_sources(record)
    return record


def _drop_incomplete(kept: dict[str, EarlierRecord]) -> dict[str, EarlierRecord]:
    """Drop documents of whose parts one has no record, until none is left."""
    while lacking := {
        source for source, record in kept.items() if any(part not in kept for part in record.parts)
    }:
        kept = {source: record for source, record in kept.items() if source not in lacking}
    return kept


def _part_sources(record: Record) -> tuple[str, ...]:
    return tuple(part["source"] for part in record.get("parts", ()) if part["source"] is not None)


class RecordExporter:
    """`Exporter` into a record file. with_text: see `result_record`."""

    def __init__(self, records: RecordFile, *, with_text: bool = False) -> None:
        self._records = records
        self._with_text = with_text

    async def export(self, ref: Ref, result: Result) -> None:
        """See `Exporter.export`."""
        record = result_record(ref, result, with_text=self._with_text)
        await asyncio.to_thread(self._records.write, record)
