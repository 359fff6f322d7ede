"""Days that are written with a month's name: in what a person types, and in the texts that are searched."""

import re
from datetime import date
from functools import cache, lru_cache
from typing import NamedTuple

_LETTERS = re.compile(r"[^\W\d_]{3}")
_YEAR = re.compile(r"(?<!\w)[12][0-9]{3}(?!\w)")
_DAY_TERM = re.compile(r"d([12][0-9]{3})([01][0-9])([0-3][0-9])")
_ENDINGS = ("", "st", "nd", "rd", "th", "er")


class TypedDay(NamedTuple):
    """A day with a month's name at `start` to `stop` of a query."""

    day: date
    start: int
    stop: int


def typed_days(query: str) -> list[TypedDay]:
    """The days of a query that are written with a month's name, in any of our languages."""
    if not _LETTERS.search(query) or not _YEAR.search(query):
        return []
    # The words of all languages take half a second to load, which a start can do without.
    from docmill.understanding.text.dates import find_dates  # noqa: PLC0415

    days: list[TypedDay] = []
    for written in find_dates(query):
        day = written.value(day_first=True)
        if day is not None and _LETTERS.search(query[written.start : written.stop]):
            days.append(TypedDay(day, written.start, written.stop))
    return days


def written_forms(term: str) -> str:
    """A day of the index (`d20260503`) as texts may write it, in the syntax of `tsquery`; "" for no day.

    `3 May 2026`, `3rd May 2026`, `May 3, 2026`, `3. Mai 2026` and `3 de mayo de 2026` are found.
    """
    match = _DAY_TERM.fullmatch(term)
    names = _month_names(int(match[2])) if match else ()
    if match is None or not names:
        return ""
    days = " | ".join(f"'{number}'" for number in _day_words(int(match[3])))
    months = " | ".join(f"'{name}'" for name in names)
    return " | ".join(
        (
            f"(({days}) <-> ({months}) <-> '{match[1]}')",
            f"(({months}) <-> ({days}) <-> '{match[1]}')",
            f"(({days}) <2> ({months}) <2> '{match[1]}')",
            f"(({days}) <2> ({months}) <-> '{match[1]}')",
        )
    )


@lru_cache(maxsize=256)
def written_pattern(term: str) -> re.Pattern[str] | None:
    """A pattern for the same places in a folded text; None for what is no day."""
    match = _DAY_TERM.fullmatch(term)
    names = _month_names(int(match[2])) if match else ()
    if match is None or not names:
        return None
    days, months = "|".join(_day_words(int(match[3]))), "|".join(names)
    gap = r"[\W_]+(?:de |of )?"
    return re.compile(
        rf"(?<!\w)(?:(?:{days}){gap}(?:{months})|(?:{months}){gap}(?:{days})){gap}{match[1]}(?!\w)"
    )


def _day_words(number: int) -> list[str]:
    plain = [f"{number}{ending}" for ending in _ENDINGS]
    return [f"{number:02}", *plain] if number < 10 else plain  # noqa: PLR2004  it may have a zero before it


@cache
def _month_names(number: int) -> tuple[str, ...]:
    from docmill.understanding.text.dates import month_names  # noqa: PLC0415  see `typed_days`

    return tuple(sorted(name for name in month_names(number) if name.isalpha()))
