"""Tables as delimited text (CSV, TSV): the delimiter, and which rows are the table.

Exports of banks and shops have lines of their own before the table, such as the account and the period, and
sometimes after it.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DELIMITERS = ",;\t|"
ENOUGH_ROWS = 2
SAMPLE_ROWS = 200
SAMPLE = 64 * 1024
"""Number of characters that are examined."""
ALIKE = 0.9
"""Least share of rows with the usual number of columns."""
FEW_STRAYS = 0.8
"""The same behind lines before the table: texts with the delimiter in them, rows without their last cells."""
LEAST_COLUMNS = 3
"""Of a table with lines before it."""
MOST_BEFORE = 30
"""Lines before a table."""
MOST_AFTER = 5
"""Lines after a table."""
NAMED = 0.7
"""Least share of columns with a heading."""
LONGEST_HEADING = 60
_SENTENCE = re.compile(r"\w+ \w+ \w+ .*\.$")


class DelimitedTable(NamedTuple):
    """The place of a table in a text. start: the row of its headings, empty rows not counted."""

    delimiter: str
    columns: int
    start: int


def find_table(text: str, *, is_whole: bool) -> DelimitedTable | None:
    """The table of most columns that nearly all rows make; None for a text without one.

    is_whole: False if the last row of `text` may be cut.
    """
    best: DelimitedTable | None = None
    lines = text.splitlines(keepends=True)
    for mark in DELIMITERS:
        rows: list[list[str]] = []
        try:
            for row in csv.reader(lines, delimiter=mark):
                if any(cell.strip() for cell in row):
                    rows.append(row)
                if len(rows) > SAMPLE_ROWS:
                    break
        except csv.Error:
            continue
        if not is_whole or len(rows) > SAMPLE_ROWS:
            rows = rows[:-1]
        table = _table(mark, rows)
        if table is not None and (best is None or table.columns > best.columns):
            best = table
    return best


def _table(mark: str, rows: Sequence[Sequence[str]]) -> DelimitedTable | None:
    """The table that most rows make, else that below headings; None if there is none of two columns."""
    if len(rows) < ENOUGH_ROWS:
        return None
    columns, count = Counter(map(len, rows)).most_common(1)[0]
    if columns > 1 and count >= ALIKE * len(rows):
        return DelimitedTable(mark, columns, _start(rows, columns))
    for start, headings in enumerate(rows[:MOST_BEFORE]):
        if _are_headings(headings) and _goes_on(rows[start:], len(headings)):
            return DelimitedTable(mark, len(headings), start)
    return None


def _start(rows: Sequence[Sequence[str]], columns: int) -> int:
    """The first row, but for lines with nothing but a title before the table."""
    firsts = (at for at, row in enumerate(rows[:MOST_BEFORE]) if len(row) == columns)
    first = next(firsts, 0)
    return first if all(_filled(row) < LEAST_COLUMNS <= columns for row in rows[:first]) else 0


def _are_headings(row: Sequence[str]) -> bool:
    names = [cell.strip() for cell in row]
    return (
        len(row) >= LEAST_COLUMNS
        and _filled(row) >= NAMED * len(row)
        and not any(len(name) > LONGEST_HEADING or _SENTENCE.search(name) for name in names)
        and sum(any(map(str.isalpha, name)) for name in names) >= NAMED * len(row)
    )


def _goes_on(rows: Sequence[Sequence[str]], columns: int) -> bool:
    """True if the rows below headings, but for a few at the end, have as many cells and some a number."""
    rows = rows[1 : end_of_table(rows, columns)]
    alike = [row for row in rows if fits(row, columns)]
    whole = [row for row in alike if len(row) == columns]
    return (
        len(alike) >= max(1.0, FEW_STRAYS * len(rows))
        and len(whole) >= len(rows) / 2
        and any(any(map(str.isdecimal, cell)) for row in whole for cell in row)
    )


def end_of_table(rows: Sequence[Sequence[str]], columns: int) -> int:
    """The index behind the last row of a table; a few lines that have fewer cells may follow it."""
    stop = len(rows)
    while stop > max(1, len(rows) - MOST_AFTER) and not fits(rows[stop - 1], columns):
        stop -= 1
    return stop


def fits(row: Sequence[str], columns: int) -> bool:
    """True if a row has the cells of a table, perhaps without the last, or with empty ones after it."""
    return len(row) in (columns - 1, columns) or (
        len(row) > columns and not any(cell.strip() for cell in row[columns:])
    )


def _filled(row: Iterable[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)
