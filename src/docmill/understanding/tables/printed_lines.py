"""The lines of a page as they are printed, words with their places; and the numbers in cells of words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.folding import remembered
from docmill.understanding.text.money import Mark, currency_spans, find_amounts

_SAME_HEIGHT = 0.4
"""Lines side by side whose middles differ by less, in text heights, are one line."""
BREAKS = ("-", "\u00ad", "\ufffe", "\u2010")
"""Hyphens at the end of a line; the third is what some PDFs give for the second."""
_AMBIGUOUS = re.compile(r"\d{1,3}[.,]\d{3}")
_UPRIGHT, _FEW_LETTERS = 2.0, 3
"""Heights of a text that runs up or down for each width, if it is longer than a few letters."""
_MOST_LETTERS = 12
"""Beside a number: a unit, not a text."""


class Word(NamedTuple):
    """A word and its place across the page. segment: holds it at `start` to `stop`."""

    text: str
    x0: float
    x1: float
    segment: Segment
    start: int
    stop: int

    @property
    def middle(self) -> float:
        """Across the page."""
        return (self.x0 + self.x1) / 2


@dataclass(frozen=True)
class PrintedLine:
    """Segments side by side, from left to right."""

    segments: tuple[Segment, ...]
    words: tuple[Word, ...]

    @cached_property
    def top(self) -> float:
        """Upper edge."""
        return min(segment.box.y0 for segment in self.segments)

    @cached_property
    def bottom(self) -> float:
        """Lower edge."""
        return max(segment.box.y1 for segment in self.segments)

    @property
    def height(self) -> float:
        """From its upper to its lower edge."""
        return self.bottom - self.top

    @cached_property
    def by_segment(self) -> tuple[tuple[Segment, tuple[Word, ...]], ...]:
        """Each segment with its words."""
        words = iter(self.words)
        return tuple((segment, tuple(islice(words, len(segment.offsets)))) for segment in self.segments)

    @cached_property
    def text(self) -> str:
        """All of it, two spaces between segments."""
        return "  ".join(segment.text for segment in self.segments)


@lru_cache(maxsize=8)  # pages: several readers of a document look at them
def printed_lines(sheet: Sheet) -> Sequence[PrintedLine]:
    """The page's lines from top to bottom; texts at one height are one line, however the page was cut."""
    groups: list[list[Segment]] = []
    level = (segment for segment in sheet.segments if not _is_upright(segment))
    for segment in sorted(level, key=lambda segment: (segment.middle, segment.box.x0)):
        for group in groups[-3:][::-1]:
            height = min(segment.height, group[-1].height)
            if segment.line == group[-1].line or (
                min(abs(segment.middle - other.middle) for other in group) < _SAME_HEIGHT * height
                and all(segment.box.x0 >= other.box.x1 or segment.box.x1 <= other.box.x0 for other in group)
            ):
                group.append(segment)
                break
        else:
            groups.append([segment])
    lines: list[PrintedLine] = []
    for group in groups:
        segments = sorted(group, key=lambda segment: segment.box.x0)
        words = (word for segment in segments for word in words_of(sheet, segment))
        lines.append(PrintedLine(tuple(segments), tuple(words)))
    return tuple(lines)


def _is_upright(segment: Segment) -> bool:
    """True for words printed upwards or downwards, mostly on the margin, which stand on no line."""
    box = segment.box
    return len(segment.text) > _FEW_LETTERS and segment.height > _UPRIGHT * (box.x1 - box.x0)


def words_of(sheet: Sheet, segment: Segment) -> Iterator[Word]:
    """The words of a segment."""
    boxes: list[list[float]] = sheet.page.words.boxes[segment.start : segment.stop].tolist()
    texts = sheet.page.words.texts[segment.start : segment.stop]
    for (x0, _, x1, _), text, start in zip(boxes, texts, segment.offsets, strict=True):
        yield Word(text, x0, x1, segment, start, start + len(text))


def spans(words: Sequence[Word]) -> tuple[Span, ...]:
    """The words as spans, neighbours in one."""
    merged: list[Span] = []
    for word in words:
        last = merged[-1] if merged else None
        if last is not None and last.segment is word.segment and last.stop + 1 == word.start:
            merged[-1] = last._replace(stop=word.stop)
        else:
            merged.append(Span(word.segment, word.start, word.stop))
    return tuple(merged)


def joined(words: Sequence[Word]) -> str:
    """Their text, one space between."""
    return " ".join(word.text for word in words)


def flowing(lines: Sequence[Sequence[Word]]) -> str:
    """Lines of one text joined to one line; words that were broken at the end of a line are joined."""
    text = ""
    for words in lines:
        line = joined(words)
        if text.endswith(BREAKS) and line:
            text = text[:-1] + line if line[0].islower() else f"{text[:-1]}-{line}"
        else:
            text = f"{text} {line}".strip()
    return text


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a cell.

    other: its value if the decimal mark is the other one. rest: the text beside it, without currency. below:
    a second number in the cell, such as the quantity delivered below the quantity ordered.
    """

    value: Decimal
    other: Decimal | None
    percent: bool
    rest: str
    money: bool
    below: Decimal | None = None

    @property
    def readings(self) -> tuple[Decimal, ...]:
        """The values that it may have, the more probable first."""
        return (self.value,) if self.other is None else (self.value, self.other)

    @property
    def all_readings(self) -> tuple[Decimal, ...]:
        """Those and the number below."""
        return self.readings if self.below is None else (*self.readings, self.below)


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
