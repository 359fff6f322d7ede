"""A schema as a list of its values, each with its path, kind and description."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, cast

from pydantic import BaseModel, PydanticUserError

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema

Kind = Literal["text", "date", "time", "datetime", "decimal", "integer", "boolean"]

_FORMATS: Mapping[str, Kind] = {"date": "date", "time": "time", "date-time": "datetime"}
_TYPES: Mapping[str, Kind] = {
    "number": "decimal",
    "integer": "integer",
    "boolean": "boolean",
    "string": "text",
}
CLOCK = "clock"
"""The format of texts that are a time of day, as HH:MM or HH:MM:SS."""
_DEEPEST = 8
"""Models may hold themselves; deeper values are not asked for."""
MOST_VALUES = 4000
"""Limit of one schema; nobody fills in a form with more values."""

Node = Mapping[str, Any]
_Leaf = tuple[str, Node, bool]
"""Path and node of a value, and whether it is required."""


@dataclass(frozen=True, slots=True)
class FieldOutline:
    """One value of a schema.

    path: as in evidence, with `[]` for a list: `lines[].net_amount`. description: as its author wrote it.
    choices: the only values it may have; empty for any. is_clock: whether it is a text of the format `CLOCK`.
    pattern: the regular expression that a text must match; empty for none.
    """

    path: str
    kind: Kind
    description: str = ""
    is_required: bool = False
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    is_clock: bool = False
    pattern: str = ""

    @property
    def is_listed(self) -> bool:
        """True if it is part of a list."""
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
            is_required=is_required,
            choices=choices_of(node),
            labels=tuple(schema.labels.get(path, ())),
            is_clock=node.get("format") == CLOCK,
            pattern=node.get("pattern", ""),
        )
        for path, node, is_required in _values_of_model(schema.fields)
    )


@lru_cache(maxsize=64)
def _values_of_model(fields: type[BaseModel]) -> tuple[_Leaf, ...]:
    return _values_of(json_schema(fields))


@lru_cache(maxsize=64)
def json_schema(fields: type[BaseModel]) -> Node:
    """The model as JSON Schema, by the names of its values; cached, as it takes milliseconds."""
    try:
        return fields.model_json_schema(by_alias=False)
    except PydanticUserError as error:
        reason = error.message.partition("\n")[0]
        raise MisconfiguredError(f"the model {fields.__name__!r} cannot be a schema: {reason}") from error


def required_of(root: Node) -> tuple[str, ...]:
    """Paths of the values that a JSON Schema requires; no members of lists."""
    return tuple(path for path, _, is_required in _values_of(root) if is_required and "[]" not in path)


def _values_of(root: Node) -> tuple[_Leaf, ...]:
    leaves = tuple(islice(_leaves(root, definitions_of(root), "", required=True, depth=0), MOST_VALUES + 1))
    if len(leaves) > MOST_VALUES:
        raise MisconfiguredError(
            f"the schema has more than {MOST_VALUES} values; leave out fields in which a model holds itself"
        )
    return leaves


def definitions_of(root: Node) -> Mapping[str, Node]:
    """The definitions to which the references of a JSON Schema point, by name."""
    return {**root.get("definitions", {}), **root.get("$defs", {})}


def choices_of(node: Node) -> tuple[str, ...]:
    """The only values that a node allows; none for any."""
    given = node.get("enum", [node["const"]] if "const" in node else [])
    return tuple(str(choice) for choice in given if choice is not None)


def kind_of(node: Node) -> Kind:
    """The kind of value that a node of a JSON Schema describes."""
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
        kind = next((option for option in cast("list[str]", kind) if option != "null"), "string")
    return _TYPES.get(kind or "string", "text")


def resolve_node(node: Node, definitions: Mapping[str, Node]) -> Node:
    """Return the node with its references put in and without the choice of null.

    Keys beside a reference win over the same keys of what it refers to. Of several objects that a value may
    be, one object with the fields of all is returned.
    """
    own = {key: value for key, value in node.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
    if "$ref" in node:
        return {**resolve_node(definitions.get(node["$ref"].rpartition("/")[2], {}), definitions), **own}
    for key in ("allOf", "anyOf", "oneOf"):
        options = [
            resolve_node(option, definitions) for option in node.get(key, ()) if option.get("type") != "null"
        ]
        if len(options) == 1 and "properties" not in own:
            return {**options[0], **own}
        if options:
            objects = [*options, own] if "properties" in own else options
            if not all("properties" in each for each in objects):
                return {**own, "anyOf": options}
            members = {name: child for each in objects for name, child in each["properties"].items()}
            obliging = objects if key == "allOf" else objects[len(options) :]
            must = [name for each in obliging for name in each.get("required", ())]
            return {**own, "type": "object", "properties": members, "required": must}
    kinds = node.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        return {**node, "type": others[0]} if len(others) == 1 else node
    return node


def _may_be_null(node: Node) -> bool:
    """True if the author of a value says that it may be null, so that a document without it is complete."""
    kinds = node.get("type")
    options = (*node.get("anyOf", ()), *node.get("oneOf", ()))
    return (isinstance(kinds, list) and "null" in kinds) or any(
        option.get("type") == "null" for option in options
    )


def _leaves(
    node: Node, definitions: Mapping[str, Node], path: str, *, required: bool, depth: int
) -> Iterator[_Leaf]:
    node = resolve_node(node, definitions)
    if depth > _DEEPEST:
        return
    if "properties" in node:
        for name, child in node["properties"].items():
            inner = f"{path}.{name}" if path else name
            must = required and name in node.get("required", ()) and not _may_be_null(child)
            yield from _leaves(child, definitions, inner, required=must, depth=depth + 1)
    elif node.get("type") == "array":
        yield from _leaves(node.get("items", {}), definitions, f"{path}[]", required=False, depth=depth + 1)
    elif path and node.get("type") != "object":
        yield path, node, required
