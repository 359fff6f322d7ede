"""One document's values beside the true ones, each judged by itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from docmill.evaluation.values import HEADLINE, Tier, agreement
from docmill.schemas.outline import Kind

_TIE = 0.01
"""What likeness is worth beside a value that is right: it decides between items that agree equally."""


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """A value that is true, read, or both. A null true value says that the page has none.

    field: its path without places in lists: `lines[].net_amount`. path: where it stands in what was read, as
    in evidence; None for one that was not read. tiers: at which it is right.
    """

    field: str
    true: str | None
    said: str | None
    path: str | None = None
    tiers: tuple[Tier, ...] = ()

    @property
    def is_right(self) -> bool:
        """True if it counts as right."""
        return HEADLINE in self.tiers


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares by the kinds of a schema's values.

    kinds: by field. labelled: the fields that the truth speaks of in any document; those alone are judged
    in a list's item that the truth does not have.
    """

    kinds: Mapping[str, Kind]
    labelled: frozenset[str]
    month_first: bool = False

    def cells(self, true: Mapping[str, Any], said: Mapping[str, Any]) -> list[JudgedValue]:
        """Every value that the document's truth names, and what was read where it says that there is none.

        true: nested as the schema. What the truth does not name is not judged.
        """
        return list(self._members(true, said, "", ""))

    def _members(
        self, true: Mapping[str, Any], said: Mapping[str, Any], field: str, path: str
    ) -> Iterator[JudgedValue]:
        for name, value in true.items():
            found = _within(said, name)
            yield from self._value(value, found, _below(field, name), _below(path, name))

    def _value(self, true: object, said: object, field: str, path: str) -> Iterator[JudgedValue]:
        if isinstance(true, Mapping):
            members: Mapping[str, Any] = cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else {}
            yield from self._members(cast("Mapping[str, Any]", true), members, field, path)
        elif isinstance(true, list) or (true is None and isinstance(said, list)):
            found: list[Any] = cast("list[Any]", said) if isinstance(said, list) else []
            yield from self._items(cast("list[Any]", true or []), found, f"{field}[]", path)
        elif true is None and isinstance(said, Mapping):
            yield from self._surplus(cast("Mapping[str, Any]", said), field, path)
        else:
            yield from self._leaf(true, said, field, path)

    def _leaf(self, true: object, said: object, field: str, path: str) -> Iterator[JudgedValue]:
        wanted, found = text_of(true), text_of(said)
        if wanted is None and found is None:
            return
        tiers: tuple[Tier, ...] = ()
        if wanted is not None and found is not None:
            tiers = agreement(found, wanted, self.kinds.get(field, "text"), month_first=self.month_first)
        yield JudgedValue(field, wanted, found, None if found is None else path, tiers)

    def _items(
        self, true: Sequence[Any], said: Sequence[Any], field: str, path: str
    ) -> Iterator[JudgedValue]:
        """Items in pairs so that most values are right; what has no partner is missing or too much."""
        pairs = {} if not true or not said else self._pairs(true, said, field, path)
        for index, item in enumerate(true):
            if index in pairs:
                yield from self._value(item, said[pairs[index]], field, f"{path}[{pairs[index]}]")
            else:
                yield from self._value(item, None, field, path)
        for index in sorted(set(range(len(said))) - set(pairs.values())):
            yield from self._surplus(said[index], field, f"{path}[{index}]")

    def _pairs(self, true: Sequence[Any], said: Sequence[Any], field: str, path: str) -> dict[int, int]:
        worth = np.zeros((len(true), len(said)))
        for row, item in enumerate(true):
            for column, found in enumerate(said):
                cells = list(self._value(item, found, field, path))
                worth[row, column] = sum(cell.is_right + _TIE * len(cell.tiers) for cell in cells)
        return {row: column for row, column in best_pairs(worth) if worth[row, column] > 0}

    def _surplus(self, said: object, field: str, path: str) -> Iterator[JudgedValue]:
        """Values that were read where the truth has none."""
        if isinstance(said, Mapping):
            for name, value in cast("Mapping[str, Any]", said).items():
                yield from self._surplus(value, _below(field, name), _below(path, name))
        elif isinstance(said, list):
            for index, value in enumerate(cast("list[Any]", said)):
                yield from self._surplus(value, f"{field}[]", f"{path}[{index}]")
        elif field in self.labelled:
            yield from self._leaf(None, said, field, path)


def leaf_fields(data: Mapping[str, Any]) -> frozenset[str]:
    """The fields that some data names: `seller.name`, `lines[].net_amount`."""
    return frozenset(_named(data, ""))


def _named(value: object, field: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, member in cast("Mapping[str, Any]", value).items():
            yield from _named(member, _below(field, name))
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _named(item, f"{field}[]")
        if not value:
            yield f"{field}[]"
    else:
        yield field


def text_of(value: object) -> str | None:
    """A value as JSON has it, as text; nothing for one that is empty."""
    if value is None:
        return None
    text = ("true" if value else "false") if isinstance(value, bool) else str(value).strip()
    return text or None


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _within(said: Mapping[str, Any], name: str) -> object:
    """The member; `seller.name` may be written in one word."""
    if name in said:
        return said[name]
    head, _, rest = name.partition(".")
    inner: object = said.get(head)
    return _within(cast("Mapping[str, Any]", inner), rest) if rest and isinstance(inner, Mapping) else None


def best_pairs(worth: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of row and column, no two of a row or column, with the greatest sum (Kuhn and Munkres).

    Shortest augmenting paths over potentials, one row after the other: O(n^3).
    """
    if worth.shape[0] > worth.shape[1]:
        return [(row, column) for column, row in best_pairs(worth.T)]
    cost = worth.max(initial=0) - worth
    rows, columns = cost.shape
    row_potential, column_potential = np.zeros(rows + 1), np.zeros(columns + 1)
    owner = np.zeros(columns + 1, np.intp)  # of each column its row, from 1; 0 is none
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, before = np.full(columns + 1, np.inf), np.zeros(columns + 1, np.intp)
        used = np.zeros(columns + 1, np.bool_)
        while owner[column]:
            used[column] = True
            reduced = cost[owner[column] - 1] - row_potential[owner[column]] - column_potential[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better], before[1:][better] = reduced[better], column
            following = int(np.argmin(np.where(used, np.inf, least)[1:])) + 1
            step = least[following]
            np.add.at(row_potential, owner[used], step)
            column_potential[used] -= step
            least[~used] -= step
            column = following
        while column:
            owner[column] = owner[before[column]]
            column = int(before[column])
    return [(int(owner[column]) - 1, column - 1) for column in range(1, columns + 1) if owner[column]]
