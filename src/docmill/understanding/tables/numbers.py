"""Cells that are numbers: the value, its other reading, and the letters beside it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from docmill.understanding.fields.candidates import Candidates
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
    money: bool

    @property
    def readings(self) -> tuple[Decimal, ...]:
        """The values that it may have, the likelier first."""
        return (self.value,) if self.other is None else (self.value, self.other)


def read_figure(candidates: Candidates, words: Sequence[Word]) -> Figure | None:
    """The number that a cell consists of, but for a currency and a unit; None if it is a text."""
    if not words:
        return None
    page = candidates.layout.sheet(words[0].segment).page
    return _figure(joined(words), candidates.conventions.mark, misread=page.source == "ocr")


@remembered
def _figure(text: str, mark: Mark, *, misread: bool) -> Figure | None:
    text = text.replace("/", " ").replace("*", " ")
    if not any(map(str.isdecimal, text)):
        return None
    amounts = find_amounts(text, misread=misread)
    if not amounts:
        return None
    amount = amounts[0]
    rest = text[: amount.start] + " " + text[amount.stop :]
    for _, start, stop in reversed(currency_spans(rest)):
        rest = rest[:start] + rest[stop:]
    rest = " ".join(rest.split())
    if sum(map(str.isalpha, rest)) > _MOST_LETTERS or any(map(str.isdecimal, rest)):
        return None
    other: Mark = "." if mark == "," else ","
    return Figure(
        amount.value(mark),
        amount.value(other) if _AMBIGUOUS.fullmatch(amount.digits) else None,
        amount.percent,
        rest,
        amount.currency is not None,
    )
