"""Debits and credits of an account, told apart by marks, by sections of a list, and by the balances."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.labels import COLUMNS, covered_share
from docmill.understanding.page.layout import Layout
from docmill.understanding.tables.columns import Row
from docmill.understanding.tables.grid import Grid
from docmill.understanding.tables.printed_lines import PrintedLine, Word, joined, printed_lines
from docmill.understanding.text.folding import alternatives
from docmill.understanding.vocabulary import LANGUAGES, Column

_WORDS = [language.bookings for language in LANGUAGES]
_DEBIT = re.compile(
    rf"^(?:{alternatives(mark for words in _WORDS for mark in words.debit)})\.?$", re.IGNORECASE
)
_CREDIT = re.compile(
    rf"^(?:{alternatives(mark for words in _WORDS for mark in words.credit)})\.?$", re.IGNORECASE
)
_MINUS = ("-", "\u2212", "\u2013")
SIDES = frozenset({Column.DEBIT, Column.CREDIT})
_OF_TITLE = 0.5
"""Share of a title's letters that the words for debits or credits take."""
_MOST_OPEN = 10
"""Bookings without a sign whose signs are tried: more might lead to the balance by chance."""


@dataclass(frozen=True, slots=True)
class Section:
    """The title of a part of a list with debits or credits alone, such as `Deposits`: sign is -1 or 1."""

    page_index: int
    middle: float
    sign: int


def shown_sign(rest: str, cell: Sequence[Word], value: Decimal) -> int:
    """The sign a cell shows: letters for debit or credit, a minus, a plus; 0 if none."""
    for word in rest.split():
        if sign := _sign_of_mark(word):
            return sign
    if value < 0:
        return -1
    return 1 if "+" in joined(cell) else 0


def _sign_of_mark(word: str) -> int:
    if _DEBIT.match(word) or word in _MINUS:
        return -1
    return 1 if _CREDIT.match(word) or word == "+" else 0


def signs_of_rows(grid: Grid) -> list[int]:
    """The sign of each row by a column that marks all of them as debit or credit; zeros without one."""
    for index in range(len(grid.headings)):
        signs = [_sign_of_mark(joined(row.cells[index])) for row in grid.rows]
        if all(signs):
            return signs
    return [0] * len(grid.rows)


def signed_balance(layout: Layout, balance: Finding) -> Finding:
    """The balance, negative if a mark for debits stands behind it: `150,20 S`."""
    if not balance.spans or not isinstance(balance.value, Decimal):
        return balance
    last = balance.spans[-1]
    behind = last.segment.text[last.stop :].split()
    if not behind:
        behind = [
            word for right in layout.sheet(last.segment).right_of(last.segment) for word in right.text.split()
        ]
    is_debit = any(_sign_of_mark(word) < 0 for word in behind[:1])
    return replace(balance, value=-abs(balance.value)) if is_debit else balance


def sections(candidates: Candidates) -> list[Section]:
    """The titles of parts of lists with debits or credits alone, in the order of the pages."""
    found: list[Section] = []
    for sheet in candidates.layout.sheets:
        for line in printed_lines(sheet):
            sign = _sign_of_title(line)
            if sign:
                found.append(Section(sheet.page_index, (line.top + line.bottom) / 2, sign))
    return found


def _sign_of_title(line: PrintedLine) -> int:
    if len(line.segments) > 1 or any(map(str.isdecimal, line.text)):
        return 0
    labels = [label for label in COLUMNS.find(line.text) if not SIDES.isdisjoint(label.meanings)]
    sides = {side for label in labels for side in label.meanings if side in SIDES}
    if len(sides) != 1 or covered_share(line.text, labels) < _OF_TITLE:
        return 0
    return -1 if sides == {Column.DEBIT} else 1


def sign_of_section(parts: Sequence[Section], row: Row) -> int:
    """The sign of the part of the list that a row stands in; 0 if there is none."""
    word = next((word for cell in row.cells for word in cell), None)
    if word is None:
        return 0
    place = (word.segment.page_index, word.segment.middle)
    return next((part.sign for part in reversed(parts) if (part.page_index, part.middle) < place), 0)


def signs_by_balances(
    values: Sequence[Decimal], is_signed: Sequence[bool], step: Decimal
) -> list[Decimal] | None:
    """The amounts with the only signs by which they make the step from one balance to the next.

    is_signed: which amounts show their sign. None if no signs do, or several.
    """
    if sum(values, Decimal(0)) == step:
        return list(values)
    unsigned = [index for index, known in enumerate(is_signed) if not known]
    if not 0 < len(unsigned) <= _MOST_OPEN:
        return None
    missing = step - sum((value for value, known in zip(values, is_signed, strict=True) if known), Decimal(0))
    sizes = [abs(values[index]) for index in unsigned]
    made = [
        signs
        for signs in product((1, -1), repeat=len(unsigned))
        if sum((sign * size for sign, size in zip(signs, sizes, strict=True)), Decimal(0)) == missing
    ]
    if len(made) != 1:
        return None
    signed = list(values)
    for index, sign, size in zip(unsigned, made[0], sizes, strict=True):
        signed[index] = sign * size
    return signed
