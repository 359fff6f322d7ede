"""Cells that are numbers: the value, what it may also be, and the letters beside it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from docmill.understanding.tables.printed_lines import Word, joined
from docmill.understanding.text.folding import remembered
from docmill.understanding.text.money import Mark, currency_spans, find_amounts

_AMBIGUOUS = re.compile(r"\d{1,3}[.,]\d{3}")
_MOST_LETTERS = 12
"""Beside a number: a unit, not a text."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a cell. other: if its mark means the other thing. rest: beside it, without currency."""

    value: Decimal
    other: Decimal | None
    percent: bool
    rest: str
    digits: str
    money: bool

    @property
    def is_whole(self) -> bool:
        """Without decimals, as printed."""
        return self.digits.isdecimal()


def figure(words: Sequence[Word], mark: Mark, *, misread: bool) -> Figure | None:
    """The number that a cell consists of, but for a currency and a unit; None if it is a text."""
    return _figure(joined(words), mark, misread=misread)


@remembered
def _figure(text: str, mark: Mark, *, misread: bool) -> Figure | None:
    text = text.replace("/", " ").replace("*", " ")
    if not any(map(str.isdecimal, text)):
        return None
    found = find_amounts(text, misread=misread)
    if not found:
        return None
    one = found[0]
    rest = text[: one.start] + " " + text[one.stop :]
    for _, start, stop in reversed(currency_spans(rest)):
        rest = rest[:start] + rest[stop:]
    rest = " ".join(rest.split())
    if sum(map(str.isalpha, rest)) > _MOST_LETTERS or any(map(str.isdecimal, rest)):
        return None
    other: Mark = "." if mark == "," else ","
    ambiguous = _AMBIGUOUS.fullmatch(one.digits) is not None
    return Figure(
        one.value(mark),
        one.value(other) if ambiguous else None,
        one.percent,
        rest,
        one.digits,
        one.currency is not None,
    )
