"""The bookings of a bank statement, which lead from one balance to the other."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from docmill.understanding.constraints.address_features import legal_form_end
from docmill.understanding.constraints.totals import balance_options
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings, cleaned
from docmill.understanding.page.labels import BOOKINGS, LABELS
from docmill.understanding.page.layout import Span
from docmill.understanding.tables.find import find_tables
from docmill.understanding.tables.grid import Grid, Row
from docmill.understanding.tables.numbers import read_figure
from docmill.understanding.tables.printed_lines import Word, flowing, joined, spans
from docmill.understanding.text.codes import find_ibans
from docmill.understanding.text.dates import find_dates
from docmill.understanding.vocabulary import LANGUAGES, Column, Concept


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


_WORDS = [language.bookings for language in LANGUAGES]
_DEBIT = re.compile(rf"^(?:{_either(mark for words in _WORDS for mark in words.debit)})\.?$", re.IGNORECASE)
_CREDIT = re.compile(rf"^(?:{_either(mark for words in _WORDS for mark in words.credit)})\.?$", re.IGNORECASE)
_REFERENCE = re.compile(
    rf"(?<!\w)(?:{_either(label for words in _WORDS for label in words.reference)})(?:(?<=\+)|\b\.?"
    r"(?:\s?(?:no|nr|n\u00b0)\b\.?)?\s?:?)\s*(\S*\d\S*)",
    re.IGNORECASE,
)
_SEPARATORS = (".", "/", "-", " ", ", ")
_SLACK = timedelta(days=45)
"""A booking may be dated so long before or after the period."""
_PROVED = 0.97
_SAID = 0.8
_BALANCES = ("opening_balance", "closing_balance")
_OF_BALANCES = frozenset({Concept.OPENING_BALANCE, Concept.CLOSING_BALANCE})
_MOST_OF_IT = 0.6
"""Share of a row's letters from which on the words for a balance are all it says."""
_LONGEST_MARK = 3
"""Capitals before a number, as in `RE 4711`."""
_BEST = 4
"""Opening and closing balances that are tried together."""


@dataclass(frozen=True, slots=True)
class Booking:
    """One row. sign: 0 where the row does not say whether money came or went."""

    grid: Grid
    row: Row
    day: Finding | None
    amount: Finding
    balance: Decimal | None
    sign: int
    sure: bool = False

    @property
    def value(self) -> Decimal:
        """The amount, negative for a debit."""
        amount = self.amount.value
        return amount if isinstance(amount, Decimal) else Decimal(0)

    def signed(self, sign: int) -> "Booking":
        """The same, with the sign that the balances prove."""
        return replace(self, amount=replace(self.amount, value=abs(self.value) * sign), sign=sign, sure=True)


def bookings(candidates: Candidates, known: Findings) -> dict[str, Finding]:
    """`transactions[]` and the balances that go with them. known: what was found so far, the period too."""
    reader = _Reader(candidates, known)
    none: list[Booking] = []
    found = max((reader.bookings(grid) for grid in _tables(candidates)), key=len, default=none)
    balances = _balances(candidates, found, known)
    proved = "opening_balance" in balances and all(one.probability >= _PROVED for one in balances.values())
    result: dict[str, Finding] = dict(balances)
    for index, booking in enumerate(found):
        for name, finding in reader.fields(booking, proved=proved):
            result[f"transactions[{index}].{name}"] = finding
    return result


def _tables(candidates: Candidates) -> list[Grid]:
    """Tables with a date and an amount."""
    tables = find_tables(candidates)
    return [grid for grid in tables if grid.has_column(Column.DATE) or grid.has_column(Column.VALUE_DATE)]


def _is_balance(text: str) -> bool:
    """Whether a row brings a balance and no booking, though it has a date: `Opening balance`."""
    labels = [one for one in LABELS.find(text) if not _OF_BALANCES.isdisjoint(one.meanings)]
    taken = sum(sum(map(str.isalpha, text[one.start : one.stop])) for one in labels)
    return bool(labels) and taken > _MOST_OF_IT * sum(map(str.isalpha, text))


class _Reader:
    """Reads rows as bookings."""

    def __init__(self, candidates: Candidates, known: Findings) -> None:
        self._candidates = candidates
        dates = [
            one.value for path in ("period_end", "issue_date", "period_start") if (one := known.get(path))
        ]
        self._end = next((day for day in dates if isinstance(day, date)), None)
        start = known.get("period_start")
        self._start = start.value if start is not None and isinstance(start.value, date) else None

    def bookings(self, grid: Grid) -> list[Booking]:
        """The rows with an amount; a date that is not repeated is that of the row above."""
        found: list[Booking] = []
        for row in grid.rows:
            one = self._booking(grid, row)
            if one is not None and not (grid.text is not None and _is_balance(joined(row.cells[grid.text]))):
                found.append(one if one.day or not found else replace(one, day=found[-1].day))
        return _signed(found)

    def _booking(self, grid: Grid, row: Row) -> Booking | None:
        day = self._day(grid, row)
        balance = None
        amount: tuple[Finding, int] | None = None
        for index, heading in enumerate(grid.headings):
            cell = row.cells[index]
            figure = read_figure(self._candidates, cell)
            if figure is None:
                continue
            if Column.DEBIT in heading.meanings or Column.CREDIT in heading.meanings:
                sign = -1 if Column.DEBIT in heading.meanings else 1
                amount = amount or (Finding(sign * abs(figure.value), spans(cell), _SAID), sign)
            elif Column.NET_AMOUNT in heading.meanings:
                sign = _sign(figure.rest, cell, figure.value)
                value = sign * abs(figure.value) if sign else figure.value
                amount = amount or (Finding(value, spans(cell), _SAID), sign)
            elif Column.BALANCE in heading.meanings:
                balance = _sign(figure.rest, cell, figure.value) * abs(figure.value) or figure.value
        return Booking(grid, row, day, amount[0], balance, amount[1]) if amount is not None else None

    def _day(self, grid: Grid, row: Row) -> Finding | None:
        for kind in (Column.DATE, Column.VALUE_DATE):
            for index, heading in enumerate(grid.headings):
                if kind in heading.meanings and row.cells[index] and index != grid.text:
                    finding = self._written(row.cells[index])
                    if finding is not None:
                        return finding
        return None

    def _written(self, words: Sequence[Word]) -> Finding | None:
        """The date of a cell; a year that it lacks is that of the period."""
        text = joined(words)
        day_first = self._candidates.conventions.day_first
        whole = find_dates(text)
        value = whole[0].value(day_first=day_first) if whole else self._supplied(text.strip(" ."), day_first)
        return Finding(value, spans(words), _PROVED) if value is not None else None

    def _supplied(self, text: str, day_first: bool) -> date | None:  # noqa: FBT001 - a convention, handed on
        if self._end is None:
            return None
        for year in (self._end.year, self._end.year - 1):
            for separator in _SEPARATORS:
                found = find_dates(f"{text}{separator}{year}")
                value = found[0].value(day_first=day_first) if found else None
                if value is not None and self._fits(value):
                    return value
        return None

    def _fits(self, day: date) -> bool:
        """Whether a day is of the period, or of the year before the statement's date."""
        end = self._end or day
        start = self._start or end - timedelta(days=366)
        return start - _SLACK <= day <= end + _SLACK

    def fields(self, booking: Booking, *, proved: bool) -> Iterator[tuple[str, Finding]]:
        """A booking's values by name."""
        if booking.day is not None:
            yield "date", booking.day
        yield "amount", replace(booking.amount, probability=_PROVED if booking.sure or proved else _SAID)
        yield from self._texts(booking)

    def _texts(self, booking: Booking) -> Iterator[tuple[str, Finding]]:
        grid, row = booking.grid, booking.row
        for index, heading in enumerate(grid.headings):
            for kind, name in ((Column.COUNTERPARTY, "counterparty"), (Column.REFERENCE, "reference")):
                if kind in heading.meanings and row.cells[index] and index != grid.text:
                    yield name, Finding(joined(row.cells[index]), spans(row.cells[index]), _SAID)
        if grid.text is None:
            return
        lines = [line for line in (*row.above, row.cells[grid.text], *row.below) if line]
        words = [word for line in lines for word in line]
        if not words:
            return
        found = dict(_codes(words))
        kind = _kind(lines[0])
        if kind:
            yield "description", Finding(joined(words[:kind]), spans(words[:kind]), _SAID)
            found |= dict(_sides(words[kind:], lines, found.get("iban")))
        else:
            text = cleaned(flowing(lines), plain=self._candidates.plain)
            yield "description", Finding(text, spans(words), _SAID)
        yield from found.items()


def _kind(line: Sequence[Word]) -> int:
    """How many words at its beginning say what kind of booking it is."""
    found = BOOKINGS.find(joined(line))
    if not found or found[0].start or found[0].quality < 1:
        return 0
    return len(joined(line)[: found[0].stop].split())


def _sides(
    rest: Sequence[Word], lines: Sequence[Sequence[Word]], iban: Finding | None
) -> Iterator[tuple[str, Finding]]:
    """Whom a booking is with and what it is for, by what stands behind its kind."""
    if not rest:
        return
    stop = begin = _name_words(rest, lines)
    if iban is not None:
        first = iban.spans[0]
        at = next((at for at, word in enumerate(rest) if word[3:5] == (first.segment, first.start)), None)
        if at is not None:
            stop, begin = at, at + sum(len(span.text.split()) for span in iban.spans)
    for name, words in (("counterparty", rest[:stop]), ("reference", rest[begin:])):
        if words:
            yield name, Finding(joined(words), spans(words), _SAID)


def _name_words(rest: Sequence[Word], lines: Sequence[Sequence[Word]]) -> int:
    """How many words are the name: to its legal form, the end of its line, or a labelled number."""
    line = next(one for one in lines if rest[0] in one)
    count = len([word for word in line if word in rest])
    stop = next((at for at in range(count) if any(map(str.isdecimal, rest[at].text))), count)
    legal = len(joined(rest)[: legal_form_end(joined(rest[:stop]))].split())
    if legal:
        return legal
    return stop - (0 < stop < count and _is_label(rest[stop - 1].text))


def _is_label(text: str) -> bool:
    """Whether a word belongs to the number behind it."""
    return (len(text) <= _LONGEST_MARK and text.isupper()) or any(
        label.quality == 1 for label in LABELS.find(text)
    )


def _codes(words: Sequence[Word]) -> Iterator[tuple[str, Finding]]:
    """The other side's IBAN and the reference in a booking's text."""
    text = joined(words)
    offsets: list[int] = []
    at = 0
    for word in words:
        offsets.append(at)
        at += len(word.text) + 1

    def within(start: int, stop: int) -> tuple[Span, ...]:
        own = [
            word
            for word, offset in zip(words, offsets, strict=True)
            if offset < stop and offset + len(word.text) > start
        ]
        return spans(own)

    iban = next(iter(find_ibans(text)), None)
    if iban is not None:
        yield "iban", Finding(iban.value, within(iban.start, iban.stop), _PROVED)
    reference = _REFERENCE.search(text)
    if reference is not None:
        yield "reference", Finding(reference[1].strip(".,;"), within(*reference.span(1)), _SAID)


def _sign(rest: str, cell: Sequence[Word], value: Decimal) -> int:
    """The sign a cell shows: letters for debit or credit, a minus, a plus; 0 if none."""
    for word in rest.split():
        if _DEBIT.match(word):
            return -1
        if _CREDIT.match(word):
            return 1
    if value < 0:
        return -1
    return 1 if "+" in joined(cell) else 0


def _signed(found: Sequence[Booking]) -> list[Booking]:
    """With the signs that two balances one after the other prove, whichever comes first."""
    result = list(found)
    for index, (one, other) in enumerate(pairwise(found)):
        if one.balance is None or other.balance is None:
            continue
        if abs(other.balance - one.balance) == abs(other.value) and other.value:
            result[index + 1] = other.signed(1 if other.balance > one.balance else -1)
        elif abs(one.balance - other.balance) == abs(one.value) and one.value:
            result[index] = one.signed(1 if one.balance > other.balance else -1)
    return result


def _balances(candidates: Candidates, found: Sequence[Booking], known: Findings) -> dict[str, Finding]:
    """Opening and closing balance; those that the bookings lead from one to the other, if there are such."""
    total = sum((one.value for one in found), Decimal(0))
    options = {name: balance_options(candidates, name)[:_BEST] for name in _BALANCES}
    for opening in options["opening_balance"]:
        for closing in options["closing_balance"]:
            if found and Decimal(str(opening.value)) + total == closing.value:
                return {
                    "opening_balance": Finding(opening.value, opening.spans, _PROVED),
                    "closing_balance": Finding(closing.value, closing.spans, _PROVED),
                }
    return {name: known[name] for name in _BALANCES if name in known}
