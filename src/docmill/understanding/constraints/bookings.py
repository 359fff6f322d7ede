"""The bookings of a bank statement, which lead from one balance to the other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate, pairwise, product

from docmill.understanding.constraints.booking_signs import (
    SIDES,
    sections,
    shown_sign,
    sign_of_section,
    signed_balance,
    signs_by_balances,
    signs_of_rows,
)
from docmill.understanding.constraints.header_fields import WRONG_CHECKSUM
from docmill.understanding.constraints.totals import balance_options
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, Findings, cleaned, finding_of
from docmill.understanding.page.labels import BOOKINGS, LABELS
from docmill.understanding.page.layout import Span
from docmill.understanding.tables.columns import Row
from docmill.understanding.tables.dated_lines import dated_lines
from docmill.understanding.tables.find import find_tables, has_own_tables
from docmill.understanding.tables.grid import Grid
from docmill.understanding.tables.printed_lines import Word, flowing, joined, read_figure, spans
from docmill.understanding.text.codes import find_ibans
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import alternatives
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.vocabulary import LANGUAGES, Column, Concept

_WORDS = [language.bookings for language in LANGUAGES]
_NUMBER_WORDS = alternatives(word for language in LANGUAGES for word in language.numbers)
_REFERENCE = re.compile(
    rf"(?<!\w)(?:{alternatives(label for words in _WORDS for label in words.reference)})(?:(?<=\+)|\b\.?"
    rf"(?:\s?(?:{_NUMBER_WORDS}|n\u00b0)\b\.?)?\s?:?)\s*(\S*\d\S*)",
    re.IGNORECASE,
)
_SEPARATORS = (".", "/", "-", " ", ", ")
_DATED = (Column.DATE, Column.VALUE_DATE)
_OF_ACCOUNTS = (
    (Column.DEBIT, Column.CREDIT),
    (Column.BALANCE,),
    (Column.DATE, Column.VALUE_DATE),
    (Column.DATE, Column.COUNTERPARTY, Column.NET_AMOUNT),
)
"""Columns that lists of bookings have and those of items have not."""
_LONGEST = timedelta(days=366)
"""Of the period of a statement."""
_LEAST_ROWS = 2
"""Bookings whose balances prove each other."""
_SLACK = timedelta(days=45)
"""A booking may be dated so long before or after the period."""
_PROVED = 0.97
_READ = 0.8
_BALANCES = ("opening_balance", "closing_balance")
_BALANCE_CONCEPTS = frozenset({Concept.OPENING_BALANCE, Concept.CLOSING_BALANCE})
_MOST_OF_IT = 0.6
"""Share of a row's letters from which on the words for a balance are all it says."""
_LONGEST_MARK = 3
"""Capitals before a number, as in `RE 4711`."""
_BEST = 4
"""Opening and closing balances that are tried together."""


@dataclass(frozen=True, slots=True)
class Booking:
    """One row of a table. is_proved: its sign is proved by the balances beside it.

    is_signed: the sign is printed.
    """

    grid: Grid
    row: Row
    day: Finding | None
    amount: Finding
    balance: Decimal | None
    balance_spans: tuple[Span, ...] = ()
    is_proved: bool = False
    is_signed: bool = False

    @property
    def value(self) -> Decimal:
        """The amount, negative for a debit."""
        amount = self.amount.value
        return amount if isinstance(amount, Decimal) else Decimal(0)

    def with_sign(self, sign: int) -> "Booking":
        """The same, with the sign that the balances prove."""
        return replace(self.with_value(abs(self.value) * sign), is_proved=True)

    def with_value(self, value: Decimal) -> "Booking":
        """The same with another amount."""
        return replace(self, amount=replace(self.amount, value=value))


def find_bookings(candidates: Candidates, findings: Findings) -> dict[str, Finding]:
    """`transactions[]` and the balances that go with them. findings: the other fields, the period too."""
    reader = _BookingReader(candidates, findings)
    tables = (grid for grid in find_tables(candidates) if any(map(grid.has_column, _DATED)))
    rows = max(map(reader.read, tables), key=len, default=list[Booking]()) or reader.read(
        dated_lines(candidates)
    )
    rows, agreeing = _proved_by_balances(candidates, rows)
    result = dict(_running_balances(rows)) | {name: findings[name] for name in _BALANCES if name in findings}
    for name, balance in zip(_BALANCES, agreeing, strict=False):
        result[name] = replace(balance, probability=_PROVED)
    if "period_start" not in findings and rows:
        result |= _period(candidates, rows)
    if "period_end" not in {*findings, *result} and not has_own_tables(candidates.layout.document):
        result |= _day_of_balance(candidates, rows, result.get("closing_balance"))
    proved = "opening_balance" in result and all(
        balance.probability >= _PROVED for balance in result.values()
    )
    for index, booking in enumerate(rows):
        probability = _PROVED if booking.is_proved or proved else _READ
        fields = {"amount": replace(booking.amount, probability=probability), **reader.read_texts(booking)}
        if booking.day is not None:
            fields["date"] = booking.day
        result |= {f"transactions[{index}].{name}": finding for name, finding in fields.items()}
    return result


def _proved_by_balances(
    candidates: Candidates, rows: list[Booking]
) -> tuple[list[Booking], tuple[Finding, ...]]:
    """The bookings with the signs by which they lead from one balance to the other, and these two.

    Without two such balances the bookings as they are, and none.
    """
    options = (
        [signed_balance(candidates.layout, balance) for balance in balance_options(candidates, name)[:_BEST]]
        for name in _BALANCES
    )
    values, is_signed = [row.value for row in rows], [row.is_signed or row.is_proved for row in rows]
    for opening, closing in product(*options) if rows else ():
        step = Decimal(str(closing.value)) - Decimal(str(opening.value))
        signed = signs_by_balances(values, is_signed, step)
        if signed is not None and opening.spans != closing.spans:
            return [row.with_value(value) for row, value in zip(rows, signed, strict=True)], (
                opening,
                closing,
            )
    return rows, ()


def account_iban(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """The IBAN of the account: the first on the page that stands in no booking."""
    grids = [grid for grid in find_tables(candidates) if any(map(grid.has_column, _DATED))]
    lines = [line for grid in grids for row in grid.rows for line in (*row.above, *row.cells, *row.below)]
    of_bookings = {word.segment.index for line in lines for word in line}
    for code in candidates.ibans:
        if code.segment.index not in of_bookings:
            yield "iban", finding_of(code, _PROVED)
            return
    for code in candidates.doubtful_ibans:
        if code.segment.index not in of_bookings:
            yield "iban", finding_of(code, WRONG_CHECKSUM)
            return
    yield from _iban_of_rows(grids)


def _iban_of_rows(grids: Sequence[Grid]) -> Iterator[tuple[str, Finding]]:
    """The IBAN that a column has in every row: exports repeat that of the account."""
    for grid in grids:
        for index, heading in enumerate(grid.headings):
            cells = [row.cells[index] for row in grid.rows]
            codes = {code.value for cell in cells for code in find_ibans(joined(cell))}
            if len(codes) == 1 < len(cells) and all(cells) and Column.COUNTERPARTY not in heading.meanings:
                yield "iban", Finding(codes.pop(), spans(cells[0]), _PROVED)
                return


def _running_balances(rows: Sequence[Booking]) -> Iterator[tuple[str, Finding]]:
    """The balances before and after all bookings, if the balance of each leads to that of the next."""
    balances = [row.balance for row in rows if row.balance is not None]
    if len(rows) < _LEAST_ROWS or len(balances) < len(rows):
        return
    steps = [after - before for before, after in pairwise(balances)]
    if steps == [row.value for row in rows[1:]]:
        first, last = 0, -1
    elif [-step for step in steps] == [row.value for row in rows[:-1]]:
        first, last = -1, 0
    else:
        return
    yield "opening_balance", Finding(balances[first] - rows[first].value, (), _PROVED)
    yield "closing_balance", Finding(balances[last], rows[last].balance_spans, _PROVED)


def has_list_of_bookings(candidates: Candidates) -> bool:
    """True if the file has a table whose headings and rows are those of bookings: an export of a bank."""
    if not has_own_tables(candidates.layout.document):
        return False
    return any(
        any(map(grid.has_column, _DATED))
        and not _has_items(grid)
        and any(all(map(grid.has_column, columns)) for columns in _OF_ACCOUNTS)
        for grid in find_tables(candidates)
    )


def _has_items(grid: Grid) -> bool:
    """True if a column of quantities or prices has anything."""
    columns = [
        index
        for index, heading in enumerate(grid.headings)
        if heading.meanings and heading.meanings <= {Column.QUANTITY, Column.UNIT_PRICE}
    ]
    return any(row.cells[index] for row in grid.rows for index in columns)


def _period(candidates: Candidates, rows: Sequence[Booking]) -> Iterator[tuple[str, Finding]]:
    """The shortest period whose ends are labelled, or stand in one line, and that holds all bookings."""
    days = [day.value for row in rows if (day := row.day) and isinstance(day.value, date)]
    of_rows = {word.segment.index for row in rows for cell in row.row.cells for word in cell}
    dates = [day for day in candidates.dates if day.segment.index not in of_rows]
    pairs = [
        (start, end)
        for start, end in product(dates, dates)
        if days and start.value <= min(days) and max(days) <= end.value <= start.value + _LONGEST
        if start.segment is end.segment
        or (
            _is_labelled(candidates, start, Concept.PERIOD_START)
            and _is_labelled(candidates, end, Concept.PERIOD_END)
        )
    ]
    if pairs:
        start, end = min(pairs, key=lambda pair: pair[1].value - pair[0].value)
        yield "period_start", finding_of(start, _PROVED)
        yield "period_end", finding_of(end, _PROVED)


def _day_of_balance(
    candidates: Candidates, rows: Sequence[Booking], balance: Finding | None
) -> Iterator[tuple[str, Finding]]:
    """The end of the period: the day of the closing balance, if it stands there and no booking is later."""
    of_rows = {word.segment.index for row in rows for cell in row.row.cells for word in cell}
    if balance is None or not balance.spans or balance.spans[0].segment.index in of_rows:
        return
    segment = balance.spans[0].segment
    days = [day.value for row in rows if (day := row.day) and isinstance(day.value, date)]
    place = (segment.page_index, segment.line)
    for day in candidates.dates:
        is_beside = (day.segment.page_index, day.segment.line) == place
        if is_beside and max(days, default=day.value) <= day.value:
            yield "period_end", finding_of(day, _PROVED)
            return


def _is_labelled(candidates: Candidates, day: Candidate[date], concept: Concept) -> bool:
    """True if a date has this label, or another table cell on its left is nothing but the label."""
    lefts = candidates.layout.sheet(day.segment).left_of(day.segment)
    labels = [label for left in lefts for label in LABELS.find(left.text) if label.start == 0]
    return bool(day.clues.get(concept)) or any(concept in label.meanings for label in labels)


class _BookingReader:
    """Reads rows as bookings."""

    def __init__(self, candidates: Candidates, findings: Findings) -> None:
        self._candidates = candidates
        self._sections = sections(candidates)
        days = {
            path: finding.value
            for path in ("period_end", "issue_date", "period_start")
            if (finding := findings.get(path)) and isinstance(finding.value, date)
        }
        end = next(iter(days.values()), None)
        self._years = (end.year, end.year - 1) if end else ()
        self._last = end + _SLACK if end else date.max
        start = days.get("period_start") or (end - timedelta(days=366) if end else None)
        self._first = start - _SLACK if start else date.min

    def read(self, grid: Grid) -> list[Booking]:
        """The rows with an amount; a date that is not repeated is that of the row above.

        The signs are those that two balances one after the other prove, whichever comes first.
        """
        rows: list[Booking] = []
        for row, sign in zip(grid.rows, signs_of_rows(grid), strict=True):
            booking = self._booking(grid, row, sign)
            if booking is None or (grid.text is not None and _is_balance(joined(row.cells[grid.text]))):
                continue
            if booking.day is None and _is_sum(booking, rows):
                continue
            rows.append(booking if booking.day or not rows else replace(booking, day=rows[-1].day))
        for index, (row, below) in enumerate(pairwise(list(rows))):
            if row.balance is None or below.balance is None:
                continue
            step = below.balance - row.balance
            if abs(step) == abs(below.value) and below.value:
                rows[index + 1] = below.with_sign(1 if step > 0 else -1)
            elif abs(step) == abs(row.value) and row.value:
                rows[index] = row.with_sign(1 if step < 0 else -1)
        return rows

    def _booking(self, grid: Grid, row: Row, beside: int) -> Booking | None:
        """The booking of a row. beside: its sign by a column of marks, 0 without one."""
        amount: Finding | None = None
        balance: Decimal | None = None
        places: tuple[Span, ...] = ()
        is_signed = False
        for heading, cell in zip(grid.headings, row.cells, strict=True):
            figure = read_figure(self._candidates, cell)
            if figure is None or (not heading.meanings.isdisjoint(_DATED) and self._day_of(cell)):
                continue
            size = abs(figure.value)
            sign = shown_sign(figure.rest, cell, figure.value) or beside
            if Column.DEBIT in heading.meanings or Column.CREDIT in heading.meanings:
                marked = shown_sign(figure.rest, (), size)
                value = size * (marked or (-1 if Column.DEBIT in heading.meanings else 1))
                amount, is_signed = amount or Finding(value, spans(cell), _READ), True
            elif Column.NET_AMOUNT in heading.meanings:
                sign = sign or sign_of_section(self._sections, row)
                amount, is_signed = amount or Finding((sign or 1) * size, spans(cell), _READ), bool(sign)
            elif Column.BALANCE in heading.meanings:
                balance, places = (sign if not beside else 0) * size or figure.value, spans(cell)
        day = self._day(grid, row)
        if amount is None:
            return None
        return Booking(grid, row, day, amount, balance, places, is_signed=is_signed)

    def _day(self, grid: Grid, row: Row) -> Finding | None:
        """The date of a row. A date under another heading, as `F. oper.`, comes before the value date."""
        columns = [
            (heading.meanings, cell)
            for index, (heading, cell) in enumerate(zip(grid.headings, row.cells, strict=True))
            if cell and index != grid.text
        ]
        dated = [cell for meanings, cell in columns if Column.DATE in meanings]
        of_values = [cell for meanings, cell in columns if Column.VALUE_DATE in meanings]
        others = [cell for meanings, cell in columns if meanings.isdisjoint(_DATED)] if of_values else []
        return next(filter(None, map(self._day_of, (*dated, *others, *of_values))), None)

    def _day_of(self, cell: Sequence[Word]) -> Finding | None:
        """The date that a cell consists of."""
        text = joined(cell)
        is_whole = bool(find_dates(text))
        # A year that is not printed is that of the period or the one before.
        options = [f"{text.strip(' .')}{mark}{year}" for year in self._years for mark in _SEPARATORS]
        for option in [text] if is_whole else options:
            dates = find_dates(option)
            value = dates[0].value(day_first=self._candidates.conventions.day_first) if dates else None
            if value is not None and (is_whole or self._first <= value <= self._last):
                return Finding(value, spans(cell), _PROVED)
        return None

    def read_texts(self, booking: Booking) -> dict[str, Finding]:
        """The counterparty, the reference, the description and the counterparty's IBAN."""
        grid, row = booking.grid, booking.row
        fields = {
            name: Finding(joined(cell), spans(cell), _READ, named=1)
            for index, (heading, cell) in enumerate(zip(grid.headings, row.cells, strict=True))
            for column, name in ((Column.COUNTERPARTY, "counterparty"), (Column.REFERENCE, "reference"))
            if column in heading.meanings and cell and index != grid.text
            if not any(find_ibans(joined(cell)))
        }
        fields |= dict(_iban_beside(grid, row))
        lines = row.text_lines(grid.text) if grid.text is not None else []
        if not lines:
            return fields
        words = [word for line in lines for word in line]
        text = flowing(lines)
        codes = dict(_codes(words))
        kinds = BOOKINGS.find(joined(lines[0]))
        if kinds and kinds[0].start == 0 and kinds[0].quality == 1:
            count = len(joined(lines[0])[: kinds[0].stop].split())
            # `Frais bancaires`: names do not begin with a small letter.
            count = next(
                (at for at in range(count, len(lines[0])) if not lines[0][at].text[0].islower()),
                len(lines[0]),
            )
            text = joined(words[:count])
            codes |= dict(_sides(words[count:], lines, codes.get("iban")))
            words = words[:count]
        else:
            text = cleaned(text, plain=self._candidates.plain)
        return fields | {"description": Finding(text, spans(words), _READ)} | codes


def _is_sum(booking: Booking, rows: Sequence[Booking]) -> bool:
    """True if a row sums up all debits or all credits above it, or both, one in each column."""
    amounts = [
        read
        for heading, cell in zip(booking.grid.headings, booking.row.cells, strict=True)
        if cell and not heading.meanings.isdisjoint(SIDES) and Column.BALANCE not in heading.meanings
        for read in [joined(cell)]
        if any(map(str.isdecimal, read))
    ]
    same_side = (row.value for row in rows if (row.value < 0) == (booking.value < 0))
    return len(amounts) > 1 or (len(rows) > 1 and booking.value == sum(same_side, Decimal(0)))


def _is_balance(text: str) -> bool:
    """True if a row brings a balance and no booking, though it has a date: `Opening balance`."""
    labels = [label for label in LABELS.find(text) if not _BALANCE_CONCEPTS.isdisjoint(label.meanings)]
    covered = sum(sum(map(str.isalpha, text[label.start : label.stop])) for label in labels)
    return bool(labels) and covered > _MOST_OF_IT * sum(map(str.isalpha, text))


def _iban_beside(grid: Grid, row: Row) -> Iterator[tuple[str, Finding]]:
    """The IBAN in a cell of its own that is not the same in all rows, as that of the account is."""
    for index, cell in enumerate(row.cells):
        codes = [] if index == grid.text else list(find_ibans(joined(cell)))
        texts = {joined(other.cells[index]) for other in grid.rows}
        if codes and (len(texts) > 1 or Column.COUNTERPARTY in grid.headings[index].meanings):
            yield "iban", Finding(codes[0].value, spans(cell), _PROVED)
            return


def _sides(
    rest: Sequence[Word], lines: Sequence[Sequence[Word]], iban: Finding | None
) -> Iterator[tuple[str, Finding]]:
    """The counterparty and the reference, by what stands behind the kind of booking.

    The name ends with its legal form, which may begin the next line, its line, or a labelled number. They are
    named by a legal form or an IBAN, half by a line, and not at all by a number.
    """
    if not rest:
        return
    first_line = next(line for line in lines if rest[0] in line)
    count = len([word for word in first_line if word in rest])
    stop = next((at for at in range(count) if any(map(str.isdecimal, rest[at].text))), count)
    legal = len(joined(rest)[: legal_form_end(joined(rest[: stop + (stop == count)]))].split())
    if 0 < stop < count and not legal:
        word = rest[stop - 1].text
        is_mark = len(word) <= _LONGEST_MARK and word.isupper()
        stop -= is_mark or any(label.quality == 1 for label in LABELS.find(word))
    named = 1.0 if legal else 0.5 * (stop == count)
    stop = begin = legal or stop
    if iban is not None:
        place = (iban.spans[0].segment, iban.spans[0].start)
        at = next((at for at, word in enumerate(rest) if (word.segment, word.start) == place), None)
        if at is not None:
            stop, begin = at, at + sum(len(span.text.split()) for span in iban.spans)
            named = 1.0
    for name, words in (("counterparty", rest[:stop]), ("reference", rest[begin:])):
        if words:
            yield name, Finding(joined(words), spans(words), _READ, named=named)


def _codes(words: Sequence[Word]) -> Iterator[tuple[str, Finding]]:
    """The other side's IBAN and the reference in a booking's text."""
    text = joined(words)
    codes = [("iban", code.value, code.start, code.stop, _PROVED) for code in find_ibans(text)][:1]
    reference = _REFERENCE.search(text)
    if reference is not None:
        codes.append(("reference", reference[1].strip(".,;"), *reference.span(1), _READ))
    starts = list(accumulate((len(word.text) + 1 for word in words), initial=0))
    for name, value, start, stop, probability in codes:
        inside = [
            word
            for word, offset in zip(words, starts, strict=False)
            if offset < stop and offset + len(word.text) > start
        ]
        yield name, Finding(value, spans(inside), probability, named=1)
