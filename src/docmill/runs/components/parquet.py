"""Results as Parquet, with a type for each column, and as data frames."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from docmill.errors import MisconfiguredError
from docmill.runs.components.atomic_files import atomic_file
from docmill.runs.components.columns import PRECISION, SCALE, Column, row_of
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.libraries import required
from docmill.runs.components.records import Record
from docmill.runs.components.tables import TableExporter

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_ROWS_OF_A_GROUP = 5000


class ParquetExporterConfig(ComponentConfig):
    """path: of the file."""

    path: Path


class ParquetExporter(TableExporter):
    """`Exporter` into a Parquet file, compressed with Zstandard.

    Amounts are decimal128(38, 12), moments are in UTC, lists are lists of structs. Needs the extra
    `docmill[parquet]`.
    """

    def __init__(self, config: ParquetExporterConfig | Path | str) -> None:
        if not isinstance(config, ParquetExporterConfig):
            config = ParquetExporterConfig(path=Path(config))
        self.config = config
        super().__init__(config.path, _ParquetWriter(config.path))


class PandasExporter(ParquetExporter):
    """`ParquetExporter` whose results are a data frame of pandas after the run. Extra: `docmill[pandas]`."""

    def frame(self) -> "pd.DataFrame":
        """The results of all runs into this file. Raises MisconfiguredError before there are any."""
        library: Any = required("pandas", "pandas")
        return library.read_parquet(_existing(self.config.path), dtype_backend="pyarrow")


class PolarsExporter(ParquetExporter):
    """`ParquetExporter` whose results are a data frame of polars after the run. Extra: `docmill[polars]`."""

    def frame(self) -> "pl.DataFrame":
        """The results of all runs into this file. Raises MisconfiguredError before there are any."""
        library: Any = required("polars", "polars")
        return library.read_parquet(_existing(self.config.path))


class _ParquetWriter:
    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, columns: Sequence[Column]) -> None:
        """See `TableWriter.check`."""
        del columns
        required("pyarrow", "parquet")

    def write(self, columns: Sequence[Column], records: Iterator[Record]) -> None:
        """See `TableWriter.write`."""
        with atomic_file(self._path) as file:
            write_parquet(file, columns, records)


def write_parquet(file: IO[bytes], columns: Sequence[Column], records: Iterator[Record]) -> int:
    """Write a Parquet file, and return its number of rows; some thousand rows are in memory at a time."""
    pyarrow: Any = required("pyarrow", "parquet")
    parquet: Any = required("pyarrow.parquet", "parquet")
    schema: Any = pyarrow.schema([(column.name, _type(column, pyarrow)) for column in columns])
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := [row_of(record, columns) for record in islice(records, _ROWS_OF_A_GROUP)]:
            arrays = [
                pyarrow.array(list(values), field.type)
                for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            writer.write_table(pyarrow.table(arrays, schema=schema))
            count += len(rows)
    return count


def _type(column: Column, pyarrow: Any) -> Any:  # noqa: ANN401  pyarrow tells no types
    match column.kind:
        case "object":
            members = [(member.name, _type(member, pyarrow)) for member in column.members]
            kind = pyarrow.struct(members)
        case "decimal":
            kind = pyarrow.decimal128(PRECISION, SCALE)
        case "integer":
            kind = pyarrow.int64()
        case "float":
            kind = pyarrow.float64()
        case "boolean":
            kind = pyarrow.bool_()
        case "date":
            kind = pyarrow.date32()
        case "datetime":
            kind = pyarrow.timestamp("us", tz="UTC")
        case "text" | "time" | "json":
            kind = pyarrow.string()
    return pyarrow.list_(kind) if column.is_list else kind


def _existing(path: Path) -> Path:
    if not path.exists():
        raise MisconfiguredError(f"there is no {str(path)!r} yet; run the pipeline first")
    return path
