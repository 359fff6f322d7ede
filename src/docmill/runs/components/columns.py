"""The values of schemas as columns of tables, and the rows of records under them."""

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, cast

from pydantic import BaseModel, TypeAdapter

from docmill.errors import ValidationError
from docmill.schemas.outline import Kind, Node, definitions_of, json_schema, kind_of, resolve_node

ColumnKind = Kind | Literal["float", "json", "object"]

PRECISION, SCALE = 38, 12
"""Digits of a decimal, and how many of them stand behind the point."""
_MOST_DECIMAL = Decimal(10) ** (PRECISION - SCALE)
_MOST_INTEGER = 2**63
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. steps: names of the members that lead to its value, below a record or an item.

    is_list: it has a list of such values. members: of an object.
    """

    name: str
    kind: ColumnKind
    steps: tuple[str, ...]
    is_list: bool = False
    members: tuple["Column", ...] = ()
    description: str = ""


OWN_COLUMNS = tuple(
    Column(name, "text", (name,)) for name in ("source", "key", "content_hash", "status", "document_type")
)
"""What every table says of a document, in front of its data."""
_OWN_NAMES = frozenset(column.name for column in OWN_COLUMNS)
_COLUMNS: TypeAdapter[tuple[Column, ...]] = TypeAdapter(tuple[Column, ...])


def columns_of(schema: type[BaseModel]) -> tuple[Column, ...]:
    """The columns of a schema: members of objects are columns of their own, lists stay together.

    A column whose name is that of one of `OWN_COLUMNS` is `data.` and its name.
    """
    root = json_schema(schema)
    data = _column("", ("data",), root, definitions_of(root), depth=0)
    return tuple(
        replace(column, name=f"data.{column.name}") if column.name in _OWN_NAMES else column
        for column in _flattened(data.members, data.steps, "")
    )


def merge_columns(first: Sequence[Column], second: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of both; one that has two kinds is text, and JSON if it has lists or objects."""
    merged = {column.name: column for column in first}
    for column in second:
        other = merged.setdefault(column.name, column)
        if replace(other, description="") != replace(column, description=""):
            is_plain = not any(each.is_list or each.kind in ("object", "json") for each in (other, column))
            merged[column.name] = Column(column.name, "text" if is_plain else "json", column.steps)
    return tuple(merged.values())


def dump_columns(columns: Sequence[Column]) -> bytes:
    """The columns as JSON."""
    return json.dumps([asdict(column) for column in columns], ensure_ascii=False).encode()


def load_columns(dumped: bytes) -> tuple[Column, ...]:
    """What `dump_columns` made. Raises ValueError."""
    return _COLUMNS.validate_json(dumped)


def item_columns(column: Column) -> tuple[Column, ...]:
    """The columns of the items of a list, each with the name of the list in front."""
    if column.kind != "object":
        return (replace(column, is_list=False, steps=()),)
    return tuple(
        replace(member, name=f"{column.name}.{member.name}") for member in _flattened(column.members, (), "")
    )


def row_of(record: object, columns: Iterable[Column]) -> list[Any]:
    """The values of a record under the columns, as Python has them.

    Raises ValidationError for a number that no table can hold exactly.
    """
    return [value_of(record, column) for column in columns]


def value_of(record: object, column: Column) -> Any:  # noqa: ANN401  as its kind has it
    """The value of a column. Raises as `row_of`."""
    return _converted(raw_value(record, column.steps), column)


def raw_value(record: object, steps: Sequence[str]) -> Any:  # noqa: ANN401  any JSON
    """What the steps lead to, as it stands in the record."""
    value = record
    for step in steps:
        value = cast("Mapping[str, Any]", value).get(step) if isinstance(value, dict) else None
    return value


def _converted(value: object, column: Column) -> Any:  # noqa: ANN401  as its kind has it
    if value is None:
        return None
    if column.is_list:
        if not isinstance(value, list):
            return None
        item = replace(column, is_list=False, steps=())
        return [_converted(each, item) for each in cast("list[Any]", value)]
    try:
        return _plain(value, column)
    except (TypeError, ValueError, InvalidOperation) as error:
        raise ValidationError(
            f"{column.name!r} has the value {value!r}, which is no {column.kind}"
        ) from error


def _plain(value: Any, column: Column) -> Any:  # noqa: ANN401, C901, PLR0911  one line for each kind
    match column.kind:
        case "object":
            return {member.name: value_of(value, member) for member in column.members}
        case "json":
            return json.dumps(value, ensure_ascii=False)
        case "decimal":
            return _decimal(Decimal(str(value)), column)
        case "integer":
            if not -_MOST_INTEGER <= int(value) < _MOST_INTEGER:
                raise ValidationError(f"{column.name!r} is too large for a table: {value}")
            return int(value)
        case "float":
            return float(value)
        case "boolean":
            return bool(value)
        case "date":
            return dt.date.fromisoformat(value)
        case "datetime":
            moment = dt.datetime.fromisoformat(value)
            return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
        case "text" | "time":
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _decimal(value: Decimal, column: Column) -> Decimal:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(value) >= _MOST_DECIMAL:
        raise ValidationError(f"{column.name!r} is too large for a table: {value}")
    if -exponent > SCALE and value != round(value, SCALE):
        raise ValidationError(f"{column.name!r} has more than {SCALE} decimals: {value}")
    return value


def _column(
    name: str, steps: tuple[str, ...], node: Node, definitions: Mapping[str, Node], *, depth: int
) -> Column:
    node = resolve_node(node, definitions)
    description = str(node.get("description", ""))
    if node.get("properties") and depth < _DEEPEST:  # Parquet has no struct without members
        members = tuple(
            _column(child, (child,), inner, definitions, depth=depth + 1)
            for child, inner in node["properties"].items()
        )
        return Column(name, "object", steps, members=members, description=description)
    if node.get("type") == "array" and "items" in node and depth < _DEEPEST:
        item = _column(name, steps, node["items"], definitions, depth=depth + 1)
        if item.is_list:  # no table has a name for lists of lists
            return Column(name, "json", steps, description=description)
        return replace(item, is_list=True, description=description)
    return Column(name, _kind(node), steps, description=description)


def _kind(node: Node) -> ColumnKind:
    options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    kinds = {str(option.get("type")) for option in options}
    if kinds == {"number", "string"}:
        return "decimal"  # how Pydantic describes Decimal
    if len(options) > 1 and len({_kind(option) for option in options}) > 1:
        return "json"
    if options:
        return _kind(options[0])
    if node.get("type") == "number":
        return "float"
    if node.get("type") in ("object", "array") or not ({"type", "enum", "const"} & node.keys()):
        return "json"
    return kind_of(node)


def _flattened(columns: Sequence[Column], steps: tuple[str, ...], prefix: str) -> list[Column]:
    flat: list[Column] = []
    for column in columns:
        path, name = (*steps, *column.steps), f"{prefix}{column.name}"
        if column.kind == "object" and not column.is_list and column.members:
            flat += _flattened(column.members, path, f"{name}.")
        else:
            flat.append(replace(column, name=name, steps=path))
    return flat
