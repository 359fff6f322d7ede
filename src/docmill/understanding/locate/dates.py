"""Occurrences of a date or a time."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta
from functools import lru_cache
from typing import cast

from babel.dates import get_month_names

from docmill.understanding.locate.occurrences import Occurrence, SearchedPages, occurrence
from docmill.understanding.page.layout import Span
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import LANGUAGES

_LOCALES = frozenset(locale for language in LANGUAGES for locale in language.dates.locales) | frozenset(
    "pt pl cs sk sl hr hu ro sv da nb fi et lv lt tr el bg uk ru id vi".split()  # noqa: SIM905 - a list of words
)
"""Those of the vocabulary, and more whose months are found though nothing else is read in them."""
_DAY_AND_MONTH = (
    r"(?<!\d)(?:{day}\W{{0,4}}(?:[a-z]{{1,4}}\W{{1,2}})?{month}|{month}\W{{0,3}}{day}(?:st|nd|rd|th)?)"
)

OTHER_READING = 0.7
"""The trust in a date that is the value only if read against the usual order, when no date tells."""
PARTIAL = 0.8
"""The trust in a date that is printed without its year or its day."""


def find_date(pages: SearchedPages, value: date) -> list[Occurrence]:
    """In the document's order of day and month if it has one, else in either."""
    whole = list(_whole_dates(pages, value))
    sure = [one for one in whole if one.trust > OTHER_READING]
    # A month's name may be of a language that the rules do not read.
    named = (occurrence(sheet, (span,), None) for sheet, span, _ in pages.matches(date_pattern(value)))
    return sure or whole or list(named) or list(_days(pages, value)) or _months(pages, value)


def find_time(pages: SearchedPages, value: time) -> list[Occurrence]:
    """On either clock."""
    wanted = value.isoformat("minutes" if not value.second else "seconds")
    return [occurrence(sheet, (span,), wanted) for sheet, span, _ in pages.matches(time_pattern(value))]


def _whole_dates(pages: SearchedPages, value: date) -> Iterator[Occurrence]:
    """Dates that are the value; none against an order that other dates prove."""
    for sheet, segment in pages.containing(f"{value.year % 100:02d}"):
        for written in find_dates(segment.text):
            usual = pages.usual_day_first
            trust = 1.0 if written.value(day_first=usual) == value else 0.0
            if not trust and pages.is_day_first is None and written.value(day_first=not usual) == value:
                trust = OTHER_READING
            if trust:
                yield occurrence(
                    sheet, (Span(segment, written.start, written.stop),), value.isoformat(), trust
                )


def _days(pages: SearchedPages, value: date) -> Iterator[Occurrence]:
    """Day and month, if the year stands somewhere."""
    if next(pages.containing(str(value.year)), None) is None:
        return
    for sheet, span, match in pages.matches(day_pattern(value)):
        if match["mf" if pages.usual_day_first else "df"] is None or value.day == value.month:
            yield occurrence(sheet, (span,), None, PARTIAL)


def _months(pages: SearchedPages, value: date) -> list[Occurrence]:
    """A period's first or last day, from its month."""
    if value.day != 1 and (value + timedelta(days=1)).day != 1:
        return []
    return [
        replace(occurrence(sheet, (span,), None, PARTIAL), form="month")
        for sheet, span, _ in pages.matches(month_pattern(value))
    ]


@lru_cache(maxsize=16)
def month_names(month: int) -> tuple[str, ...]:
    """The names of a month in many languages, folded, the longest first."""
    names = {
        name for language in LANGUAGES for name, number in language.dates.months.items() if number == month
    }
    for locale in _LOCALES:
        for width in ("wide", "abbreviated"):
            for context in ("format", "stand-alone"):
                table = cast("dict[int, str]", get_month_names(width, context, locale))
                names.add(fold(table[month]).strip(". "))
    return tuple(
        sorted((name for name in names if not name.isdecimal()), key=lambda name: (-len(name), name))
    )


@lru_cache(maxsize=512)
def date_pattern(value: date) -> re.Pattern[str]:
    """The date with its year, in folded text: named months of many languages, or numbers from year to day."""
    year = rf"(?:{value.year}|'?{value.year % 100:02d})(?!\d|[.,]\d)"
    day, month = f"0?{value.day}", f"0?{value.month}"
    named = _named(value)
    return re.compile(
        rf"{named}\W{{0,4}}(?:[a-z]{{1,3}}\W{{1,2}})?{year}"
        rf"|(?<!\d){value.year}\W{{1,3}}{named}(?!\d)"
        rf"|(?<!\d){value.year}[^\w.,]{{0,2}}[\u5e74\ub144]\s?{month}\s?[\u6708\uc6d4]\s?{day}\s?[\u65e5\uc77c]"
    )


@lru_cache(maxsize=512)
def day_pattern(value: date) -> re.Pattern[str]:
    """Day and month, without a year, in folded text. Groups: `df` in numbers, days first; `mf` months."""
    day, month = f"0?{value.day}", f"0?{value.month}"
    numbers = r"(?<![\d.,/\-])(?P<{}>{}\s?[./\-]\s?{})(?![\d,]|[./\-]\d)"
    return re.compile(
        rf"{_named(value)}(?!\w)|{numbers.format('df', day, month)}|{numbers.format('mf', month, day)}"
    )


@lru_cache(maxsize=512)
def month_pattern(value: date) -> re.Pattern[str]:
    """Month and year, without a day, in folded text."""
    names = "|".join(map(re.escape, month_names(value.month)))
    return re.compile(
        rf"(?<!\w)(?:{names})\W{{1,3}}{value.year}(?!\d)|(?<![\d./\-])0?{value.month}\s?/\s?{value.year}(?!\d)"
    )


def _named(value: date) -> str:
    names = "|".join(map(re.escape, month_names(value.month)))
    day, month = f"0?{value.day}(?!\\d)(?:st|nd|rd|th|er|\\.)?", rf"(?<![a-z])(?:{names})(?![a-z])\.?"
    return _DAY_AND_MONTH.format(day=day, month=month)


@lru_cache(maxsize=512)
def time_pattern(value: time) -> re.Pattern[str]:
    """The time of day, on either clock."""
    minutes = rf"\s?[:.h]\s?{value.minute:02d}"
    seconds = rf"(?:\s?[:.]\s?{value.second:02d})" if value.second else r"(?:\s?[:.]\s?[0-5]\d)?"
    half = "p" if value.hour >= 12 else "a"  # noqa: PLR2004 - noon
    full = rf"(?<![\d:.])0?{value.hour}{minutes}{seconds}(?!\d|:\d)"
    return re.compile(
        rf"{full}|(?<![\d:.])0?{value.hour % 12 or 12}{minutes}{seconds}\s?{half}\.?m", re.IGNORECASE
    )
