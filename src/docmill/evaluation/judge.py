"""The values of a document compared with the true ones, each by itself, at four tiers of strictness."""

import datetime as dt
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
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
    if kind in ("decimal", "integer"):
        is_alike = _bare_amount(read) == _bare_amount(true)
        is_same = is_similar = _is_same_number(read, true)
    else:
        is_alike = _unspaced(read) == _unspaced(true)
        # A name in Greek letters folds to nothing, and any two of them would be the same.
        fold = _folded if _folded(true) else _unspaced
        is_same = fold(read) == fold(true)
        if kind == "date" and not is_same:
            day = day_of(read, month_first=month_first)
            is_same = day is not None and day == day_of(true, month_first=month_first)
        if kind == "datetime" and (moment := _moment(read)) is not None:
            is_same = moment == _moment(true)
        is_similar = is_same or (
            kind == "text" and Levenshtein.normalized_similarity(fold(read), fold(true)) >= _LIKE
        )
    agreed = {"S0": read == true, "S1": is_alike, "S2": is_same, "S3": is_similar}
    return tuple(tier for tier in TIERS if agreed[tier])


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


_TIE = 0.01
"""Weight of a lower tier beside a correct value: it decides between items that agree equally."""


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """A value of the truth, of what was read, or of both. A null true value means that the page has none.

    field: its path without places in lists: `lines[].net_amount`. path: of the value that was read, as in
    evidence; None if none was. tiers: at which it is correct.
    """

    field: str
    true: str | None
    read: str | None
    path: str | None = None
    tiers: tuple[Tier, ...] = ()

    @property
    def is_right(self) -> bool:
        """True if it counts as correct."""
        return HEADLINE in self.tiers


@dataclass(frozen=True, slots=True)
class Judge:
    """Comparison of values by their kinds in a schema.

    kinds: by field. labelled: the fields that the truth of any document names; in an item of a list that the
    truth does not have, only these are judged.
    """

    kinds: Mapping[str, Kind]
    labelled: frozenset[str]
    month_first: bool = False

    def cells(self, true: Mapping[str, Any], read: Mapping[str, Any]) -> list[JudgedValue]:
        """All values that the document's truth names, and those read where it says that there is none.

        true: nested as the schema. Fields that the truth does not name are not judged.
        """
        return list(self._judge_value(true, read, "", ""))

    def _judge_value(self, true: object, read: object, field: str, path: str) -> Iterator[JudgedValue]:
        if isinstance(true, Mapping):
            members: Mapping[str, Any] = cast("Mapping[str, Any]", read) if isinstance(read, Mapping) else {}
            for name, value in cast("Mapping[str, Any]", true).items():
                member = _member(members, name)
                yield from self._judge_value(value, member, _join(field, name), _join(path, name))
        elif isinstance(true, list) or (true is None and isinstance(read, list)):
            items: list[Any] = cast("list[Any]", read) if isinstance(read, list) else []
            yield from self._judge_items(cast("list[Any]", true or []), items, f"{field}[]", path)
        elif true is None and isinstance(read, Mapping):
            yield from self._judge_surplus(cast("Mapping[str, Any]", read), field, path)
        else:
            yield from self._judge_leaf(true, read, field, path)

    def _judge_leaf(self, true: object, read: object, field: str, path: str) -> Iterator[JudgedValue]:
        true_text, read_text = text_of(true), text_of(read)
        if read_text is None:
            if true_text is not None:
                yield JudgedValue(field, true_text, None)
            return
        tiers: tuple[Tier, ...] = ()
        if true_text is not None:
            kind = self.kinds.get(field, "text")
            tiers = agreement(read_text, true_text, kind, month_first=self.month_first)
        yield JudgedValue(field, true_text, read_text, path, tiers)

    def _judge_items(
        self, true: Sequence[Any], read: Sequence[Any], field: str, path: str
    ) -> Iterator[JudgedValue]:
        """Items in pairs so that most values are correct; an item without partner is missing or surplus."""
        gains = np.zeros((len(true), len(read)))
        for row, item in enumerate(true):
            for column, other in enumerate(read):
                cells = list(self._judge_value(item, other, field, path))
                gains[row, column] = sum(cell.is_right + _TIE * len(cell.tiers) for cell in cells)
        pairs = (
            {row: column for row, column in best_pairs(gains) if gains[row, column] > 0} if gains.size else {}
        )
        for index, item in enumerate(true):
            if index in pairs:
                yield from self._judge_value(item, read[pairs[index]], field, f"{path}[{pairs[index]}]")
            else:
                yield from self._judge_value(item, None, field, path)
        for index in sorted(set(range(len(read))) - set(pairs.values())):
            yield from self._judge_surplus(read[index], field, f"{path}[{index}]")

    def _judge_surplus(self, read: object, field: str, path: str) -> Iterator[JudgedValue]:
        """Values that were read where the truth has none."""
        if isinstance(read, Mapping):
            for name, value in cast("Mapping[str, Any]", read).items():
                yield from self._judge_surplus(value, _join(field, name), _join(path, name))
        elif isinstance(read, list):
            for index, value in enumerate(cast("list[Any]", read)):
                yield from self._judge_surplus(value, f"{field}[]", f"{path}[{index}]")
        elif field in self.labelled:
            yield from self._judge_leaf(None, read, field, path)


def leaf_fields(data: object, field: str = "") -> frozenset[str]:
    """The fields that some data names: `seller.name`, `lines[].net_amount`, `lines[]` of an empty list."""
    if isinstance(data, Mapping):
        members = cast("Mapping[str, Any]", data).items()
        return frozenset[str]().union(*(leaf_fields(value, _join(field, name)) for name, value in members))
    if isinstance(data, list) and data:
        items = cast("list[Any]", data)
        return frozenset[str]().union(*(leaf_fields(item, f"{field}[]") for item in items))
    return frozenset({f"{field}[]" if isinstance(data, list) else field})


def text_of(value: object) -> str | None:
    """A value as JSON has it, as text; None if it is empty."""
    if value is None:
        return None
    text = ("true" if value else "false") if isinstance(value, bool) else str(value).strip()
    return text or None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _member(data: Mapping[str, Any], name: str) -> object:
    """The member of this name, also of one in a member: `seller.name`."""
    if name in data:
        return data[name]
    head, _, rest = name.partition(".")
    inner: object = data.get(head)
    return _member(cast("Mapping[str, Any]", inner), rest) if rest and isinstance(inner, Mapping) else None


def best_pairs(worth: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of row and column, no two of a row or column, with the greatest sum (Kuhn and Munkres).

    Shortest augmenting paths over potentials, one row after the other: O(n^3).
    """
    if worth.shape[0] > worth.shape[1]:
        return [(row, column) for column, row in best_pairs(worth.T)]
    cost = worth.max(initial=0) - worth
    rows, columns = cost.shape
    row_potential, column_potential = np.zeros(rows + 1), np.zeros(columns + 1)
    owner = np.zeros(columns + 1, np.intp)  # of each column its row, from 1; 0 is none
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, before = np.full(columns + 1, np.inf), np.zeros(columns + 1, np.intp)
        used = np.zeros(columns + 1, np.bool_)
        while owner[column]:
            used[column] = True
            reduced = cost[owner[column] - 1] - row_potential[owner[column]] - column_potential[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better], before[1:][better] = reduced[better], column
            following = int(np.argmin(np.where(used, np.inf, least)[1:])) + 1
            step = least[following]
            np.add.at(row_potential, owner[used], step)
            column_potential[used] -= step
            least[~used] -= step
            column = following
        while column:
            owner[column] = owner[before[column]]
            column = int(before[column])
    return [(int(owner[column]) - 1, column - 1) for column in range(1, columns + 1) if owner[column]]
