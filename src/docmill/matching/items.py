"""Line items of two records, paired so that the pairs are as alike as possible."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from docmill.matching.evidence import ItemLevel
from docmill.matching.match_record import Item

LEAST_LIKENESS = 0.55
"""Below it two lines are of different items."""
_ALL, _MOST, _SOME = 0.99, 0.7, 0.3
_MOST_ITEMS = 400
_FIGURES = 0.15
"""What an equal price, and an equal quantity, add to the likeness of descriptions."""


_EQUALITIES: tuple[Callable[[Item], tuple[object, ...]], ...] = (
    lambda item: (item.key, item.unit_price, item.quantity),
    lambda item: (item.key, item.unit_price),
    lambda item: (item.key, item.quantity),
    lambda item: (item.key,),
)
"""What pairs items at once, the surest first."""


class ItemPair(NamedTuple):
    """Indices of the same item in two lists."""

    first: int
    second: int


def pair_items(first: Sequence[Item], second: Sequence[Item]) -> list[ItemPair]:
    """The pairs of the same items, by optimal assignment on descriptions, prices and quantities.

    Items with the same description are paired first; the rest by the assignment that maximises the sum of
    likenesses (Kuhn-Munkres).
    """
    first, second = first[:_MOST_ITEMS], second[:_MOST_ITEMS]
    pairs = _equal_pairs(first, second)
    left = sorted(set(range(len(first))) - {pair.first for pair in pairs})
    right = sorted(set(range(len(second))) - {pair.second for pair in pairs})
    if left and right:
        pairs.extend(_assigned(first, second, left, right))
    return sorted(pairs)


def compare_items(first: Sequence[Item], second: Sequence[Item]) -> ItemLevel:
    """The share of the shorter list that has a pair in the other."""
    if not any(item.key for item in first) or not any(item.key for item in second):
        return ItemLevel.UNKNOWN
    pairs = pair_items(first, second)
    share = len(pairs) / min(len(first), len(second), _MOST_ITEMS)
    if share >= _ALL:
        is_exact = len(first) == len(second) and all(
            first[pair.first].quantity is not None
            and first[pair.first].quantity == second[pair.second].quantity
            for pair in pairs
        )
        return ItemLevel.EXACT if is_exact else ItemLevel.ALL
    return ItemLevel.MOST if share >= _MOST else ItemLevel.SOME if share >= _SOME else ItemLevel.NONE


def _equal_pairs(first: Sequence[Item], second: Sequence[Item]) -> list[ItemPair]:
    """Pairs of items with the same description: those whose figures agree as well come first.

    Goods often differ by a number alone (`Room 101`, `Room 107`), so that no equal figure outweighs it.
    """
    pairs: list[ItemPair] = []
    for key_of in _EQUALITIES:
        left = sorted(set(range(len(first))) - {pair.first for pair in pairs})
        waiting: dict[tuple[object, ...], list[int]] = {}
        for index in sorted(set(range(len(second))) - {pair.second for pair in pairs}):
            if second[index].key:
                waiting.setdefault(key_of(second[index]), []).append(index)
        pairs.extend(
            ItemPair(index, same.pop(0)) for index in left if (same := waiting.get(key_of(first[index])))
        )
    return pairs


def _assigned(
    first: Sequence[Item], second: Sequence[Item], left: list[int], right: list[int]
) -> list[ItemPair]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  slow to load

    likeness = _likeness([first[index].key for index in left], [second[index].key for index in right])
    for row, index in enumerate(left):
        for column, other in enumerate(right):
            one, two = first[index], second[other]
            if one.unit_price is not None and one.unit_price == two.unit_price:
                likeness[row, column] += _FIGURES
            if one.quantity is not None and one.quantity == two.quantity:
                likeness[row, column] += _FIGURES
    rows, columns = linear_sum_assignment(likeness, maximize=True)
    return [
        ItemPair(left[row], right[column])
        for row, column in zip(rows, columns, strict=True)
        if likeness[row, column] >= LEAST_LIKENESS and first[left[row]].key and second[right[column]].key
    ]


def _likeness(keys: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """The likeness of each key to each other one, in any order of words, in [0, 1]."""
    return np.asarray(process.cdist(keys, others, scorer=fuzz.token_sort_ratio), np.float64) / 100
