"""Rows of a bank's table that are no bookings: announced ones, and balances."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache

from docmill.reading.statements.cell_values import fold, words

_FIGURES = re.compile(r"\b(?:am|as of|at|au|al|al|del|do|du|of|on|op|per|vom|zum)?\s*\d[\d ]*\b")
"""The date that may stand with the name of a balance."""


class RowKind(Enum):
    """Kind of a row, told by its words."""

    BOOKING = "booking"
    NOT_BOOKED = "not_booked"
    OPENING = "opening_balance"
    CLOSING = "closing_balance"
    SOME_BALANCE = "some_balance"


def row_kind(cells: Mapping[int, str], texts: Iterable[int], parties: Iterable[int]) -> RowKind:
    """The kind of a row. texts: columns that describe the booking. parties: those of the other side."""
    names = set(parties)
    described = names | set(texts)
    named_cells = ((place, cell) for place, cell in cells.items() if cell.upper() != cell.lower())
    folded = {place: fold(cell) for place, cell in named_cells}
    if any(cell in words("pending") for place, cell in folded.items() if place not in names):
        return RowKind.NOT_BOOKED
    if any(cell in words("not_carried_out") for place, cell in folded.items() if place not in described):
        return RowKind.NOT_BOOKED
    has_party = any(folded.get(place) for place in names)
    named = {_balance_of(cell) for place, cell in folded.items() if place not in names}
    for kind in (RowKind.OPENING, RowKind.CLOSING):
        if kind in named:
            return kind
    return RowKind.SOME_BALANCE if RowKind.SOME_BALANCE in named and not has_party else RowKind.BOOKING


@lru_cache(maxsize=4096)
def _balance_of(cell: str) -> RowKind | None:
    name = _FIGURES.sub("", cell).strip()
    for kind in (RowKind.OPENING, RowKind.CLOSING, RowKind.SOME_BALANCE):
        if name in words(kind.value):
            return kind
    return None


def listed_rows(numbers: Sequence[int], most: int = 10) -> str:
    """Numbers of rows in a sentence: *row 3*, *rows 3 and 4*, *rows 3, 4, 5 and 12 more*."""
    shown = [str(number) for number in numbers[:most]]
    if len(numbers) > most:
        return f"rows {', '.join(shown)} and {len(numbers) - most} more"
    if len(shown) == 1:
        return f"row {shown[0]}"
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"
