"""A schema as a list of its values: what each is called, what kind it is, what is said of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from pydantic import BaseModel

from docmill.model import Schema

Kind = Literal["text", "date", "time", "datetime", "decimal", "integer", "boolean"]

_FORMATS: Mapping[str, Kind] = {"date": "date", "time": "time", "date-time": "datetime"}
_TYPES: Mapping[str, Kind] = {
    "number": "decimal",
    "integer": "integer",
    "boolean": "boolean",
    "string": "text",
}
_DEEPEST = 8
"""Models may hold themselves; deeper values are not asked for."""

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldOutline:
    """One value of a schema.

    path: as in evidence, with `[]` for a list: `lines[].net_amount`. description: as its author wrote it.
    choices: the only values it may have; empty for any.
    """

    path: str
    kind: Kind
    description: str = ""
    is_required: bool = False
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Whether the schema has any number of it."""
        return "[]" in self.path

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.removesuffix("[]").rpartition(".")[2]


def outline(schema: Schema) -> tuple[FieldOutline, ...]:
    """Every value of the schema, in the order of its fields."""
    return tuple(
        FieldOutline(
            path=path,
            kind=kind_of(node),
            description=node.get("description", ""),
            is_required=required,
            choices=tuple(map(str, node.get("enum", [node["const"]] if "const" in node else []))),
            labels=tuple(schema.labels.get(path, ())),
        )
        for path, node, required in _of_model(schema.fields)
    )


@lru_cache(maxsize=64)
def _of_model(fields: type[BaseModel]) -> tuple[tuple[str, Node, bool], ...]:
    root = json_schema(fields)
    return tuple(_leaves(root, root.get("$defs", {}), "", required=True, depth=0))


@lru_cache(maxsize=64)
def json_schema(fields: type[BaseModel]) -> Node:
    """The model as JSON Schema, by the names of its values. To write it takes milliseconds: it is kept."""
    return fields.model_json_schema(by_alias=False)


def required(fields: type[BaseModel]) -> tuple[str, ...]:
    """Paths of the values that the model cannot be made without; no members of lists."""
    return tuple(leaf.path for leaf in outline(Schema("", fields)) if leaf.is_required and not leaf.is_listed)


def kind_of(node: Node) -> Kind:
    """What kind of value a node of a JSON Schema stands for."""
    options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    if any(option.get("type") == "number" for option in options):
        return "decimal"  # how Pydantic writes Decimal: a number or a string of digits
    if options:
        return kind_of(options[0])
    form = _FORMATS.get(node.get("format", ""))
    if form:
        return form
    kind = node.get("type")
    if isinstance(kind, list):
        kind = next((one for one in cast("list[str]", kind) if one != "null"), "string")
    return _TYPES.get(kind or "string", "text")


def resolved(node: Node, definitions: Mapping[str, Node]) -> Node:
    """The node without references and without the choice of null; what is said where it is used wins."""
    own = {key: value for key, value in node.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
    if "$ref" in node:
        return {**resolved(definitions.get(node["$ref"].rpartition("/")[2], {}), definitions), **own}
    for key in ("allOf", "anyOf", "oneOf"):
        options = [option for option in node.get(key, ()) if option.get("type") != "null"]
        if len(options) == 1:
            return {**resolved(options[0], definitions), **own}
        if options:
            return {**own, "anyOf": [resolved(option, definitions) for option in options]}
    return node


def _leaves(
    node: Node, definitions: Mapping[str, Node], path: str, *, required: bool, depth: int
) -> Iterator[tuple[str, Node, bool]]:
    node = resolved(node, definitions)
    if depth > _DEEPEST:
        return
    if "properties" in node:
        for name, child in node["properties"].items():
            inner = f"{path}.{name}" if path else name
            must = required and name in node.get("required", ())
            yield from _leaves(child, definitions, inner, required=must, depth=depth + 1)
    elif node.get("type") == "array":
        yield from _leaves(node.get("items", {}), definitions, f"{path}[]", required=False, depth=depth + 1)
    elif path and node.get("type") != "object":
        yield path, node, required
