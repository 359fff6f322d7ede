"""Rows of a bank's table: bookings with their directions, balances, and rows that are left out and told."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from babel.numbers import list_currencies

from docmill.model.statement_columns import StatementColumns
from docmill.reading.statements.cell_values import fold, read_date, words, written_amount
from docmill.reading.statements.directions import (
    CREDIT,
    DEBIT,
    BalanceProof,
    Directed,
    WrittenBooking,
    direct_amounts,
    find_sides,
)
from docmill.reading.statements.parsed import ParsedStatement, choose_reference, find_iban, one_line
from docmill.reading.statements.row_kinds import RowKind, listed_rows, row_kind
from docmill.schemas.types import Transaction

CURRENCIES = frozenset(list_currencies())
GUESSED_DIRECTIONS = (
    "Nothing proves which bookings of the file are debits and which are credits: please compare the signs of "
    "the amounts with the bank."
)
_LONGEST_BEFORE = 10_000
"""Characters of the lines before the headings in which account and currency are looked for."""
_CURRENCY_WORDS = {"euro": "EUR", "euros": "EUR", "€": "EUR", "£": "GBP"}
_LEFT_OUT = "{rows} of {place}: a date or an amount cannot be read, so this was left out of the bookings."
_NOT_BOOKED = "{rows} of {place}: only announced or not carried out, so this was left out of the bookings."
_OTHER_BALANCES = "{rows} of {place}: a balance or a sum, so this was left out of the bookings."


@dataclass(frozen=True, slots=True)
class BookingTable:
    """The bookings of a table.

    columns: see `StatementColumns`. rows: the cells of each booking, as a page shows them.
    is_proved: whether the file shows the form of its dates, so that the next one may be read in the same way.
    """

    columns: StatementColumns
    statement: ParsedStatement
    rows: tuple[tuple[str, ...], ...]
    problems: tuple[str, ...]
    is_proved: bool = True


class TableRows(NamedTuple):
    """Origin of the rows of a table.

    place: for a person. numbers: of each row; None to count them from 1. shown: the rows as a page shows
    them; None if they are the same.
    """

    place: str = "the file"
    numbers: Sequence[int] | None = None
    shown: Sequence[tuple[str, ...]] | None = None

    def listed(self, indices: Sequence[int]) -> str:
        """Rows in a sentence, by their indices."""
        return listed_rows([self.numbers[index] if self.numbers else index + 1 for index in indices])


WHOLE_FILE = TableRows()


def meaning_of(heading: str) -> str:
    """A heading for comparison, without names of currencies."""
    return " ".join(word for word in fold(heading).split() if _code_of(word) not in CURRENCIES)


def _code_of(word: str) -> str:
    """The code of a currency that a word names, if it names one."""
    return _CURRENCY_WORDS.get(word.casefold()) or word.upper()


def read_rows(
    rows: Sequence[tuple[str, ...]],
    start: int,
    columns: StatementColumns,
    problems: list[str],
    *,
    is_proved: bool = True,
    least_read: float = 0.0,
    source: TableRows = WHOLE_FILE,
) -> BookingTable | None:
    """The bookings below the headings, which stand at index `start`; at -1 if there are none.

    least_read: share of the rows that must be bookings. source: where the rows are from.
    """
    shown = source.shown or rows
    before = " ".join(" ".join(row) for row in shown[: max(start, 0)])[:_LONGEST_BEFORE]
    columns = _with_indicator(columns, rows[start + 1 :])
    sorted_rows = _sort_rows(rows, start, columns)
    kept = [rows[index] for index in sorted_rows.bookings]
    texts = tuple(shown[index] for index in sorted_rows.bookings)
    if not kept and not sorted_rows.has_others:
        return None
    if len(kept) < least_read * (len(kept) + len(sorted_rows.unread)):
        return None
    accounts = {cell_at(row, columns.account) for row in texts} if columns.account is not None else set[str]()
    if len(accounts) > 1:
        return None
    opening, closing = (_only(_stated_balances(rows, places, columns)) for places in sorted_rows.balances)
    directed, proof = _direct(kept, columns, opening, closing)
    problems += _row_problems(sorted_rows, source)
    if not directed.is_certain:
        problems.append(GUESSED_DIRECTIONS)
    columns = _with_other_party(columns, kept)
    currency = _currency(columns, before)
    transactions = tuple(
        _transaction(row, text, amount, columns=columns, currency=currency)
        for row, text, amount in zip(kept, texts, directed.amounts, strict=True)
    )
    iban = find_iban(next(iter(accounts), None)) or find_iban(before)
    first, last = _balances(directed.amounts, proof)
    statement = ParsedStatement(
        (0,),
        iban=iban,
        account=None if iban else next(iter(accounts), None) or None,
        currency=next((each.currency for each in transactions if each.currency), None),
        opening=opening if opening is not None else first,
        closing=closing if closing is not None else last,
        transactions=transactions,
    )
    return BookingTable(columns, statement, texts, tuple(problems), is_proved)


class _SortedRows(NamedTuple):
    """The indices of rows by what they are. unread: without a date or an amount that can be read.

    balances: those before, and those after the bookings. other_balances: it is not known which.
    """

    bookings: list[int]
    not_booked: list[int]
    unread: list[int]
    balances: tuple[list[int], list[int]]
    other_balances: list[int]

    @property
    def has_others(self) -> bool:
        """True if rows were recognised as something else than bookings."""
        return bool(self.not_booked or self.other_balances or any(self.balances))


def _sort_rows(rows: Sequence[tuple[str, ...]], start: int, columns: StatementColumns) -> _SortedRows:
    sorted_rows = _SortedRows([], [], [], ([], []), [])
    parties = [place for place in (columns.counterparty, columns.payer, columns.payee) if place is not None]
    for index, row in enumerate(rows[start + 1 :], start + 1):
        day, written = cell_at(row, columns.date), _written(row, columns)
        has_day = read_date(day, columns.date_order) is not None
        has_cells = bool(day) and any(cell_at(row, place) for place in _places_of_amount(columns))
        is_short = len(row) < len(columns.headings) - 1 and not has_day
        if is_short or (row == columns.headings and any(row)):
            continue
        if not (has_day or written is not None or has_cells):
            continue
        kind = row_kind(dict(enumerate(row)), columns.description, parties)
        if kind is RowKind.NOT_BOOKED:
            sorted_rows.not_booked.append(index)
        elif kind is RowKind.OPENING:
            sorted_rows.balances[0].append(index)
        elif kind is RowKind.CLOSING:
            sorted_rows.balances[1].append(index)
        elif kind is RowKind.SOME_BALANCE:
            sorted_rows.other_balances.append(index)
        elif has_day and written is not None:
            sorted_rows.bookings.append(index)
        else:
            sorted_rows.unread.append(index)
    _set_aside_unknown_sides(rows, columns, sorted_rows)
    return sorted_rows


def _set_aside_unknown_sides(
    rows: Sequence[tuple[str, ...]], columns: StatementColumns, sorted_rows: _SortedRows
) -> None:
    """Move bookings whose indicator is none of the marks that the others have to the unread rows."""
    sides = _sides([rows[index] for index in sorted_rows.bookings], columns)
    if not any(sides):
        return
    unknown = {
        index
        for index, side in zip(sorted_rows.bookings, sides, strict=True)
        if side is None and cell_at(rows[index], columns.indicator)
    }
    sorted_rows.bookings[:] = [index for index in sorted_rows.bookings if index not in unknown]
    sorted_rows.unread.extend(unknown)
    sorted_rows.unread.sort()


def _row_problems(sorted_rows: _SortedRows, source: TableRows) -> Iterator[str]:
    """Sentences that name the rows left out, but for the balances before and after the bookings."""
    for message, indices in (
        (_LEFT_OUT, sorted_rows.unread),
        (_NOT_BOOKED, sorted_rows.not_booked),
        (_OTHER_BALANCES, sorted_rows.other_balances),
    ):
        if indices:
            listed = source.listed(indices)
            yield message.format(rows=listed[:1].upper() + listed[1:], place=source.place)


def _stated_balances(
    rows: Sequence[Sequence[str]], indices: Iterable[int], columns: StatementColumns
) -> Iterator[Decimal]:
    """The balances that rows state in the column of balances, or in that of amounts."""
    for index in indices:
        balance = _number(rows[index], columns.balance, columns)
        written = _written(rows[index], columns)
        if balance is not None:
            yield balance
        elif written is not None:
            side = _sides([rows[index]], columns)[0] if written.side is None else written.side
            yield -abs(written.amount) if side == DEBIT else written.amount


def _only(values: Iterable[Decimal]) -> Decimal | None:
    """The value that all are; None for different ones."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _direct(
    rows: Sequence[tuple[str, ...]],
    columns: StatementColumns,
    opening: Decimal | None,
    closing: Decimal | None,
) -> tuple[Directed, BalanceProof]:
    """The amounts of bookings with their directions, and the balances that prove them."""
    sides = _sides(rows, columns)
    written = [
        booking if booking.side is not None else booking._replace(side=side)
        for row, side in zip(rows, sides, strict=True)
        if (booking := _written(row, columns)) is not None
    ]
    days = [day for row in rows if (day := read_date(cell_at(row, columns.date), columns.date_order))]
    proof = BalanceProof(
        days,
        [_number(row, columns.balance, columns) for row in rows],
        opening,
        closing,
        [tuple(cell_at(row, place) for place in range(len(columns.headings))) for row in rows],
    )
    return direct_amounts(written, proof), proof


def _sides(rows: Sequence[Sequence[str]], columns: StatementColumns) -> Sequence[int | None]:
    """The side that the indicator of each row names."""
    if columns.indicator is None:
        return [None] * len(rows)
    values = [cell_at(row, columns.indicator) for row in rows]
    return find_sides(values, columns.headings[columns.indicator]) or [None] * len(rows)


def _with_indicator(columns: StatementColumns, rows: Sequence[Sequence[str]]) -> StatementColumns:
    """The columns with the one that names the sides of bookings, under whatever heading, if there is one.

    Where amounts have signs, it must agree with them: a kind of card is no side.
    """
    if columns.indicator is not None or columns.amount is None:
        return columns
    read = [
        (row, written)
        for row in rows
        if read_date(cell_at(row, columns.date), columns.date_order) and (written := _written(row, columns))
    ]
    kinds = {place for place in columns.description if fold(columns.headings[place]) in words("kind")}
    used = {
        columns.date, columns.amount, columns.balance, columns.iban, columns.currency, columns.account,
        columns.counterparty, columns.payer, columns.payee, columns.reference, *columns.description,
    } - kinds  # fmt: skip
    is_negative = [written.amount < 0 for _, written in read]
    beside = columns.amount + 1
    for place in sorted(set(range(len(columns.headings))) - used, key=lambda place: place != beside):
        heading = columns.headings[place]
        sides = find_sides([cell_at(row, place) for row, _ in read], heading)
        if sides is None:
            continue
        if any(is_negative) and any(
            (side == DEBIT) != negative
            for side, negative in zip(sides, is_negative, strict=True)
            if side is not None
        ):
            continue
        is_plain = place == beside or fold(heading) in words("kind") or len(set(sides) - {None}) > 1
        if is_plain and None not in sides:
            return columns.model_copy(update={"indicator": place})
    return columns


def _with_other_party(columns: StatementColumns, rows: Sequence[Sequence[str]]) -> StatementColumns:
    """The columns with the other side's name from the second of two columns, if the first is the owner's.

    The owner stands in every row, and the other side is not always the same.
    """
    names = [
        place
        for place, heading in enumerate(columns.headings)
        if meaning_of(heading) in words("counterparty")
    ]
    if columns.counterparty is None or names.index(columns.counterparty) or len(names) == 1:
        return columns
    first, second = ({cell_at(row, place) for row in rows} for place in names[:2])
    if len(first) == 1 and len(second) > 1:
        return columns.model_copy(update={"counterparty": names[1]})
    return columns


def _transaction(
    row: Sequence[str],
    texts: Sequence[str],
    amount: Decimal,
    *,
    columns: StatementColumns,
    currency: str | None,
) -> Transaction:
    """The booking of a row. texts: its cells as a page shows them."""
    named = cell_at(texts, columns.currency).upper()
    name = cell_at(texts, columns.counterparty)
    if not name:
        name = cell_at(texts, columns.payee if amount < 0 else columns.payer)
    return Transaction(
        date=read_date(cell_at(row, columns.date), columns.date_order),
        amount=amount,
        currency=named if named in CURRENCIES else currency,
        counterparty=one_line(name),
        iban=find_iban(cell_at(texts, columns.iban)),
        reference=choose_reference(cell_at(texts, columns.reference)),
        description=one_line(" ".join(cell_at(texts, place) for place in columns.description)),
    )


def _places_of_amount(columns: StatementColumns) -> tuple[int, ...]:
    return tuple(place for place in (columns.amount, columns.debit, columns.credit) if place is not None)


def _written(row: Sequence[str], columns: StatementColumns) -> WrittenBooking | None:
    """The amount of a row, with its side where debits and credits have columns of their own."""
    if columns.amount is not None:
        written = written_amount(cell_at(row, columns.amount), CURRENCIES)
        amount = written.value(columns.decimal_mark) if written is not None else None
        if written is None or amount is None:
            return None
        return WrittenBooking(amount, written.is_signed, None)
    cells = [cell_at(row, place) for place in (columns.debit, columns.credit)]
    debit, credit = (_number(row, place, columns) for place in (columns.debit, columns.credit))
    if (debit and credit) or any(
        cell and number is None and cell.strip("-\u2013 ")
        for cell, number in zip(cells, (debit, credit), strict=True)
    ):
        return None
    if debit:
        return WrittenBooking(debit, is_signed=False, side=DEBIT)
    amount = credit if credit is not None else debit
    return WrittenBooking(amount, is_signed=False, side=CREDIT) if amount is not None else None


def _number(row: Sequence[str], place: int | None, columns: StatementColumns) -> Decimal | None:
    written = written_amount(cell_at(row, place), CURRENCIES)
    return written.value(columns.decimal_mark) if written is not None else None


def _currency(columns: StatementColumns, before: str) -> str | None:
    """The currency that the headings name, or else the lines before them."""
    for place in (columns.amount, columns.debit, columns.credit):
        heading = columns.headings[place] if place is not None else ""
        for word in re.findall(r"\b[A-Z]{3}\b|[Ee]uros?|[€£]", heading):
            if _code_of(word) in CURRENCIES:
                return _code_of(word)
    named = {word for word in re.findall(r"\b[A-Z]{3}\b", before) if word in CURRENCIES}
    return named.pop() if len(named) == 1 else None


def _balances(amounts: Sequence[Decimal], proof: BalanceProof) -> tuple[Decimal | None, Decimal | None]:
    """The balances before the first and after the last booking, if those in the rows lead to each other."""
    running = [balance for balance in proof.running if balance is not None]
    if len(running) != len(amounts) or not amounts:
        return None, None
    for order in (range(len(amounts)), range(len(amounts) - 1, -1, -1)):
        if all(running[later] == running[earlier] + amounts[later] for earlier, later in pairwise(order)):
            return running[order[0]] - amounts[order[0]], running[order[-1]]
    return None, None


def cell_at(row: Sequence[str], place: int | None) -> str:
    """The text of a cell; empty where the row is shorter."""
    return row[place] if place is not None and place < len(row) else ""
