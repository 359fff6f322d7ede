"""Filling of a user's model with the values that were read, as far as they go."""

import logging
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model

from docmill.model.paths import set_value
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.outline import json_schema
from docmill.schemas.user_schemas import OwnFields, model_of

log = logging.getLogger(__name__)

Model = TypeVar("Model", bound=BaseModel)
Place = Sequence[int | str]


def filled(fields: type[Model], data: Mapping[str, Any]) -> Model:
    """The model with these values; one that it does not take is left out, one that it lacks is null.

    data: as JSON, with the model's names or aliases. Where the model cannot do without a missing value, the
    result is of a subclass of it in which every value may be null. Where its own rules refuse what was read,
    or fail over a value that is not there, it is made without them.
    """
    for attempt in range(4):
        kind = fields if attempt < 2 else _relaxed(fields)  # noqa: PLR2004
        try:
            return kind.model_validate(data, by_alias=True, by_name=True)
        except ValidationError as error:
            bad = [detail["loc"] for detail in error.errors() if detail["type"] != "missing"]
            data = cast("Mapping[str, Any]", _without(data, bad))
        except Exception as error:  # noqa: BLE001 - a user's rule may raise anything, over a null above all
            log.warning("a rule of a model failed", extra={"error": type(error).__name__})
    empty = dict.fromkeys(fields.model_fields)
    if issubclass(fields, OwnFields):  # it has no rules: the values are of no kind at all
        return fields.model_construct(**empty)
    typed = filled(model_of(json_schema(fields)), data)
    return fields.model_construct(**{name: getattr(typed, name, None) for name in empty})


class ValueWithEvidence(NamedTuple):
    """A value and its place."""

    value: object
    evidence: Evidence


def replace_values(
    read: Extraction, schema: Schema, values: Mapping[str, ValueWithEvidence | None]
) -> Extraction:
    """The extraction with these values at their paths; None takes out the value that was read."""
    if not values:
        return read
    data, evidence = read.data.model_dump(), dict(read.evidence)
    for path, replacement in values.items():
        set_value(data, path, replacement and replacement.value)
        if replacement is None:
            del evidence[path]
        else:
            evidence[path] = replacement.evidence
    return read.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})


def _without(value: object, places: Sequence[Place]) -> object:
    """The value without what stands at the places."""
    here = {place[0] for place in places if place}
    ending = {place[0] for place in places if len(place) == 1}
    inner = {key: [place[1:] for place in places if len(place) > 1 and place[0] == key] for key in here}
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {
            key: _without(member, inner.get(key, ())) for key, member in members.items() if key not in ending
        }
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return [
            _without(item, inner.get(index, ())) for index, item in enumerate(items) if index not in ending
        ]
    return value


def _relaxed(fields: type[Model], within: frozenset[type] = frozenset()) -> type[Model]:
    """A subclass in which every value may be null. within: the models around it, which stay as they are."""
    within |= {fields}
    changed: Any = {}
    for name, info in fields.model_fields.items():
        annotation = _annotation(info.annotation, within)
        if info.is_required() or annotation is not info.annotation:
            names = Field(
                None,
                alias=info.alias,
                validation_alias=info.validation_alias,
                serialization_alias=info.serialization_alias,
            )
            changed[name] = (Union[annotation, None], names)  # noqa: UP007 - built at run time
    return create_model(fields.__name__, __base__=fields, __module__=fields.__module__, **changed)


def _annotation(annotation: Any, within: frozenset[type]) -> Any:  # noqa: ANN401 - annotations are of any kind
    """The annotation with every model in it relaxed, itself if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return cast("Any", annotation if annotation in within else _relaxed(annotation, within))
    args: tuple[Any, ...] = get_args(annotation)
    inner = tuple(_annotation(arg, within) for arg in args)
    if all(new is old for new, old in zip(inner, args, strict=True)):
        return annotation  # pyright: ignore[reportUnknownVariableType] - as it came
    origin: Any = get_origin(annotation)
    return cast("Any", Union[inner] if origin in (Union, UnionType) else origin[inner])  # noqa: UP007
