"""Tables without headings whose lines begin with a date and end with an amount, as banks print bookings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.tables.columns import Cells, Row, names_sum
from docmill.understanding.tables.grid import Grid
from docmill.understanding.tables.headings import Heading
from docmill.understanding.tables.printed_lines import (
    PrintedLine,
    Word,
    joined,
    printed_lines,
    read_figure,
)
from docmill.understanding.text.dates import find_dates
from docmill.understanding.vocabulary import Column

_SHORT_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./]?$")
_YEAR = "2024"
"""Any leap year: to tell a day and the name of a month without a year from other words."""
_LONGEST_DATE = 3
"""Words of a date, such as `3 March 2026`."""
_MOST_DATES = 2
"""Days of booking and of value."""
_MOST_AMOUNTS = 2
"""The amount and the balance after it."""
_MARK = re.compile(r"^(?:[^\W\d_]{1,4}\.?|[+\-\u2212\u2013]|[^\w\s])$")
"""A word beside an amount: its currency, or its sign, or letters for debit or credit."""
_CENTS = re.compile(r"\d[.,]\d\d(?:\D|$)")
_HEADINGS = (Column.DATE, Column.VALUE_DATE, Column.DESCRIPTION, Column.NET_AMOUNT, Column.BALANCE)
_TEXT = _HEADINGS.index(Column.DESCRIPTION)
_WRAPPED = 1.3
"""Line heights between a row and a line of text that still belongs to it."""
_MOST_BELOW = 6
"""Lines of text below a row that belong to it."""


@dataclass(frozen=True, slots=True)
class _DatedLine:
    dates: Cells
    text: list[Word]
    amounts: Cells

    @property
    def cells(self) -> Cells:
        dates = [*self.dates, *[[]] * (_MOST_DATES - len(self.dates))]
        amounts = [*self.amounts, *[[]] * (_MOST_AMOUNTS - len(self.amounts))]
        return [list(cell) for cell in (*dates, self.text, *amounts)]


def dated_lines(candidates: Candidates) -> Grid:
    """The lines with a date, a text, and one amount or two, with the lines of text below each."""
    headings = tuple(Heading(0.0, 0.0, frozenset({column}), "") for column in _HEADINGS)
    grid = Grid(headings, _TEXT)
    for sheet in candidates.layout.sheets:
        lines = printed_lines(sheet)
        for at, line in enumerate(lines):
            read = _read(candidates, line)
            if read is None:
                continue
            cells = read.cells
            amounts = {index for index, cell in enumerate(cells) if cell and index > _TEXT}
            row = Row(cells, frozenset(amounts), amounts, line.top, line.bottom)
            row.below = _below(candidates, lines[at + 1 : at + 1 + _MOST_BELOW], line, read.text)
            grid.rows.append(row)
    return grid


def _read(candidates: Candidates, line: PrintedLine) -> _DatedLine | None:
    words = list(line.words)
    dates: Cells = []
    while len(dates) < _MOST_DATES and (count := _date_words(words)):
        dates.append(words[:count])
        words = words[count:]
    amounts: Cells = []
    while dates and len(amounts) < _MOST_AMOUNTS and (count := _amount_words(candidates, words)):
        amounts.insert(0, words[-count:])
        words = words[:-count]
    if not amounts or not any(map(str.isalpha, joined(words))):
        return None
    return _DatedLine(dates, words, amounts)


def _date_words(words: Sequence[Word]) -> int:
    """The number of words of the date that the words begin with; 0 if there is none."""
    for count in range(min(_LONGEST_DATE, len(words)), 0, -1):
        text = joined(words[:count])
        options = (text, f"{text.strip(' .')} {_YEAR}")
        is_whole = any(
            (date.start, date.stop) == (0, len(option))
            for option in options
            for date in find_dates(option)[:1]
        )
        if is_whole or (count == 1 and _SHORT_DATE.match(text)):
            return count
    return 0


def _amount_words(candidates: Candidates, words: Sequence[Word]) -> int:
    """The number of words of the amount that they end with, a mark or currency beside it included."""
    marks = 0
    while marks < _MOST_AMOUNTS and marks < len(words) and _MARK.match(words[-1 - marks].text):
        marks += 1
    end = len(words) - marks
    if end < 1:
        return 0
    last = words[end - 1]
    begin = end - 1
    # Thousands parted by a space, or a sign before them, stand in the same piece of the line.
    while begin > 0 and words[begin - 1].segment is last.segment:
        figure = read_figure(candidates, words[begin - 1 : end])
        if figure is None or any(map(str.isalpha, figure.rest)) or not _is_part(words[begin - 1].text):
            break
        begin -= 1
    text = joined(words[begin:end])
    figure = read_figure(candidates, words[begin:end]) if _CENTS.search(text) else None
    return len(words) - begin if figure is not None and not figure.percent else 0


def _is_part(text: str) -> bool:
    return not any(map(str.isalpha, text)) and not _CENTS.search(text)


def _below(candidates: Candidates, lines: Sequence[PrintedLine], row: PrintedLine, text: list[Word]) -> Cells:
    """The lines of text below a row, which begin no further left than its text."""
    below: Cells = []
    bottom = row.bottom
    for line in lines:
        words = list(line.words)
        if (
            line.top - bottom > _WRAPPED * line.height
            or words[0].x1 < text[0].x0
            or _amount_words(candidates, words)
            or names_sum(line.text)
        ):
            break
        below.append(words)
        bottom = line.bottom
    return below
