"""Tables as files: CSV, XLSX and Parquet, written row by row in memory that does not grow.

Text of documents is never a formula. A spreadsheet takes a cell of a CSV file for one by its first sign, also
behind spaces and control characters: such text gets an apostrophe in front. In XLSX every text is a cell of
text, and one that looks like a formula is marked with the prefix that keeps it text when it is edited.
"""

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol

import xlsxwriter

from docmill.errors import MisconfiguredError
from docmill.model.cells import csv_text, looks_like_formula
from docmill.schemas.outline import Kind
from docmill.service.exports.columns import Cell, Column, Row

TableFormat = Literal["csv", "xlsx", "parquet"]
MEDIA_TYPES: Mapping[TableFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}

_CHUNK = 1 << 20


class TableFile(Protocol):
    """A file of one or more tables in the making. Rows come in order, table by table or mixed."""

    def write(self, table: str, rows: Sequence[Row]) -> bytes:
        """Add rows to a table, and return the bytes of the file that are ready."""
        ...

    def end(self) -> Iterator[bytes]:
        """Yield the rest of the file."""
        ...

    def close(self) -> None:
        """Give up what the file needs. Also called when it was not written to its end."""
        ...


def open_table_file(form: TableFormat, tables: Mapping[str, Sequence[Column]]) -> TableFile:
    """Begin a file. Raises MisconfiguredError if a library is missing. CSV and Parquet hold one table."""
    match form:
        case "csv":
            return CsvFile(tables)
        case "xlsx":
            return XlsxFile(tables)
        case "parquet":
            return ParquetFile(tables)


class CsvFile:
    """CSV as RFC 4180 has it, in UTF-8 with a byte order mark, by which spreadsheets know the encoding."""

    def __init__(self, tables: Mapping[str, Sequence[Column]]) -> None:
        ((self._table, columns),) = tables.items()
        self._buffer = io.StringIO(newline="")
        self._csv = csv.writer(self._buffer)
        self._buffer.write("\ufeff")
        self._csv.writerow([csv_text(column.name) for column in columns])

    def write(self, table: str, rows: Sequence[Row]) -> bytes:
        """See `TableFile.write`."""
        assert table == self._table, "one table in a file"
        self._csv.writerows([_csv_cell(cell) for cell in row] for row in rows)
        return self._taken()

    def end(self) -> Iterator[bytes]:
        """See `TableFile.end`."""
        yield self._taken()

    def close(self) -> None:
        """See `TableFile.close`."""

    def _taken(self) -> bytes:
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text.encode("utf-8", "replace")


def _csv_cell(cell: Cell) -> str:
    match cell:
        case str() | None:
            return csv_text(cell or "")
        case bool():
            return "true" if cell else "false"
        case Decimal():
            return f"{cell:f}"
        case dt.datetime():
            return cell.isoformat(timespec="seconds") + "Z"
        case dt.date():
            return cell.isoformat()
        case int():
            return str(cell)


_MOST_ROWS = 1_048_576
_LONGEST_TEXT = 32_767
_DIGITS = 15
"""More digits are lost in a number of a spreadsheet."""
_FIRST_DAY = dt.date(1900, 3, 1)
"""Days before it are other days in a spreadsheet, or none."""


class XlsxFile:
    """A workbook with a sheet for each table; a table with too many rows goes on in another sheet."""

    def __init__(self, tables: Mapping[str, Sequence[Column]]) -> None:
        self._folder = TemporaryDirectory(prefix="docmill-export-")
        self._path = Path(self._folder.name) / "tables.xlsx"
        self._book: Any = xlsxwriter.Workbook(
            str(self._path), {"constant_memory": True, "tmpdir": self._folder.name, "use_zip64": True}
        )
        self._head = self._book.add_format({"bold": True})
        self._date = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._moment = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._amount = self._book.add_format({"num_format": "0.00"})
        self._quoted = self._book.add_format({"quote_prefix": True})
        self._tables = tables
        self._sheets: dict[str, Any] = {}
        self._rows: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        for table in tables:
            self._add_sheet(table)

    def write(self, table: str, rows: Sequence[Row]) -> bytes:
        """See `TableFile.write`."""
        for row in rows:
            if self._rows[table] == _MOST_ROWS:
                self._add_sheet(table)
            for index, cell in enumerate(row):
                if cell is not None:
                    self._write_cell(self._sheets[table], self._rows[table], index, cell)
            self._rows[table] += 1
        return b""

    def end(self) -> Iterator[bytes]:
        """See `TableFile.end`."""
        self._book.close()
        with self._path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def close(self) -> None:
        """See `TableFile.close`."""
        for sheet in self._book.worksheets():
            if sheet.row_data_fh is not None and not sheet.row_data_fh.closed:
                sheet.row_data_fh.close()
        self._book.fileclosed = True  # else it would be written when it is forgotten
        self._folder.cleanup()

    def _add_sheet(self, table: str) -> None:
        self._counts[table] = number = self._counts.get(table, 0) + 1
        sheet = self._book.add_worksheet(table.capitalize() + (f" {number}" if number > 1 else ""))
        sheet.freeze_panes(1, 0)
        for index, column in enumerate(self._tables[table]):
            sheet.set_column(index, index, max(11, min(len(column.name) + 2, 30)))
        for index, column in enumerate(self._tables[table]):
            sheet.write_string(0, index, column.name[:_LONGEST_TEXT], self._head)
        self._sheets[table], self._rows[table] = sheet, 1

    def _write_cell(self, sheet: Any, row: int, index: int, cell: Cell) -> None:  # noqa: ANN401  it has no types
        match cell:
            case bool():
                sheet.write_boolean(row, index, cell)
            case int() | Decimal():
                digits = len(Decimal(cell).as_tuple().digits)
                if digits > _DIGITS:
                    sheet.write_string(row, index, f"{cell:f}" if isinstance(cell, Decimal) else str(cell))
                else:
                    is_amount = isinstance(cell, Decimal) and cell.as_tuple().exponent == -2  # noqa: PLR2004
                    sheet.write_number(row, index, float(cell), self._amount if is_amount else None)
            case dt.datetime() if cell.date() >= _FIRST_DAY:
                sheet.write_datetime(row, index, cell, self._moment)
            case dt.date() if not isinstance(cell, dt.datetime) and cell >= _FIRST_DAY:
                sheet.write_datetime(row, index, cell, self._date)
            case dt.date():
                sheet.write_string(row, index, cell.isoformat())
            case str():
                form = self._quoted if looks_like_formula(cell) else None
                sheet.write_string(row, index, cell[:_LONGEST_TEXT], form)
            case None:
                pass


_PRECISION, _SCALE = 38, 12
_STEP = Decimal(1).scaleb(-_SCALE)
_ROUNDING = Context(prec=2 * _PRECISION, rounding=ROUND_HALF_EVEN)
_ROWS_OF_A_GROUP = 5000


class ParquetFile:
    """A table of Parquet, compressed with Zstandard; amounts are decimal128(38, 12)."""

    def __init__(self, tables: Mapping[str, Sequence[Column]]) -> None:
        try:
            # An extra that most do without; it tells no types.
            pa: Any = import_module("pyarrow")
            parquet: Any = import_module("pyarrow.parquet")
        except ModuleNotFoundError as error:
            raise MisconfiguredError(
                "Parquet needs pyarrow; run: pip install 'docmill[parquet]', or take CSV or XLSX"
            ) from error
        ((self._table, self._columns),) = tables.items()
        self._pa = pa
        types: Mapping[Kind, Any] = {
            "text": pa.string(),
            "time": pa.string(),
            "date": pa.date32(),
            "datetime": pa.timestamp("us", tz="UTC"),
            "decimal": pa.decimal128(_PRECISION, _SCALE),
            "integer": pa.int64(),
            "boolean": pa.bool_(),
        }
        self._schema: Any = pa.schema([(column.name, types[column.kind]) for column in self._columns])
        self._sink = io.BytesIO()
        self._file: Any = parquet.ParquetWriter(_Forgetting(self._sink), self._schema, compression="zstd")
        self._waiting: list[Row] = []

    def write(self, table: str, rows: Sequence[Row]) -> bytes:
        """See `TableFile.write`."""
        assert table == self._table, "one table in a file"
        self._waiting.extend(rows)
        if len(self._waiting) >= _ROWS_OF_A_GROUP:
            self._write_group()
        return self._taken()

    def end(self) -> Iterator[bytes]:
        """See `TableFile.end`."""
        if self._waiting:
            self._write_group()
        self._file.close()
        yield self._taken()

    def close(self) -> None:
        """See `TableFile.close`."""
        self._file.close()

    def _write_group(self) -> None:
        arrays = [
            self._pa.array(
                [_PARQUET.get(column.kind, _same)(row[index]) for row in self._waiting], field.type
            )
            for index, (column, field) in enumerate(zip(self._columns, self._schema, strict=True))
        ]
        self._file.write_table(self._pa.table(arrays, schema=self._schema))
        self._waiting.clear()

    def _taken(self) -> bytes:
        data = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return data


class _Forgetting(io.RawIOBase):
    """A sink that knows how much was written, and whose bytes are taken away on the way."""

    def __init__(self, sink: io.BytesIO) -> None:
        self._sink = sink
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401  whatever has bytes
        self._sink.write(data)
        size = memoryview(data).nbytes
        self._position += size
        return size

    def tell(self) -> int:
        return self._position


def _same(cell: Cell) -> Cell:
    return cell


def _parquet_decimal(cell: Cell) -> Cell:
    """The number with as many places as the column has; None for one that has more digits than fit."""
    if not isinstance(cell, Decimal):
        return cell
    if cell.adjusted() >= _PRECISION - _SCALE:
        return None
    exponent = cell.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= -_SCALE:
        return cell
    return cell.quantize(_STEP, context=_ROUNDING)


def _parquet_integer(cell: Cell) -> Cell:
    return cell if isinstance(cell, int) and -(2**63) <= cell < 2**63 else None


def _parquet_moment(cell: Cell) -> Cell:
    return cell.replace(tzinfo=dt.UTC) if isinstance(cell, dt.datetime) else cell


_PARQUET: Mapping[Kind, Callable[[Cell], Cell]] = {
    "decimal": _parquet_decimal,
    "integer": _parquet_integer,
    "datetime": _parquet_moment,
}
