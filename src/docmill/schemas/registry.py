"""The schema of each built-in document type."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field, create_model

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.schemas import types
from docmill.schemas.document_types import DEFINITIONS, PATH_IN_BRACES, FieldDefinition, TypeDefinition
from docmill.schemas.outline import outline
from docmill.schemas.types import Fields

_KINDS: Mapping[str, type] = {
    "text": str,
    "date": dt.date,
    "time": dt.time,
    "decimal": Decimal,
    "integer": int,
    "boolean": bool,
}

_MADE_MODELS: dict[str, type[BaseModel]] = {}


def schema_of_type(name: str, definition: TypeDefinition) -> Schema:
    """The schema that a type's file describes.

    Raises MisconfiguredError for a path in its files that is no field: a check of it would never fail.
    """
    base: type[BaseModel] = getattr(types, definition.model) if definition.model else Fields
    fields = _model(name, definition.fields, base) if definition.fields else base
    for template in definition.summary:  # may name what is read for it alone, such as a statement's number
        if not PATH_IN_BRACES.search(template):
            raise MisconfiguredError(f"{name}.toml: summary: no path in braces in {template!r}")
    schema = Schema(name, fields, definition.critical, definition.labels)
    paths = {leaf.path for leaf in outline(schema)}
    for key, path in _named_paths(definition):
        if path not in paths:
            raise MisconfiguredError(f"{name}.toml: {key}: the type has no field '{path}'")
    return schema


def _named_paths(definition: TypeDefinition) -> Iterator[tuple[str, str]]:
    """Every path that a type's files name outside of its summary, with the key where it stands."""
    listed: dict[str, Iterable[str]] = {
        "critical": definition.critical,
        "recognition.fields": definition.recognition.fields,
        "floors": definition.floors,
        "labels in the file of words": definition.words.labels,
    }
    for key in ("counterparty", "amount"):
        if key in definition.model_fields_set:
            listed[key] = (getattr(definition, key),)
    for check in definition.checks:
        terms = (term.removeprefix("-") for term in (*check.left, *check.right))
        listed[f"checks.{check.name}"] = (*terms, *PATH_IN_BRACES.findall(check.message))
    for key, paths in listed.items():
        yield from ((key, path) for path in paths)


def _model(name: str, fields: Mapping[str, FieldDefinition], base: type[BaseModel]) -> type[BaseModel]:
    """A model with these fields, those of `owner.name` in an object `owner`, beside those of the base."""
    members: dict[str, Any] = {}
    owned: dict[str, dict[str, FieldDefinition]] = {}
    for path, field in fields.items():
        owner, _, rest = path.partition(".")
        if rest:
            owned.setdefault(owner, {})[rest] = field
            members[owner] = None  # keeps the order of the file
        else:
            members[path] = (_KINDS[field.kind] | None, Field(default=None, description=field.description))
    for owner, inner in owned.items():
        part = _model(owner, inner, Fields)
        members[owner] = (part, part())
    class_name = name.title().replace("_", "")
    model = create_model(class_name, __base__=base, __module__=__name__, **members)
    _MADE_MODELS[class_name] = model
    return model


def __getattr__(name: str) -> type[BaseModel]:
    """The model of this name, which pickle looks for in its module."""
    try:
        return _MADE_MODELS[name]
    except KeyError as error:
        raise AttributeError(name) from error


REGISTRY: dict[str, Schema] = {
    name: schema_of_type(name, definition) for name, definition in DEFINITIONS.items()
}
"""The schemas that come with docmill, by document type."""


def is_built_in(schema: Schema) -> bool:
    """Return whether a schema comes with docmill; a user's own may have the same name."""
    built_in = REGISTRY.get(schema.name)
    return built_in is not None and schema.fields is built_in.fields


def in_schema_order(data: dict[str, Any], document_type: str | None) -> dict[str, Any]:
    """The data in the order of the type's fields; the database keeps another one."""
    schema = REGISTRY.get(document_type or "")
    order = dict.fromkeys(schema.fields.model_fields) if schema else {}
    return {key: data[key] for key in (*order, *data) if key in data}
