"""The settings of the installation as a page shows them: value, origin and meaning."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from pydantic import BaseModel, SecretStr

from docmill.service.config.settings import ChosenModel, Settings
from docmill.service.config.sources import PREFIX

Origin = Literal["default", "file", "variable"]

_REFERENCE = "settings.md"
_HEADING = re.compile(r"## (.+)")
_ROW = re.compile(r"\| (`[^|]+`) \| ([^|]*) \| (.+) \|")
_NAME = re.compile(r"`([a-z_.]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_FIRST = "General"
_OF_AN_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?:.*@)?(?P<rest>[^?#]*)(?P<query>[?#].*)?"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A setting as its reference describes it. words: every other piece, from the second on, is code."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting. value: None for none; a secret is only said to be set. variable: that can set it."""

    name: str
    value: str | None
    is_secret: bool
    origin: Origin
    words: tuple[str, ...]
    variable: str


@dataclass(frozen=True, slots=True)
class SettingsGroup:
    """A section of the reference with its settings."""

    title: str
    settings: tuple[SettingView, ...]


def groups(settings: Settings) -> list[SettingsGroup]:
    """All settings in effect, in the order of their reference."""
    built = (
        SettingsGroup(title, tuple(_view(settings, meaning) for meaning in meanings))
        for title, meanings in reference().items()
    )
    return [group for group in built if group.settings]


@cache
def reference() -> Mapping[str, tuple[Meaning, ...]]:
    """The meaning of each setting as its reference gives it, by the titles of the sections."""
    text = files("docmill.service.config").joinpath(_REFERENCE).read_text(encoding="utf-8")
    found: dict[str, tuple[Meaning, ...]] = {}
    title = _FIRST
    for line in text.splitlines():
        if heading := _HEADING.fullmatch(line):
            title = heading[1]
        elif row := _ROW.fullmatch(line):
            words = tuple(_LINK.sub(r"\1", row[3]).split("`"))
            found[title] = (*found.get(title, ()), *(Meaning(name, words) for name in _settings_in(row[1])))
    return found


def _settings_in(cell: str) -> Iterator[str]:
    """The names of settings in a cell; those of members of tables are none."""
    for name in _NAME.findall(cell):
        model: type[BaseModel] = Settings
        *sections, last = name.split(".")
        for section in sections:
            inner = model.model_fields[section].annotation if section in model.model_fields else None
            if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
                break
            model = inner
        else:
            if last in model.model_fields:
                yield name


def _view(settings: Settings, meaning: Meaning) -> SettingView:
    *sections, last = meaning.name.split(".")
    section: BaseModel = settings
    for name in sections:
        section = getattr(section, name)
    value, default = getattr(section, last), type(section).model_fields[last].get_default()
    variable = PREFIX + meaning.name.upper().replace(".", "__")
    origin: Origin = "default"
    if value != default or last in section.model_fields_set:
        origin = "variable" if _is_in_environment(variable) else "file"
    shown, is_secret = _shown(value)
    return SettingView(meaning.name, shown, is_secret, origin, meaning.words, variable)


def _is_in_environment(variable: str) -> bool:
    """True if the variable is set, or one of a member of the table that it names."""
    return any(name == variable or name.startswith(f"{variable}__") for name in os.environ)


def _shown(value: object) -> tuple[str | None, bool]:
    """The value as text, and whether it is a secret, which is left out."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        items, names = [item for _, item in pairs], [name for name, _ in pairs]
    else:
        items = list(cast("Iterable[object]", value)) if isinstance(value, tuple) else [value]
        names = []
    if any(isinstance(item, SecretStr) for item in items):
        return None, True
    texts = [_as_text(item) for item in items]
    if names:
        texts = [f"{name}: {text}" if text else name for name, text in zip(names, texts, strict=True)]
    return ", ".join(texts) or None, False


def _as_text(value: object) -> str:
    if isinstance(value, ChosenModel):
        return value.model
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, BaseModel):
        return ""
    return _without_secrets(str(value))


def _without_secrets(text: str) -> str:
    """An address without its user, password and query: some servers take their key there."""
    address = _OF_AN_ADDRESS.fullmatch(text)
    if address is None:
        return text
    return f"{address['scheme']}{address['rest']}{'?…' if address['query'] else ''}"
