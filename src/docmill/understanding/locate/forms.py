"""The forms of dates, times and numbers in print, beside those that `dates` and `money` read."""

import re
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, cast

from babel.dates import get_month_names

from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import number, symbols_of_currency
from docmill.understanding.vocabulary import LANGUAGES

_LOCALES = frozenset(locale for language in LANGUAGES for locale in language.dates.locales) | frozenset(
    "pt pl cs sk sl hr hu ro sv da nb fi et lv lt tr el bg uk ru id vi".split()  # noqa: SIM905 - a list of words
)
"""Those of the vocabulary, and more whose months are found though nothing else is read in them."""
_DAY_AND_MONTH = (
    r"(?<!\d)(?:{day}\W{{0,4}}(?:[a-z]{{1,4}}\W{{1,2}})?{month}|{month}\W{{0,3}}{day}(?:st|nd|rd|th)?)"
)
_GROUPED = re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,'\u2019]*")
_PLAIN = re.compile(r"\d[\d.,'\u2019]*")
_NEGATIVE_BEFORE = re.compile(r"[-\u2212\u2013(]\s?(?:[^\W\d_]{1,4}|[^\w\s])?\s?$")
_DOLLARS = frozenset(("CAD", "AUD", "SGD", "NZD", "HKD", "MXN"))
_NEGATIVE_AFTER = re.compile(r"^\s?(?:[^\W\d_]{1,3}|[^\w\s])?\s?(?:-(?!\w)|\)|CR\b|S\b|DR\b)")


@lru_cache(maxsize=16)
def month_names(month: int) -> tuple[str, ...]:
    """What a month is called, folded, the longest name first."""
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
    """Whether the number at `start` to `stop` is printed as one below zero."""
    return _NEGATIVE_BEFORE.search(text[:start]) is not None or _NEGATIVE_AFTER.match(text[stop:]) is not None


def symbols_of(code: str) -> tuple[str, ...]:
    """What a currency is printed as, its code first."""
    return (code, *symbols_of_currency(code), *(("$",) if code in _DOLLARS else ()))
