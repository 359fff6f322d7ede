"""Field paths, such as `seller.name` and `lines[0].net_amount`, and the values at them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from docmill.model.document import letters_and_digits

_INDEX = re.compile(r"\[\d+\]")


def steps_of(path: str) -> list[str | int]:
    """The names and indices of a path, in order."""
    return [int(step) if step.isdecimal() else step for step in re.split(r"[.\[]", path.replace("]", ""))]


def path_of(steps: Sequence[str | int]) -> str:
    """The path of names and indices."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def without_indices(path: str) -> str:
    """The path of the schema's field: `lines[].net_amount` for `lines[0].net_amount`."""
    return _INDEX.sub("[]", path)


def value_at(data: object, path: str) -> Any:  # noqa: ANN401 - JSON
    """The value at a path; None if there is none."""
    node = data
    for step in steps_of(path):
        if isinstance(node, Mapping):
            node = cast("Mapping[str, object]", node).get(str(step))
        elif (
            isinstance(node, list | tuple)
            and isinstance(step, int)
            and step < len(cast("Sequence[object]", node))
        ):
            node = cast("Sequence[object]", node)[step]
        else:
            return None
    return node


def set_value(data: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a path, in place, creating the objects and list items that it goes through."""
    _with_value(data, steps_of(path), value)


def _with_value(node: Any, steps: Sequence[str | int], value: object) -> Any:  # noqa: ANN401 - JSON
    """The node with the value below it: changed in place if it is of the kind that the first step needs."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(step, int):
        items: list[Any] = []
        if isinstance(node, list | tuple):  # a tuple, as models have them, becomes a list
            items = cast("list[Any]", node) if isinstance(node, list) else list(cast("Sequence[Any]", node))
        items.extend({} if rest else None for _ in range(len(items), step + 1))
        items[step] = _with_value(items[step], rest, value)
        return items
    members: dict[str, Any] = cast("dict[str, Any]", node) if isinstance(node, dict) else {}
    members[step] = _with_value(members.get(step), rest, value)
    return members


def leaves(data: object, path: str = "") -> Iterator[tuple[str, object]]:
    """The path and value of everything that is not null.

    Of a model only the fields that were set: a default of a user's schema is no value that was read.
    """
    if isinstance(data, BaseModel):
        names = data.model_fields_set
        data = {name: getattr(data, name) for name in type(data).model_fields if name in names}
    if isinstance(data, Mapping):
        for name, value in cast("Mapping[str, object]", data).items():
            yield from leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(data, list | tuple | set | frozenset):
        for index, value in enumerate(cast("Sequence[object]", data)):
            yield from leaves(value, f"{path}[{index}]")
    elif data is not None:
        yield path, data


def comparison_key(value: Any) -> Any:  # noqa: ANN401 - any value of a field
    """A key that is equal for equal values: texts by their letters and digits, others as they are."""
    return letters_and_digits(value) if isinstance(value, str) else value


def is_same_value(value: object, other: object) -> bool:
    """Return whether two values are equal, texts by their letters and digits."""
    return bool(comparison_key(value) == comparison_key(other))
