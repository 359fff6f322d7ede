"""Rows of table headings, recognised by the words of all languages for columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from docmill.understanding.page.labels import COLUMNS, Label, covered_share
from docmill.understanding.tables.printed_lines import BREAKS, PrintedLine, Word, joined
from docmill.understanding.text.folding import alternatives
from docmill.understanding.text.money import without_currencies
from docmill.understanding.vocabulary import LANGUAGES, NUMBER_WORDS, Column

Meanings = frozenset[Column]

AMOUNTS = frozenset({Column.NET_AMOUNT, Column.GROSS_AMOUNT, Column.DEBIT, Column.CREDIT})
FIGURES = AMOUNTS | {Column.QUANTITY, Column.UNIT_PRICE, Column.BALANCE}
"""Columns of numbers, one of which every table of items or bookings has."""
_TELLING = frozenset((
    Column.POSITION, Column.ARTICLE, Column.DESCRIPTION, Column.QUANTITY, Column.UNIT_PRICE, Column.DATE,
    Column.COUNTERPARTY,
))  # fmt: skip
_MOST_LINES = 5
"""Most lines of one row of headings."""
_MOST_WORDS = 4
"""Most words of a piece of a heading; on average in lines of many."""
_MANY_SEGMENTS = 4
_NEAR = 0.9
"""Line heights between the lines of one row of headings."""
_SHORTEST = 2
"""Letters of a word that means nothing of its own before a currency."""
_LONGEST = 12
"""Words of a segment of headings; a segment may hold several."""
_COVERED = 0.5
"""Share of the letters of a row of headings that its known words take."""
_DIGITS = 0.25
"""Share of its words that may have digits, as in `VAT 19 %`."""
_AMOUNT = re.compile(r"^\d+[.,]\d\d$")
_UNITS = {word for language in LANGUAGES for word in (*language.units, *language.measured)} - NUMBER_WORDS
_ASIDE = re.compile(rf"^[\W\d]*(?:\(.*\)|{alternatives(_UNITS)})?[\W\d]*$", re.IGNORECASE)


class Heading(NamedTuple):
    """The heading of a column.

    meanings: empty if its words are not known. layers: the meanings of each of its lines.
    """

    x0: float
    x1: float
    meanings: Meanings
    text: str
    layers: tuple[Meanings, ...] = ()

    @property
    def middle(self) -> float:
        """Across the page."""
        return (self.x0 + self.x1) / 2

    @property
    def code_layer(self) -> int | None:
        """The line of a cell that has the item's number, where the name stands on another line; else None."""
        codes = [index for index, layer in enumerate(self.layers) if _is_of_codes(layer)]
        names = [index for index, layer in enumerate(self.layers) if Column.DESCRIPTION in layer]
        return codes[0] if codes and names else None


def _is_of_codes(meanings: Meanings) -> bool:
    return Column.ARTICLE in meanings and Column.DESCRIPTION not in meanings


@dataclass(frozen=True, slots=True)
class HeadingRow:
    """The headings of a table from left to right. stop: the line after them. segments: theirs."""

    headings: tuple[Heading, ...]
    stop: int
    segments: frozenset[int]

    @property
    def known_count(self) -> int:
        """The number of headings whose meaning is known."""
        return sum(bool(heading.meanings) for heading in self.headings)


@dataclass(slots=True)
class _Stack:
    """The words above one column, by line."""

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
        for words in self.lines:
            line = joined(words)
            is_broken = text.endswith(BREAKS) and line[:1].islower()
            text = text[:-1] + line if is_broken else f"{text} {line}"
        return text.strip()

    @property
    def layers(self) -> list[str]:
        return [joined(words) for words in self.lines]

    def is_over(self, words: Sequence[Word]) -> bool:
        return min(self.x1, words[-1].x1) - max(self.x0, words[0].x0) > 0


@lru_cache(maxsize=4096)
def _column_labels(text: str) -> tuple[Label[Column], ...]:
    return tuple(COLUMNS.find(text))


def _covered(text: str) -> float:
    """The share of a text's letters that belong to known words for columns."""
    return covered_share(text, _column_labels(text))


def heading_row(lines: Sequence[PrintedLine], at: int) -> HeadingRow | None:
    """The row of headings that begins with line `at` and has up to five lines; None if there is none."""
    first = lines[at]
    digits = sum(any(map(str.isdecimal, word.text)) for word in first.words)
    if digits > _DIGITS * len(first.words) or len(first.words) > _LONGEST * len(first.segments):
        return None  # numbers or prose
    if _is_title(lines, at):
        return None
    stacks = [_Stack([words]) for words in _pieces(first)]
    best = _row(stacks, at + 1)
    is_known = _is_list(first) or all(_covered(stack.text) >= _COVERED for stack in stacks)
    if best is None and not (_is_short(first) and is_known):
        return None
    for index in range(at + 1, min(len(lines), at + _MOST_LINES)):
        before, line = lines[index - 1], lines[index]
        if line.top - before.bottom > _NEAR * before.height or not _is_short(line):
            break
        pieces = _pieces(line)
        longer = [_Stack(list(stack.lines)) for stack in stacks]
        for words in pieces:
            above = [stack for stack in longer if stack.is_over(words)]
            if len(above) > 1 and _are_one(above):  # cut between two words that may each be a heading
                longer = [stack for stack in longer if stack not in above[1:]]
                above[0].lines[-1] = [word for stack in above for word in stack.lines[-1]]
                del above[1:]
            if len(above) == 1:
                above[0].lines.append(words)
            else:
                longer.append(_Stack([words]))
        longer.sort(key=lambda stack: stack.x0)
        is_among = line.top < before.bottom and len(longer) <= len(stacks)  # cells of other heights beside it
        row = _row(longer, index + 1)
        if row is not None and (
            best is None
            or is_among
            or row.known_count > best.known_count
            or all(_continues_heading(stacks, words) for words in pieces)
        ):
            best = row
        stacks = longer
    return best


def _is_title(lines: Sequence[PrintedLine], at: int) -> bool:
    """True if a line is one text over several headings of the next, which are a row without it."""
    if len(lines[at].segments) > 1 or at + 1 == len(lines):
        return False
    title = lines[at].segments[0].box
    below = [segment.box for segment in lines[at + 1].segments]
    is_over_several = sum(box.x0 < title.x1 and title.x0 < box.x1 for box in below) > 1
    return is_over_several and heading_row(lines, at + 1) is not None


def _are_one(stacks: Sequence[_Stack]) -> bool:
    """True if these stacks are pieces of a single segment, from left to right."""
    return len({id(word.segment) for stack in stacks for line in stack.lines for word in line}) == 1


def is_heading(line: PrintedLine) -> bool:
    """True if a line has nothing but words for columns."""
    pieces = [joined(words) for words in _pieces(line)]
    return (
        _is_short(line)
        and any(map(_column_labels, pieces))
        and all(_ASIDE.match(without_currencies(piece)) or _covered(piece) > _COVERED for piece in pieces)
    )


def _is_short(line: PrintedLine) -> bool:
    """True if a line has no numbers and only a few words in each place."""
    if any(map(str.isdecimal, line.text)):
        return False
    counts = [len(segment.text.split()) for segment in line.segments]
    if len(counts) >= _MANY_SEGMENTS:  # a list of words may stand over one of the columns
        return max(counts) <= _LONGEST and sum(counts) <= _MOST_WORDS * len(counts)
    return max(counts) <= _MOST_WORDS or (max(counts) <= _LONGEST and _is_list(line))


def _is_list(line: PrintedLine) -> bool:
    """True if a line names several things of which a column consists: `Name, description, brand`."""
    return all("," in segment.text and _column_labels(segment.text) for segment in line.segments)


def _pieces(line: PrintedLine) -> list[list[Word]]:
    """A line's segments, cut where headings stand close."""
    pieces: list[list[Word]] = []
    for segment, words in line.by_segment:
        is_list = "," in segment.text  # of what one column consists of
        labels = () if is_list else _column_labels(segment.text)[1:]
        starts = [
            label.start
            for label in labels
            if not _is_of_currency(segment.text, label) and not _is_joined(segment.text, label)
        ]
        cuts = [0, *(index for index, word in enumerate(words) if word.start in starts), len(words)]
        pieces += [list(words[start:stop]) for start, stop in pairwise(cuts) if start < stop]
    return pieces


def _is_joined(text: str, label: Label[Column]) -> bool:
    """True for the second word of one heading, such as `Part / Description`."""
    return text[: label.start].rstrip().endswith("/")


def _is_of_currency(text: str, label: Label[Column]) -> bool:
    """True for the short word in `Amount in EUR`, which is a heading of its own elsewhere."""
    rest = text[label.start :]
    word = rest[: label.stop - label.start].strip()
    return (
        len(word) <= _SHORTEST
        and without_currencies(rest) != rest
        and without_currencies(rest).strip() == word
    )


def _continues_heading(stacks: Sequence[_Stack], words: Sequence[Word]) -> bool:
    """True if words go on with the heading above them, or are a unit."""
    above = [stack for stack in stacks if stack.is_over(words)]
    longer = _Stack([*above[0].lines, list(words)] if len(above) == 1 else [list(words)]).text
    return bool(_ASIDE.match(without_currencies(joined(words)))) or _covered(longer) >= _COVERED


def _row(stacks: Sequence[_Stack], stop: int) -> HeadingRow | None:
    headings = sorted(
        (heading_of(stack.text, stack.x0, stack.x1, stack.layers) for stack in stacks),
        key=lambda heading: heading.x0,
    )
    if not are_headings(headings):
        return None
    segments = frozenset(word.segment.index for stack in stacks for line in stack.lines for word in line)
    return HeadingRow(tuple(headings), stop, segments)


def heading_of(text: str, x0: float, x1: float, layers: Sequence[str] = ()) -> Heading:
    """A heading with the meanings of its longest known words. layers: its lines."""
    of_layers = tuple(map(_meanings, layers)) if len(layers) > 1 else ()
    return Heading(x0, x1, _meanings(text), text, of_layers)


def _meanings(text: str) -> Meanings:
    labels = _column_labels(text)
    return frozenset(max(labels, key=lambda label: label.stop - label.start).meanings if labels else ())


def are_headings(headings: Sequence[Heading]) -> bool:
    """True if most words are known, one heading is of numbers, and another of items or bookings."""
    texts = [heading.text for heading in headings]
    words = " ".join(texts).split()
    digits = sum(any(map(str.isdecimal, word)) for word in words)
    if any(_AMOUNT.match(word) and next_word != "%" for word, next_word in pairwise([*words, ""])):
        return False
    shares = [_covered(text) for text in texts]
    letters = [sum(map(str.isalpha, text)) for text in texts]
    for index, text in enumerate(texts):
        if "," in text and shares[index]:  # a list, of which one word is enough
            letters[index], shares[index] = round(letters[index] * shares[index]), 1.0
    covered = sum(share * count for share, count in zip(shares, letters, strict=True))
    if digits > _DIGITS * len(words) or covered < _COVERED * sum(letters):
        return False
    figures = [heading for heading in headings if not FIGURES.isdisjoint(heading.meanings)]
    telling = [heading for heading in headings if not _TELLING.isdisjoint(heading.meanings)]
    return any(heading is not other for heading in figures for other in telling)
