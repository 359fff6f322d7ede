"""Dates and amounts in the cells of a bank's table. Their form is decided over whole columns."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

from docmill.model.statement_columns import DateOrder, DecimalMark

_TIME = r"(?:[T ,]+\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?\s*(?:Z|[AaPp][Mm])?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-./]?)(\d{{1,2}})\2(\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-./ ])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}")
_DAY_AND_NAME = re.compile(rf"(\d{{1,2}})\.?[ -]([^\W\d_]+)\.?[ -,]+(\d{{4}}|\d{{2}}){_TIME}")
_NAME_AND_DAY = re.compile(rf"([^\W\d_]+)\.? (\d{{1,2}}),? (\d{{4}}){_TIME}")
_LONGEST_AMOUNT = 60
_LAST_CENTURY = 80
_USUAL = 0.8
"""Share of the amounts that have the decimal mark of the column."""
_MONTHS = 12
_NUMBER = re.compile(r"\d[\d.,]*|[.,]\d+")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}")
_GAPS = re.compile(r"(?<=\d)[\s'\u2019\u00a0\u202f](?=\d{3}(?!\d))")
_LETTERS = str.maketrans({"\u00f8": "o", "\u00e6": "ae", "\u0142": "l"})
"""Letters that are none with an accent for Unicode, although people write them without."""
_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2010": "-", "\u00ad": "-"})


class WrittenAmount(NamedTuple):
    """A number as it is written, with points and commas.

    is_negative: whether a sign makes it negative. is_signed: whether it has a sign, such as a plus.
    """

    digits: str
    is_negative: bool
    is_signed: bool = False

    def value(self, mark: DecimalMark) -> Decimal | None:
        """The amount with this decimal mark; None if it is not written so."""
        other = "," if mark == "." else "."
        whole, _, cents = self.digits.partition(mark)
        if other in cents or mark in cents or (other in whole and not _GROUPED.fullmatch(whole)):
            return None
        amount = Decimal(f"{whole.replace(other, '') or '0'}.{cents or '0'}")
        cut = amount if cents else Decimal(whole.replace(other, "") or "0")
        return -cut if self.is_negative else cut


@cache
def words(section: str) -> frozenset[str]:
    """The words of a section of the vocabulary, in all languages."""
    return frozenset(word for of_language in _vocabulary()[section].values() for word in of_language)


@cache
def words_by_language(section: str) -> Mapping[str, frozenset[str]]:
    """The words of a section of the vocabulary."""
    return {language: frozenset(each) for language, each in _vocabulary()[section].items()}


@cache
def _vocabulary() -> Mapping[str, Mapping[str, Sequence[str]]]:
    path = resources.files("docmill.reading.statements").joinpath("headings.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """A text without case, accents and signs, its words parted by single spaces."""
    plain = unicodedata.normalize("NFKD", text.casefold()).translate(_LETTERS)
    letters = "".join(character for character in plain if not unicodedata.combining(character))
    return re.sub(r"[\W_]+", " ", letters).strip()


def written_amount(text: str, currencies: frozenset[str]) -> WrittenAmount | None:
    """The only number of a cell, with its sign; None for other cells."""
    if len(text) > _LONGEST_AMOUNT:
        return None
    plain = text.translate(_MINUS).strip()
    tokens = re.findall(r"[A-Za-z]+", plain)
    if any(token.upper() not in currencies and fold(token) not in _SIDES for token in tokens):
        return None
    sides = {fold(token) for token in tokens if token.upper() not in currencies}
    figures = _GAPS.sub("", re.sub(r"[A-Za-z\u00a3$\u20ac\u00a5]", "", plain)).strip()
    match = re.fullmatch(r"(\(?)\s*([-+]?)\s*([\d.,]+)\s*([-+]?)\s*(\)?)", figures)
    if match is None or not _NUMBER.fullmatch(match[3]) or bool(match[1]) != bool(match[5]):
        return None
    signs = f"{match[1]}{match[2]}{match[4]}"
    is_negative = "(" in signs or "-" in signs or not sides.isdisjoint(_DEBITS)
    return WrittenAmount(match[3], is_negative, is_signed=bool(signs or sides))


_DEBITS = frozenset({"s", "dr", "d"})
_SIDES = _DEBITS | {"h", "cr", "c"}
"""Marks behind an amount."""


def find_decimal_mark(amounts: Iterable[WrittenAmount]) -> DecimalMark | None:
    """The decimal mark of all amounts together; None if they contradict each other or are none."""
    marks: set[DecimalMark] = set()
    is_empty = True
    for amount in amounts:
        is_empty = False
        point, comma = amount.digits.rfind("."), amount.digits.rfind(",")
        if point < 0 and comma < 0:
            continue
        last: DecimalMark = "." if point > comma else ","
        if min(point, comma) >= 0:
            marks.add(last)
        elif amount.digits.count(last) > 1:
            marks.add("," if last == "." else ".")
        elif len(amount.digits) - max(point, comma) - 1 != 3:  # noqa: PLR2004 - thousands have three digits
            marks.add(last)
    if is_empty or len(marks) > 1:
        return None
    return next(iter(marks), None) or _mark_of_thousands(amounts)


def _mark_of_thousands(amounts: Iterable[WrittenAmount]) -> DecimalMark:
    """The decimal mark of numbers that have only thousands or none: money has two digits of cents."""
    return "," if any("." in amount.digits for amount in amounts) else "."


def usual_decimal_mark(amounts: Sequence[WrittenAmount]) -> DecimalMark | None:
    """The decimal mark of nearly all amounts; those that are written with another one are left out."""
    if (mark := find_decimal_mark(amounts)) is not None:
        return mark
    marks: tuple[DecimalMark, DecimalMark] = (".", ",")
    fitting = [sum(amount.value(each) is not None for amount in amounts) for each in marks]
    most = max(fitting)
    return marks[fitting.index(most)] if amounts and most >= _USUAL * len(amounts) else None


def find_date_order(cells: Sequence[str]) -> tuple[DateOrder, bool] | None:
    """The order of the dates of a column, and whether it is proved; None if a cell is no date.

    Without a day after the 12th, the order counts in which the dates go up or down over the whole column.
    """
    orders: tuple[DateOrder, DateOrder] = ("dmy", "mdy")
    possible = {order: [read_date(cell, order) for cell in cells] for order in orders}
    left: list[DateOrder] = [order for order in orders if None not in possible[order]]
    if not left:
        return None
    if all(_YEAR_FIRST.fullmatch(cell.strip()) for cell in cells):
        return "ymd", True
    if len(left) == 1 or possible["dmy"] == possible["mdy"]:
        return left[0], True
    steady: list[DateOrder] = [
        order for order in left if _is_steady([day for day in possible[order] if day is not None])
    ]
    return (steady or left)[0], len(steady) == 1


def _is_steady(days: Sequence[date]) -> bool:
    """True for days that only go up, or only go down."""
    steps = [(later - earlier).days for earlier, later in pairwise(days)]
    return all(step >= 0 for step in steps) or all(step <= 0 for step in steps)


def read_date(text: str, order: DateOrder) -> date | None:
    """The date of a cell; None for other cells."""
    plain = text.strip()
    try:
        if match := _YEAR_FIRST.fullmatch(plain):
            return date(int(match[1]), int(match[3]), int(match[4]))
        if match := _YEAR_LAST.fullmatch(plain):
            first, second = int(match[1]), int(match[3])
            day, month = (second, first) if order == "mdy" else (first, second)
            return date(_year(match[4]), month, day)
        if match := _DAY_AND_NAME.fullmatch(plain):
            return date(_year(match[3]), _month(match[2]), int(match[1]))
        if match := _NAME_AND_DAY.fullmatch(plain):
            return date(_year(match[3]), _month(match[1]), int(match[2]))
    except ValueError:
        return None
    return None


def _year(text: str) -> int:
    year = int(text)
    if len(text) > 2:  # noqa: PLR2004 - digits of a short year
        return year
    return year + (1900 if year >= _LAST_CENTURY else 2000)


def _month(name: str) -> int:
    """The number of a month, 0 for a word that is none."""
    folded = fold(name)
    for of_language in _vocabulary()["months"].values():
        for number, beginning in enumerate(of_language, 1):
            if folded.startswith(beginning):
                return number
    return 0
