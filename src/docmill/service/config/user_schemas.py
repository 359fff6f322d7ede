"""Schemas of the user's own in the settings: `[schemas.NAME]`."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.schemas.document_types import DOCUMENT_TYPES, DocumentType
from docmill.schemas.registry import REGISTRY
from docmill.schemas.schema_files import schema_from
from docmill.service.config.section import Section

_NAMELESS = "this"


class OwnField(Section):
    """A value to be read. labels: words that stand beside it. choices: the only values it may have."""

    description: str = ""
    kind: Literal["text", "date", "time", "datetime", "decimal", "integer", "boolean"] = "text"
    labels: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


def _described(value: object) -> object:
    """A description alone is a field, too."""
    return {"description": value} if isinstance(value, str) else value


class OwnSchema(Section):
    """A user's schema. critical: fields that must be there. types: of documents that are read by it.

    model: what `docmill learn` wrote.
    """

    fields: dict[str, Annotated[OwnField, BeforeValidator(_described)]] = Field(min_length=1)
    critical: tuple[str, ...] = ()
    types: tuple[DocumentType, ...] = ()
    model: Path | None = None

    @model_validator(mode="after")
    def _is_a_schema(self) -> "OwnSchema":
        """Raises ValueError, which names the setting."""
        try:
            self.called(_NAMELESS)
        except MisconfiguredError as error:
            raise ValueError(error.message.replace(f"the schema {_NAMELESS!r}", "this schema")) from error
        return self

    def called(self, name: str) -> Schema:
        """The schema by this name. Raises MisconfiguredError if it cannot be."""
        fields = {path: field.model_dump(exclude_defaults=True) for path, field in self.fields.items()}
        return schema_from({"name": name, "critical": list(self.critical), "fields": fields}, name)


Own = Mapping[str, OwnSchema]


class OwnSchemas:
    """A user's schemas, by their names and by the types of documents that are read by them."""

    def __init__(self, own: Own) -> None:
        self._own = own

    @cached_property
    def named(self) -> dict[str, Schema]:
        """By their names."""
        return {name: schema.called(name) for name, schema in self._own.items()}

    @cached_property
    def by_type(self) -> dict[str, Schema]:
        """The schema for each document type: a user's own in place of the built-in one."""
        own = {kind: schema.called(kind) for schema in self._own.values() for kind in schema.types}
        return {**REGISTRY, **own}

    @cached_property
    def by_choice(self) -> dict[str, Schema]:
        """Those of `by_type`, and the others by their names: types that only a person gives."""
        return {
            **self.by_type,
            **{name: schema for name, schema in self.named.items() if not self._own[name].types},
        }

    def models(self) -> dict[str, Path]:
        """The files of trained models, by the names and the types of the schemas."""
        return {
            name: schema.model
            for own_name, schema in self._own.items()
            if schema.model is not None
            for name in (own_name, *schema.types)
        }


def check_schemas(own: dict[str, OwnSchema]) -> dict[str, OwnSchema]:
    """The schemas. Raises ValueError if two are for one document type, or one has the name of a type."""
    taken: dict[str, str] = {}
    for name, schema in own.items():
        if name in DOCUMENT_TYPES:
            raise ValueError(
                f"{name!r} is a type of document; give the schema another name, and types = [{name!r}]"
            )
        for kind in schema.types:
            if kind in taken:
                raise ValueError(f"{taken[kind]!r} and {name!r} are both for documents of the type {kind!r}")
            taken[kind] = name
    return own
