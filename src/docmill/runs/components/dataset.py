"""Results as a folder in the form of the Hugging Face Hub, which `datasets.load_dataset` reads."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docmill.runs.components.atomic_files import atomic_file, make_folder, write_atomically
from docmill.runs.components.columns import PRECISION, SCALE, Column
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.libraries import required
from docmill.runs.components.parquet import write_parquet
from docmill.runs.components.records import Record
from docmill.runs.components.tables import TableExporter

_DATA = "data/train-00000-of-00001.parquet"
_DTYPES = {
    "decimal": f"decimal128({PRECISION}, {SCALE})",
    "integer": "int64",
    "float": "float64",
    "boolean": "bool",
    "date": "date32",
    "datetime": "timestamp[us, tz=UTC]",
    "text": "string",
    "time": "string",
    "json": "string",
}


class DatasetExporterConfig(ComponentConfig):
    """folder: of the dataset. title: of its card; the folder's name unless given."""

    folder: Path
    title: str = ""


class DatasetExporter(TableExporter):
    """`Exporter` into a dataset: `data/*.parquet`, a card `README.md` with the features, `metadata.jsonl`.

    `metadata.jsonl` has a record for each document, with evidence and verdict; the Parquet file is written
    from it when the run ends. Needs the extra `docmill[parquet]`.
    """

    def __init__(self, config: DatasetExporterConfig | Path | str) -> None:
        if not isinstance(config, DatasetExporterConfig):
            config = DatasetExporterConfig(folder=Path(config))
        self.config = config
        super().__init__(
            config.folder / _DATA,
            _DatasetWriter(config),
            records=config.folder / "metadata.jsonl",
            columns=config.folder / ".columns.json",
        )


class _DatasetWriter:
    def __init__(self, config: DatasetExporterConfig) -> None:
        self._folder = config.folder
        self._title = config.title or config.folder.resolve().name

    def check(self, columns: Sequence[Column]) -> None:
        """See `TableWriter.check`."""
        del columns
        required("pyarrow", "parquet")

    def write(self, columns: Sequence[Column], records: Iterator[Record]) -> None:
        """See `TableWriter.write`."""
        path = self._folder / _DATA
        make_folder(path.parent)
        with atomic_file(path) as file:
            count = write_parquet(file, columns, records)
        card = _card(self._title, columns, count=count, byte_size=path.stat().st_size)
        write_atomically(self._folder / "README.md", card.encode("utf-8", "replace"))


def _card(title: str, columns: Sequence[Column], *, count: int, byte_size: int) -> str:
    """The card: what loaders read, as JSON, which is YAML, and a table for people."""
    split = {"name": "train", "num_bytes": byte_size, "num_examples": count}
    described = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/*.parquet"}]}],
        "dataset_info": {"features": [_feature(column) for column in columns], "splits": [split]},
    }
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in described.items())
    rows = [
        f"| {_cell(column.name)} | {'list of ' if column.is_list else ''}{column.kind} |"
        f" {_cell(column.description)} |"
        for column in columns
    ]
    documents = "1 document" if count == 1 else f"{count} documents"
    table = "\n".join(["| feature | kind | description |", "|---|---|---|", *rows])
    return (
        f"---\n{front}\n---\n\n# {_cell(title)}\n\nValues extracted from {documents} by docmill."
        f" Their evidence and verdicts are in `metadata.jsonl`.\n\n{table}\n"
    )


def _feature(column: Column) -> dict[str, Any]:
    members = [_feature(member) for member in column.members]
    if column.kind == "object":
        return {"name": column.name, "list" if column.is_list else "struct": members}
    dtype = _DTYPES[column.kind]
    return {"name": column.name, **({"list": dtype} if column.is_list else {"dtype": dtype})}


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
