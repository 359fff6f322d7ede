"""Tables of bookings as delimited text: their columns are found by their headings, and read row by row."""

import csv
from collections.abc import Mapping, Sequence

from docmill.model.cells import shown_text
from docmill.model.statement_columns import StatementColumns
from docmill.reading.files import delimited
from docmill.reading.statements.booking_rows import (
    CURRENCIES,
    WHOLE_FILE,
    BookingTable,
    TableRows,
    cell_at,
    meaning_of,
    read_rows,
)
from docmill.reading.statements.cell_values import (
    find_date_order,
    read_date,
    usual_decimal_mark,
    words,
    written_amount,
)
from docmill.reading.statements.column_contents import find_by_contents
from docmill.reading.statements.parsed import MAX_BOOKINGS

_FIRST_ROWS = 60
"""Rows among which the headings are."""
_LEAST_READ_AS_KNOWN = 0.8
"""Share of the rows that must be bookings by the columns of an earlier file."""
_LEAST_DATED = 0.5
"""Share of the rows with an amount whose date can be read."""
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
    return read_table(rows, table.delimiter) if table is not None and rows is not None else None


def read_table(
    rows: Sequence[tuple[str, ...]],
    delimiter: str,
    source: TableRows = WHOLE_FILE,
    known: Sequence[StatementColumns] = (),
) -> BookingTable | None:
    """The bookings of a table that is one of a bank's by its headings, or else by its contents."""
    if len(rows) > MAX_BOOKINGS:
        return None
    if (table_of_known := _read_known_rows(rows, known, source)) is not None:
        return table_of_known
    meanings = {index: _meanings(row) for index, row in enumerate(rows[:_FIRST_ROWS])}
    for start, places in meanings.items():
        if _is_of_bookings(places):
            return _read_places(rows, start, places, delimiter=delimiter, source=source)
    found = find_by_contents(rows, meanings)
    if found is None or any("other" in places for index, places in meanings.items() if index <= found.start):
        return None
    return _read_places(
        rows, found.start, found.places, delimiter=delimiter, source=source, is_named=found.is_named
    )


def _read_places(
    rows: Sequence[tuple[str, ...]],
    start: int,
    places: Mapping[str, Sequence[int]],
    *,
    delimiter: str,
    source: TableRows,
    is_named: bool = True,
) -> BookingTable | None:
    """The bookings below the row at index `start`, by the columns of each meaning."""
    problems: list[str] = []
    headings = rows[start] if start >= 0 else ()
    last = max(place for each in places.values() for place in each)
    headings += ("",) * (last + 1 - len(headings))
    columns = _choose_forms(rows[start + 1 :], delimiter, headings, places, problems)
    if columns is None:
        return None
    is_proved = is_named and not problems
    return read_rows(rows, start, columns, problems, is_proved=is_proved, source=source)


def _read_known(text: str, known: Sequence[StatementColumns]) -> BookingTable | None:
    """The bookings of a table whose headings are known; None if there is none, or in another form."""
    for delimiter in dict.fromkeys(columns.delimiter for columns in known):
        rows = _rows(text, delimiter)
        if rows is None or len(rows) > MAX_BOOKINGS:
            continue
        of_form = [each for each in known if each.delimiter == delimiter]
        if (table := _read_known_rows(rows, of_form, WHOLE_FILE)) is not None:
            return table
    return None


def _read_known_rows(
    rows: Sequence[tuple[str, ...]], known: Sequence[StatementColumns], source: TableRows
) -> BookingTable | None:
    """The bookings below headings that are known; None if there are none, or in another form."""
    by_headings = {each.headings: each for each in known}
    for start, row in enumerate(rows[:_FIRST_ROWS] if known else ()):
        if row not in by_headings:
            continue
        table = read_rows(rows, start, by_headings[row], [], least_read=_LEAST_READ_AS_KNOWN, source=source)
        if table is not None:
            return table
    return None


def _rows(text: str, delimiter: str) -> list[tuple[str, ...]] | None:
    try:
        lines = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
        return [tuple(map(shown_text, row)) for row in lines]
    except csv.Error:
        return None


def _meanings(row: Sequence[str]) -> dict[str, list[int]]:
    """The columns of each meaning that a row of headings names."""
    places: dict[str, list[int]] = {}
    for index, heading in enumerate(row):
        meaning = meaning_of(heading)
        for section in ("other", *_ONCE, "currency", "description", "kind"):
            if meaning in words(section):
                places.setdefault(section, []).append(index)
                break
    return places


def _is_of_bookings(places: Mapping[str, Sequence[int]]) -> bool:
    """True if headings name the columns of bookings, and nothing that other tables have."""
    has_day = "date" in places or "booking_date" in places
    has_amount = "amount" in places or {"debit", "credit"} <= places.keys()
    has_text = any(name in places for name in ("description", "counterparty", "payer", "payee", "kind"))
    is_signed = any(name in places for name in _SIGNS) or {"debit", "credit"} <= places.keys()
    return "other" not in places and has_day and has_amount and has_text and is_signed


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
    order, mark = find_date_order([cell_at(row, day) for row in dated]), usual_decimal_mark(amounts)
    if not dated or order is None or mark is None or len(dated) < _LEAST_DATED * len(bookings):
        return None
    if not order[1]:
        shown = {"dmy": "day, month, year", "mdy": "month, day, year"}.get(order[0], order[0])
        problems.append(_UNPROVED_ORDER.format(order=shown))
    chosen = {name: places[name][0] for name in _ONCE if name in places}
    currencies = [*places.get("currency", ())]
    if _holds_currencies(rows, chosen.get("value_date")):  # *Valuta* is either
        currencies.append(chosen["value_date"])
    after = [place for place in currencies if place > sums[0]]
    amount = None if {"debit", "credit"} <= chosen.keys() else chosen.get("amount")
    return StatementColumns(
        delimiter=delimiter,
        headings=headings,
        date=day,
        date_order=order[0],
        decimal_mark=mark,
        amount=amount,
        currency=next(iter((*after, *currencies)), None),
        description=tuple(places.get("description", ()) or places.get("kind", ())),
        **{
            name: chosen.get(name)
            for name in ("indicator", "counterparty", "payer", "payee", "iban", "reference", "balance")
        },
        debit=chosen.get("debit") if amount is None else None,
        credit=chosen.get("credit") if amount is None else None,
        account=chosen.get("account"),
    )


def _holds_currencies(rows: Sequence[Sequence[str]], place: int | None) -> bool:
    """True for a column of codes of currencies."""
    cells = {cell_at(row, place).upper() for row in rows} - {""}
    return bool(cells) and cells <= CURRENCIES
