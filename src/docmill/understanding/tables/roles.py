"""The roles of a table's columns of numbers, by their headings, their cells and arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from docmill.understanding.tables.grid import Grid
from docmill.understanding.tables.headings import FIGURES
from docmill.understanding.tables.printed_lines import Figure
from docmill.understanding.text.money import CENT
from docmill.understanding.vocabulary import Column

_HALF = Decimal("0.5")
_SAID = 3.0
_ONLY = 0.5
"""More, if the heading can mean nothing else."""
_UNSAID = -0.5
_AGREES = 5.0
"""Quantity times price is the amount, in all rows."""
_DISAGREES = 0.3
"""Penalty for a row in which they do not agree; it may contain a discount or a tax."""
_SUMS_UP = 3.0
"""The amounts make a sum that is printed."""
_HIGHEST_RATE = 50
_MOST_OPTIONS = 6
"""Columns that are tried for each kind of number."""
_MOST_COMPARED = 40
"""Rows that are reckoned; the first tell as much as all."""

_OF_NUMBERS = frozenset(
    {
        *FIGURES,
        Column.DISCOUNT,
        Column.TAX_RATE,
        Column.TAX_AMOUNT,
        Column.POSITION,
        Column.DATE,
        Column.VALUE_DATE,
    }
)
"""A column said to hold one of these holds no other number."""

Cells = Sequence[Figure | None]


@dataclass(frozen=True, slots=True)
class Roles:
    """The column of each kind of number; None where a table has none. agreed: by arithmetic, of the rows."""

    quantity: int | None
    unit_price: int | None
    amount: int | None
    discount: int | None
    score: float


def roles(grid: Grid, columns: Sequence[Cells], printed: frozenset[Decimal]) -> Roles:
    """The best assignment. columns: of each column the numbers, by row. printed: amounts elsewhere."""
    numeric = [
        index
        for index, cells in enumerate(columns)
        if index != grid.text and sum(cell is not None for cell in cells) >= max(1.0, 0.3 * len(cells))
    ]
    quantities = _options(grid, numeric, Column.QUANTITY)
    prices = _options(grid, numeric, Column.UNIT_PRICE)
    amounts = [
        *_options(grid, numeric, Column.NET_AMOUNT),
        *((index, score - 1.0) for index, score in _options(grid, numeric, Column.GROSS_AMOUNT)[:-1]),
    ]
    discount = next((i for i in numeric if Column.DISCOUNT in grid.headings[i].meanings), None)
    best = Roles(None, None, None, discount, 0.0)
    sums = {
        index: sum((cell.value for cell in columns[index] if cell is not None), Decimal(0))
        for index in numeric
    }
    for (quantity, q_score), (price, p_score), (amount, a_score) in product(quantities, prices, amounts):
        chosen = [index for index in (quantity, price, amount) if index is not None]
        if len(set(chosen)) < len(chosen):
            continue
        score = q_score + p_score + a_score
        if quantity is not None and price is not None and amount is not None:
            rebate = columns[discount] if discount is not None else [None] * len(columns[amount])
            score += _AGREES * _agreement(columns[quantity], columns[price], columns[amount], rebate)
        if amount is not None and sums[amount] in printed:
            score += _SUMS_UP
        if score > best.score:
            best = Roles(quantity, price, amount, discount, score)
    return best


def _options(grid: Grid, numeric: Sequence[int], role: Column) -> list[tuple[int | None, float]]:
    """Columns that can have a role with the score of their headings; none at all last."""
    options: list[tuple[int | None, float]] = []
    for index in numeric:
        meanings = grid.headings[index].meanings
        if role in meanings:
            options.append((index, _SAID + _ONLY * (len(meanings) == 1)))
        elif meanings.isdisjoint(_OF_NUMBERS):
            options.append((index, _UNSAID))
    options.sort(key=lambda option: -option[1])
    return [*options[:_MOST_OPTIONS], (None, 0.0)]


def _agreement(quantities: Cells, prices: Cells, amounts: Cells, rebates: Cells) -> float:
    """The share of rows in which they agree, less a part of those in which they do not."""
    rows = [
        row
        for row in list(zip(quantities, prices, amounts, rebates, strict=True))[:_MOST_COMPARED]
        if row[0] is not None and row[1] is not None and row[2] is not None
    ]
    if not rows:
        return 0.0
    right = sum(agreeing(*row) is not None for row in rows)
    return (right - _DISAGREES * (len(rows) - right)) / min(len(amounts), _MOST_COMPARED)


def agreeing(
    quantity: Figure | None, price: Figure | None, amount: Figure | None, discount: Figure | None
) -> tuple[Decimal, Decimal, Decimal] | None:
    """The readings with which quantity times price, less discount, is the amount; None if none."""
    if quantity is None or price is None or amount is None:
        return None
    reductions = [(Decimal(1), Decimal(0))]
    if discount is not None:  # by per cent, or by an amount
        reductions += [(1 - abs(discount.value) / 100, Decimal(0)), (Decimal(1), discount.value)]
    for q, p, a in product(quantity.readings, price.readings, amount.readings):
        allowed = CENT / 2 * max(Decimal(1), abs(q)) + CENT
        for factor, less in reductions:
            if abs(abs(q * p * factor) - abs(less) - abs(a)) <= allowed:
                return q, p, a
    return None


def rate_column(grid: Grid, columns: Sequence[Cells], taken: Sequence[int | None]) -> int | None:
    """The column of rates of tax: by its heading, or of per cent without a known heading."""
    for index, cells in enumerate(columns):
        meanings = grid.headings[index].meanings
        numbers = [cell for cell in cells if cell is not None]
        if index in taken or not numbers or index == grid.text:
            continue
        is_percent = all(cell.percent for cell in numbers)
        may_be_rates = all(0 <= cell.value <= _HIGHEST_RATE and not cell.money for cell in numbers)
        # Amounts of tax are neither whole nor halves, as rates are.
        is_tax_amount = Column.TAX_AMOUNT in meanings and any(cell.value % _HALF for cell in numbers)
        if not may_be_rates or (is_tax_amount and not is_percent):
            continue
        if Column.TAX_RATE in meanings or (is_percent and not meanings):
            return index
    return None
