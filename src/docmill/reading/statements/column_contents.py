"""The columns of a bank's table whose headings are not known, found by what they hold."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise, permutations
from typing import NamedTuple

from docmill.model.statement_columns import DecimalMark
from docmill.reading.statements.booking_rows import CURRENCIES, cell_at
from docmill.reading.statements.cell_values import (
    fold,
    read_date,
    usual_decimal_mark,
    words,
    written_amount,
)
from docmill.reading.statements.directions import find_sides
from docmill.reading.statements.parsed import find_iban

_MOST_ROWS = 200
"""Rows that are looked at: more prove nothing more."""
_MOST_NUMBERS = 12
"""Columns of numbers of which some may be amounts."""
_LEAST_BOOKINGS = 3
_MOSTLY = 0.8
_LEAST_PROVED = 0.5
"""Share of the rows that balances must lead to; the others have cells that cannot be read."""
_TEXTS = ("counterparty", "payer", "payee", "reference", "description", "kind")


class FoundColumns(NamedTuple):
    """Columns found by their contents.

    start: index of the row before the first booking; -1 if there is none. places: the columns of each
    meaning. is_named: whether that row names the columns.
    """

    start: int
    places: dict[str, list[int]]
    is_named: bool


class _Sums(NamedTuple):
    """The columns of the amounts, and of the balance that they lead to."""

    amounts: Mapping[str, int]
    balance: int


def find_by_contents(
    rows: Sequence[tuple[str, ...]], meanings: Mapping[int, Mapping[str, Sequence[int]]]
) -> FoundColumns | None:
    """The columns of bookings whose amounts lead from each balance to the next; None if nothing proves them.

    meanings: the columns that are known by their headings, of each of the first rows.
    """
    width = max(map(len, rows), default=0)
    day = _column_of_days(rows, width)
    if day is None:
        return None
    dated = [index for index, row in enumerate(rows) if is_day(cell_at(row, day))][:_MOST_ROWS]
    start, body = dated[0] - 1, [rows[index] for index in dated]
    numbers = [
        place
        for place in range(width)
        if place != day and _has_numbers([cell_at(row, place) for row in body])
    ][:_MOST_NUMBERS]
    sums = _find_sums(body, numbers)
    if sums is None:
        return None
    headings = rows[start] if start >= 0 else ()
    named = meanings.get(start, {})
    places = {"date": [day], "balance": [sums.balance]}
    places.update({name: [place] for name, place in sums.amounts.items()})
    _add_texts(places, body, headings, named, set(range(width)) - set(numbers))
    if not any(name in places for name in _TEXTS):
        return None
    is_named = all(cell_at(headings, place) for place in (day, sums.balance, *sums.amounts.values()))
    return FoundColumns(start, places, is_named)


def is_day(cell: str) -> bool:
    """True for a date in any order."""
    return read_date(cell, "dmy") is not None or read_date(cell, "mdy") is not None


def _column_of_days(rows: Sequence[Sequence[str]], width: int) -> int | None:
    """The first column that holds days, from the first one on."""
    for place in range(width):
        cells = [cell_at(row, place) for row in rows]
        first = next((index for index, cell in enumerate(cells) if is_day(cell)), len(cells))
        filled = [cell for cell in cells[first:] if cell]
        count = sum(map(is_day, filled))
        if count >= _LEAST_BOOKINGS and count >= _MOSTLY * len(filled):
            return place
    return None


def _has_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    count = sum(not is_day(cell) and written_amount(cell, CURRENCIES) is not None for cell in filled)
    return count > 0 and count >= _LEAST_PROVED * len(filled)


def _find_sums(rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> _Sums | None:
    """The columns whose amounts lead from each balance to the next."""
    cells = [cell_at(row, place) for row in rows for place in numbers]
    mark = usual_decimal_mark([each for cell in cells if (each := written_amount(cell, CURRENCIES))])
    if mark is None:
        return None
    values = {place: [_value(cell_at(row, place), mark) for row in rows] for place in numbers}
    for balance, *places in (*permutations(numbers, 2), *permutations(numbers, 3)):
        amounts = _changes([values[place] for place in places])
        if amounts is not None and _are_proved(amounts, values[balance], is_split=len(places) > 1):
            names = ("amount",) if len(places) == 1 else ("debit", "credit")
            return _Sums(dict(zip(names, places, strict=True)), balance)
    return None


def _value(cell: str, mark: DecimalMark) -> Decimal | None:
    written = written_amount(cell, CURRENCIES)
    return written.value(mark) if written is not None else None


def _changes(columns: Sequence[Sequence[Decimal | None]]) -> list[Decimal | None] | None:
    """The change of the balance that each row states: by an amount, or by a debit and a credit apart.

    None if rows have both, or a column of the two has nothing.
    """
    if len(columns) == 1:
        return list(columns[0])
    if any(not any(column) for column in columns) or any(
        debit and credit for debit, credit in zip(*columns, strict=True)
    ):
        return None
    return [
        abs(credit) if credit else -abs(debit) if debit else None
        for debit, credit in zip(*columns, strict=True)
    ]


def _are_proved(
    amounts: Sequence[Decimal | None], balances: Sequence[Decimal | None], *, is_split: bool
) -> bool:
    """True if the balances follow from the amounts, whose signs may be missing unless they are split.

    Whole numbers may be pieces in stock, and a sum that grows from nothing is none of an account.
    """
    known = [number for number in (*amounts, *balances) if number is not None]
    if all(number == number.to_integral_value() for number in known):
        return False
    for order in (range(len(amounts)), range(len(amounts) - 1, -1, -1)):
        steps = list(_steps(amounts, balances, order))
        if len(steps) < max(_LEAST_BOOKINGS - 1, _LEAST_PROVED * (len(amounts) - 1)):
            continue
        if not all(
            change == amount or (not is_split and abs(change) == abs(amount)) for change, amount in steps
        ):
            continue
        first_amount, first_balance = amounts[order[0]], balances[order[0]]
        is_sum = all(change > 0 for change, _ in steps) and first_amount == first_balance
        return not is_sum and any(change for change, _ in steps)
    return False


def _steps(
    amounts: Sequence[Decimal | None], balances: Sequence[Decimal | None], order: Sequence[int]
) -> Iterator[tuple[Decimal, Decimal]]:
    """The difference between neighbouring balances, with the amount that should be it."""
    for before, after in pairwise(order):
        earlier, later, amount = balances[before], balances[after], amounts[after]
        if earlier is not None and later is not None and amount is not None:
            yield later - earlier, amount


def _add_texts(
    places: dict[str, list[int]],
    rows: Sequence[Sequence[str]],
    headings: Sequence[str],
    named: Mapping[str, Sequence[int]],
    unused: set[int],
) -> None:
    """Add the columns of texts: as their headings say, or else by what they hold."""
    by_place = {place: name for name, each in named.items() for place in each}
    taken = {place for each in places.values() for place in each}
    for place in sorted(unused - taken):
        filled = [cell for row in rows if (cell := cell_at(row, place))]
        name = by_place.get(place)
        if not filled or name in (
            "date",
            "booking_date",
            "value_date",
            "amount",
            "debit",
            "credit",
            "balance",
        ):
            continue
        if name is None:
            name = _meaning_by_contents(filled, cell_at(headings, place))
        if name is not None:
            places.setdefault(name, []).append(place)


def _meaning_by_contents(filled: Sequence[str], heading: str) -> str | None:
    """The meaning of a column of texts; None for one that describes nothing."""
    if all(cell.upper() in CURRENCIES for cell in filled):
        return "currency"
    if sum(find_iban(cell) is not None for cell in filled) >= _MOSTLY * len(filled):
        return "account" if len(filled) > 1 and len(set(filled)) == 1 else "iban"
    if find_sides(filled, heading) is not None:
        return "indicator"
    has_letters = any(cell.upper() != cell.lower() for cell in filled)
    is_state = all(fold(cell) in words("pending") for cell in filled)
    return "description" if has_letters and not is_state and not all(map(is_day, filled)) else None
