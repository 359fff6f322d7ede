"""The values of a document compared with the true ones, each by itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from docmill.evaluation.values import HEADLINE, Tier, agreement
from docmill.schemas.outline import Kind

_TIE = 0.01
"""Weight of a lower tier beside a correct value: it decides between items that agree equally."""


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """A value of the truth, of what was read, or of both. A null true value means that the page has none.

    field: its path without places in lists: `lines[].net_amount`. path: of the value that was read, as in
    evidence; None if none was. tiers: at which it is correct.
    """

    field: str
    true: str | None
    read: str | None
    path: str | None = None
    tiers: tuple[Tier, ...] = ()

    @property
    def is_right(self) -> bool:
        """True if it counts as correct."""
        return HEADLINE in self.tiers


@dataclass(frozen=True, slots=True)
class Judge:
    """Comparison of values by their kinds in a schema.

    kinds: by field. labelled: the fields that the truth of any document names; in an item of a list that the
    truth does not have, only these are judged.
    """

    kinds: Mapping[str, Kind]
    labelled: frozenset[str]
    month_first: bool = False

    def cells(self, true: Mapping[str, Any], read: Mapping[str, Any]) -> list[JudgedValue]:
        """All values that the document's truth names, and those read where it says that there is none.

        true: nested as the schema. Fields that the truth does not name are not judged.
        """
        return list(self._judge_value(true, read, "", ""))

    def _judge_value(self, true: object, read: object, field: str, path: str) -> Iterator[JudgedValue]:
        if isinstance(true, Mapping):
            members: Mapping[str, Any] = cast("Mapping[str, Any]", read) if isinstance(read, Mapping) else {}
            for name, value in cast("Mapping[str, Any]", true).items():
                member = _member(members, name)
                yield from self._judge_value(value, member, _join(field, name), _join(path, name))
        elif isinstance(true, list) or (true is None and isinstance(read, list)):
            items: list[Any] = cast("list[Any]", read) if isinstance(read, list) else []
            yield from self._judge_items(cast("list[Any]", true or []), items, f"{field}[]", path)
        elif true is None and isinstance(read, Mapping):
            yield from self._judge_surplus(cast("Mapping[str, Any]", read), field, path)
        else:
            yield from self._judge_leaf(true, read, field, path)

    def _judge_leaf(self, true: object, read: object, field: str, path: str) -> Iterator[JudgedValue]:
        true_text, read_text = text_of(true), text_of(read)
        if read_text is None:
            if true_text is not None:
                yield JudgedValue(field, true_text, None)
            return
        tiers: tuple[Tier, ...] = ()
        if true_text is not None:
            kind = self.kinds.get(field, "text")
            tiers = agreement(read_text, true_text, kind, month_first=self.month_first)
        yield JudgedValue(field, true_text, read_text, path, tiers)

    def _judge_items(
        self, true: Sequence[Any], read: Sequence[Any], field: str, path: str
    ) -> Iterator[JudgedValue]:
        """Items in pairs so that most values are correct; an item without partner is missing or surplus."""
        gains = np.zeros((len(true), len(read)))
        for row, item in enumerate(true):
            for column, other in enumerate(read):
                cells = list(self._judge_value(item, other, field, path))
                gains[row, column] = sum(cell.is_right + _TIE * len(cell.tiers) for cell in cells)
        pairs = (
            {row: column for row, column in best_pairs(gains) if gains[row, column] > 0} if gains.size else {}
        )
        for index, item in enumerate(true):
            if index in pairs:
                yield from self._judge_value(item, read[pairs[index]], field, f"{path}[{pairs[index]}]")
            else:
                yield from self._judge_value(item, None, field, path)
        for index in sorted(set(range(len(read))) - set(pairs.values())):
            yield from self._judge_surplus(read[index], field, f"{path}[{index}]")

    def _judge_surplus(self, read: object, field: str, path: str) -> Iterator[JudgedValue]:
        """Values that were read where the truth has none."""
        if isinstance(read, Mapping):
            for name, value in cast("Mapping[str, Any]", read).items():
                yield from self._judge_surplus(value, _join(field, name), _join(path, name))
        elif isinstance(read, list):
            for index, value in enumerate(cast("list[Any]", read)):
                yield from self._judge_surplus(value, f"{field}[]", f"{path}[{index}]")
        elif field in self.labelled:
            yield from self._judge_leaf(None, read, field, path)


def leaf_fields(data: object, field: str = "") -> frozenset[str]:
    """The fields that some data names: `seller.name`, `lines[].net_amount`, `lines[]` of an empty list."""
    if isinstance(data, Mapping):
        members = cast("Mapping[str, Any]", data).items()
        return frozenset[str]().union(*(leaf_fields(value, _join(field, name)) for name, value in members))
    if isinstance(data, list) and data:
        items = cast("list[Any]", data)
        return frozenset[str]().union(*(leaf_fields(item, f"{field}[]") for item in items))
    return frozenset({f"{field}[]" if isinstance(data, list) else field})


def text_of(value: object) -> str | None:
    """A value as JSON has it, as text; None if it is empty."""
    if value is None:
        return None
    text = ("true" if value else "false") if isinstance(value, bool) else str(value).strip()
    return text or None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _member(data: Mapping[str, Any], name: str) -> object:
    """The member of this name, also of one in a member: `seller.name`."""
    if name in data:
        return data[name]
    head, _, rest = name.partition(".")
    inner: object = data.get(head)
    return _member(cast("Mapping[str, Any]", inner), rest) if rest and isinstance(inner, Mapping) else None


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
