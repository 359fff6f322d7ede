"""Results as one table, which is written anew from their records when the run ends."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from docmill.errors import MisconfiguredError
from docmill.model.document import Document
from docmill.runs.components.atomic_files import make_folder, write_atomically
from docmill.runs.components.columns import (
    OWN_COLUMNS,
    Column,
    columns_of,
    dump_columns,
    load_columns,
    merge_columns,
    row_of,
)
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.components.records import Record, record_of
from docmill.runs.context import Context
from docmill.runs.roles import ExtractionResult

if TYPE_CHECKING:
    from pydantic import BaseModel


class TableWriter(Protocol):
    """Writes the file or the files of a table."""

    def check(self, columns: Sequence[Column]) -> None:
        """Raise MisconfiguredError for columns that cannot be written, or if a library is missing."""
        ...

    def write(self, columns: Sequence[Column], records: Iterator[Record]) -> None:
        """Write the table in place of an earlier one, atomically. Raises ServerError."""
        ...


class TableExporter:
    """`Exporter` into a table that cannot be appended to, or not safely.

    The records are appended to a JSON Lines file beside it (`invoices.csv.jsonl`), as `JsonLinesExporter`
    does it, and survive kills there; `close` writes the table from them, one record at a time in memory. A
    file `invoices.csv.columns.json` keeps the columns. Both are needed to go on with the table later.
    records, columns: other places for these files.
    """

    is_sole_writer = True

    def __init__(
        self, path: Path, writer: TableWriter, *, records: Path | None = None, columns: Path | None = None
    ) -> None:
        self._path = path
        self._writer = writer
        self._records = JsonLinesExporter(records or path.with_name(f"{path.name}.jsonl"))
        self._columns_path = columns or path.with_name(f"{path.name}.columns.json")
        self._columns: tuple[Column, ...] = ()
        self._known: dict[type[BaseModel], tuple[Column, ...]] = {}
        self._is_open = False

    def open(self, context: Context[Any]) -> None:
        """Open the records. Raises MisconfiguredError if they cannot be written, or a library is missing."""
        make_folder(self._path.parent)
        self._columns = self._load_columns()
        self._writer.check(self._columns)
        self._known.clear()
        self._records.open(context)
        self._is_open = True

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        """See `Exporter.export`. Raises ValidationError for a number that the table cannot hold exactly."""
        schema: type[BaseModel] = type(cast("BaseModel", data.data))
        columns = self._known.get(schema)
        if columns is None:
            columns = columns_of(schema)
            merged = merge_columns(self._columns, columns)
            self._writer.check(merged)
            if merged != self._columns:
                write_atomically(self._columns_path, dump_columns(merged))
            self._columns = merged
            self._known[schema] = columns
        row_of(record_of(document, data, context.document), columns)  # while the document can still fail
        await self._records.export(document, data, context)

    def flush(self) -> None:
        """Bring the collected records to the disk. Raises ServerError if it takes no more."""
        self._records.flush()

    def close(self) -> None:
        """Write the table. Raises ServerError if the disk takes no more; then a later run writes it."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._records.drop_outdated()
            if self._columns:
                columns = [*OWN_COLUMNS, *self._columns]
                self._writer.write(columns, (record for _, record in self._records.records()))
        finally:
            self._records.close()

    def _load_columns(self) -> tuple[Column, ...]:
        try:
            return load_columns(self._columns_path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise MisconfiguredError(
                f"{str(self._columns_path)!r} cannot be read; give another path for the results"
            ) from error
