"""Tables of bookings as delimited text: their columns are found by their headings, and read row by row."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from babel.numbers import list_currencies

from docmill.model.statement_columns import StatementColumns
from docmill.reading.files import delimited
from docmill.reading.statements.cell_values import (
    WrittenAmount,
    find_date_order,
    find_decimal_mark,
    fold,
    read_date,
    words,
    written_amount,
)
from docmill.reading.statements.parsed import (
    MAX_BOOKINGS,
    ParsedStatement,
    choose_reference,
    find_iban,
    one_line,
)
from docmill.schemas.types import Transaction

_FIRST_ROWS = 60
"""Rows among which the headings are."""
_LONGEST_BEFORE = 10_000
"""Characters of the lines before the headings in which account and currency are looked for."""
_LEAST_READ = 0.8
"""Share of the rows below the headings that must be bookings."""
_ONCE = (
    "booking_date", "date", "value_date", "amount", "debit", "credit", "indicator", "balance", "counterparty",
    "payer", "payee", "iban", "account", "reference",
)  # fmt: skip
_SIGNS = ("booking_date", "value_date", "indicator", "balance", "iban", "counterparty")
"""Columns that hardly any table but one of bookings has."""
_CURRENCIES = frozenset(list_currencies())
_CURRENCY_WORDS = {"euro": "EUR", "euros": "EUR", "€": "EUR", "£": "GBP"}
_UNPROVED_ORDER = (
    "Day and month of the dates cannot be told apart in this file, and were read as {order}; please compare."
)
_LEFT_OUT = "{count} of the rows of the file are no bookings with a date and an amount, and were left out."


@dataclass(frozen=True, slots=True)
class BookingTable:
    """The bookings of a table. columns: see `StatementColumns`. rows: the cells of each booking.

    is_proved: whether the file shows the form of its dates, so that the next one may be read in the same way.
    """

    columns: StatementColumns
    statement: ParsedStatement
    rows: tuple[tuple[str, ...], ...]
    problems: tuple[str, ...]
    is_proved: bool = True


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
            return _read(rows, start, found, problems, is_proved=is_proved) if found is not None else None
    return None


def _read_known(text: str, known: Sequence[StatementColumns]) -> BookingTable | None:
    """The bookings of a table whose headings are known; None if there is none, or in another form."""
    for delimiter in dict.fromkeys(columns.delimiter for columns in known):
        by_headings = {each.headings: each for each in known if each.delimiter == delimiter}
        rows = _rows(text, delimiter)
        if rows is None or len(rows) > MAX_BOOKINGS:
            continue
        for start, row in enumerate(rows[:_FIRST_ROWS]):
            if row in by_headings and (table := _read(rows, start, by_headings[row], [])) is not None:
                return table
    return None


def _rows(text: str, delimiter: str) -> list[tuple[str, ...]] | None:
    try:
        lines = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
        return [tuple(cell.strip() for cell in row) for row in lines]
    except csv.Error:
        return None


def _meaning_of(heading: str) -> str:
    """A heading for comparison, without names of currencies."""
    return " ".join(word for word in fold(heading).split() if _code_of(word) not in _CURRENCIES)


def _code_of(word: str) -> str:
    """The code of a currency that a word names, if it names one."""
    return _CURRENCY_WORDS.get(word.casefold()) or word.upper()


def _find_places(row: Sequence[str]) -> dict[str, list[int]] | None:
    """The columns of each meaning; None if the row does not name those of bookings."""
    places: dict[str, list[int]] = {}
    for index, heading in enumerate(row):
        meaning = _meaning_of(heading)
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
    bookings = [row for row in rows if _cell(row, day) and any(_cell(row, place) for place in sums)]
    dated = [
        row for row in bookings if read_date(_cell(row, day), "dmy") or read_date(_cell(row, day), "mdy")
    ]
    cells = (_cell(row, place) for row in dated for place in sums)
    amounts = [amount for cell in cells if (amount := written_amount(cell, _CURRENCIES)) is not None]
    order, mark = find_date_order([_cell(row, day) for row in dated]), find_decimal_mark(amounts)
    if not dated or order is None or mark is None or len(dated) < _LEAST_READ * len(bookings):
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


def _read(
    rows: Sequence[tuple[str, ...]],
    start: int,
    columns: StatementColumns,
    problems: list[str],
    *,
    is_proved: bool = True,
) -> BookingTable | None:
    """The bookings below the headings, which stand at index `start`."""
    transactions: list[Transaction] = []
    kept: list[tuple[str, ...]] = []
    left_out = 0
    before = " ".join(" ".join(row) for row in rows[:start])[:_LONGEST_BEFORE]
    currency = _currency(columns, before)
    for row in rows[start + 1 :]:
        transaction = _transaction(row, columns, currency)
        if transaction is not None:
            transactions.append(transaction)
            kept.append(row)
        elif _has_amount(row, columns):
            left_out += 1
    if not transactions or len(transactions) < _LEAST_READ * (len(transactions) + left_out):
        return None
    accounts = {_cell(row, columns.account) for row in kept} if columns.account is not None else set[str]()
    if len(accounts) > 1:
        return None
    if left_out:
        problems.append(_LEFT_OUT.format(count=left_out))
    iban = find_iban(next(iter(accounts), None)) or find_iban(before)
    opening, closing = _balances(kept, transactions, columns)
    statement = ParsedStatement(
        (0,),
        iban=iban,
        account=None if iban else next(iter(accounts), None) or None,
        currency=next((each.currency for each in transactions if each.currency), None),
        opening=opening,
        closing=closing,
        transactions=tuple(transactions),
    )
    return BookingTable(columns, statement, tuple(kept), tuple(problems), is_proved)


def _transaction(row: Sequence[str], columns: StatementColumns, currency: str | None) -> Transaction | None:
    """The booking of a row; None for a row without a date or an amount."""
    day = read_date(_cell(row, columns.date), columns.date_order)
    amount = _amount(row, columns)
    if day is None or amount is None:
        return None
    named = _cell(row, columns.currency).upper()
    name = _cell(row, columns.counterparty)
    if not name:
        name = _cell(row, columns.payee if amount < 0 else columns.payer)
    return Transaction(
        date=day,
        amount=amount,
        currency=named if named in _CURRENCIES else currency,
        counterparty=one_line(name),
        iban=find_iban(_cell(row, columns.iban)),
        reference=choose_reference(_cell(row, columns.reference)),
        description=one_line(" ".join(_cell(row, place) for place in columns.description)),
    )


def _amount(row: Sequence[str], columns: StatementColumns) -> Decimal | None:
    if columns.amount is not None:
        amount = _number(row, columns.amount, columns)
        side = fold(_cell(row, columns.indicator))
        if amount is None or side in words("marks_of_credits") or not side:
            return amount
        return -abs(amount) if side in words("marks_of_debits") else None
    debit, credit = (_number(row, place, columns) for place in (columns.debit, columns.credit))
    if debit and credit:
        return None
    if debit:
        return -abs(debit)
    return credit if credit is not None else debit


def _number(row: Sequence[str], place: int | None, columns: StatementColumns) -> Decimal | None:
    written: WrittenAmount | None = written_amount(_cell(row, place), _CURRENCIES)
    return written.value(columns.decimal_mark) if written is not None else None


def _has_amount(row: Sequence[str], columns: StatementColumns) -> bool:
    """True for a row of the table's width with an amount: a booking that cannot be read, if it is none."""
    places = (columns.amount, columns.debit, columns.credit)
    is_whole = len(row) >= len(columns.headings) - 1
    return is_whole and any(_number(row, place, columns) is not None for place in places)


def _currency(columns: StatementColumns, before: str) -> str | None:
    """The currency that the headings name, or else the lines before them."""
    for place in (columns.amount, columns.debit, columns.credit):
        heading = columns.headings[place] if place is not None else ""
        for word in re.findall(r"\b[A-Z]{3}\b|[Ee]uros?|[€£]", heading):
            if _code_of(word) in _CURRENCIES:
                return _code_of(word)
    named = {word for word in re.findall(r"\b[A-Z]{3}\b", before) if word in _CURRENCIES}
    return named.pop() if len(named) == 1 else None


def _balances(
    rows: Sequence[Sequence[str]], transactions: Sequence[Transaction], columns: StatementColumns
) -> tuple[Decimal | None, Decimal | None]:
    """The balances before the first and after the last booking, if those in the rows lead to each other."""
    balances = [_number(row, columns.balance, columns) for row in rows]
    stated = [balance for balance in balances if balance is not None]
    amounts = [each.amount for each in transactions if each.amount is not None]
    if not stated or len(stated) != len(amounts):
        return None, None
    for is_up in (True, False):
        order = list(zip(stated, amounts, strict=True))[:: 1 if is_up else -1]
        if all(later == earlier + amount for (earlier, _), (later, amount) in pairwise(order)):
            return order[0][0] - order[0][1], order[-1][0]
    return None, None


def _cell(row: Sequence[str], place: int | None) -> str:
    return row[place] if place is not None and place < len(row) else ""
