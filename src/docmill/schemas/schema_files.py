"""Schemas of users in files: JSON Schema, TOML, or a Pydantic model in Python."""

import importlib.util
import json
import tomllib
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.schemas.user_schemas import nearest, schema_of, words_of

_KINDS = {
    "text": {"type": "string"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "datetime": {"type": "string", "format": "date-time"},
    "decimal": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
}

_SCHEMA_KEYS = ("name", "critical", "fields")
_FIELD_KEYS = ("kind", "description", "labels", "choices")

Labels = Mapping[str, tuple[str, ...]]
NO_LABELS: Labels = {}


def schema_in(place: str, labels: Path | None = None) -> Schema:
    """The schema at `order.json`, `order.toml` or `models.py:Order`.

    labels: a TOML or JSON file of words that stand beside each field's value, by the field's path. A Python
    file is run. Raises MisconfiguredError.
    """
    more = labels_in(labels) if labels else {}
    name, colon, attribute = place.rpartition(":")
    if colon and name.endswith(".py"):
        return schema_of(_class(Path(name), attribute), labels=more)
    path = Path(place)
    if path.suffix == ".py":
        raise MisconfiguredError(f"say which model of {place!r} is meant: {place}:NAME")
    content = _content(path)
    if path.suffix == ".json":
        return schema_of(content, name=None if "title" in content else path.stem, labels=more)
    if not isinstance(content.get("fields"), Mapping):
        raise MisconfiguredError(f"{path.name!r} has no table [fields]")
    return schema_from(content, path.stem, more)


def schema_from(content: Mapping[str, Any], name: str, more: Labels = NO_LABELS) -> Schema:
    """The schema with the table `fields`, and perhaps `name` and `critical`. name: where it has none.

    A field is a description, or a table with kind, description, labels and choices. more: labels by path.
    Raises MisconfiguredError.
    """
    _refuse_unknown(content, _SCHEMA_KEYS)
    properties: dict[str, Any] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for path, value in cast("Mapping[str, Any]", content["fields"]).items():
        field: Any = {"description": value} if isinstance(value, str) else value
        if not isinstance(field, Mapping):
            raise MisconfiguredError(f"a field is a description or a table, and not {value!r}")
        field = cast("Mapping[str, Any]", field)
        _refuse_unknown(field, _FIELD_KEYS)
        kind = field.get("kind", "text")
        if kind not in _KINDS:
            raise MisconfiguredError(f"{path!r} has the kind {kind!r}; there are {', '.join(_KINDS)}")
        choices = {"enum": field["choices"]} if "choices" in field else {}
        properties[path] = {**_KINDS[kind], "description": field.get("description", ""), **choices}
        if "labels" in field:
            labels[path] = words_of(field["labels"])
    title = content.get("name", name)
    return schema_of(
        {"type": "object", "title": title, "properties": properties},
        name=str(title),
        critical=words_of(content.get("critical", ())),
        labels={**labels, **more},
    )


def _refuse_unknown(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = [key for key in table if key not in keys]
    if unknown:
        raise MisconfiguredError(f"a schema has no key {unknown[0]!r}{nearest(unknown[0], keys)}")


def labels_in(path: Path) -> dict[str, tuple[str, ...]]:
    """Words that stand beside each field's value, by the field's path. Raises MisconfiguredError."""
    content = _content(path)
    return {path: words_of(words) for path, words in content.items()}


def _content(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise MisconfiguredError(f"{str(path)!r} is neither JSON nor TOML: {error}") from error
    if not isinstance(content, Mapping):
        raise MisconfiguredError(f"{str(path)!r} is no object")
    return cast("Mapping[str, Any]", content)


def _class(path: Path, name: str) -> Any:  # noqa: ANN401 - checked by schema_of
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MisconfiguredError(f"there is no Python file {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's code may raise anything
        lines = [
            f"line {frame.lineno}: "
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).resolve() == path.resolve() and not isinstance(error, SyntaxError)
        ]
        reason = f"{''.join(lines[-1:])}{type(error).__name__}: {error}"
        raise MisconfiguredError(f"{str(path)!r} does not run: {reason}") from error
    model = getattr(module, name, None)
    if model is None:
        raise MisconfiguredError(f"{str(path)!r} has no {name!r}")
    return model
