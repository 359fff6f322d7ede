"""Record file, the output of a run over a folder: one JSON line per document, also for failed ones."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from docmill.errors import DocmillError, MisconfiguredError, ServerError
from docmill.model.document import Part
from docmill.runs.append_only_file import AppendOnlyFile
from docmill.runs.components.records import Record

_AS_JSON = "backslashreplace"
"""Writes half a character, which UTF-8 does not have, in the way in which JSON reads it back."""
_BEGINNING = b'{"source": '
"""The first bytes of every record."""


class EarlierRecord(NamedTuple):
    """The record of a document by an earlier run.

    parts: that have records of their own. media_type: empty if the record does not say it. error: code, step
    and message, of a failed document.
    """

    content_hash: str | None
    status: str
    parts: tuple[Part, ...] = ()
    media_type: str = ""
    error: tuple[str, str, str] | None = None


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

    Records are collected and written together; those of `flush` are on the disk when it returns. A record is
    written whole or not at all: a killed run loses those being written and no other, and a full disk none
    that was written before. Bytes of a file's name that are no UTF-8 are kept, by the escape that JSON has
    for them.
    torn_count: the number of unfinished lines of an earlier run that `open` has removed.
    """

    def __init__(self, path: Path) -> None:
        self.torn_count = 0
        self._path = path
        self._lock = Lock()
        self._file: AppendOnlyFile | None = None
        self._earlier: Mapping[str, EarlierRecord] = {}
        self._lines: list[bytes] = []
        self._is_unsynced = False
        self._has_superseded = False

    def open(
        self, *, keep: Callable[[Record], bool], when_locked: Callable[[], None] | None = None
    ) -> dict[str, EarlierRecord]:
        """Open for appending, and return the records that `keep` accepts, by source; the others are dropped.

        when_locked: called once no other run can write the file, before anything is dropped. Raises what it
        raises, and MisconfiguredError if the file cannot be written or is not a file of records.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = AppendOnlyFile(self._path)
            if when_locked is not None:
                when_locked()
            if self._file.is_regular:
                latest = self._build_index(keep)
                self._drop_all_but(latest.earlier, latest)
                self._earlier, self.torn_count = latest.earlier, latest.torn_count
        except (DocmillError, OSError) as error:
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
            return self._build_index(keep).earlier if self._path.is_file() else {}
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
        """Append one record, with the next `flush`; safe to call from several threads."""
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", _AS_JSON)
        with self._lock:
            self._lines.append(line)
            self._has_superseded = self._has_superseded or record["source"] in self._earlier

    def flush(self) -> None:
        """Bring the collected records to the disk.

        Raises ServerError if it takes no more, MisconfiguredError for a pipe that nobody reads; then the
        records stay collected.
        """
        with self._lock:
            if not self._lines and not self._is_unsynced:
                return
            assert self._file is not None, "open() comes first"
            try:
                if self._lines:
                    self._file.append(b"".join(self._lines))
                self._lines, self._is_unsynced = [], True
                self._file.sync()
            except BrokenPipeError as error:
                raise MisconfiguredError(f"nobody reads {str(self._path)!r} any more") from error
            except OSError as error:
                raise ServerError(f"cannot write {str(self._path)!r}: {error.strerror}") from error
            self._is_unsynced = False

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
                earlier[record["source"]] = _earlier_record(record)
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
    _ = record["source"], _earlier_record(record)
    return record


def _earlier_record(record: Record) -> EarlierRecord:
    error = record.get("error") if record["status"] == "failed" else None
    return EarlierRecord(
        record["content_hash"],
        record["status"],
        tuple(
            Part(**{name: value for name, value in part.items() if name != "source"})
            for part in record.get("parts", ())
            if part["source"] is not None
        ),
        record.get("media_type") or "",
        error and (error["code"], error["step"] or "", error["message"]),
    )
