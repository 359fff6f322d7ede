"""Rows that a person took out of a list.

A removed row stays as `{}`, so that the other rows keep their numbers, by which reviews name them. The checks
see the rows that are left, and count them without gaps.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from docmill.model.result import Failure

Value = TypeVar("Value")

ROW = re.compile(r"(?P<list>\w+)\[(?P<index>\d+)\]")
"""The path of a row of a list."""


@dataclass(frozen=True, slots=True)
class RowsLeft:
    """Values without the removed rows. numbers: the path of each row that is left, by the one it had."""

    data: dict[str, Any]
    numbers: Mapping[str, str]

    @classmethod
    def of(cls, data: Mapping[str, Any] | None) -> "RowsLeft":
        """The values without removed rows."""
        left = dict(data or {})
        numbers: dict[str, str] = {}
        for name, rows in left.items():
            if not isinstance(rows, list) or {} not in rows:
                continue
            items = cast("list[Any]", rows)
            kept = [index for index, row in enumerate(items) if row != {}]
            left[name] = [items[index] for index in kept]
            numbers |= {f"{name}[{index}]": f"{name}[{new}]" for new, index in enumerate(kept)}
        return cls(left, numbers)

    def renumbered(self, by_path: Mapping[str, Value]) -> dict[str, Value]:
        """The same by the paths of the rows that are left."""
        return {_replaced(path, self.numbers): value for path, value in by_path.items()}

    def renumber_failures(self, failures: Iterable[Failure]) -> tuple[Failure, ...]:
        """The failures by the paths of the rows that are left."""
        return tuple(_with_fields(failure, self.numbers) for failure in failures)

    def restore(self, failures: Iterable[Failure]) -> tuple[Failure, ...]:
        """The failures by the paths that the rows have in the document."""
        before = {new: old for old, new in self.numbers.items()}
        return tuple(_with_fields(failure, before) for failure in failures)


def _with_fields(failure: Failure, numbers: Mapping[str, str]) -> Failure:
    fields = tuple(_replaced(path, numbers) for path in failure.fields)
    return failure if fields == failure.fields else failure.model_copy(update={"fields": fields})


def _replaced(path: str, numbers: Mapping[str, str]) -> str:
    row = ROW.match(path)
    return numbers[row[0]] + path[row.end() :] if row and row[0] in numbers else path
