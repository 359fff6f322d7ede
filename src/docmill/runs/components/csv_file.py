"""Results as CSV."""

import csv
import datetime as dt
import io
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from docmill.errors import MisconfiguredError
from docmill.model.cells import csv_text
from docmill.runs.components.atomic_files import atomic_file
from docmill.runs.components.columns import Column, item_columns, raw_value, row_of
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.records import Record
from docmill.runs.components.tables import TableExporter


class CsvExporterConfig(ComponentConfig):
    """path: of the file. items: the list whose items have a row each; without, lists are JSON in a cell."""

    path: Path
    items: str | None = None


class CsvExporter(TableExporter):
    """`Exporter` into a CSV file in UTF-8, with a byte order mark, by which spreadsheets know the encoding.

    Text that a spreadsheet could take for a formula has an apostrophe in front. With `items`, what is said of
    the document is repeated in the row of each item, and a document without items has one row.
    """

    def __init__(self, config: CsvExporterConfig | Path | str) -> None:
        if not isinstance(config, CsvExporterConfig):
            config = CsvExporterConfig(path=Path(config))
        self.config = config
        super().__init__(config.path, _CsvWriter(config))


class _CsvWriter:
    def __init__(self, config: CsvExporterConfig) -> None:
        self._path = config.path
        self._items = config.items

    def check(self, columns: Sequence[Column]) -> None:
        """See `TableWriter.check`."""
        if self._items is None or not columns:
            return
        lists = [column.name for column in columns if column.is_list]
        if self._items not in lists:
            known = ", ".join(lists) or "none"
            raise MisconfiguredError(f"the schema has no list {self._items!r}; its lists are: {known}")

    def write(self, columns: Sequence[Column], records: Iterator[Record]) -> None:
        """See `TableWriter.write`."""
        items = next((column for column in columns if column.is_list and column.name == self._items), None)
        heads = [column for column in columns if column is not items]
        members = () if items is None else item_columns(items)
        with atomic_file(self._path) as file:
            text = io.TextIOWrapper(file, "utf-8-sig", "replace", newline="")
            writer = csv.writer(text)
            writer.writerow([csv_text(column.name) for column in (*heads, *members)])
            for record in records:
                head = [_cell(value) for value in row_of(record, heads)]
                if items is None:
                    writer.writerow(head)
                    continue
                for item in raw_value(record, items.steps) or [None]:
                    writer.writerow([*head, *(_cell(value) for value in row_of(item, members))])
            text.detach()  # which writes what is left, and does not close the file


def _cell(value: object) -> str:  # noqa: PLR0911  one line for each kind
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return csv_text(value)
        case Decimal():
            return f"{value:f}"
        case dt.date():
            return value.isoformat()
        case int() | float():
            return str(value)
        case _:
            return csv_text(json.dumps(value, ensure_ascii=False, default=_json_value))


def _json_value(value: object) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
