"""Numbers of documents: each company has a pattern for each kind, and counts up."""

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

PATTERNS: dict[str, tuple[str, ...]] = {
    "invoice": (
        "RE-{year}-{n:05}",
        "RE{yy}{n:04}",
        "{year}/{n:04}",
        "R-{yy}{n:04}",
        "INV-{n:05}",
        "INV{n:06}",
        "{n:06}",
        "47{n:05}",
        "{yy}-{n:04}",
        "RG{year}{month:02}{n:04}",
        "{n}/{year}",
        "SI-{n:05}",
    ),
    "order": (
        "PO-{n:05}",
        "B-{yy}-{n:04}",
        "45{n:08}",
        "BE{year}{n:05}",
        "{n:06}",
        "PO{yy}{n:05}",
        "EK/{yy}/{n:04}",
    ),
    "delivery_note": ("LS-{year}-{n:05}", "LS{n:06}", "DN-{n:05}", "{n:07}", "L{yy}{n:05}"),
    "credit_note": ("GS-{year}-{n:04}", "CN-{n:05}", "CR{n:06}", "GU{yy}{n:04}"),
    "quote": ("AN-{year}-{n:04}", "Q-{n:05}", "ANG{yy}{n:04}"),
    "contract": ("V-{n:05}", "C{yy}-{n:04}", "VT{n:06}"),
    "receipt": ("{n:06}", "Bon {n:05}", "{n:04}-{yy}"),
    "reminder": ("M-{n:05}", "MA{yy}{n:04}"),
    "customer": ("K-{n:05}", "{n:05}", "KD{n:06}", "C{n:05}"),
}


_FIRST_DAY = dt.date(2025, 1, 1)
_DAYS_BEFORE = 500
"""Days before the first day for which there are numbers as well."""


@dataclass(frozen=True, slots=True)
class _Series:
    """How a company numbers its papers of a kind. first: the count of the first day; rate: papers a day."""

    pattern: str
    first: int
    rate: float


class NumberSeries:
    """Numbers of companies' papers, which grow with the days at a rate of each company and kind.

    patterns: by kind; others replace `PATTERNS`. least_rate: of papers of a kind that an issuer gives
    numbers to a day. No number is given twice to one issuer's papers of a kind.
    """

    def __init__(
        self, random_: random.Random, patterns: dict[str, tuple[str, ...]], *, least_rate: float = 0.0
    ) -> None:
        self._random = random_
        self._least_rate = least_rate
        self._patterns = {**PATTERNS, **patterns}
        self._series: dict[tuple[str, str], _Series] = {}
        self._issued: set[tuple[str, str, str]] = set()

    def next_number(self, issuer: str, kind: str, day: dt.date) -> str:
        """The number of a paper of this day."""
        return self._unused(issuer, kind, day, 0)

    def absent_number(self, issuer: str, kind: str, day: dt.date) -> str:
        """A number of about this day that no paper has, nor one that differs in a single digit."""
        tens, units = self._random.randint(1, 40), self._random.randint(1, 9)
        return self._unused(issuer, kind, day, self._random.choice((1, -1)) * (10 * tens + units))

    def _unused(self, issuer: str, kind: str, day: dt.date, step: int) -> str:
        series = self._series_of(issuer, kind)
        count = max(1, series.first + int(series.rate * (day - _FIRST_DAY).days) + step)
        while True:
            number = series.pattern.format(n=count, year=day.year, yy=f"{day:%y}", month=day.month)
            if (issuer, kind, number) not in self._issued:
                self._issued.add((issuer, kind, number))
                return number
            count += self._random.randint(1, 3)

    def _series_of(self, issuer: str, kind: str) -> _Series:
        key = issuer, kind
        if key not in self._series:
            rate = max(10 ** self._random.uniform(-1.5, 1.3), self._least_rate)
            first = int(_DAYS_BEFORE * rate + 10 ** self._random.uniform(1.7, 4.3))
            self._series[key] = _Series(self._random.choice(self._patterns[kind]), first, rate)
        return self._series[key]

    def neighbour(self, issuer: str, kind: str, number: str, day: dt.date) -> str:
        """An unused number near another of this issuer: counted on, or with two digits exchanged."""
        near = [next_in_digits(number, step) for step in (1, -1, 2, 3)] + _swapped(number)
        unused = [each for each in near if each and (issuer, kind, each) not in self._issued]
        if not unused:
            return self.next_number(issuer, kind, day)
        chosen = self._random.choice(unused)
        self._issued.add((issuer, kind, chosen))
        return chosen


def _swapped(number: str) -> list[str]:
    """The number with two of its last four digits exchanged, in each way that changes it."""
    places = [index for index, character in enumerate(number) if character.isdigit()][-4:]
    numbers: list[str] = []
    for first, second in pairwise(places):
        characters = list(number)
        characters[first], characters[second] = characters[second], characters[first]
        numbers.append("".join(characters))
    return [each for each in numbers if each != number]


def next_in_digits(number: str, step: int) -> str:
    """The number with its last run of digits counted on; empty where it has none or would become negative."""
    runs = digit_runs(number)
    if not runs:
        return ""
    start, stop = runs[-1]
    count = int(number[start:stop]) + step
    return f"{number[:start]}{count:0{stop - start}}{number[stop:]}" if count > 0 else ""


def digit_runs(text: str) -> Sequence[tuple[int, int]]:
    """Start and stop of each run of digits."""
    runs: list[tuple[int, int]] = []
    for index, character in enumerate(text):
        if not character.isdigit():
            continue
        if runs and runs[-1][1] == index:
            runs[-1] = runs[-1][0], index + 1
        else:
            runs.append((index, index + 1))
    return runs
