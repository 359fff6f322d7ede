"""Weekdays beside dates, which decide day and month: `Fri 04/07/2017` is 7 April, the only Friday of both."""

import re
from collections.abc import Iterator
from typing import Literal, cast

from babel.dates import get_day_names

from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary.languages import LANGUAGES

_SHORTEST = 3
"""Letters of a name that is told from other words."""


def _names() -> dict[str, int]:
    """The day of the week by its names, from 0 for Monday, without names of two days."""
    days: dict[str, set[int]] = {}
    for language in LANGUAGES:
        for locale in language.dates.locales:
            for width in ("wide", "abbreviated"):
                names = cast("dict[int, str]", get_day_names(width, "format", locale))
                for day, name in names.items():
                    days.setdefault(fold(name).strip(". "), set()).add(day)
    return {name: min(of) for name, of in days.items() if len(of) == 1 and len(name) >= _SHORTEST}


_DAY_OF = _names()
_IN_NUMBERS = re.compile(r"(?<!\d)\d{1,2}\s?[/.\-]\s?\d{1,2}\s?[/.\-]\s?(?:\d{4}|\d\d)(?!\d)")
_BEFORE = re.compile(r"([^\W\d_]+)[.,:]?\s{0,8}$")
_AFTER = re.compile(r"\s{0,3}[,(]?\s?([^\W\d_]+)")
_AROUND = 24
"""Characters around a date among which the day of the week is looked for."""


def orders_by_weekday(text: str) -> Iterator[Literal["day first", "month first"]]:
    """Yield the order of day and month of each ambiguous date that its weekday decides."""
    for match in _IN_NUMBERS.finditer(text):
        names = (
            _BEFORE.search(text[max(0, match.start() - _AROUND) : match.start()]),
            _AFTER.match(text[match.end() : match.end() + _AROUND]),
        )
        weekdays = {_DAY_OF[name] for found in names if found and (name := fold(found[1])) in _DAY_OF}
        written = find_dates(match[0])
        if len(weekdays) != 1 or len(written) != 1 or written[0].order != "open":
            continue
        days = {written[0].value(day_first=is_first): is_first for is_first in (True, False)}
        right = {is_first for day, is_first in days.items() if day and day.weekday() in weekdays}
        if len(days) > 1 and len(right) == 1:
            yield "day first" if right.pop() else "month first"
