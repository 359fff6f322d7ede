"""Forms for settings that a JSON schema describes: their fields, what was typed, and its faults."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import pydantic
from pydantic import BaseModel, JsonValue

from docmill.web.languages import gettext, gettext_noop

Control = Literal["text", "date", "number", "checkbox", "choice", "lines", "secret", "json"]
"""lines: a list of texts, one on each line. json: whatever has no control of its own."""
_TEXT_CONTROLS: Mapping[str, Control] = {"password": "secret", "date": "date"}
"""By the format of a text."""

_FAULTS = {
    "missing": gettext_noop("This is needed."),
    "int_parsing": gettext_noop("This is to be a whole number."),
    "int_from_float": gettext_noop("This is to be a whole number."),
    "float_parsing": gettext_noop("This is to be a number."),
    "decimal_parsing": gettext_noop("This is to be a number."),
    "literal_error": gettext_noop("Choose one of those that are offered."),
    "enum": gettext_noop("Choose one of those that are offered."),
    "greater_than": gettext_noop("This number is too small."),
    "greater_than_equal": gettext_noop("This number is too small."),
    "less_than": gettext_noop("This number is too large."),
    "less_than_equal": gettext_noop("This number is too large."),
    "string_too_short": gettext_noop("This is too short."),
    "string_too_long": gettext_noop("This is too long."),
}
"""By the type of the error of Pydantic."""

NAMED_FAULT = re.compile(r"(?P<name>\w+): (?P<words>.+)")
"""A fault of several settings, told at one of them."""


@dataclass(frozen=True, slots=True)
class SettingLeaf:
    """A single setting. name: with dots where settings hold others. help: in English.

    has_default: it may be left empty. choices: the values of a choice. is_rare: most people leave it alone.
    """

    name: str
    control: Control
    help: str = ""
    default: JsonValue = None
    has_default: bool = False
    choices: tuple[str, ...] = ()
    is_whole: bool = False
    is_rare: bool = False


@dataclass(frozen=True, slots=True)
class FormField:
    """A setting as a form shows it. typed: its text. fault: why it was refused. is_set: of a secret, kept."""

    leaf: SettingLeaf
    typed: str = ""
    fault: str = ""
    is_set: bool = False


def leaves_of(model: type[BaseModel]) -> list[SettingLeaf]:
    """The settings of a model, in its order, those of models within it among them."""
    schema = model.model_json_schema()
    return list(_leaves(schema, schema.get("$defs", {}), ""))


def _leaves(schema: Mapping[str, Any], defs: Mapping[str, Any], prefix: str) -> Iterator[SettingLeaf]:
    required = set(schema.get("required", ()))
    for name, described in schema.get("properties", {}).items():
        kind = _kind_of(described, defs)
        if "properties" in kind:
            yield from _leaves(kind, defs, f"{prefix}{name}.")
            continue
        yield replace(
            _control_of(kind, defs),
            name=f"{prefix}{name}",
            help=" ".join(str(described.get("description") or kind.get("description") or "").split()),
            default=described.get("default"),
            has_default=name not in required,
            is_rare=bool(described.get("rarely_needed")),
        )


def _kind_of(described: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    """The schema behind references and `or null`; of several other kinds, that of none."""
    if "$ref" in described:
        return _kind_of(defs[described["$ref"].rpartition("/")[2]], defs)
    for together in ("allOf", "anyOf", "oneOf"):
        if together in described:
            kinds = [kind for kind in described[together] if kind.get("type") != "null"]
            return _kind_of(kinds[0], defs) if len(kinds) == 1 else {}
    return dict(described)


def _control_of(kind: Mapping[str, Any], defs: Mapping[str, Any]) -> SettingLeaf:
    choices = [kind["const"]] if "const" in kind else kind.get("enum", [])
    if choices and all(isinstance(choice, str) for choice in choices):
        return SettingLeaf("", "choice", choices=tuple(choices))
    match kind.get("type"):
        case "string":
            return SettingLeaf("", _TEXT_CONTROLS.get(kind.get("format", ""), "text"))
        case "integer" | "number":
            return SettingLeaf("", "number", is_whole=kind["type"] == "integer")
        case "boolean":
            return SettingLeaf("", "checkbox")
        case "array" if _kind_of(kind.get("items", {}), defs).get("type") == "string":
            return SettingLeaf("", "lines")
        case _:
            return SettingLeaf("", "json")


def shown_fields(
    model: type[BaseModel],
    values: Mapping[str, Any],
    faults: Mapping[str, str],
    *,
    secrets_set: tuple[str, ...] = (),
    without: Collection[str] = (),
) -> list[FormField]:
    """The fields of a form with these values, but for `without`. Of a secret, no value is shown."""
    return [
        FormField(
            leaf,
            "" if leaf.control == "secret" else _text_of(leaf, _value_at(values, leaf)),
            faults.get(leaf.name, ""),
            leaf.name in secrets_set,
        )
        for leaf in leaves_of(model)
        if leaf.name not in without
    ]


def _value_at(values: Mapping[str, Any], leaf: SettingLeaf) -> object:
    *outer, last = leaf.name.split(".")
    for name in outer:
        values = values.get(name) or {}
    return values.get(last, leaf.default)


def _text_of(leaf: SettingLeaf, value: object) -> str:
    if value is None:
        return ""
    match leaf.control:
        case "checkbox":
            return "on" if value else ""
        case "lines" if isinstance(value, list):
            return "\n".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]  JSON
        case "number" if isinstance(value, float):
            return f"{value:g}"
        case "json":
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def typed_values(model: type[BaseModel], form: Mapping[str, str], *, prefix: str) -> dict[str, JsonValue]:
    """The values of a form whose fields are named by `prefix` and the setting. Empty ones are left out.

    An empty secret stays: it is the one that is kept.
    """
    values: dict[str, Any] = {}
    for leaf in leaves_of(model):
        value = _typed(leaf, form.get(f"{prefix}{leaf.name}", ""))
        if value is None and leaf.control != "secret":
            continue
        inner = values
        *outer, last = leaf.name.split(".")
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return values


def _typed(leaf: SettingLeaf, text: str) -> JsonValue:
    value: JsonValue = text.strip() or None
    match leaf.control:
        case "checkbox":
            value = bool(text)
        case "lines":
            value = [line.strip() for line in text.splitlines() if line.strip()]
        case "secret":
            value = text
        case "number":
            value = text.strip().replace(",", ".") or None
        case "json" if text.strip():
            with suppress(ValueError):  # told to be a fault where it is checked
                value = json.loads(text)
        case _:
            pass
    return value


def faults_of(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, str]:
    """Faults of values, by the name of the setting; empty if there are none."""
    try:
        model.model_validate(values)
    except pydantic.ValidationError as error:
        faults: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
        return dict(_named(fault, model) for fault in faults)
    return {}


def _named(fault: Mapping[str, Any], model: type[BaseModel]) -> tuple[str, str]:
    """A fault with its setting. One of several settings together names one of them, with a colon."""
    words = _in_words(fault)
    if fault["loc"]:
        return ".".join(_names(fault["loc"])), words
    named = NAMED_FAULT.fullmatch(words)
    if named is None or named["name"] not in model.model_fields:
        return "", words
    return named["name"], named["words"]


def _names(location: tuple[int | str, ...]) -> Iterator[str]:
    """The names of a location, up to a place in a list."""
    for part in location:
        if isinstance(part, int):
            return
        yield part


def _in_words(fault: Mapping[str, str], translate: Callable[[str], str] = gettext) -> str:
    text = _FAULTS.get(fault["type"])
    return translate(text) if text else fault["msg"].removeprefix("Value error, ")
