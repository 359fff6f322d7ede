"""The columns of exported tables, and the cells of documents under them."""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from docmill.model.result import Schema
from docmill.schemas.outline import Kind, outline
from docmill.service.store.documents import DocumentRow

Cell = str | Decimal | int | bool | dt.date | dt.datetime | None
"""A value of a table. Moments are in UTC, without saying so."""

Row = list[Cell]

DOCUMENTS, ITEMS = "documents", "items"

_ITEM = re.compile(r"(?P<list>[^\[\]]+)\[\]\.(?P<member>.+)")
_SEPARATOR = "; "


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. steps: names of the field below the data of a document, or of an item."""

    name: str
    kind: Kind
    steps: tuple[str, ...] = ()


_OF_DOCUMENT: tuple[tuple[Column, Callable[[DocumentRow], Cell]], ...] = (
    (Column("document_id", "text"), lambda row: str(row.id)),
    (Column("file_name", "text"), lambda row: row.file_name),
    (Column("state", "text"), lambda row: row.outcome),
    (Column("document_type", "text"), lambda row: row.document_type),
    (Column("title", "text"), lambda row: row.title),
    (Column("document_date", "date"), lambda row: row.document_date),
    (Column("archive_serial_number", "integer"), lambda row: row.archive_serial_number),
    (Column("language", "text"), lambda row: row.language),
    (Column("tags", "text"), lambda row: _SEPARATOR.join(row.tags or ()) or None),
    (Column("page_count", "integer"), lambda row: row.page_count),
    (Column("media_type", "text"), lambda row: row.media_type),
    (Column("byte_size", "integer"), lambda row: row.byte_size),
    (Column("content_hash", "text"), lambda row: row.content_hash),
    (Column("created_at", "datetime"), lambda row: _in_utc(row.created_at)),
    (Column("updated_at", "datetime"), lambda row: _in_utc(row.updated_at)),
)
_OF_ITEM = (
    Column("document_id", "text"),
    Column("file_name", "text"),
    Column("document_type", "text"),
    Column("list", "text"),
    Column("row", "integer"),
)


class Tables:
    """The table of documents and that of their items, for documents of some types.

    A field whose name is that of another column is `data.` and its name. A field that has one kind in one
    type and another kind in another type is a column of text.
    """

    def __init__(self, schemas: Iterable[Schema]) -> None:
        heads: dict[tuple[str, ...], Kind] = {}
        members: dict[tuple[str, ...], Kind] = {}
        self._lists: dict[str, None] = {}
        for schema in schemas:
            for leaf in outline(schema):
                match = _ITEM.fullmatch(leaf.path)
                if match is None:
                    _merge(heads, leaf.path, leaf.kind)
                else:
                    self._lists[match["list"]] = None
                    _merge(members, match["member"], leaf.kind)
        self._heads = _columns(heads, [column.name for column, _ in _OF_DOCUMENT])
        self._members = _columns(members, [column.name for column in _OF_ITEM])

    @property
    def columns(self) -> dict[str, list[Column]]:
        """The columns of both tables."""
        return {
            DOCUMENTS: [*(column for column, _ in _OF_DOCUMENT), *self._heads],
            ITEMS: [*_OF_ITEM, *self._members],
        }

    def document(self, row: DocumentRow) -> Row:
        """The row of a document."""
        cells = [cell_of(row) for _, cell_of in _OF_DOCUMENT]
        return [*cells, *(_cell(row.structured_data, column) for column in self._heads)]

    def items(self, row: DocumentRow) -> Iterator[Row]:
        """A row for each item of a document: line items, bookings of a statement, rows of other lists."""
        for name in self._lists:
            items = _value(row.structured_data, tuple(name.split(".")))
            for number, item in enumerate(cast("list[Any]", items) if isinstance(items, list) else [], 1):
                first: Row = [str(row.id), row.file_name, row.document_type, name, number]
                yield [*first, *(_cell(item, column) for column in self._members)]


def _merge(kinds: dict[tuple[str, ...], Kind], path: str, kind: Kind) -> None:
    steps = tuple(path.replace("[]", "").split("."))
    is_listed = "[]" in path
    known = kinds.setdefault(steps, "text" if is_listed else kind)
    if known != kind:
        kinds[steps] = "text"


def _columns(kinds: Mapping[tuple[str, ...], Kind], taken: Sequence[str]) -> list[Column]:
    names = {steps: ".".join(steps) for steps in kinds}
    return [
        Column(f"data.{name}" if (name := names[steps]) in taken else name, kind, steps)
        for steps, kind in kinds.items()
    ]


def _value(data: object, steps: tuple[str, ...]) -> object:
    node = data
    for index, step in enumerate(steps):
        if isinstance(node, list):  # of a list within, all values
            values = (_value(item, steps[index:]) for item in cast("list[object]", node))
            return [value for value in values if value is not None]
        if not isinstance(node, Mapping):
            return None
        node = cast("Mapping[str, object]", node).get(step)
    return node


def _cell(data: object, column: Column) -> Cell:
    """The value of a field as its column has it; None for one that is none of the column's kind."""
    value = _value(data, column.steps)
    if value is None:
        return None
    try:
        return _CONVERSIONS[column.kind](value)
    except (ValueError, TypeError, InvalidOperation):
        return None


def _text(value: object) -> str | None:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list():
            return _SEPARATOR.join(filter(None, map(_text, cast("list[object]", value)))) or None
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _decimal(value: object) -> Decimal | None:
    number = Decimal(str(value))
    return number if number.is_finite() else None


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError


def _in_utc(moment: dt.datetime) -> dt.datetime:
    return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)


_CONVERSIONS: Mapping[Kind, Callable[[object], Cell]] = {
    "text": _text,
    "time": _text,
    "date": lambda value: dt.date.fromisoformat(str(value)),
    "datetime": lambda value: _in_utc(dt.datetime.fromisoformat(str(value))),
    "decimal": _decimal,
    "integer": lambda value: int(str(value)),
    "boolean": _boolean,
}
