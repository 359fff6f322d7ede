"""Schemas of users: a Pydantic model as it is, or a JSON Schema that is checked and made into one."""

import datetime as dt
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.schemas.outline import (
    Kind,
    Node,
    choices_of,
    definitions_of,
    json_schema,
    kind_of,
    outline,
    required_of,
    resolve_node,
)
from docmill.schemas.registry import REGISTRY

JsonSchema = Mapping[str, Any]

_KINDS: Mapping[Kind, type] = {
    "text": str,
    "date": dt.date,
    "time": dt.time,
    "datetime": dt.datetime,
    "decimal": Decimal,
    "integer": int,
    "boolean": bool,
}
_JSON_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_TEXT_KEYS = ("description", "format", "$ref")
_OPTION_KEYS = ("anyOf", "oneOf", "allOf")
_DEFINITIONS = ("$defs", "definitions")
_DEEPEST = 8


class OwnFields(BaseModel):
    """Of a JSON Schema. Every value may be null, since what a page does not say is not invented."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


def schema_of(
    wanted: type[BaseModel] | JsonSchema | Schema | str,
    *,
    name: str | None = None,
    critical: tuple[str, ...] | None = None,
    labels: Mapping[str, tuple[str, ...]] | None = None,
) -> Schema:
    """The schema that a person means.

    wanted: a Pydantic model, which stays as it is; a JSON Schema of an object; or the name of a type that
    docmill knows. critical: paths that must be there; unless told otherwise, those the schema requires.
    labels: see `Schema`. Raises MisconfiguredError if it is none of these or has no values.
    """
    if isinstance(wanted, str):
        if wanted not in REGISTRY:
            raise MisconfiguredError(f"{wanted!r} is no type of document; known are {', '.join(REGISTRY)}")
        wanted = REGISTRY[wanted]
    if isinstance(wanted, Schema):
        return Schema(
            name or wanted.name,
            wanted.fields,
            wanted.critical if critical is None else critical,
            {**wanted.labels, **(labels or {})},
        )
    fields, must = _model_and_required(wanted)
    schema = Schema(
        name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", fields.__name__).lower(),
        fields,
        must if critical is None else critical,
        labels or {},
    )
    paths = {leaf.path for leaf in outline(schema)}
    if not paths:
        raise MisconfiguredError(f"the schema {schema.name!r} has no values to read")
    unknown = sorted({*schema.critical, *schema.labels} - paths)
    if unknown:
        raise MisconfiguredError(
            f"the schema {schema.name!r} has no {', '.join(unknown)}{nearest(unknown[0], paths)}"
        )
    return schema


def words_of(labels: str | Sequence[str]) -> tuple[str, ...]:
    """The labels of a field; one may stand alone."""
    return (labels,) if isinstance(labels, str) else tuple(labels)


def nearest(name: str, names: Collection[str]) -> str:
    """The end of a message on an unknown name: the most similar name, or all names."""
    near = get_close_matches(name, names, n=1)
    return f"; do you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(names))}"


def portable(schema: Schema) -> str:
    """The schema as JSON, for a process that cannot load the user's model."""
    return json.dumps(
        {
            "name": schema.name,
            "fields": json_schema(schema.fields),
            "critical": schema.critical,
            "labels": {path: list(words) for path, words in schema.labels.items()},
        }
    )


def unpacked(text: str) -> Schema:
    """Unpack the schema that `portable` packed; its model has the same values, each of which may be null."""
    content = json.loads(text)
    name = content["name"]
    built_in = REGISTRY.get(name)
    if built_in is not None and json_schema(built_in.fields) == content["fields"]:
        fields = built_in.fields
    else:
        fields = model_of(content["fields"])
    return Schema(
        name,
        fields,
        tuple(content["critical"]),
        {path: tuple(words) for path, words in content["labels"].items()},
    )


def model_of(schema: JsonSchema) -> type[BaseModel]:
    """A model with the values of a JSON Schema. Raises MisconfiguredError if it is not one of an object."""
    definitions = definitions_of(schema)
    root = resolve_node(schema, definitions)
    if not isinstance(root.get("properties"), Mapping):
        raise MisconfiguredError('a JSON Schema must be of an object with "properties"')
    return _model(root, definitions, root.get("title", "Fields"), depth=0)


def _model_and_required(wanted: type[BaseModel] | JsonSchema) -> tuple[type[BaseModel], tuple[str, ...]]:
    if isinstance(wanted, type):
        if not issubclass(wanted, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance] - users' code
            raise MisconfiguredError(f"{wanted.__name__} is no Pydantic model")
        return wanted, required_of(json_schema(wanted))
    if not isinstance(wanted, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise MisconfiguredError("a schema is a Pydantic model or a JSON Schema")
    check_json_schema(wanted)
    members = resolve_node(wanted, definitions_of(wanted)).get("properties", {})
    unknown = set(wanted.get("required", ())) - set(members)
    if unknown:
        raise MisconfiguredError(f"the schema requires {', '.join(sorted(unknown))}, which it does not have")
    must = required_of(wanted)  # and too many values are refused before a model is made of them
    return model_of(wanted), must


def _model(node: Node, definitions: Mapping[str, Node], title: str, *, depth: int) -> type[BaseModel]:
    members: Any = {}
    for name, child in cast("Mapping[str, Node]", node["properties"]).items():
        if name.startswith("_") or (name.startswith("model_") and hasattr(BaseModel, name)):
            raise MisconfiguredError(f"a value cannot be called {name!r}; give it another name")
        inner = resolve_node(child, definitions)
        kind = _annotation(inner, definitions, name, depth=depth + 1)
        member = Field(default=None, title=child.get("title"), description=inner.get("description"))
        members[name] = (kind | None, member)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a value may be called as an old method of BaseModel
        return create_model(re.sub(r"\W+", "_", str(title)) or "Fields", __base__=OwnFields, **members)


def _annotation(node: Node, definitions: Mapping[str, Node], name: str, *, depth: int) -> Any:  # noqa: ANN401
    if depth > _DEEPEST:
        return str
    if "properties" in node:
        return _model(node, definitions, name.title(), depth=depth)
    if node.get("type") == "array":
        item = _annotation(
            resolve_node(node.get("items", {}), definitions), definitions, name, depth=depth + 1
        )
        return tuple[item, ...]
    kinds = node.get("type", "string")
    for kind in cast("list[str]", kinds if isinstance(kinds, list) else [kinds]):
        if kind not in _JSON_TYPES:
            raise MisconfiguredError(f"{name!r} has the type {kind!r}; there are {', '.join(_JSON_TYPES)}")
    choices = choices_of(node)
    return Literal[choices] if choices else _KINDS[kind_of(node)]


def check_json_schema(schema: JsonSchema) -> None:
    """Raises MisconfiguredError, which names the place, for what is no JSON Schema that can be read."""
    waiting: list[tuple[str, object]] = [("the schema", schema)]
    references = {f"#/{key}/{name}" for key in _DEFINITIONS for name in _members(schema, key, "the schema")}
    while waiting:  # and no recursion: it may be as deep as it likes
        where, node = waiting.pop()
        if not isinstance(node, Mapping):
            raise MisconfiguredError(f'{where} must be an object, such as {{"type": "string"}}')
        node = cast("JsonSchema", node)
        _check_keywords(node, where, references)
        waiting += _subschemas(node, where)
    _check_circles(schema)


def _check_keywords(node: JsonSchema, where: str, references: Collection[str]) -> None:
    for key in _TEXT_KEYS:
        if not isinstance(node.get(key, ""), str):
            raise MisconfiguredError(f"{key!r} of {where} must be a text")
    reference = node.get("$ref")
    if reference is not None and reference not in references:
        raise MisconfiguredError(f"{where} refers to {reference!r}, which is not in its $defs")
    kinds = node.get("type", "string")
    if not isinstance(kinds, str) and not _is_texts(kinds):
        raise MisconfiguredError(f"the type of {where} must be a name, or a list of names")
    if not _is_texts(node.get("required", [])):
        raise MisconfiguredError(f"'required' of {where} must be a list of names")
    if not isinstance(node.get("enum", []), list | tuple):
        raise MisconfiguredError(f"'enum' of {where} must be a list of values")


def _subschemas(node: JsonSchema, where: str) -> Iterator[tuple[str, object]]:
    for name, child in _members(node, "properties", where).items():
        if not name or set("[].") & set(name):
            raise MisconfiguredError(
                f"a value cannot be called {name!r}: names have letters, and no points and brackets"
            )
        yield repr(name), child
    if "items" in node:
        yield f"'items' of {where}", node["items"]
    for key in _OPTION_KEYS:
        options = node.get(key, [])
        if not isinstance(options, list | tuple):
            raise MisconfiguredError(f"{key!r} of {where} must be a list")
        yield from ((f"{key!r} of {where}", option) for option in cast("Sequence[object]", options))
    for key in _DEFINITIONS:
        yield from ((repr(name), child) for name, child in _members(node, key, where).items())


def _members(node: JsonSchema, key: str, where: str) -> Mapping[str, object]:
    members = node.get(key, {})
    if not isinstance(members, Mapping):
        raise MisconfiguredError(f"{key!r} of {where} must be an object")
    return cast("Mapping[str, object]", members)


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(text, str) for text in cast("Sequence[object]", value)
    )


def _check_circles(schema: JsonSchema) -> None:
    """A definition may hold itself, as a tree does, but may not be itself."""
    meant: dict[str, set[str]] = {}
    for name, definition in definitions_of(schema).items():
        meant[name] = set()
        waiting = [definition]
        while waiting:
            node = waiting.pop()
            if "$ref" in node:
                meant[name].add(node["$ref"].rpartition("/")[2])
            waiting += [option for key in _OPTION_KEYS for option in node.get(key, ())]
    for start, others in meant.items():
        seen, ahead = set[str](), set(others)
        while ahead:
            name = ahead.pop()
            if name == start:
                raise MisconfiguredError(f"{start!r} in the schema's $defs refers to itself and says nothing")
            if name not in seen:
                seen.add(name)
                ahead |= meant.get(name, set())
