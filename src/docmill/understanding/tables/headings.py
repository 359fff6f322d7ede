"""Rows of headings: which columns a table has, by the words of all our languages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from docmill.understanding.page.labels import COLUMNS, Label
from docmill.understanding.tables.printed_lines import BREAKS, PrintedLine, Word, joined
from docmill.understanding.vocabulary import Column

Meanings = frozenset[Column]

FIGURES = frozenset(
    {
        Column.QUANTITY,
        Column.UNIT_PRICE,
        Column.NET_AMOUNT,
        Column.GROSS_AMOUNT,
        Column.DEBIT,
        Column.CREDIT,
        Column.BALANCE,
    }
)
"""Columns of numbers, one of which every table of items or bookings has."""
_TELLING = frozenset(
    {
        Column.POSITION,
        Column.ARTICLE,
        Column.DESCRIPTION,
        Column.QUANTITY,
        Column.UNIT_PRICE,
        Column.DATE,
        Column.COUNTERPARTY,
    }
)
_MOST_LINES = 5
"""Of one row of headings."""
_MOST_WORDS = 4
"""Of a piece of a heading."""
_NEAR = 0.9
"""Line heights between the lines of one row of headings."""
_LONGEST = 12
"""Words of a segment of headings; a segment may hold several."""
_COVERED = 0.5
"""Share of the letters of a row of headings that its known words take."""
_DIGITS = 0.25
"""Share of its words that may have digits, as in `VAT 19 %`."""
_ASIDE = re.compile(r"^[\W\d]*(?:\(.*\)|in|eur|euro|usd|chf|gbp|rm|kg|st|std|h)?[\W\d]*$", re.IGNORECASE)


class Heading(NamedTuple):
    """What stands over a column. meanings: none if its words are not known."""

    x0: float
    x1: float
    meanings: Meanings

    @property
    def middle(self) -> float:
        """Across the page."""
        return (self.x0 + self.x1) / 2


@dataclass(frozen=True, slots=True)
class HeadingRow:
    """The headings of a table from left to right. stop: the line after them. segments: theirs."""

    headings: tuple[Heading, ...]
    stop: int
    segments: frozenset[int]

    @property
    def known(self) -> int:
        """How many are known."""
        return sum(bool(heading.meanings) for heading in self.headings)


@dataclass(slots=True)
class _Stack:
    """What stands over one column, line by line."""

    lines: list[list[Word]]

    @property
    def x0(self) -> float:
        return min(word.x0 for line in self.lines for word in line)

    @property
    def x1(self) -> float:
        return max(word.x1 for line in self.lines for word in line)

    @property
    def text(self) -> str:
        text = ""
        for line in self.lines:
            own = " ".join(word.text for word in line)
            broken = text.endswith(BREAKS) and own[:1].islower()
            text = text[:-1] + own if broken else f"{text} {own}"
        return text.strip()


@lru_cache(maxsize=4096)
def _known(text: str) -> tuple[Label[Column], ...]:
    return tuple(COLUMNS.find(text))


def heading_row(lines: Sequence[PrintedLine], at: int) -> HeadingRow | None:
    """The headings that begin with line `at`, over up to three lines; None if that is no row of headings."""
    if _is_text(lines[at]):
        return None
    stacks = [_Stack([words]) for words in _pieces(lines[at])]
    best = _row(stacks, at + 1)
    if best is None and not (_is_short(lines[at]) and _mostly_known(stacks)):
        return None
    for index in range(at + 1, min(len(lines), at + _MOST_LINES)):
        before, line = lines[index - 1], lines[index]
        if line.top - before.bottom > _NEAR * (before.bottom - before.top) or not _is_short(line):
            break
        longer = _stacked(stacks, line)
        row = _row(longer, index + 1)
        if row is not None and (best is None or row.known > best.known or _goes_on(stacks, line)):
            best = row
        stacks = longer
    return best


def _is_text(line: PrintedLine) -> bool:
    """Whether a line can be no heading: too many of its words are numbers, or it runs on as prose does."""
    digits = sum(any(map(str.isdecimal, word.text)) for word in line.words)
    return digits > _DIGITS * len(line.words) or len(line.words) > _LONGEST * len(line.segments)


def _mostly_known(stacks: Sequence[_Stack]) -> bool:
    """Whether each piece is a heading's beginning."""
    return all(_covered(stack.text, _known(stack.text)) >= _COVERED for stack in stacks)


def is_heading(line: PrintedLine) -> bool:
    """Whether a line says nothing but what columns hold."""
    pieces = [joined(words) for words in _pieces(line)]
    known = [_known(piece) for piece in pieces]
    return (
        _is_short(line)
        and any(known)
        and all(
            _ASIDE.match(piece) or _covered(piece, labels) > _COVERED
            for piece, labels in zip(pieces, known, strict=True)
        )
    )


def _is_short(line: PrintedLine) -> bool:
    """Whether a line has no numbers, and no more than a few words in a place."""
    if any(map(str.isdecimal, line.text)):
        return False
    return all(len(segment.text.split()) <= _MOST_WORDS for segment in line.segments)


def _pieces(line: PrintedLine) -> list[list[Word]]:
    """A line's segments, cut where headings stand close."""
    found: list[list[Word]] = []
    for segment, words in line.by_segment:
        starts = [label.start for label in _known(segment.text)][1:]
        cuts = [0, *(index for index, word in enumerate(words) if word.start in starts), len(words)]
        found += [list(words[start:stop]) for start, stop in pairwise(cuts) if start < stop]
    return found


def _goes_on(stacks: Sequence[_Stack], line: PrintedLine) -> bool:
    """Whether a line belongs to the headings above: every piece is known, or says no more than a unit."""
    for words in _pieces(line):
        own = [stack for stack in stacks if _over(stack, words)]
        longer = _Stack([*own[0].lines, words] if len(own) == 1 else [words]).text
        if not _ASIDE.match(joined(words)) and _covered(longer, _known(longer)) < _COVERED:
            return False
    return True


def _over(stack: _Stack, words: Sequence[Word]) -> bool:
    return min(stack.x1, words[-1].x1) - max(stack.x0, words[0].x0) > 0


def _stacked(stacks: Sequence[_Stack], line: PrintedLine) -> list[_Stack]:
    found = [_Stack(list(stack.lines)) for stack in stacks]
    for words in _pieces(line):
        own = [stack for stack in found if _over(stack, words)]
        if len(own) == 1:
            own[0].lines.append(words)
        else:
            found.append(_Stack([words]))
    return sorted(found, key=lambda stack: stack.x0)


def _row(stacks: Sequence[_Stack], stop: int) -> HeadingRow | None:
    texts = [stack.text for stack in stacks]
    labels = [_known(text) for text in texts]
    words = " ".join(texts).split()
    digits = sum(any(map(str.isdecimal, word)) for word in words)
    letters = sum(sum(map(str.isalpha, text)) for text in texts)
    covered = sum(
        _covered(text, found) * sum(map(str.isalpha, text)) for text, found in zip(texts, labels, strict=True)
    )
    if digits > _DIGITS * len(words) or covered < _COVERED * letters:
        return None
    headings = [_heading(stack, found) for stack, found in zip(stacks, labels, strict=True)]
    headings.sort(key=lambda heading: heading.x0)
    segments = frozenset(word.segment.index for stack in stacks for line in stack.lines for word in line)
    return HeadingRow(tuple(headings), stop, segments) if _is_table(headings) else None


def _covered(text: str, labels: Sequence[Label[Column]]) -> float:
    """The share of a text's letters that the labels take."""
    letters = sum(map(str.isalpha, text))
    taken = sum(sum(map(str.isalpha, text[label.start : label.stop])) for label in labels)
    return taken / letters if letters else 1.0


def _heading(stack: _Stack, labels: Sequence[Label[Column]]) -> Heading:
    """A stack by its longest known word."""
    meanings = max(labels, key=lambda label: label.stop - label.start).meanings if labels else ()
    return Heading(stack.x0, stack.x1, frozenset(meanings))


def _is_table(headings: Sequence[Heading]) -> bool:
    """Whether one heading is of numbers, and another tells of an item or a booking."""
    figures = [heading for heading in headings if not FIGURES.isdisjoint(heading.meanings)]
    telling = [heading for heading in headings if not _TELLING.isdisjoint(heading.meanings)]
    return any(one is not other for one in figures for other in telling)
