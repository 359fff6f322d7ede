"""YAML whose values know their places, with variables of the environment."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, cast

from pydantic import JsonValue

from docmill.errors import MisconfiguredError

try:
    import yaml
except ImportError as missing:
    raise MisconfiguredError("files of pipelines need PyYAML: pip install docmill[pipelines]") from missing

Place = tuple[str, ...]

_MAX_BYTES = 1_000_000
_MAX_VALUES = 10_000
_MAX_DEPTH = 50
_VARIABLE = re.compile(r"\$(?:(\$)|\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?)")
_SCALARS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))


@dataclass
class Source:
    """A configuration as it was written. marks: "file:line:column" of the values, by their place."""

    value: JsonValue = None
    marks: dict[Place, str] = field(default_factory=dict[Place, str])

    def fail(self, place: Place, message: str, *, cause: Exception | None = None) -> NoReturn:
        """Raises MisconfiguredError that names the place, or the nearest one around it."""
        raise MisconfiguredError(self.told(place, message)) from cause

    def told(self, place: Place, message: str) -> str:
        """The message with the place in front, or the nearest one around it."""
        known = place
        while known and known not in self.marks:
            known = known[:-1]
        where = self.marks.get(known) or ".".join(place)
        return f"{where}: {message}" if where else message


def read_yaml(path: Path) -> Source:
    """The content of a file. Raises MisconfiguredError if it cannot be read or is no safe YAML."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise MisconfiguredError(f"{str(path)!r} has more than {_MAX_BYTES} bytes")
    try:
        node = cast(
            "yaml.Node | None",
            yaml.compose(content.decode(), yaml.SafeLoader),  # pyright: ignore[reportUnknownMemberType]
        )
    except UnicodeDecodeError as error:
        raise MisconfiguredError(f"{str(path)!r} is not UTF-8") from error
    except RecursionError as error:
        raise MisconfiguredError(f"{str(path)!r} is nested too deeply") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise MisconfiguredError(f"{where}: no valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise MisconfiguredError(f"{path}: no valid YAML: {error}") from error
    reader = _NodeReader(path)
    if node is not None:
        reader.source.value = reader.read(node, ())
    return reader.source


class _NodeReader:
    """Reads values off nodes, and counts them: aliases of aliases grow exponentially."""

    def __init__(self, path: Path) -> None:
        self.source = Source()
        self._path = path
        self._count = 0
        self._scalars = yaml.constructor.SafeConstructor()

    def read(self, node: yaml.Node, place: Place) -> JsonValue:
        mark = node.start_mark
        self.source.marks.setdefault(place, f"{self._path}:{mark.line + 1}:{mark.column + 1}")
        self._count += 1
        if self._count > _MAX_VALUES or len(place) > _MAX_DEPTH:
            self.source.fail(place, "there are too many values, or they are nested too deeply")
        match node:
            case yaml.MappingNode() if node.tag == "tag:yaml.org,2002:map":
                return self._mapping(node, place)
            case yaml.SequenceNode() if node.tag == "tag:yaml.org,2002:seq":
                items = cast("list[yaml.Node]", node.value)
                return [self.read(item, (*place, str(index))) for index, item in enumerate(items)]
            case yaml.ScalarNode():
                return self._scalar(node, place)
            case _:
                return self.source.fail(place, f"the tag {node.tag!r} is not allowed")

    def _mapping(self, node: yaml.MappingNode, place: Place) -> JsonValue:
        content: dict[str, JsonValue] = {}
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            mark = key.start_mark
            inner = (*place, str(key.value))
            where = f"{self._path}:{mark.line + 1}:{mark.column + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise MisconfiguredError(f"{where}: a key must be a word")
            if key.value in content:
                raise MisconfiguredError(f"{where}: the key {key.value!r} is there twice")
            self.source.marks.setdefault(inner, where)
            content[key.value] = self.read(value, inner)
        return content

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> JsonValue:
        if node.tag == "tag:yaml.org,2002:timestamp":
            return cast("str", node.value)
        if node.tag not in _SCALARS:
            self.source.fail(place, f"the tag {node.tag!r} is not allowed")
        try:
            value = cast(
                "JsonValue",
                self._scalars.construct_object(node),  # pyright: ignore[reportUnknownMemberType]
            )
        except (ValueError, KeyError, yaml.YAMLError) as error:
            self.source.fail(place, f"{node.value!r} is not valid here", cause=error)
        if isinstance(value, float) and not math.isfinite(value):
            self.source.fail(place, f"{node.value!r} is no finite number")
        return value


def substituted(source: Source, environment: Mapping[str, str]) -> JsonValue:
    """The values with `${NAME}` and `${NAME:-default}` put in; `$$` is a dollar sign.

    Keys stay as they are. Raises MisconfiguredError for a variable that is not set and has no default.
    """

    def variable(match: re.Match[str], place: Place) -> str:
        dollar, name, default = match.groups()
        if name is None:
            if not dollar and match.string.startswith("${", match.start()):
                source.fail(place, "write ${NAME} or ${NAME:-default}, and $$ for a dollar sign")
            return "$"
        if default is not None:
            return environment.get(name) or cast("str", default)
        if name not in environment:
            source.fail(place, f"the environment variable {name!r} is not set")
        return environment[name]

    def put_in(value: JsonValue, place: Place) -> JsonValue:
        if isinstance(value, dict):
            return {key: put_in(item, (*place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [put_in(item, (*place, str(index))) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value

        return _VARIABLE.sub(lambda match: variable(match, place), value)

    return put_in(source.value, ())


def write_yaml(value: JsonValue) -> str:
    """The YAML of a value, which `read_yaml` reads as the same value."""
    # escaped: PyYAML writes some line separators (U+0085) in a form that it reads as spaces
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=False)
