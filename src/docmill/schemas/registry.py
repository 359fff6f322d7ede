"""The schema of each built-in document type."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field, create_model

from docmill.model.result import Schema
from docmill.schemas import types
from docmill.schemas.document_types import DEFINITIONS, FieldDefinition, TypeDefinition
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
    """The schema that a type's file describes."""
    base: type[BaseModel] = getattr(types, definition.model) if definition.model else Fields
    fields = _model(name, definition.fields, base) if definition.fields else base
    return Schema(name, fields, definition.critical, definition.labels)


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
