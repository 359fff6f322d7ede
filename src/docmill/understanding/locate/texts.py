"""Occurrences of a text, also of one that means a date, a time, an amount or a currency."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import time
from decimal import Decimal

from babel.numbers import list_currencies

from docmill.model.document import letters_and_digits
from docmill.understanding.locate.dates import find_date, find_time
from docmill.understanding.locate.numbers import find_number
from docmill.understanding.locate.occurrences import Occurrence, SearchedPages, occurrence
from docmill.understanding.locate.text_runs import PageText, Run
from docmill.understanding.page.layout import Sheet, Span
from docmill.understanding.text.codes import find_ibans
from docmill.understanding.text.money import find_amounts, symbols_of_currency

_DOLLARS = frozenset(("CAD", "AUD", "SGD", "NZD", "HKD", "MXN"))

IN_PIECES, ALIKE, NEARLY = 0.9, 0.85, 0.65
"""The trust in a text that stands there in pieces, with letters misread, or with letters missing."""
PART = 0.45
"""The trust in a number or code that is a part of a longer one, such as `1` of `R-1`."""
MOST = 400
"""Places of one value: more tell nothing, and a hostile page must not cost minutes."""
_PLAIN = 3
_PLAIN_DIGITS = 4
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_HELD_BEFORE, _HELD_AFTER = re.compile(r"\w[-/_]$|\d\.$"), re.compile(r"[-/_]\w|\.\d")
_CURRENCIES = frozenset(list_currencies())

_Find = Callable[[PageText, str], list[Run]]


def find_text(pages: SearchedPages, value: str) -> list[Occurrence]:
    """The places that show it best: as it is, in another form, in pieces, or misread."""
    if not letters_and_digits(value):
        return list(_signs(pages, value.strip()))[:MOST] if value.strip() else []
    ways: tuple[Callable[[], list[Occurrence]], ...] = (
        lambda: _runs(pages, pages.sheets, value, PageText.runs, trust=1.0),
        lambda: _currency(pages, value),
        lambda: _meant(pages, value),
        lambda: _runs(pages, pages.sheets, value, PageText.pieces, trust=IN_PIECES),
        lambda: _runs(pages, pages.recognised, value, PageText.alike, trust=ALIKE),
        lambda: _runs(pages, pages.recognised, value, PageText.nearly, trust=NEARLY),
    )
    for way in ways:
        if found := [one for one in way() if not _is_part_of_account(one)]:
            return found
    return []


def _runs(
    pages: SearchedPages, among: Sequence[Sheet], value: str, find: _Find, *, trust: float
) -> list[Occurrence]:
    letters = letters_and_digits(value)
    plain = len(letters) < (_PLAIN_DIGITS if letters.isdecimal() else _PLAIN)
    is_code = any(map(str.isdecimal, value)) and not value.strip().count(" ")
    found = [
        occurrence(sheet, run.spans, value, trust, is_plain=plain)
        for sheet in among
        for run in find(pages.text(sheet), value)
    ]
    if is_code:
        found = [one.trusted(PART) if _is_part(one) else one for one in found]
        whole = max((one.trust for one in found), default=0.0)
        found = [one for one in found if one.trust == whole]
    if find is PageText.pieces:
        found = [replace(one, match="normalised") for one in found]
    return found[:MOST]


def _is_part(one: Occurrence) -> bool:
    """True if a sign such as a hyphen joins it to more of the same code."""
    first, last = one.spans[0], one.spans[-1]
    before, after = first.segment.text[: first.start], last.segment.text[last.stop :]
    return _HELD_BEFORE.search(before) is not None or _HELD_AFTER.match(after) is not None


def _is_part_of_account(one: Occurrence) -> bool:
    """True if it is a part of an IBAN."""
    span = one.spans[0]
    return any(
        code.start <= span.start
        and span.stop <= code.stop
        and span.stop - span.start < code.stop - code.start
        for code in find_ibans(span.segment.text)
    )


def _currency(pages: SearchedPages, value: str) -> list[Occurrence]:
    """The symbol of a currency that is not printed by its code."""
    if value in _CURRENCIES:
        for symbol in (value, *symbols_of_currency(value), *(("$",) if value in _DOLLARS else ())):
            if found := list(_signs(pages, symbol)):
                return found[:MOST]
    return []


def _signs(pages: SearchedPages, sign: str) -> Iterator[Occurrence]:
    """The places of exactly these characters, not within a word."""
    before, after = (
        (r"(?<![^\W\d_])" if sign[0].isalpha() else ""),
        (r"(?![^\W\d_])" if sign[-1].isalpha() else ""),
    )
    pattern = re.compile(before + re.escape(sign) + after)
    for sheet in pages.sheets:
        for segment in sheet.segments:
            for match in pattern.finditer(segment.text):
                yield occurrence(sheet, (Span(segment, match.start(), match.end()),), sign)


def _meant(pages: SearchedPages, value: str) -> list[Occurrence]:
    """A date, a time or an amount that is given as text."""
    if clock := _CLOCK.fullmatch(value.strip()):
        return find_time(pages, time(int(clock[1]), int(clock[2]), int(clock[3] or 0)))
    if (day := pages.date_of(value)) is not None:
        return find_date(pages, day)
    amount = _amount(value, pages)
    return find_number(pages, amount) if amount is not None else []


def _amount(value: str, pages: SearchedPages) -> Decimal | None:
    found = find_amounts(value, misread=False)
    if len(found) != 1 or found[0].percent:
        return None
    one = found[0]
    if value[: one.start].strip() or value[one.stop :].strip():
        return None
    return one.value(pages.conventions.mark)
