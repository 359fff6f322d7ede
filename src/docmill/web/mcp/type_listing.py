"""The tools that list the types of documents and their fields."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from docmill.errors import ValidationError
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.schemas.registry import is_built_in
from docmill.web.mcp.tool_answers import FieldOfType, TypeAnswer, TypesAnswer, TypeSummary
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.view.words import TYPES

_MOST_FIELDS = 500


class TypesArguments(BaseModel):
    """Nothing to choose."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TypeArguments(BaseModel):
    """The type to describe."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100, description="a name of `list_document_types`")]


async def list_document_types(context: ToolContext, _: TypesArguments) -> TypesAnswer:
    """Every type of the settings."""
    return TypesAnswer(
        types=[
            TypeSummary(
                name=name,
                label=TYPES.get(name, name),
                is_built_in=is_built_in(schema),
                field_count=len(outline(schema)),
            )
            for name, schema in _schemas(context).items()
        ]
    )


async def get_document_type(context: ToolContext, wanted: TypeArguments) -> TypeAnswer:
    """A type with its fields. Raises ValidationError if there is none of this name."""
    schema = _schemas(context).get(wanted.name)
    if schema is None:
        raise ValidationError(f"there is no type {wanted.name!r}; `list_document_types` lists them")
    return TypeAnswer(
        name=wanted.name,
        label=TYPES.get(wanted.name, wanted.name),
        is_built_in=is_built_in(schema),
        fields=[
            FieldOfType(
                path=leaf.path,
                kind=leaf.kind,
                description=leaf.description,
                is_critical=leaf.path in schema.critical,
                choices=list(leaf.choices),
            )
            for leaf in outline(schema)[:_MOST_FIELDS]
        ],
    )


def _schemas(context: ToolContext) -> dict[str, Schema]:
    return context.vault.settings.own.by_choice
