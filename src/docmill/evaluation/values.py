"""Comparison of a value with the true one, at four tiers of strictness."""

import datetime as dt
import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal, get_args

from rapidfuzz.distance import Levenshtein

from docmill.schemas.outline import Kind

Tier = Literal["S0", "S1", "S2", "S3"]

TIERS: tuple[Tier, ...] = get_args(Tier)
"""S0: the same characters. S1: without spaces, case and currencies. S2, which counts as correct: letters and
digits, calendar days, amounts to the cent. S3: S2, and for texts nine letters of ten."""

HEADLINE: Tier = "S2"

_LIKE = 0.9
_CENTS = 2
_CENTURY = 100
_NUMBER = re.compile(r"[^\d.,+-]*([+-]?)[^\d.,+-]*(\d[\d.,']*|[.,]\d+)(-?)[^\d]*")
_CURRENCY = re.compile(r"^(?:[A-Z]{1,3}\.?|[^\w\s.,+-])|(?:[A-Z]{1,3}|[^\w\s.,+-])$")
_DECIMAL_COMMA = re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}")
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), 1
    )
}
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})\s*[-/. ]\s*(\d{1,2})\s*[-/. ]\s*(\d{4}|\d{2})(?:[T ].*)?")
_NAMED = re.compile(r"(\d{1,2})\s*[-/. ]?\s*([A-Z]{3})[A-Z]*[-/., ]*(\d{4}|\d{2})(?:[T ].*)?")
_NAME_FIRST = re.compile(r"([A-Z]{3})[A-Z]*\.?\s*(\d{1,2})\s*,?\s*(\d{4})(?:[T ].*)?")
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)|(\d\d)(\d\d)(\d{4})")


def agreement(read: str, true: str, kind: Kind, *, month_first: bool = False) -> tuple[Tier, ...]:
    """The tiers at which a value that was read is the true one.

    month_first: of days in the truth such as 03/04/2026.
    """
    return tuple(tier for tier in TIERS if _agrees(read, true, kind, tier, month_first=month_first))


def _agrees(read: str, true: str, kind: Kind, tier: Tier, *, month_first: bool) -> bool:
    if tier == "S0":
        return read == true
    is_number = kind in ("decimal", "integer")
    if tier == "S1":
        return _bare_amount(read) == _bare_amount(true) if is_number else _unspaced(read) == _unspaced(true)
    if is_number:
        return _is_same_number(read, true)
    # A name in Greek letters folds to nothing, and any two of them would be the same.
    fold = _folded if _folded(true) else _unspaced
    is_same = fold(read) == fold(true)
    if kind == "date" and not is_same:
        day = day_of(read, month_first=month_first)
        is_same = day is not None and day == day_of(true, month_first=month_first)
    if kind == "datetime" and (moment := _moment(read)) is not None:
        is_same = moment == _moment(true)
    if kind == "text" and tier == "S3" and not is_same:
        is_same = Levenshtein.normalized_similarity(fold(read), fold(true)) >= _LIKE
    return is_same


@lru_cache(maxsize=100_000)
def _unspaced(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text).upper())


@lru_cache(maxsize=100_000)
def _folded(text: str) -> str:
    return re.sub(r"[^0-9A-Z]", "", _unspaced(text))


def _bare_amount(text: str) -> str:
    return _CURRENCY.sub("", _unspaced(text)).replace(",", "")


def _is_same_number(read: str, true: str) -> bool:
    """Compare to the cent, or as exactly as the truth is given: a price of 0.0345 is not 0.03."""
    true_number, read_number = number_of(true), number_of(read)
    if true_number is None or read_number is None:
        return False
    exponent = true_number.as_tuple().exponent
    unit = Decimal(1).scaleb(-max(_CENTS, -exponent if isinstance(exponent, int) else _CENTS))
    try:
        return read_number.quantize(unit) == true_number.quantize(unit)
    except InvalidOperation:  # more digits than amounts have
        return read_number == true_number


@lru_cache(maxsize=100_000)
def number_of(text: str) -> Decimal | None:
    """The number that the whole text is, with any currency beside it."""
    match = _NUMBER.fullmatch(_CURRENCY.sub("", _unspaced(text)))
    if not match:
        return None
    sign, digits, minus = match.groups()
    digits = digits.replace("'", "")
    has_decimal_comma = _DECIMAL_COMMA.fullmatch(digits)
    plain = digits.replace(".", "").replace(",", ".") if has_decimal_comma else digits.replace(",", "")
    try:
        return Decimal(("-" if "-" in (sign, minus) else "") + plain)
    except InvalidOperation:
        return None


@lru_cache(maxsize=100_000)
def day_of(text: str, *, month_first: bool = False) -> dt.date | None:
    """The calendar day that the text is."""
    text = unicodedata.normalize("NFKC", text).upper().strip(" ()")
    if match := _YEAR_FIRST.fullmatch(text):
        return _day(match[1], match[2], match[3])
    if match := _YEAR_LAST.fullmatch(text):
        day, month = (match[2], match[1]) if month_first else (match[1], match[2])
        return _day(match[3], month, day) or _day(match[3], day, month)
    if match := _COMPACT.fullmatch(text):
        return _day(match[1] or match[6], match[2] or match[5], match[3] or match[4])
    if match := _NAMED.fullmatch(text):
        return _day(match[3], _MONTHS.get(match[2], 0), match[1])
    match = _NAME_FIRST.fullmatch(text)
    return _day(match[3], _MONTHS.get(match[1], 0), match[2]) if match else None


def _day(year: str, month: str | int, day: str) -> dt.date | None:
    full_year = int(year) + (2000 if int(year) < _CENTURY else 0)
    try:
        return dt.date(full_year, int(month), int(day))
    except ValueError:
        return None


def _moment(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None
