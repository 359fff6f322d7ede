"""True values of documents as instances of the schema by which they are extracted."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import day_of, number_of
from docmill.evaluation.truth import nest_values
from docmill.model.result import Schema
from docmill.schemas.outline import Kind, outline


@lru_cache(maxsize=64)
def kinds_of(schema: type[BaseModel]) -> Mapping[str, Kind]:
    """The kinds of a schema's values, by their paths."""
    return {leaf.path: leaf.kind for leaf in outline(Schema(schema.__name__, schema))}


def values_of(expected: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    """The true values, nested as the schema: of an instance as JSON, without the fields that are not set."""
    if isinstance(expected, BaseModel):
        return expected.model_dump(mode="json", exclude_unset=True)
    return nest_values(expected)


def instance_of(
    schema: type[BaseModel], values: Mapping[str, Any], source: str, *, month_first: bool = False
) -> BaseModel:
    """An instance of the schema in which exactly these fields are set, required or not, also to null.

    values: as a person wrote them: amounts and days may be texts as they are printed. source: names the
    document in messages. month_first: of days such as 03/04/2026. Raises MisconfiguredError for a
    value that cannot be one of its field.
    """
    content = _Typing(kinds_of(schema), month_first).typed(values, "")
    with suppress(ValidationError):
        return schema.model_validate(content, by_alias=False, by_name=True)
    try:
        return _nullable(schema).model_validate(content, by_alias=False, by_name=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(map(str, first["loc"]))
        message = (
            f"the truth of {source!r} does not fit its schema: {path or schema.__name__}: {first['msg']}"
        )
        raise MisconfiguredError(message) from None  # its cause would show the value


@dataclass(frozen=True, slots=True)
class _Typing:
    """Brings values into the form that Pydantic reads: amounts as digits, days as ISO 8601."""

    kinds: Mapping[str, Kind]
    month_first: bool

    def typed(self, value: object, path: str) -> object:
        """The value in that form. path: its place, as in `kinds`."""
        if isinstance(value, Mapping):
            members = cast("Mapping[str, object]", value).items()
            return {name: self.typed(member, f"{path}.{name}" if path else name) for name, member in members}
        if isinstance(value, list | tuple):
            return [self.typed(item, f"{path}[]") for item in cast("list[object]", value)]
        kind = self.kinds.get(path)
        if kind == "text" and isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return str(value)
        return self._typed_text(value, kind) if isinstance(value, str) else value

    def _typed_text(self, text: str, kind: Kind | None) -> str | None:
        if not text.strip():
            return None
        if kind in ("decimal", "integer"):
            number = number_of(text)
            return text if number is None else str(number)
        day = day_of(text, month_first=self.month_first) if kind == "date" else None
        return text if day is None else day.isoformat()


def original_of(instance: BaseModel) -> type[BaseModel]:
    """The schema of an instance that `instance_of` made."""
    schema = type(instance)
    base = schema.__base__
    assert base is not None
    if issubclass(base, BaseModel) and (base.__name__, base.__module__) == (
        schema.__name__,
        schema.__module__,
    ):
        return base
    return schema


@lru_cache(maxsize=64)
def _nullable(schema: type[BaseModel], around: tuple[type[BaseModel], ...] = ()) -> type[BaseModel]:
    """A subclass of the schema whose fields may be null or left out, those of inner models too.

    The schema itself if all may. around: the models that hold it; one that holds itself stays as it is.
    """
    if schema in around:
        return schema
    fields: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        inner: Any = Union[_nullable_in(field.annotation, (*around, schema)), None]  # noqa: UP007  a value
        if field.is_required():
            default = Field(default=None, alias=field.alias, description=field.description)
            fields[name] = (inner, default)
        elif inner != field.annotation:
            fields[name] = (inner, field)
    if not fields:
        return schema
    return create_model(schema.__name__, __base__=schema, __module__=schema.__module__, **fields)


def _nullable_in(annotation: Any, around: tuple[type[BaseModel], ...]) -> Any:  # noqa: ANN401  any annotation
    """The annotation with the models in it replaced."""
    model: object = annotation
    if isinstance(model, type) and issubclass(model, BaseModel):
        return _nullable(model, around)
    origin: Any = get_origin(annotation)
    arguments = get_args(annotation)
    replaced = tuple(_nullable_in(argument, around) for argument in arguments)
    if origin is None or replaced == arguments:
        return annotation
    generic: Any = Union if origin is UnionType else origin
    return generic[replaced]
