"""Results as JSON Lines: one record for each document."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docmill.errors import MisconfiguredError, ServerError
from docmill.model.document import Document
from docmill.runs.append_only_file import AppendOnlyFile
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.records import Record, record_of
from docmill.runs.context import Context
from docmill.runs.roles import ExtractionResult


class JsonLinesExporterConfig(ComponentConfig):
    """path: of the file; a later run goes on in it. with_text: whether records have the documents' text."""

    path: Path
    with_text: bool = False


class JsonLinesExporter:
    """`Exporter` into a JSON Lines file that one process at a time writes.

    Records are collected and written together, and are on the disk before their documents count as done. A
    killed run leaves at most one torn line, which is cut off when the file is next opened; no record is
    written twice. Of a document whose content has changed, `close` leaves the newest record; the file
    `….open`, which is there meanwhile, has the next one do it if this process is killed.
    """

    is_sole_writer = True

    def __init__(self, config: JsonLinesExporterConfig | Path | str) -> None:
        if not isinstance(config, JsonLinesExporterConfig):
            config = JsonLinesExporterConfig(path=Path(config))
        self.config = config
        self._file: AppendOnlyFile | None = None
        self._lines: list[bytes] = []
        self._is_unsynced = False
        self._written: set[tuple[str, str]] | None = None
        self._changed: set[str] = set()
        self._was_killed = False

    def open(self, context: Context[Any]) -> None:
        """Open the file, and cut off what a killed run has left unfinished.

        Raises MisconfiguredError if it cannot be written, or another process is writing it.
        """
        del context
        path = self.config.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = AppendOnlyFile(path)
            if self._file.is_regular:
                self._file.cut(_whole_length(path))
                self._was_killed = self._marker.exists()
                self._marker.touch()
        except BlockingIOError as error:
            raise MisconfiguredError(
                f"another run is writing {str(path)!r}; wait for it, or give another path"
            ) from error
        except OSError as error:
            raise MisconfiguredError(f"cannot write {str(path)!r}: {error.strerror}") from error

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        """See `Exporter.export`."""
        current = context.document
        if current.is_changed:
            self._changed.add(current.ref.key)
        if current.may_be_exported:
            if self._written is None:
                self._written = await asyncio.to_thread(self._read_written)
            if (current.key, current.ref.key) in self._written:
                return
        record = record_of(document, data, current, with_text=self.config.with_text)
        self._lines.append(
            (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
        )

    def flush(self) -> None:
        """Bring the collected records to the disk. Raises ServerError if it takes no more."""
        if not self._lines and not self._is_unsynced:
            return
        assert self._file is not None
        lines, self._lines = self._lines, []
        try:
            self._file.append(b"".join(lines))
            lines, self._is_unsynced = [], True
            self._file.sync()
            self._is_unsynced = False
        except OSError as error:
            self._lines = lines + self._lines
            raise ServerError(f"cannot write {str(self.config.path)!r}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; of a document that was processed again, only the newest record stays."""
        if self._file is None:
            return
        try:
            self.drop_outdated()
            self._marker.unlink(missing_ok=True)
        finally:
            self._file.close()
            self._file = None
            self._written = None

    @property
    def _marker(self) -> Path:
        return self.config.path.with_name(f"{self.config.path.name}.open")

    def _read_written(self) -> set[tuple[str, str]]:
        return {(record["key"], record["source"]) for _, record in self.records()}

    def records(self) -> Iterator[tuple[bytes, Record]]:
        """Every line of the file, with the record that it is."""
        with self.config.path.open("rb") as file:
            for line in file:
                yield line, json.loads(line)

    def drop_outdated(self) -> None:
        """Of documents that were processed again since the file was opened, leave only the newest record."""
        if not self._changed and not self._was_killed:
            return
        newest = {
            record["source"]: number
            for number, (_, record) in enumerate(self.records())
            if self._was_killed or record["source"] in self._changed
        }
        target = self.config.path.resolve()
        draft = target.with_name(target.name + ".draft")
        try:
            with draft.open("wb") as file:
                file.writelines(
                    line
                    for number, (line, record) in enumerate(self.records())
                    if newest.get(record["source"], number) == number
                )
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        self._changed.clear()
        self._was_killed = False


def _whole_length(path: Path) -> int:
    """The length of a file up to the end of its last whole line, in bytes."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            last = file.read(end - start).rfind(b"\n")
            if last >= 0:
                return start + last + 1
            end = start
    return 0


_BLOCK = 65536
