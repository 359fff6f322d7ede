"""Schemas of the user's own: a Pydantic model as it is, or a JSON Schema made into one."""

import datetime as dt
import json
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
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
    required,
    required_of,
    resolved,
    resolved_root,
)
from docmill.schemas.registry import REGISTRY
from docmill.schemas.schema_shape import JsonSchema, checked

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
            known = ", ".join(REGISTRY)
            raise MisconfiguredError(f"{wanted!r} is no type of document; known are {known}")
        wanted = REGISTRY[wanted]
    if isinstance(wanted, Schema):
        return Schema(
            name or wanted.name,
            wanted.fields,
            wanted.critical if critical is None else critical,
            {**wanted.labels, **(labels or {})},
        )
    fields, must = _fields(wanted)
    schema = Schema(
        name or _snake(fields.__name__), fields, must if critical is None else critical, labels or {}
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


def nearest(name: str, known: Collection[str]) -> str:
    """The end of a message on an unknown name: the most similar name, or all names."""
    near = get_close_matches(name, known, n=1)
    return f"; do you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(known))}"


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
    known = REGISTRY.get(name)
    same = known is not None and json_schema(known.fields) == content["fields"]
    return Schema(
        name,
        known.fields if known is not None and same else model_of(content["fields"]),
        tuple(content["critical"]),
        {path: tuple(words) for path, words in content["labels"].items()},
    )


def model_of(schema: JsonSchema) -> type[BaseModel]:
    """A model with the values of a JSON Schema. Raises MisconfiguredError if it is not one of an object."""
    root = resolved_root(schema)
    if not isinstance(root.get("properties"), Mapping):
        raise MisconfiguredError('a JSON Schema must be of an object with "properties"')
    return _model(root, definitions_of(schema), root.get("title", "Fields"), depth=0)


def _fields(wanted: type[BaseModel] | JsonSchema) -> tuple[type[BaseModel], tuple[str, ...]]:
    if isinstance(wanted, type):
        if not issubclass(wanted, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance] - users' code
            raise MisconfiguredError(f"{wanted.__name__} is no Pydantic model")
        return wanted, required(wanted)
    if not isinstance(wanted, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise MisconfiguredError("a schema is a Pydantic model or a JSON Schema")
    checked(wanted)
    unknown = set(wanted.get("required", ())) - set(resolved_root(wanted).get("properties", {}))
    if unknown:
        raise MisconfiguredError(f"the schema requires {', '.join(sorted(unknown))}, which it does not have")
    must = required_of(wanted)  # and too many values are refused before a model is made of them
    return model_of(wanted), must


def _model(node: Node, definitions: Mapping[str, Node], title: str, *, depth: int) -> type[BaseModel]:
    members: Any = {}
    for name, child in cast("Mapping[str, Node]", node["properties"]).items():
        if name.startswith("_") or (name.startswith("model_") and hasattr(BaseModel, name)):
            raise MisconfiguredError(f"a value cannot be called {name!r}; give it another name")
        inner = resolved(child, definitions)
        kind = _annotation(inner, definitions, name, depth=depth + 1)
        members[name] = (kind | None, Field(default=None, description=inner.get("description")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a value may be called as an old method of BaseModel
        return create_model(re.sub(r"\W+", "_", str(title)) or "Fields", __base__=OwnFields, **members)


def _annotation(node: Node, definitions: Mapping[str, Node], name: str, *, depth: int) -> Any:  # noqa: ANN401
    if depth > _DEEPEST:
        return str
    if "properties" in node:
        return _model(node, definitions, name.title(), depth=depth)
    if node.get("type") == "array":
        item = _annotation(resolved(node.get("items", {}), definitions), definitions, name, depth=depth + 1)
        return tuple[item, ...]
    kinds = node.get("type", "string")
    for kind in cast("list[str]", kinds if isinstance(kinds, list) else [kinds]):
        if kind not in _JSON_TYPES:
            raise MisconfiguredError(f"{name!r} has the type {kind!r}; there are {', '.join(_JSON_TYPES)}")
    choices = choices_of(node)
    return Literal[choices] if choices else _KINDS[kind_of(node)]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
