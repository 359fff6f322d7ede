"""Which character parts the columns of a table that was saved as text."""

import csv
from collections import Counter

DELIMITERS = ",;\t|"
ENOUGH_ROWS = 2
SAMPLE_ROWS = 200
SAMPLE = 64 * 1024
"""Characters that are looked at."""
ALIKE = 0.9
"""At least this share of the rows has as many columns as most have."""


def delimiter(text: str, *, is_whole: bool) -> str | None:
    """The delimiter of a table, None for a text that is none.

    is_whole: whether `text` is all there is; else its last row may be cut.
    """
    found = {mark: _columns(text, mark, is_whole=is_whole) for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: found[mark])
    return best if found[best] > 1 else None


def _columns(text: str, mark: str, *, is_whole: bool) -> int:
    """How many columns `mark` makes of nearly all rows, 1 if it makes no table."""
    rows: list[int] = []
    try:
        for row in csv.reader(text.splitlines(keepends=True), delimiter=mark):
            if any(cell.strip() for cell in row):
                rows.append(len(row))
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:
        return 1
    if not is_whole or len(rows) > SAMPLE_ROWS:
        rows = rows[:-1]
    if len(rows) < ENOUGH_ROWS:
        return 1
    columns, count = Counter(rows).most_common(1)[0]
    return columns if count >= ALIKE * len(rows) else 1
