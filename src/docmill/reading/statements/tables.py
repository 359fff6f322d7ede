"""Tables of bookings as delimited text: their columns are found by their headings, and read row by row."""

import csv
from collections.abc import Mapping, Sequence

from docmill.model.cells import shown_text
from docmill.model.statement_columns import DecimalMark, StatementColumns
from docmill.reading.files import delimited
from docmill.reading.statements.cell_values import (
    WrittenAmount,
    find_date_order,
    find_decimal_mark,
    read_date,
    words,
    written_amount,
)
from docmill.reading.statements.parsed import MAX_BOOKINGS
from docmill.reading.statements.table_rows import (
    CURRENCIES,
    BookingTable,
    cell_at,
    meaning_of,
    read_rows,
)

_FIRST_ROWS = 60
"""Rows among which the headings are."""
_LEAST_READ_AS_KNOWN = 0.8
"""Share of the rows that must be bookings by the columns of an earlier file."""
_LEAST_DATED = 0.5
"""Share of the rows with an amount whose date can be read."""
_USUAL = 0.8
"""Share of the amounts that have the decimal mark of the column."""
_ONCE = (
    "booking_date", "date", "value_date", "amount", "debit", "credit", "indicator", "balance", "counterparty",
    "payer", "payee", "iban", "account", "reference",
)  # fmt: skip
_SIGNS = ("booking_date", "value_date", "indicator", "balance", "iban", "counterparty")
"""Columns that hardly any table but one of bookings has."""
_UNPROVED_ORDER = (
    "Day and month of the dates cannot be told apart in this file, and were read as {order}; please compare."
)


def read_bookings(text: str, known: Sequence[StatementColumns] = ()) -> BookingTable | None:
    """The bookings of a bank's table; None for any other table.

    text: with lines that end in a newline. known: columns found in earlier files, which count for a table
    with the same headings.
    """
    if (table_of_known := _read_known(text, known)) is not None:
        return table_of_known
    table = delimited.find_table(text[: delimited.SAMPLE], is_whole=len(text) <= delimited.SAMPLE)
    rows = _rows(text, table.delimiter) if table is not None else None
    if table is None or rows is None or len(rows) > MAX_BOOKINGS:
        return None
    for start, row in enumerate(rows[:_FIRST_ROWS]):
        places = _find_places(row)
        if places is not None:
            problems: list[str] = []
            found = _choose_forms(rows[start + 1 :], table.delimiter, row, places, problems)
            is_proved = not problems
            return read_rows(rows, start, found, problems, is_proved=is_proved) if found is not None else None
    return None


def _read_known(text: str, known: Sequence[StatementColumns]) -> BookingTable | None:
    """The bookings of a table whose headings are known; None if there is none, or in another form."""
    for delimiter in dict.fromkeys(columns.delimiter for columns in known):
        by_headings = {each.headings: each for each in known if each.delimiter == delimiter}
        rows = _rows(text, delimiter)
        if rows is None or len(rows) > MAX_BOOKINGS:
            continue
        for start, row in enumerate(rows[:_FIRST_ROWS]):
            if (
                row in by_headings
                and (table := read_rows(rows, start, by_headings[row], [], least_read=_LEAST_READ_AS_KNOWN))
                is not None
            ):
                return table
    return None


def _rows(text: str, delimiter: str) -> list[tuple[str, ...]] | None:
    try:
        lines = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
        return [tuple(map(shown_text, row)) for row in lines]
    except csv.Error:
        return None


def _find_places(row: Sequence[str]) -> dict[str, list[int]] | None:
    """The columns of each meaning; None if the row does not name those of bookings."""
    places: dict[str, list[int]] = {}
    for index, heading in enumerate(row):
        meaning = meaning_of(heading)
        if meaning in words("other"):
            return None
        for section in (*_ONCE, "currency", "description", "kind"):
            if meaning in words(section):
                places.setdefault(section, []).append(index)
                break
    if len(places.get("date", ())) + len(places.get("booking_date", ())) == 0:
        return None
    has_amount = "amount" in places or {"debit", "credit"} <= places.keys()
    has_text = any(name in places for name in ("description", "counterparty", "payer", "payee", "kind"))
    is_signed = any(name in places for name in _SIGNS) or {"debit", "credit"} <= places.keys()
    return places if has_amount and has_text and is_signed else None


def _choose_forms(
    rows: Sequence[Sequence[str]],
    delimiter: str,
    headings: tuple[str, ...],
    places: Mapping[str, Sequence[int]],
    problems: list[str],
) -> StatementColumns | None:
    """The columns, with the form of dates and amounts over all rows; None where they have none in common."""
    day = next(iter((*places.get("booking_date", ()), *places.get("date", ()))))
    sums = [place for name in ("amount", "debit", "credit") for place in places.get(name, ())[:1]]
    bookings = [row for row in rows if cell_at(row, day) and any(cell_at(row, place) for place in sums)]
    dated = [
        row for row in bookings if read_date(cell_at(row, day), "dmy") or read_date(cell_at(row, day), "mdy")
    ]
    cells = (cell_at(row, place) for row in dated for place in sums)
    amounts = [amount for cell in cells if (amount := written_amount(cell, CURRENCIES)) is not None]
    order, mark = find_date_order([cell_at(row, day) for row in dated]), _usual_decimal_mark(amounts)
    if not dated or order is None or mark is None or len(dated) < _LEAST_DATED * len(bookings):
        return None
    if not order[1]:
        shown = {"dmy": "day, month, year", "mdy": "month, day, year"}.get(order[0], order[0])
        problems.append(_UNPROVED_ORDER.format(order=shown))
    chosen = {name: places[name][0] for name in _ONCE if name in places}
    after = [place for place in places.get("currency", ()) if place > sums[0]]
    amount = None if {"debit", "credit"} <= chosen.keys() else chosen.get("amount")
    return StatementColumns(
        delimiter=delimiter,
        headings=headings,
        date=day,
        date_order=order[0],
        decimal_mark=mark,
        amount=amount,
        currency=next(iter((*after, *places.get("currency", ()))), None),
        description=tuple(places.get("description", ()) or places.get("kind", ())),
        **{
            name: chosen.get(name)
            for name in ("indicator", "counterparty", "payer", "payee", "iban", "reference", "balance")
        },
        debit=chosen.get("debit") if amount is None else None,
        credit=chosen.get("credit") if amount is None else None,
        account=chosen.get("account"),
    )


def _usual_decimal_mark(amounts: Sequence[WrittenAmount]) -> DecimalMark | None:
    """The decimal mark of nearly all amounts; those that are written with another one are left out."""
    if (mark := find_decimal_mark(amounts)) is not None:
        return mark
    marks: tuple[DecimalMark, DecimalMark] = (".", ",")
    fitting = [sum(amount.value(each) is not None for amount in amounts) for each in marks]
    most = max(fitting)
    return marks[fitting.index(most)] if amounts and most >= _USUAL * len(amounts) else None
