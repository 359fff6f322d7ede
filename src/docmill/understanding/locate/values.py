"""Occurrences of a value on the pages, in every form in which it can be printed."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, cast

from babel.dates import get_month_names
from babel.numbers import list_currencies

from docmill.model.document import letters_and_digits
from docmill.understanding.locate.searched_pages import (
    Occurrence,
    PageText,
    SearchedPages,
    Spans,
    occurrence,
)
from docmill.understanding.page.layout import Sheet, Span
from docmill.understanding.text.codes import find_ibans
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.text.money import currency_code, find_amounts, number, symbols_of_currency
from docmill.understanding.vocabulary import LANGUAGES

OTHER_ORDER = 0.7
"""The trust in a date that is the value only if read against the usual order, when no date tells."""
PARTIAL = 0.8
"""The trust in a date that is printed without its year or its day."""
OTHER_MARK = 0.7
"""The trust in a number that is the value only with the other decimal mark."""
OTHER_SIGN = 0.9
"""The trust in a number with the opposite sign: credit notes print amounts with either."""
MISREAD_LETTERS = 0.85
"""The trust in a number or text in which letters are misread."""
IN_PIECES, NEARLY = 0.9, 0.65
"""The trust in a text that stands there in pieces, and in one with letters missing."""
PART = 0.45
"""The trust in a number or code that may be a part of a longer one, such as `1` of `R-1` or of `1 234.00`."""
MOST = 400
"""Most places of one text: more tell nothing, and a hostile page must not cost minutes."""
_LONGEST_NUMBER = 15
_SHORTEST_TEXT, _SHORTEST_NUMBER = 3, 4
"""Letters or digits from which on a value can be recognised without a label."""
_MONTH_LOCALES = frozenset(locale for language in LANGUAGES for locale in language.dates.locales) | frozenset(
    "pt pl cs sk sl hr hu ro sv da nb fi et lv lt tr el bg uk ru id vi".split()  # noqa: SIM905 - a list of words
)
"""Locales of the vocabulary, and others in which names of months alone are recognised."""
_DAY_AND_MONTH = (
    r"(?<!\d)(?:{day}\W{{0,4}}(?:[a-z]{{1,4}}\W{{1,2}})?{month}|{month}\W{{0,3}}{day}(?:st|nd|rd|th)?)"
)
_GROUPED = re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,'\u2019]*")
_UNGROUPED = re.compile(r"\d[\d.,'\u2019]*")
_CENTS = re.compile(r"[.,]\d\d$")
_PERCENT = re.compile(r"\s?%")
_NEGATIVE_BEFORE = re.compile(r"[-\u2212\u2013(]\s?(?:[^\W\d_]{1,4}|[^\w\s])?\s?$")
_NEGATIVE_AFTER = re.compile(r"^\s?(?:[^\W\d_]{1,3}|[^\w\s])?\s?(?:-(?!\w)|\)|CR\b|S\b|DR\b)")
_WORD_BEFORE = re.compile(r"[^\W\d_]+$")
_CODE_BEFORE = re.compile(r"\d[/:\-]$|[\w][./:]$|[#_]$")
_CODE_AFTER = re.compile(r"^(?:[/:\-]?\d|[./:\-][^\W_]|[^\W\d_]+\d|[^\W\d_]{4})")
_JOINED_BEFORE, _JOINED_AFTER = re.compile(r"\w[-/_]$|\d\.$"), re.compile(r"[-/_]\w|\.\d")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_CURRENCIES = frozenset(list_currencies())
_DOLLARS = frozenset(("CAD", "AUD", "SGD", "NZD", "HKD", "MXN"))


def find_value(pages: SearchedPages, value: object) -> list[Occurrence]:
    """The places that show a value of any type; none for a bool.

    A value that is no date, time or number is searched for as the text `str` makes of it.
    """
    match value:
        case bool():
            return []  # nothing that is printed is true or false
        case date():
            return find_date(pages, value.date() if isinstance(value, datetime) else value)
        case time():
            return find_time(pages, value)
        case Decimal() | int() | float():
            return find_number(pages, Decimal(str(value)))
        case _:
            return find_text(pages, str(value))


def find_date(pages: SearchedPages, value: date) -> list[Occurrence]:
    """Every place that prints the date.

    If there is none, the places with its day and month alone, or of a period's first or last day its month.
    """
    whole: list[Occurrence] = []
    conventions = pages.conventions
    usual = conventions.day_first
    for sheet, segment in pages.containing(f"{value.year % 100:02d}"):
        for written in find_dates(segment.text):
            trust = 1.0 if written.value(day_first=usual) == value else 0.0
            if not trust and not conventions.has_date_order and written.value(day_first=not usual) == value:
                trust = OTHER_ORDER
            if trust:
                span = Span(segment, written.start, written.stop)
                whole.append(occurrence(sheet, (span,), value.isoformat(), trust))
    if whole:
        return [place for place in whole if place.trust > OTHER_ORDER] or whole
    # A month's name may be of a language that the rules do not read.
    named, day, month = _named_day(value), f"0?{value.day}", f"0?{value.month}"
    year = rf"(?:{value.year}|'?{value.year % 100:02d})(?!\d|[.,]\d)"
    pattern = re.compile(
        rf"{named}\W{{0,4}}(?:[a-z]{{1,3}}\W{{1,2}})?{year}"
        rf"|(?<!\d){value.year}\W{{1,3}}{named}(?!\d)"
        rf"|(?<!\d){value.year}[^\w.,]{{0,2}}[\u5e74\ub144]\s?{month}\s?[\u6708\uc6d4]\s?{day}\s?[\u65e5\uc77c]"
    )
    whole = [occurrence(sheet, (span,), None) for sheet, span, _ in pages.matches(pattern)]
    return whole or _find_part_of_date(pages, value)


def _find_part_of_date(pages: SearchedPages, value: date) -> list[Occurrence]:
    """Day and month, if the year stands somewhere; or a period's first or last day, from its month."""
    places: list[Occurrence] = []
    if next(pages.containing(str(value.year)), None) is not None:
        day, month = f"0?{value.day}", f"0?{value.month}"
        numbers = r"(?<![\d.,/\-])(?P<{}>{}\s?[./\-]\s?{})(?![\d,]|[./\-]\d)"
        days = re.compile(
            rf"{_named_day(value)}(?!\w)"
            rf"|{numbers.format('day_first', day, month)}|{numbers.format('month_first', month, day)}"
        )
        other = "month_first" if pages.conventions.day_first else "day_first"
        places = [
            occurrence(sheet, (span,), None, PARTIAL)
            for sheet, span, match in pages.matches(days)
            if match[other] is None or value.day == value.month
        ]
    if places or value.day not in (1, monthrange(value.year, value.month)[1]):
        return places
    months = re.compile(
        rf"(?<!\w)(?:{_month_names(value.month)})\W{{1,3}}{value.year}(?!\d)"
        rf"|(?<![\d./\-])0?{value.month}\s?/\s?{value.year}(?!\d)"
    )
    return [
        replace(occurrence(sheet, (span,), None, PARTIAL), form="month")
        for sheet, span, _ in pages.matches(months)
    ]


def _named_day(value: date) -> str:
    """A regular expression for day and month in folded text, the month by its name."""
    day = f"0?{value.day}(?!\\d)(?:st|nd|rd|th|er|\\.)?"
    return _DAY_AND_MONTH.format(day=day, month=rf"(?<![a-z])(?:{_month_names(value.month)})(?![a-z])\.?")


@lru_cache(maxsize=12)
def _month_names(month: int) -> str:
    """A regular expression for the names of a month in many languages, folded."""
    names = {
        name for language in LANGUAGES for name, number in language.dates.months.items() if number == month
    }
    for locale in _MONTH_LOCALES:
        for width in ("wide", "abbreviated"):
            for context in ("format", "stand-alone"):
                table = cast("dict[int, str]", get_month_names(width, context, locale))
                names.add(fold(table[month]).strip(". "))
    return alternatives(name for name in names if not name.isdecimal())


def find_time(pages: SearchedPages, value: time) -> list[Occurrence]:
    """Every place that prints the time of day, on either clock."""
    minutes = rf"\s?[:.h]\s?{value.minute:02d}"
    seconds = rf"(?:\s?[:.]\s?{value.second:02d})" if value.second else r"(?:\s?[:.]\s?[0-5]\d)?"
    half = "p" if value.hour >= 12 else "a"  # noqa: PLR2004 - noon
    pattern = re.compile(
        rf"(?<![\d:.])0?{value.hour}{minutes}{seconds}(?!\d|:\d)"
        rf"|(?<![\d:.])0?{value.hour % 12 or 12}{minutes}{seconds}\s?{half}\.?m",
        re.IGNORECASE,
    )
    wanted = value.isoformat("minutes" if not value.second else "seconds")
    return [occurrence(sheet, (span,), wanted) for sheet, span, _ in pages.matches(pattern)]


def find_number(pages: SearchedPages, value: Decimal) -> list[Occurrence]:
    """Every place that prints the number, with any decimal mark and separator of thousands, and either sign.

    A number between -1 and 1 that is printed nowhere is searched for as a percentage.
    """
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST_NUMBER:
        return []
    places = list(_find_digits(pages, value))
    if not places and value and abs(value) < 1:
        percents = _find_digits(pages, value * 100)
        places = [replace(place, form="percent") for place in percents if _is_percent(place.spans[0])]
    best = max((place.trust for place in places), default=0.0)
    return [place for place in places if place.trust > OTHER_MARK or best <= OTHER_MARK]


def _find_digits(pages: SearchedPages, value: Decimal) -> Iterator[Occurrence]:
    """Places that print the digits of the value, with any sign."""
    wanted, mark = abs(value), pages.conventions.mark
    digits = str(int(wanted)) if wanted >= 1 else f"{wanted:f}".partition(".")[2].rstrip("0")
    for sheet, segment in pages.containing(digits):
        taken: list[tuple[int, int]] = []
        for written in numbers_in(segment.text):
            place = (written.start, written.stop)
            usual, other = (number(written.digits, each) for each in (mark, "," if mark == "." else "."))
            trust = 1.0 if usual == wanted else OTHER_MARK if other == wanted else 0.0
            if trust and place not in taken and _stands_alone(segment.text, *place):
                taken.append(place)
                span = Span(segment, *place)
                yield _number(sheet, span, value, trust * PART if written.is_part else trust)
        if sheet.page.source != "ocr":
            continue
        for amount in find_amounts(segment.text, misread=True):
            overlaps = any(amount.start < stop and start < amount.stop for start, stop in taken)
            if not overlaps and number(amount.digits, mark) == wanted:
                yield _number(sheet, Span(segment, amount.start, amount.stop), value, MISREAD_LETTERS)


def _number(sheet: Sheet, span: Span, value: Decimal, trust: float) -> Occurrence:
    before, after = span.segment.text[: span.start], span.segment.text[span.stop :]
    is_negative = bool(_NEGATIVE_BEFORE.search(before) or _NEGATIVE_AFTER.match(after))
    if is_negative != (value < 0):
        trust *= OTHER_SIGN
    is_marked = bool(value) and bool(
        _CENTS.search(span.text) or trust == MISREAD_LETTERS or _is_percent(span)
    )
    is_plain = sum(map(str.isdecimal, span.text)) < _SHORTEST_NUMBER and not is_marked
    return occurrence(sheet, (span,), str(value), trust, is_plain=is_plain)


def _is_percent(span: Span) -> bool:
    return _PERCENT.match(span.segment.text[span.stop :]) is not None


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """True if digits are a number and no part of a code, a date or a word."""
    before, after = text[:start], text[stop:]
    if _CODE_BEFORE.search(before) or _CODE_AFTER.match(after):
        return False
    word = _WORD_BEFORE.search(before)
    if word is None:
        return True
    has_cents = _CENTS.search(text[start:stop]) is not None
    is_unit = currency_code(word[0]) is not None or word[0].casefold() == "x"
    return not after[:1].isalpha() and (has_cents or is_unit)


class WrittenNumber(NamedTuple):
    """A number at characters `start` to `stop` (exclusive) of a text, with its marks in `digits`.

    is_part: it may be a part of a longer number, as the `234.00` of `1 234.00`.
    """

    start: int
    stop: int
    digits: str
    is_part: bool


def numbers_in(text: str) -> Iterator[WrittenNumber]:
    """Yield every number. As a space may separate thousands or two numbers, both readings are given."""
    seen: set[tuple[int, int]] = set()
    grouped: list[tuple[int, int]] = []
    for pattern in (_GROUPED, _UNGROUPED):
        for match in pattern.finditer(text):
            digits = match[0].rstrip(".,'\u2019 ")
            start, stop = match.start(), match.start() + len(digits)
            if (start, stop) in seen:
                continue
            seen.add((start, stop))
            is_part = any(begin <= start and stop <= end for begin, end in grouped)
            if any(map(str.isspace, digits)):
                grouped.append((start, stop))
            yield WrittenNumber(start, stop, digits, is_part)


def find_text(pages: SearchedPages, value: str) -> list[Occurrence]:
    """The places that show a text.

    Searched for in turn as it is, by its meaning (currency, date, time, amount), in pieces, misread and with
    letters missing. The first way that finds a place counts.
    """
    if not letters_and_digits(value):
        return _find_signs(pages, value.strip()) if value.strip() else []
    ways: tuple[Callable[[], list[Occurrence]], ...] = (
        lambda: _find_letters(pages, value, PageText.find_exactly, trust=1.0),
        lambda: _find_meaning(pages, value),
        lambda: _find_letters(pages, value, PageText.find_in_pieces, trust=IN_PIECES),
        lambda: _find_letters(pages, value, PageText.find_misread, trust=MISREAD_LETTERS),
        lambda: _find_letters(pages, value, PageText.find_nearly, trust=NEARLY),
    )
    for way in ways:
        places: list[Occurrence] = []
        for place in way():
            start, stop = place.spans[0].start, place.spans[0].stop
            if not any(  # a part of an IBAN says nothing
                iban.start <= start and stop <= iban.stop and (start, stop) != (iban.start, iban.stop)
                for iban in find_ibans(place.segment.text)
            ):
                places.append(place)
        if places:
            return places
    return []


def _find_letters(
    pages: SearchedPages, value: str, find: Callable[[PageText, str], list[Spans]], *, trust: float
) -> list[Occurrence]:
    """Places with the letters and digits of the value, misread ones on recognised pages only."""
    letters = letters_and_digits(value)
    is_plain = len(letters) < (_SHORTEST_NUMBER if letters.isdecimal() else _SHORTEST_TEXT)
    only_recognised = find in (PageText.find_misread, PageText.find_nearly)
    places = [
        occurrence(text.sheet, spans, value, trust, is_plain=is_plain)
        for text in pages.texts
        if text.sheet.page.source == "ocr" or not only_recognised
        for spans in find(text, value)
    ]
    if any(map(str.isdecimal, value)) and not value.strip().count(" "):
        for index, place in enumerate(places):
            first, last = place.spans[0], place.spans[-1]
            before, after = first.segment.text[: first.start], last.segment.text[last.stop :]
            if _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after):  # to more of the same code
                places[index] = replace(place, trust=place.trust * PART)
        best = max((place.trust for place in places), default=0.0)
        places = [place for place in places if place.trust == best]
    if find is PageText.find_in_pieces:
        places = [replace(place, match="normalised") for place in places]
    return places[:MOST]


def _find_meaning(pages: SearchedPages, value: str) -> list[Occurrence]:
    """The places of a currency, a date, a time or an amount that is given as text."""
    if value in _CURRENCIES:
        for symbol in (value, *symbols_of_currency(value), *(("$",) if value in _DOLLARS else ())):
            if places := _find_signs(pages, symbol):
                return places
    if clock := _CLOCK.fullmatch(value.strip()):
        return find_time(pages, time(int(clock[1]), int(clock[2]), int(clock[3] or 0)))
    dates = find_dates(value)
    if len(dates) == 1 and not (value[: dates[0].start].strip() or value[dates[0].stop :].strip(" .")):
        day = dates[0].value(day_first=pages.conventions.day_first)
        if day is not None:
            return find_date(pages, day)
    amounts = find_amounts(value, misread=False)
    if len(amounts) != 1 or amounts[0].percent:
        return []
    is_all = not (value[: amounts[0].start].strip() or value[amounts[0].stop :].strip())
    return find_number(pages, amounts[0].value(pages.conventions.mark)) if is_all else []


def _find_signs(pages: SearchedPages, sign: str) -> list[Occurrence]:
    """The places of exactly these characters, not within a word."""
    before = r"(?<![^\W\d_])" if sign[0].isalpha() else ""
    after = r"(?![^\W\d_])" if sign[-1].isalpha() else ""
    pattern = re.compile(before + re.escape(sign) + after)
    return [
        occurrence(sheet, (Span(segment, match.start(), match.end()),), sign)
        for sheet in pages.sheets
        for segment in sheet.segments
        for match in pattern.finditer(segment.text)
    ][:MOST]
