"""Calendar dates and times of day as people and machines print them, also glued or misread."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, cast

from babel.dates import get_month_names

from docmill.understanding.text.folding import alternatives, fold, remembered
from docmill.understanding.vocabulary.languages import LANGUAGES

FIRST_YEAR = 1990
LAST_YEAR = 2079
"""The days of business papers are in these years."""
_EARLIEST_YEAR = 1900
"""Of days such as those of birth, whose years must be written with four digits."""

Order = Literal["fixed", "day first", "open"]
"""`day first`: written with points. `open`: could be day or month first."""


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date at `start` to `stop` of a text. first, second: day and month if `order` is not `fixed`."""

    start: int
    stop: int
    year: int
    first: int
    second: int
    order: Order

    @property
    def only_day_first(self) -> bool:
        """It cannot be month first."""
        return (
            self.order == "open"
            and self.value(day_first=True) is not None
            and self.second <= _MONTHS < self.first
        )

    @property
    def only_month_first(self) -> bool:
        """It cannot be day first."""
        return (
            self.order == "open"
            and self.value(day_first=False) is not None
            and self.first <= _MONTHS < self.second
        )

    def value(self, *, day_first: bool) -> date | None:
        """The calendar date; the other order where this one gives none."""
        if self.order == "fixed":
            return _date(self.year, self.second, self.first)
        usual = _date(self.year, self.second, self.first)
        american = _date(self.year, self.first, self.second)
        if self.order == "day first" or day_first:
            return usual or american
        return american or usual


_DIGIT = re.compile(r"\d")
_MONTHS = 12
_NOON = 12
_DATES = [language.dates for language in LANGUAGES]
_MONTH_NAMES = {
    fold(name).strip(". "): number
    for words in _DATES
    for locale in words.locales
    for width in ("wide", "abbreviated")
    for context in ("format", "stand-alone")
    for number, name in cast("dict[int, str]", get_month_names(width, context, locale)).items()
} | {name: number for words in _DATES for name, number in words.months.items()}
_LINK = f"(?:(?:{alternatives(word for words in _DATES for word in words.links)}) )?"
_ORDINAL = alternatives(ending for words in _DATES for ending in words.ordinals)
_ORDINAL_SIGNS = str.maketrans("\u00b0\u00ba\u00aa", "   ")
"""Signs as in `1° aprile`, which would be folded to letters that look like a misread zero."""
_MONTH = rf"(?P<month>{alternatives(_MONTH_NAMES)})(?![a-z])\.?"
_DAY = r"(?P<day>[0-3]?\d)"
_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
_YEAR = r"(?P<year>(?:19|20)\d\d|\d\d)"
_AFTER_SHORT_YEAR = r"(?=[^\d/.\-]|[/.\-](?!\d)|-\d{1,2}/\d|\d{1,2}:\d\d|$)"
_AFTER_NAMED_MONTH = r"(?!\d|[.,]\d)(?!(?<!\d{4}):\d)"
"""No year of two digits is the hour behind `Dec23 02:52`."""
_NO_NUMBER = r"(?!\d\d(?![\d:.]))"
"""As the year would be the beginning of one in T03-18/199913."""
_SEPARATOR = r"\s?(?P<sep>[/.\-])\s?"
_DAY_OF_PERIOD = r"20[0-4]\d[01]\d[0-3]\d"
_CLOCK = r"(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?"
_ENDS_NO_NUMBER = rf"(?:(?<!\d[/-])|(?<={_DAY_OF_PERIOD}[/-]))"
_BEGINS_NO_NUMBER = rf"(?![/-](?!(?:{_CLOCK}|{_DAY_OF_PERIOD})(?!\d))\d)"
"""Eight digits are a part of a number in `20161223-10019`, but not before a time or another day."""

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<!\d)(?<!\d[/.\-])"  # a year that ends a date begins none
        + _YEAR4
        + _SEPARATOR
        + r"(?P<second>[01]?\d)\s?[/.\-]\s?(?P<first>[0-3]?\d)(?=\D|\d\d:|[0-2]\d[0-5]\d[0-5]\d(?!\d)|$)",
        r"(?<!\d)"
        r"(?P<first>[0-3]?\d)" + _SEPARATOR + r"(?P<second>[0-3]?\d)\s?[/.\-]{1,2}\s?" + _YEAR4 + _NO_NUMBER,
        r"(?<![\d.,])"
        r"(?P<first>[0-3]?\d)"
        + _SEPARATOR
        + r"(?P<second>[0-3]?\d)\s?(?P=sep)\s?(?P<year>\d\d)"
        + _AFTER_SHORT_YEAR,
        r"(?<!\d)(?<!\d/)"  # as in Feb13/20-Feb14/20
        + _DAY
        + rf"(?:{_ORDINAL}|\.)?[\s\-/.,']{{0,3}}"
        + _LINK
        + _MONTH
        + r"[\s\-/.,']{0,3}"
        + _LINK
        + _YEAR
        + _AFTER_NAMED_MONTH,
        r"(?<![^\W\d_])"
        + _MONTH
        + r"[\s\-/.,]{0,2}"
        + _DAY
        + rf"(?:{_ORDINAL})?[\s\-/.,'\u2019]{{1,3}}"  # also Jul19'14
        + _YEAR
        + _AFTER_NAMED_MONTH,
        r"(?<!\d)" + _YEAR4 + r"[\s\-/]{1}" + _MONTH + r"[\s\-/]{1}" + _DAY + r"(?!\d)",
        rf"(?<!\d){_ENDS_NO_NUMBER}(?P<first>[0-3]\d)\s?(?P<second>0[1-9]|1[0-2])\s?(?P<year>20[0-4]\d)"
        r"(?!\d)" + _BEGINS_NO_NUMBER,
        rf"(?<!\d){_ENDS_NO_NUMBER}(?P<year>20[0-4]\d)(?P<second>0[1-9]|1[0-2])(?P<first>[0-3]\d)"
        r"(?!\d)" + _BEGINS_NO_NUMBER,
    )
)
_PLAIN = (6, 7)
"""The two patterns without any separator."""
_UNTIL = rf"\s*(?:-|\u2013|\u2014|~|{alternatives(word for words in _DATES for word in words.until)})\s*"
_WEEKDAY = rf"(?:(?:{alternatives(day for words in _DATES for day in words.weekdays)})[a-z]{{0,7}}\.?,?\s*)?"
RANGE_LINK = re.compile(_UNTIL + _WEEKDAY + "$")
"""The text between the two dates of a period, folded."""
_LINK_AT_END = re.compile(_UNTIL + "$")
_SHORT_START = re.compile(
    r"(?<![\d/.,\-])(?P<a>[0-3]?\d)(?:\s?[/.]\s?(?P<b>[0-3]?\d)|\.?\s+(?P<month>[a-z]{3,10})\.?)?\s?[/.]?"
    + _UNTIL
    + "$"
)
_SHORT_START_MONTH = re.compile(r"(?<![a-z])(?P<month>[a-z]{3,10})\.?\s(?P<a>[0-3]?\d)" + _UNTIL + "$")
_MISREAD_ZERO = re.compile(r"(?<=[\d/.\-])[oq](?=[\d/.\-]|\b)|\bo(?=\d[/.\-])")
_MISREAD_ONE = re.compile(r"(?<=[\d/.\-])[il|](?=[\d/.\-])|\b[il|](?=\d[/.\-]\d)")
_SHORTEST_MONTH = 2
"""Letters beyond which a name is long enough to be one although a letter is misread."""
_DIGITS_FOR_LETTERS = {"l": "1", "i": "1", "o": "0", "s": "5"}
_MISREAD_MONTHS = {
    name[:at] + _DIGITS_FOR_LETTERS[letter] + name[at + 1 :]: name
    for name in _MONTH_NAMES
    for at, letter in enumerate(name)
    if letter in _DIGITS_FOR_LETTERS and len(name) > _SHORTEST_MONTH and name[:at] not in _MONTH_NAMES
}
"""Names of months with a letter read as a digit: `ju1`; yet `jun1` is the name with a day."""
_MISREAD_MONTH = re.compile(rf"(?<![^\W_])(?:{alternatives(_MISREAD_MONTHS)})(?=[\s.]?\d)")
_MISREAD_DASH = re.compile(r"(?<![/.\-]\d\d)(?<=\d\d)~(?=\d\d-\d\d)")

_HALF = r"(?:\.?\s?m\b|(?<=\d[ap])(?![^\W_]))"
"""The rest of `AM`, `p.m.`, `P M`; nothing behind the letter in `6:53p`."""
_GREEK_HALF = r"(?i:[\u03c0\u03bc\u00b5]\.?\s?[\u03bc\u00b5]\b\.?)"
_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])[:h](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
    rf"(?:\s?(?P<half>[ap]{_HALF}\.?|{_GREEK_HALF}))?(?![\d:])",
    re.IGNORECASE,
)
MISREAD_TIME = re.compile(
    r"(?<![\d.,/])(?<!\d[:;])(?<!\d\s[:;])(?P<hour>[01]?\d|2[0-3])(?:[:.;hH]|\s:|\s:\s(?=\d\d\s?[AaPp]\.?[Mm]))"
    r"(?P<minute>[0-5]\d)"
    rf"(?:[:;](?P<second>[0-5]\d))?(?:\s*(?P<half>[AaPp](?i:{_HALF})|[AP][NH]\b|{_GREEK_HALF}))?(?![\d%])"
)
"""A time whose colon may be read as a semicolon or a point; what follows hours and a colon is no hour."""


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def month_names(number: int) -> list[str]:
    """The names of a month in all languages, folded, long and short."""
    return [name for name, month in _MONTH_NAMES.items() if month == number]


def full_year(year: int) -> int:
    """Four digits for two."""
    if year >= 100:  # noqa: PLR2004 - written out already
        return year
    return year + 2000 if year + 2000 <= LAST_YEAR else year + 1900


@remembered
def find_dates(text: str) -> tuple[WrittenDate, ...]:
    """The dates of `text`, from left to right, none within another.

    A day that lacks the year is a date where it begins a period: `1.6. - 30.6.2026`.
    """
    folded = fold(text.translate(_ORDINAL_SIGNS))
    if not _DIGIT.search(folded):
        return ()
    folded = _MISREAD_MONTH.sub(lambda match: _MISREAD_MONTHS[match[0]], folded)
    folded = _MISREAD_DASH.sub("-", _MISREAD_ONE.sub("1", _MISREAD_ZERO.sub("0", folded)))
    whole: list[WrittenDate] = []
    for index, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(folded):
            written = _written(match, plain=index in _PLAIN)
            if written is not None and not any(
                written.start < other.stop and other.start < written.stop for other in whole
            ):
                whole.append(written)
    dates: list[WrittenDate] = []
    begin = 0
    for written in sorted(whole, key=lambda written: written.start):
        start = _start_of_period(folded[begin : written.start], written)
        if start is not None:
            dates.append(replace(start, start=begin + start.start, stop=begin + start.stop))
        dates.append(written)
        begin = written.stop
    return tuple(dates)


def _written(match: re.Match[str], *, plain: bool) -> WrittenDate | None:
    groups = match.groupdict()
    year = full_year(int(groups["year"]))
    order: Order = "fixed"
    if "month" in groups:
        first, second = int(groups["day"]), _MONTH_NAMES[groups["month"]]
    else:
        first, second = int(groups["first"]), int(groups["second"])
        if match.start("first") < match.start("year") and not plain:
            order = "day first" if groups["sep"] == "." else "open"
    written = WrittenDate(match.start(), match.end(), year, first, second, order)
    earliest = _EARLIEST_YEAR if len(groups["year"]) > 2 else FIRST_YEAR  # noqa: PLR2004 - digits of a short year
    is_date = earliest <= year <= LAST_YEAR and written.value(day_first=True) is not None
    return written if is_date else None


def _start_of_period(before: str, end: WrittenDate) -> WrittenDate | None:
    """The first day of a period that ends with `end`: `1.`, `1.6.`, `6/1`, `1 June` or `June 1`.

    before: the text in front of `end`, in which the result's `start` and `stop` lie.
    """
    match = _SHORT_START_MONTH.search(before) or _SHORT_START.search(before)
    if match is None:
        return None
    groups = match.groupdict()
    day, second, order = int(groups["a"]), end.second, end.order
    if groups.get("month"):
        if groups["month"] not in _MONTH_NAMES:
            return None
        second, order = _MONTH_NAMES[groups["month"]], "fixed"
    elif groups.get("b"):
        second = int(groups["b"])
    elif order != "fixed":
        return None
    stop = max(len(_LINK_AT_END.sub("", before)), match.start() + 1)
    short = replace(end, start=match.start(), stop=stop, first=day, second=second, order=order)
    return short if short.value(day_first=True) is not None else None


def find_times(text: str) -> Iterator[tuple[str, int, int]]:
    """The times of `text` as HH:MM:SS, with start and stop."""
    for match in _TIME.finditer(text):
        yield clock_time(match, with_seconds=True), match.start(), match.end()


def clock_time(match: re.Match[str], *, with_seconds: bool = False) -> str:
    """A time on the clock of 24 hours, by the groups hour, minute, second and half.

    with_seconds: even where none are printed.
    """
    hour, second, half = int(match["hour"]), match["second"], (match["half"] or "").lower()
    if half.startswith(("p", "\u03bc", "\u00b5")) and hour < _NOON:
        hour += _NOON
    if half.startswith(("a", "\u03c0")) and hour == _NOON:
        hour = 0
    seconds = f":{second or '00'}" if second or with_seconds else ""
    return f"{hour:02}:{match['minute']}{seconds}"
