"""Counts, prices and amounts of a page that fit each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import AnyCandidate, Candidates

_MOST = 160
"""Numbers of a document that are looked at, the first ones."""
_FEWEST = 3
_LEAST_DIGITS = 200.0
"""Least product, in times of its tolerance; a smaller one fits by chance."""
_CENT = 0.01

Place = tuple[int, int]
"""The index of a segment and the first character there."""


class PrintedProducts(NamedTuple):
    """The places of amounts that are products, of their counts, and of their prices."""

    products: frozenset[Place] = frozenset()
    counts: frozenset[Place] = frozenset()
    prices: frozenset[Place] = frozenset()


def place_of(candidate: AnyCandidate) -> Place:
    """The place at which a candidate begins."""
    return candidate.segment.index, candidate.start


@once
def printed_products(candidates: Candidates) -> PrintedProducts:
    """The numbers of a document of which one is the product of the others."""
    numbers = [number for number in candidates.numbers if abs(number.value) not in (0, 1)][:_MOST]
    if len(numbers) < _FEWEST:
        return PrintedProducts()
    values = np.array([abs(float(number.value)) for number in numbers])
    exponents = np.array([int(number.value.as_tuple().exponent) for number in numbers])
    rounding = np.where(exponents < 0, 0.5 * 10.0 ** np.minimum(exponents, 0), 0.0)
    # A whole number without a currency may be of a house, a page, a file: one of them fits by chance.
    may_be_price = ~((exponents >= 0) & np.array([number.plain for number in numbers]))
    totals = np.flatnonzero([number.form == "money" and not number.plain for number in numbers])
    order = np.argsort(values)
    wanted = values[totals][:, None] / values[None, :]
    nearest = order[np.clip(np.searchsorted(values[order], wanted * (1 - 1e-9)), 0, len(values) - 1)]
    nearest = _nearer(values, order, wanted, nearest)
    tolerance = values[nearest] * rounding[None, :] + _CENT / 2
    fits = np.abs(values[nearest] * values[None, :] - values[totals][:, None]) <= tolerance
    fits &= values[totals][:, None] >= _LEAST_DIGITS * tolerance
    fits &= may_be_price[None, :]
    same = np.abs(values[None, :] - values[totals][:, None]) < _CENT / 2
    fits &= ~same & (np.abs(values[nearest] - values[totals][:, None]) >= _CENT / 2)
    fits &= nearest != np.arange(len(values))[None, :]
    rows, prices = np.nonzero(fits)
    chosen = (totals[rows], nearest[rows, prices], prices)
    return PrintedProducts(*(frozenset(place_of(numbers[index]) for index in each) for each in chosen))


def _nearer(
    values: NDArray[np.float64], order: NDArray[np.intp], wanted: NDArray[np.float64], above: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The nearest value to each that is wanted: the one above it, or the one below that."""
    below = order[np.clip(np.searchsorted(values[order], wanted) - 1, 0, len(values) - 1)]
    return np.where(np.abs(values[below] - wanted) < np.abs(values[above] - wanted), below, above)
