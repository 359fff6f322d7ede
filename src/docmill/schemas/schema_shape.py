"""Validation of a JSON Schema's structure, with messages for its author."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from docmill.errors import MisconfiguredError

JsonSchema = Mapping[str, Any]

_WITHIN = ("anyOf", "oneOf", "allOf")
_TEXTS = ("description", "format", "$ref")
_DEFINITIONS = ("$defs", "definitions")


def checked(schema: JsonSchema) -> None:
    """Raises MisconfiguredError, which names the place, for what is no JSON Schema that can be read."""
    waiting: list[tuple[str, object]] = [("the schema", schema)]
    known = {f"#/{table}/{name}" for table in _DEFINITIONS for name in _members(schema, table, "the schema")}
    while waiting:  # and no recursion: it may be as deep as it likes
        where, node = waiting.pop()
        if not isinstance(node, Mapping):
            raise MisconfiguredError(f'{where} must be an object, such as {{"type": "string"}}')
        node = cast("JsonSchema", node)
        _check_words(node, where, known)
        waiting += _inner(node, where)
    _check_circles(schema)


def _check_words(node: JsonSchema, where: str, known: set[str]) -> None:
    for key in _TEXTS:
        if not isinstance(node.get(key, ""), str):
            raise MisconfiguredError(f"{key!r} of {where} must be a text")
    reference = node.get("$ref")
    if reference is not None and reference not in known:
        raise MisconfiguredError(f"{where} refers to {reference!r}, which is not in its $defs")
    kinds = node.get("type", "string")
    if not isinstance(kinds, str) and not _is_texts(kinds):
        raise MisconfiguredError(f"the type of {where} must be a name, or a list of names")
    if not _is_texts(node.get("required", [])):
        raise MisconfiguredError(f"'required' of {where} must be a list of names")
    if not isinstance(node.get("enum", []), list | tuple):
        raise MisconfiguredError(f"'enum' of {where} must be a list of values")


def _inner(node: JsonSchema, where: str) -> Iterator[tuple[str, object]]:
    """The schemas that stand in it."""
    for name, child in _members(node, "properties", where).items():
        if not name or set("[].") & set(name):
            raise MisconfiguredError(
                f"a value cannot be called {name!r}: names have letters, and no points and brackets"
            )
        yield repr(name), child
    if "items" in node:
        yield f"'items' of {where}", node["items"]
    for key in _WITHIN:
        options = node.get(key, [])
        if not isinstance(options, list | tuple):
            raise MisconfiguredError(f"{key!r} of {where} must be a list")
        yield from ((f"{key!r} of {where}", option) for option in cast("Sequence[object]", options))
    for table in _DEFINITIONS:
        yield from ((repr(name), child) for name, child in _members(node, table, where).items())


def _members(node: JsonSchema, key: str, where: str) -> Mapping[str, object]:
    found = node.get(key, {})
    if not isinstance(found, Mapping):
        raise MisconfiguredError(f"{key!r} of {where} must be an object")
    return cast("Mapping[str, object]", found)


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, str) for one in cast("Sequence[object]", value)
    )


def _check_circles(schema: JsonSchema) -> None:
    """A definition may hold itself, as a tree does, but may not be itself."""
    definitions: dict[str, JsonSchema] = {}
    for table in _DEFINITIONS:
        definitions.update(schema.get(table, {}))
    meant = {name: set(_same_as(node)) for name, node in definitions.items()}
    for start, others in meant.items():
        seen, ahead = set[str](), set(others)
        while ahead:
            name = ahead.pop()
            if name == start:
                raise MisconfiguredError(f"{start!r} in the schema's $defs refers to itself and says nothing")
            if name not in seen:
                seen.add(name)
                ahead |= meant.get(name, set())


def _same_as(node: JsonSchema) -> Iterator[str]:
    """The definitions that a schema is, and not those that it holds."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if "$ref" in one:
            yield one["$ref"].rpartition("/")[2]
        waiting += [option for key in _WITHIN for option in one.get(key, ())]
