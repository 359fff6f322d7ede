"""Occurrences of a number: an amount, a quantity, a rate."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from docmill.understanding.locate.occurrences import Occurrence, SearchedPages, occurrence
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.money import currency_code, find_amounts, number

_GROUPED = re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,'\u2019]*")
_PLAIN = re.compile(r"\d[\d.,'\u2019]*")
_NEGATIVE_BEFORE = re.compile(r"[-\u2212\u2013(]\s?(?:[^\W\d_]{1,4}|[^\w\s])?\s?$")
_NEGATIVE_AFTER = re.compile(r"^\s?(?:[^\W\d_]{1,3}|[^\w\s])?\s?(?:-(?!\w)|\)|CR\b|S\b|DR\b)")

OTHER_MARK = 0.7
"""The trust in a number that is the value only with the other decimal mark."""
OTHER_SIGN = 0.9
"""Credit notes print amounts with either sign."""
MISREAD = 0.85
"""The trust in a number in which a letter stands for a digit."""
PART = 0.45
"""The trust if it may be a part of another whose thousands are parted by blanks: `1 234.00`."""
LONGEST = 15
_PLAIN_DIGITS = 4
_HUNDRED = 100
_GLUED_BEFORE = re.compile(r"[^\W\d_]+$")
_PART_OF_MORE = re.compile(r"^(?:[/:\-]?\d|[./:\-][^\W_]|[^\W\d_]+\d|[^\W\d_]{4})")


def find_number(pages: SearchedPages, value: Decimal) -> list[Occurrence]:
    """Every place that prints it, whatever parts its decimals and thousands."""
    if not value.is_finite() or abs(value.adjusted()) > LONGEST:
        return []
    found = list(_occurrences(pages, value))
    if not found and value and abs(value) < 1:
        percent = value * _HUNDRED
        rates = (one for one in _occurrences(pages, percent) if _is_percent(one.spans[0]))
        found = [replace(one, form="percent") for one in rates]
    best = max((one.trust for one in found), default=0.0)
    return [one for one in found if one.trust > OTHER_MARK or best <= OTHER_MARK]


def _occurrences(pages: SearchedPages, value: Decimal) -> Iterator[Occurrence]:
    whole = str(int(abs(value)))
    for sheet, segment in pages.containing(
        whole if whole != "0" else f"{abs(value):f}".partition(".")[2].rstrip("0")
    ):
        yield from _printed(pages, sheet, segment, value)


def _printed(pages: SearchedPages, sheet: Sheet, segment: Segment, value: Decimal) -> Iterator[Occurrence]:
    text, mark = segment.text, pages.conventions.mark
    taken: list[tuple[int, int]] = []
    for one in numbers_in(text):
        usual, other = (one.by_point, one.by_comma) if mark == "." else (one.by_comma, one.by_point)
        trust = 1.0 if usual == abs(value) else OTHER_MARK if other == abs(value) else 0.0
        if one.is_part:
            trust *= PART
        if trust and _stands_alone(text, one.start, one.stop) and (one.start, one.stop) not in taken:
            taken.append((one.start, one.stop))
            yield _number(sheet, Span(segment, one.start, one.stop), value, trust)
    if sheet.page.source != "ocr":
        return
    for amount in find_amounts(text, misread=True):
        overlaps = any(amount.start < stop and start < amount.stop for start, stop in taken)
        if not overlaps and number(amount.digits, mark) == abs(value):
            yield _number(sheet, Span(segment, amount.start, amount.stop), value, MISREAD)


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """True if digits are a number and no part of a code, a date or a word."""
    before, after = text[:start], text[stop:]
    if re.search(r"\d[/:\-]$|[\w][./:]$|[#_]$", before) or _PART_OF_MORE.match(after):
        return False
    glued = _GLUED_BEFORE.search(before)
    if glued is None:
        return True
    if after[:1].isalpha():
        return False
    has_cents = re.search(r"[.,]\d\d$", text[start:stop]) is not None
    return has_cents or currency_code(glued[0]) is not None or glued[0].casefold() == "x"


def _number(sheet: Sheet, span: Span, value: Decimal, trust: float) -> Occurrence:
    if is_negative(span.segment.text, span.start, span.stop) != (value < 0):
        trust *= OTHER_SIGN
    has_cents = re.search(r"[.,]\d\d$", span.text) is not None
    is_marked = bool(value) and (has_cents or trust == MISREAD or _is_percent(span))
    plain = sum(map(str.isdecimal, span.text)) < _PLAIN_DIGITS and not is_marked
    return occurrence(sheet, (span,), str(value), trust, is_plain=plain)


def _is_percent(span: Span) -> bool:
    return re.match(r"\s?%", span.segment.text[span.stop :]) is not None


class WrittenNumber(NamedTuple):
    """A number at `start` to `stop` of a text, read with a decimal point and with a comma.

    is_part: it may be the thousands or the rest of a longer one.
    """

    start: int
    stop: int
    by_point: Decimal
    by_comma: Decimal
    is_part: bool


def numbers_in(text: str) -> Iterator[WrittenNumber]:
    """Every number. Spaces may part thousands, or two numbers: both are given."""
    seen: set[tuple[int, int]] = set()
    parted: list[tuple[int, int]] = []
    for pattern in (_GROUPED, _PLAIN):
        for match in pattern.finditer(text):
            start, stop = match.start(), match.start() + len(match[0].rstrip(".,'\u2019 "))
            if (start, stop) in seen:
                continue
            seen.add((start, stop))
            digits = text[start:stop]
            is_part = any(begin <= start and stop <= end for begin, end in parted)
            if any(map(str.isspace, digits)):
                parted.append((start, stop))
            yield WrittenNumber(start, stop, number(digits, "."), number(digits, ","), is_part)


def is_negative(text: str, start: int, stop: int) -> bool:
    """True if the number at `start` to `stop` is printed as negative."""
    return _NEGATIVE_BEFORE.search(text[:start]) is not None or _NEGATIVE_AFTER.match(text[stop:]) is not None
