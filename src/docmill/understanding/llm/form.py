"""A schema's values as plain JSON Schema that every provider understands."""

from collections.abc import Collection, Iterator, Mapping
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
"""Of a number before its point or behind it: `1e999999999` is a gigabyte when it is written out."""
_WRITTEN: Mapping[Kind, str] = {
    "date": "A date as YYYY-MM-DD.",
    "time": "A time of day as HH:MM or HH:MM:SS.",
    "datetime": "Date and time as YYYY-MM-DDTHH:MM:SS.",
    "decimal": "A number with a point for decimals, without thousands or currency.",
    "integer": "A whole number.",
}
_NOTHING = frozenset(("", "null", "none", "n/a", "-", "unknown", "not found", "not available"))

# No references, no formats, no lists of types, no patterns: each of these is unknown to one provider or
# another. Every object is closed and names all its values, as strict modes demand; null says it is absent.


def asked(schema: Schema, only: Collection[str] = ()) -> dict[str, Any]:
    """The JSON Schema of the schema's values. only: the paths to ask for; of a list, all its values."""
    wanted = {without_indices(path) for path in only}
    lists = {path.partition("[]")[0] for path in wanted if "[]" in path}
    root: dict[str, Any] = _object()
    for leaf in outline(schema):
        listed = leaf.is_listed and leaf.path.partition("[]")[0] in lists
        if not wanted or leaf.path in wanted or listed:
            _put(root, leaf.path, _leaf(leaf))
    return root


def _object() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def _put(node: dict[str, Any], path: str, leaf: dict[str, Any]) -> None:
    name, _, rest = path.partition(".")
    key = name.removesuffix("[]")
    known = node["properties"].get(key)
    if known is None:
        node["required"].append(key)
    if not rest:
        node["properties"][key] = {"type": "array", "items": leaf} if name.endswith("[]") else leaf
    elif name.endswith("[]"):
        node["properties"][key] = known or {"type": "array", "items": _object()}
        _put(node["properties"][key]["items"], rest, leaf)
    else:
        node["properties"][key] = known or _object()
        _put(node["properties"][key], rest, leaf)


def _leaf(leaf: FieldOutline) -> dict[str, Any]:
    words = [leaf.description, _WRITTEN.get(leaf.kind, "")]
    if leaf.labels:
        words.append(f"Often printed beside: {', '.join(leaf.labels)}.")
    kind: dict[str, Any] = {"type": "boolean" if leaf.kind == "boolean" else "string"}
    if leaf.choices:
        kind["enum"] = list(leaf.choices)
    node: dict[str, Any] = {"anyOf": [kind, {"type": "null"}]}
    description = " ".join(filter(None, words))
    return {**node, "description": description} if description else node


def tidied(schema: Schema, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an answer in their proper form; what is none of the schema's, or empty, is left out."""
    leaves: dict[str, FieldOutline | None] = {}
    for leaf in outline(schema):
        leaves.update(dict.fromkeys(_owners(leaf.path)))
    leaves.update({leaf.path: leaf for leaf in outline(schema)})
    return cast("dict[str, Any]", _tidied(answer, "", leaves) or {})


def _owners(path: str) -> Iterator[str]:
    """The objects and lists in which a value stands: of `lines[].unit` the whole, `lines` and `lines[]`."""
    yield ""
    for at, letter in enumerate(path):
        if letter == "." or path.startswith("[]", at):
            yield path[:at]


def _tidied(value: object, path: str, kinds: Mapping[str, FieldOutline | None]) -> object:
    if path not in kinds:
        return None  # however deep it goes
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        found = {
            name: _tidied(one, f"{path}.{name}" if path else name, kinds) for name, one in members.items()
        }
        return {name: one for name, one in found.items() if one is not None} or None
    if isinstance(value, list):
        items = [_tidied(one, f"{path}[]", kinds) for one in cast("list[object]", value)[:MOST_ITEMS]]
        return [one for one in items if one is not None] or None
    leaf = kinds.get(path)
    return None if leaf is None or value is None else _plain(value, leaf)


def _plain(value: object, leaf: FieldOutline) -> object:
    """A value as the model of the schema takes it; None if it is of another kind."""
    if isinstance(value, bool) or leaf.kind == "boolean":
        return value if isinstance(value, bool) and leaf.kind == "boolean" else None
    text = "".join(one if one.isprintable() else " " for one in str(value))[:LONGEST_TEXT].strip()
    if text.casefold() in _NOTHING:
        return None
    match leaf.kind:
        case "date":
            return _date(text)
        case "decimal" | "integer":
            amount = _number(text)
            return amount if leaf.kind == "decimal" or amount is None else _whole(amount)
        case "time" | "datetime":
            return _moment(text, leaf.kind)
        case _:
            return text if not leaf.choices or text in leaf.choices else None


def _date(text: str) -> str | None:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        days = [day for one in find_dates(text)[:1] if (day := one.value(day_first=True)) is not None]
        return days[0].isoformat() if days else None


def _moment(text: str, kind: Kind) -> str | None:
    try:
        return (time.fromisoformat(text) if kind == "time" else datetime.fromisoformat(text)).isoformat()
    except ValueError:
        return None


def _number(text: str) -> str | None:
    try:
        value = Decimal(text.replace(" ", ""))
    except InvalidOperation:
        found = find_amounts(text, misread=False)
        value = found[0].value(".") if len(found) == 1 else None
    if value is None or not value.is_finite() or _is_endless(value):
        return None
    return f"{value:f}"


def _is_endless(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return value.adjusted() >= MOST_DIGITS or (isinstance(exponent, int) and abs(exponent) > MOST_DIGITS)


def _whole(text: str) -> int | None:
    value = Decimal(text)
    return int(value) if value == value.to_integral_value() else None
