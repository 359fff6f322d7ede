"""Bank statements in workbooks: the tables of their sheets, with what their cells store."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from docmill.model.statement_columns import StatementColumns
from docmill.reading.layout.typeset import Block, TableBlock, Worksheet
from docmill.reading.statements.booking_rows import CURRENCIES, BookingTable, TableRows, meaning_of
from docmill.reading.statements.cell_values import usual_decimal_mark, words, written_amount
from docmill.reading.statements.column_contents import is_day
from docmill.reading.statements.parsed import ParsedStatement
from docmill.reading.statements.tables import read_table

_DELIMITER = "\t"
"""That of the columns of a sheet, which has none."""
_DAYS = range(36526, 73051)
"""Numbers of the days from 2000 to 2099."""
_FIRST_ROWS = 60
_CENTS = re.compile(r"[.,]\d{2}(?!\d)")
_SOME_SHEETS = (
    "The bookings of {sheets} do not follow each other by their balances: please compare whether some are "
    "missing, or in the file twice."
)
_OTHER_ACCOUNTS = (
    "The bookings of {sheets} are of another account, and were left out: save each account as a file of its "
    "own."
)
_OTHER_COLUMNS = (
    "The bookings of {sheets} have other columns, and were left out: save the sheet as a file of its own."
)


def read_workbook(blocks: Sequence[Block], known: Sequence[StatementColumns] = ()) -> BookingTable | None:
    """The bookings of the sheets of a workbook; None if it is none of a bank.

    known: see `tables.read_bookings`.
    """
    tables = [block for block in blocks if isinstance(block, TableBlock) and block.sheet is not None]
    found: list[tuple[str, BookingTable]] = []
    unread: list[str] = []
    for block in tables:
        assert block.sheet is not None  # as above
        name = f"the sheet {block.sheet.name!r}"
        place = name if len(tables) > 1 else "the file"
        table = _read_sheet(block.rows, block.sheet, place, known)
        if table is not None:
            found.append((name, table))
        elif _may_be_bookings(block.rows):
            unread.append(name)
    return _join(found, unread) if found else None


def _read_sheet(
    rows: Sequence[Sequence[str]], sheet: Worksheet, place: str, known: Sequence[StatementColumns]
) -> BookingTable | None:
    shown = [tuple(cell.strip() for cell in row) for row in rows]
    source = TableRows(place, sheet.row_numbers, shown)
    stored = _stored_rows(shown, sheet)
    if sheet.values:
        known = [each.model_copy(update={"decimal_mark": "."}) for each in known]
    table = read_table(stored, _DELIMITER, source, known)
    # A text file with these headings has dates and amounts in another form.
    return replace(table, is_proved=False) if table is not None else None


def _stored_rows(shown: Sequence[tuple[str, ...]], sheet: Worksheet) -> list[tuple[str, ...]]:
    """The rows with days and numbers as they are stored: a format may hide cents, or the order of a date.

    Amounts that are stored as texts get the decimal point of the others.
    """
    width = max(map(len, shown), default=0)
    rows = [list(row) for row in shown]
    days = set(_unformatted_days(shown, sheet, width))
    texts: list[tuple[int, int]] = []
    has_numbers = False
    for index, row in enumerate(rows):
        for column, cell in enumerate(row):
            value = sheet.value(index, column)
            if isinstance(value, float):
                is_day_number = column in days and int(value) in _DAYS
                row[column] = (
                    str(sheet.first_day + timedelta(days=int(value))) if is_day_number else _written(value)
                )
                has_numbers = True
            elif value is not None:
                row[column] = str(value)
            elif cell and not is_day(cell) and written_amount(cell, CURRENCIES) is not None:
                texts.append((index, column))
    if has_numbers:
        for index, column, text in _with_point(rows, texts):
            rows[index][column] = text
    return [tuple(row) for row in rows]


def _written(number: float) -> str:
    """A number with cents, without the noise of calculations in binary."""
    exact = Decimal(f"{number:.6f}")
    cents = exact.quantize(Decimal("0.01"))
    return str(cents if cents == exact else exact.normalize())


def _with_point(
    rows: Sequence[Sequence[str]], texts: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, str]]:
    """The amounts that are texts with a decimal point, column by column."""
    for column in {column for _, column in texts}:
        written = [
            (index, amount)
            for index, place in texts
            if place == column and (amount := written_amount(rows[index][column], CURRENCIES)) is not None
        ]
        mark = usual_decimal_mark([amount for _, amount in written])
        if mark is None:
            continue
        for index, amount in written:
            value = amount.value(mark)
            if value is not None:
                plus = "+" if amount.is_signed and value >= 0 else ""
                cents = max(str(value), str(value.quantize(Decimal("0.01"))), key=len)
                yield index, column, f"{plus}{cents}"


def _unformatted_days(shown: Sequence[Sequence[str]], sheet: Worksheet, width: int) -> Iterator[int]:
    """The columns whose days are shown as plain numbers: named as such, or the only ones that may be."""
    may_be: list[int] = []
    has_days = False
    for column in range(width):
        values = [value for index in range(len(shown)) if (value := sheet.value(index, column)) is not None]
        has_days = has_days or any(isinstance(value, date) for value in values)
        numbers = [value for value in values if isinstance(value, float)]
        if len(numbers) > 1 and all(int(value) in _DAYS and value.is_integer() for value in numbers):
            may_be.append(column)
    named = [column for column in may_be if _is_named_day(shown, column)]
    if named:
        yield from named
    elif len(may_be) == 1 and not has_days and not any(is_day(cell) for row in shown for cell in row):
        yield from may_be


def _is_named_day(shown: Sequence[Sequence[str]], column: int) -> bool:
    headings = {meaning_of(row[column]) for row in shown[:_FIRST_ROWS] if column < len(row)}
    return any(not headings.isdisjoint(words(name)) for name in ("booking_date", "date", "value_date"))


def _join(found: Sequence[tuple[str, BookingTable]], unread: Sequence[str]) -> BookingTable:
    """The tables of all sheets as one, from the earliest to the latest, with what a person should compare.

    unread: further sheets that may hold bookings.
    """
    ordered = sorted(found, key=lambda each: min(_days(each[1].statement), default=date.max))
    first = ordered[0][1]
    problems, together = list(first.problems), [ordered[0]]
    others: list[str] = []
    different = list(unread)
    for name, table in ordered[1:]:
        if _is_other_account(table.statement, first.statement):
            others.append(name)
        elif not _have_same_columns(table.columns, first.columns):
            different.append(name)
        else:
            problems += table.problems
            together.append((name, table))
    statements = [table.statement for _, table in together]
    is_chained = all(
        earlier.closing is not None and earlier.closing == later.opening
        for earlier, later in pairwise(statements)
    )
    for message, names in (
        (_SOME_SHEETS, [] if is_chained else [name for name, _ in together]),
        (_OTHER_ACCOUNTS, others),
        (_OTHER_COLUMNS, different),
    ):
        if names:
            problems.append(message.format(sheets=", ".join(names)))
    joined = replace(
        statements[0],
        closing=statements[-1].closing if is_chained else None,
        opening=statements[0].opening if is_chained else None,
        transactions=tuple(booking for each in statements for booking in each.transactions),
    )
    rows = tuple(row for _, table in together for row in table.rows)
    return replace(
        first, statement=joined, rows=rows, problems=tuple(dict.fromkeys(problems)), is_proved=False
    )


def _days(statement: ParsedStatement) -> Iterator[date]:
    return (booking.date for booking in statement.transactions if booking.date is not None)


def _is_other_account(one: ParsedStatement, other: ParsedStatement) -> bool:
    """True if two statements say of themselves that they are of different accounts."""
    pairs = ((one.iban, other.iban), (one.account, other.account), (one.currency, other.currency))
    return any(first and second and first != second for first, second in pairs)


def _have_same_columns(one: StatementColumns, other: StatementColumns) -> bool:
    forms = {"date_order": one.date_order, "decimal_mark": one.decimal_mark}
    return other.model_copy(update=forms) == one


def _may_be_bookings(rows: Sequence[Sequence[str]]) -> bool:
    """True for a table that has a row with a day and an amount with cents."""
    return any(
        any(map(is_day, row))
        and any(not is_day(cell) and _CENTS.search(cell) and written_amount(cell, CURRENCIES) for cell in row)
        for row in rows
    )
