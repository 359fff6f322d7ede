"""Comparison of a value with the true one, at four grades of strictness."""

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
"""S0: the same letters. S1: without space, case and signs of currency. S2, which counts: letters and digits,
calendar days, amounts to the cent. S3: S2, and for text nine letters of ten."""

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


def agreement(said: str, true: str, kind: Kind, *, month_first: bool = False) -> tuple[Tier, ...]:
    """The tiers at which a value that was read is the true one.

    month_first: how the truth means days such as 03/04/2026.
    """
    return tuple(tier for tier in TIERS if _agrees(said, true, kind, tier, month_first=month_first))


def _agrees(said: str, true: str, kind: Kind, tier: Tier, *, month_first: bool) -> bool:
    if tier == "S0":
        return said == true
    is_number = kind in ("decimal", "integer")
    if tier == "S1":
        return _bare_amount(said) == _bare_amount(true) if is_number else _unspaced(said) == _unspaced(true)
    if is_number:
        return _same_number(said, true)
    if kind == "date":
        day = day_of(said, month_first=month_first)
        same = day is not None and day == day_of(true, month_first=month_first)
        return same or _same_text(said, true)
    if kind == "datetime" and (moment := _moment(said)) is not None:
        return moment == _moment(true)
    return _same_text(said, true) or (kind == "text" and tier == "S3" and _like(said, true))


@lru_cache(maxsize=100_000)
def _unspaced(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text).upper())


@lru_cache(maxsize=100_000)
def _folded(text: str) -> str:
    return re.sub(r"[^0-9A-Z]", "", _unspaced(text))


def _same_text(said: str, true: str) -> bool:
    # A name in Greek letters folds to nothing, and any two of them would be the same.
    if not _folded(true):
        return _unspaced(said) == _unspaced(true)
    return _folded(said) == _folded(true)


def _like(said: str, true: str) -> bool:
    fold = _folded if _folded(true) else _unspaced
    return Levenshtein.normalized_similarity(fold(said), fold(true)) >= _LIKE


def _bare_amount(text: str) -> str:
    return _CURRENCY.sub("", _unspaced(text)).replace(",", "")


def _same_number(said: str, true: str) -> bool:
    """To the cent, or as exactly as the truth says it: a price of 0.0345 is not 0.03."""
    wanted, found = number_of(true), number_of(said)
    if wanted is None or found is None:
        return False
    exponent = wanted.as_tuple().exponent
    places = max(_CENTS, -exponent if isinstance(exponent, int) else _CENTS)
    try:
        return found.quantize(Decimal(1).scaleb(-places)) == wanted.quantize(Decimal(1).scaleb(-places))
    except InvalidOperation:  # more digits than amounts have
        return found == wanted


@lru_cache(maxsize=100_000)
def number_of(text: str) -> Decimal | None:
    """The number that the whole text is, whatever currency stands beside it."""
    match = _NUMBER.fullmatch(_CURRENCY.sub("", _unspaced(text)))
    if not match:
        return None
    sign, digits, minus = match.groups()
    digits = digits.replace("'", "")
    decimal_comma = _DECIMAL_COMMA.fullmatch(digits)
    plain = digits.replace(".", "").replace(",", ".") if decimal_comma else digits.replace(",", "")
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
    return _named_day(text)


def _named_day(text: str) -> dt.date | None:
    if match := _NAMED.fullmatch(text):
        return _day(match[3], _MONTHS.get(match[2], 0), match[1])
    if match := _NAME_FIRST.fullmatch(text):
        return _day(match[3], _MONTHS.get(match[1], 0), match[2])
    return None


def _day(year: str, month: str | int, day: str) -> dt.date | None:
    full = int(year) + (2000 if int(year) < _CENTURY else 0)
    try:
        return dt.date(full, int(month), int(day))
    except ValueError:
        return None


def _moment(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None
