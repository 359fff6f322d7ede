"""The form of a model's answer: a JSON Schema that every provider understands, and the values in it."""

from collections.abc import Collection, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from docmill.model.paths import without_indices
from docmill.model.result import Schema
from docmill.schemas.outline import FieldOutline, Kind, outline
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts

LONGEST_TEXT = 2000
MOST_ITEMS = 1000
MOST_DIGITS = 30
"""Most digits before or behind the point: `1e999999999` is a gigabyte when it is written out."""
_FORMATS: Mapping[Kind, str] = {
    "date": "A date as YYYY-MM-DD.",
    "time": "A time of day as HH:MM or HH:MM:SS.",
    "datetime": "Date and time as YYYY-MM-DDTHH:MM:SS.",
    "decimal": "A number with a point for decimals, without thousands or currency.",
    "integer": "A whole number.",
}
_NOTHING = frozenset(("", "null", "none", "n/a", "-", "unknown", "not found", "not available"))

# No references, no formats, no lists of types, no patterns: each of these is unknown to one provider or
# another. Every object is closed and names all its values, as strict modes demand; null means absent.


def answer_schema(schema: Schema, only: Collection[str] = ()) -> dict[str, Any]:
    """The JSON Schema that an answer must follow. Values are texts, or true and false, or null.

    only: the paths to ask for, all if empty. A path in a list asks for all fields of its items.
    """
    wanted = {without_indices(path) for path in only}
    lists = {path.partition("[]")[0] for path in wanted if "[]" in path}
    root: dict[str, Any] = _closed_object()
    for field in outline(schema):
        is_in_list = field.is_listed and field.path.partition("[]")[0] in lists
        if wanted and field.path not in wanted and not is_in_list:
            continue
        value: dict[str, Any] = {"type": "boolean" if field.kind == "boolean" else "string"}
        if field.choices:
            value["enum"] = list(field.choices)
        node: dict[str, Any] = {"anyOf": [value, {"type": "null"}]}
        labels = f"Often printed beside: {', '.join(field.labels)}." if field.labels else ""
        description = " ".join(filter(None, (field.description, _FORMATS.get(field.kind), labels)))
        if description:
            node["description"] = description
        _put(root, field.path, node)
    return root


def _closed_object() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def _put(parent: dict[str, Any], path: str, node: dict[str, Any]) -> None:
    """Set the node at a path below the parent, creating the objects and lists that it goes through."""
    name, _, rest = path.partition(".")
    key, is_list = name.removesuffix("[]"), name.endswith("[]")
    if key not in parent["properties"]:
        parent["required"].append(key)
        items = _closed_object() if rest else node
        parent["properties"][key] = {"type": "array", "items": items} if is_list else items
    if rest:
        member = parent["properties"][key]
        _put(member["items"] if is_list else member, rest, node)


def clean_answer(schema: Schema, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Normalise the values of an answer; empty ones and those that are not in the schema are left out."""
    fields: dict[str, FieldOutline | None] = {"": None}
    for field in outline(schema):
        # The objects and lists in which a value is: of `lines[].unit` these are `lines` and `lines[]`.
        for index in range(len(field.path)):
            if field.path.startswith((".", "[]"), index):
                fields.setdefault(field.path[:index])
        fields[field.path] = field
    return cast("dict[str, Any]", _clean_value(answer, "", fields) or {})


def _clean_value(value: object, path: str, fields: Mapping[str, FieldOutline | None]) -> object:
    if path not in fields:
        return None  # however deep it goes
    if isinstance(value, Mapping):
        values = cast("Mapping[str, object]", value)
        members = {
            name: _clean_value(member, f"{path}.{name}" if path else name, fields)
            for name, member in values.items()
        }
        return {name: member for name, member in members.items() if member is not None} or None
    if isinstance(value, list):
        listed = cast("list[object]", value)[:MOST_ITEMS]
        items = [_clean_value(item, f"{path}[]", fields) for item in listed]
        return [item for item in items if item is not None] or None
    field = fields[path]
    return None if field is None or value is None else _parse_value(value, field)


def _parse_value(value: object, field: FieldOutline) -> object:
    """A value as the model of the schema takes it; None if it is of another kind."""
    if isinstance(value, bool) or field.kind == "boolean":
        return value if isinstance(value, bool) and field.kind == "boolean" else None
    text = "".join(char if char.isprintable() else " " for char in str(value))[:LONGEST_TEXT].strip()
    parsed: object = None
    if text.casefold() in _NOTHING:
        return None
    try:
        if field.kind == "date":
            parsed = date.fromisoformat(text).isoformat()
        elif field.kind == "time":
            parsed = time.fromisoformat(text).isoformat()
        elif field.kind == "datetime":
            parsed = datetime.fromisoformat(text).isoformat()
        elif field.kind in ("decimal", "integer"):
            parsed = _parse_number(text, is_whole=field.kind == "integer")
        elif not field.choices or text in field.choices:
            parsed = text
    except ValueError:
        if field.kind == "date":
            dates = find_dates(text)
            day = dates[0].value(day_first=True) if dates else None
            parsed = day and day.isoformat()
    return parsed


def _parse_number(text: str, *, is_whole: bool) -> str | int | None:
    try:
        value = Decimal(text.replace(" ", ""))
    except InvalidOperation:
        amounts = find_amounts(text, misread=False)
        value = amounts[0].value(".") if len(amounts) == 1 else None
    if value is None or not value.is_finite() or value.adjusted() >= MOST_DIGITS:
        return None
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and abs(exponent) > MOST_DIGITS:
        return None
    if is_whole:
        return int(value) if value == value.to_integral_value() else None
    return f"{value:f}"
