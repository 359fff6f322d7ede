"""Labels of values in texts that hold several labels or several values without a gap between them.

`Amount: value date 16.01.2025 CHF 67.72` names the amount before it names the day; in `Name ISIN` over
`Ahlgren Solar AB SE0000108656` each label stands over its own part of the text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from docmill.understanding.page.labels import COLUMNS, LABELS, TERMS, Label, covered_share
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts, without_currencies
from docmill.understanding.text.standard_numbers import find_isin, formats_named
from docmill.understanding.vocabulary.concepts import DATE_CONCEPTS, Column, Concept

RunKind = Literal["date", "amount", "code", "name"]

_CODE = re.compile(r"(?<![^\W_])(?=[^\W_]*\d[^\W_]*\d)[^\W_]{6,}(?![^\W_])")
_LONGEST_COUNT = 6
"""Digits of a whole number from which on it is rather a code."""
_JOINED = re.compile(r"[^\W_][-/]$")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_MARKS = " :,;()[]|-\u2013/"
_LEAST_COVERED = 0.6
"""Share of the letters of a heading that known labels must cover."""
_FEWEST = 2
_LONGEST_HEADING = 120
_COUNTS = "number_of_shares"
_WORD = re.compile(r"[^\W\d_]+")
_AMOUNT_WORDS = frozenset(
    (
        *("value", "dividend", "amount", "price", "rate", "tax", "fees", "fee", "premium", "insured", "rent"),
        *("deductible", "deposit", "salary", "mileage", "weight", "reading", "consumption"),
    )
)
"""Words of the names of terms whose values are amounts or other numbers."""
_CODE_TERMS = frozenset(("account", "registration_plate", "booking_reference"))
_CODE_CONCEPTS = frozenset(concept for concept in Concept if concept.endswith(("_number", "iban", "bic"))) | {
    Concept.ACCOUNT,
    Concept.PHONE,
}
_AMOUNT_CONCEPTS = frozenset(
    (
        *(Concept.TOTAL, Concept.GRAND, Concept.GROSS, Concept.NET, Concept.TAX, Concept.WITHHELD),
        *(Concept.SUBTOTAL, Concept.AMOUNT, Concept.DUE, Concept.PAID, Concept.DISCOUNT, Concept.QUANTITY),
        *(Concept.PRICE, Concept.COMMISSION, Concept.OPENING_BALANCE, Concept.CLOSING_BALANCE),
    )
)
_NO_VALUE = frozenset((Column.UNIT, Column.POSITION))


class TextRun(NamedTuple):
    """Characters `start` to `stop` (exclusive) of a text that are one value of this kind, or its label."""

    start: int
    stop: int
    kind: RunKind


@lru_cache(maxsize=20_000)
def values_in(text: str) -> tuple[TextRun, ...]:
    """The dates, amounts and codes of a text, from left to right; small whole numbers are amounts."""
    values = [TextRun(day.start, day.stop, "date") for day in find_dates(text)]
    values += [
        TextRun(code.start(), code.end(), "code")
        for code in _CODE.finditer(text)
        if not _overlaps(values, code.start(), code.end())
    ]
    for amount in find_amounts(text, misread=False):
        if not _overlaps(values, amount.start, amount.stop):
            is_long = len(amount.digits) > _LONGEST_COUNT or _JOINED.search(text[: amount.start])
            is_code = amount.digits.isdecimal() and is_long
            values.append(TextRun(amount.start, amount.stop, "code" if is_code else "amount"))
    return tuple(sorted(values))


def _overlaps(values: Sequence[TextRun], start: int, stop: int) -> bool:
    return any(start < value.stop and value.start < stop for value in values)


@lru_cache(maxsize=20_000)
def names_in(text: str) -> tuple[TextRun, ...]:
    """The runs of words between the values of a text that are more than currencies and units of counts."""
    names: list[TextRun] = []
    values = values_in(text)
    edges = [0, *(edge for value in values for edge in (value.start, value.stop)), len(text)]
    for edge, stop in zip(edges[::2], edges[1::2], strict=True):
        run = without_currencies(text[edge:stop])
        units = [label for label in TERMS.find(run) if _COUNTS in label.meanings] if values else []
        is_unit = units and not _LETTERS.search(run[: units[0].start])
        start = edge + units[0].stop if is_unit else edge
        words = text[start:stop].strip(_MARKS)
        if _LETTERS.search(without_currencies(words)):
            begin = text.index(words, start)
            names.append(TextRun(begin, begin + len(words), "name"))
    return tuple(names)


@lru_cache(maxsize=20_000)
def counted_names(text: str) -> frozenset[int]:
    """The places where a name begins right behind a count of shares: `STK 250 `, `0.682 units `."""
    places: set[int] = set()
    for name in names_in(text):
        values = [value for value in values_in(text) if value.stop <= name.start]
        if values and values[-1].kind == "amount":
            begin = values[-2].stop if len(values) > 1 else 0
            before = f"{text[begin : values[-1].start]} {text[values[-1].stop : name.start]}"
            labels = [label for label in TERMS.find(before) if _COUNTS in label.meanings]
            if labels and covered_share(without_currencies(before), labels) == 1:
                places.add(name.start)
    return frozenset(places)


@lru_cache(maxsize=20_000)
def name_before_isin(text: str) -> TextRun | None:
    """The words before an ISIN that may name its security; labels of numbers between them are none."""
    at = find_isin(text)
    if at is None:
        return None
    runs = (run for run in names_in(text) if run.stop <= at and not formats_named(text[run.start : run.stop]))
    return max(runs, default=None)


def label_before(text: str, at: int, stop: int) -> str:
    """The text before `stop` that may name the value at `at`: that behind the value before it.

    If there is none, the value before it has the label of another kind: then what stands before that.
    """
    own = next((value.kind for value in values_in(text) if value.start <= at < value.stop), "name")
    values = [value for value in values_in(text) if value.stop <= stop]
    if not values or own == "name":
        return text[:stop]
    if _LETTERS.search(without_currencies(text[values[-1].stop : stop])):
        # A code may be part of the label: `Credit LC-55120 dated`.
        cuts = [value.stop for value in values if value.kind != "code" or own == "code"]
        return text[cuts[-1] if cuts else 0 : stop]
    first = values[0].start
    if label := label_over(text[:first], text[first:], at - first):
        return label
    while values and values[-1].kind != own:
        value = values.pop()
        label = text[values[-1].stop if values else 0 : value.start]
        if value.kind == "date":
            label = _without_date_label(label)
        if _LETTERS.search(without_currencies(label)):
            return label
    return text[:stop]


def _without_date_label(text: str) -> str:
    """A text before a date without the label of the date at its end."""
    labels = [
        *(label for label in TERMS.find(text) if any(term.endswith("_date") for term in label.meanings)),
        *(label for label in LABELS.find(text) if not DATE_CONCEPTS.isdisjoint(label.meanings)),
    ]
    ends = [label.start for label in labels if not text[label.stop :].strip(_MARKS)]
    return text[: min(ends)] if ends else text


@lru_cache(maxsize=20_000)
def label_over(heading: str, text: str, at: int) -> str | None:
    """The label in a line of several that stands over the value or name at a place of the text below.

    None if the line is no such heading, or does not tell which label is whose.
    """
    labels = list(_labels_in(heading))
    runs = [*values_in(text), *names_in(text)]
    own = next((run for run in runs if run.start <= at < run.stop), None)
    if len(labels) < _FEWEST or own is None:
        return None
    alike = sorted(run for run in runs if run.kind == own.kind)
    of_kind = [label for label in labels if label.kind == own.kind]
    if len(alike) == len(of_kind):
        label = of_kind[alike.index(own)]
    elif own == min(runs) and labels[0].kind == own.kind:
        label = labels[0]
    elif own == max(runs) and labels[-1].kind == own.kind:
        label = labels[-1]
    else:
        return None
    return heading[label.start : label.stop]


@lru_cache(maxsize=20_000)
def _labels_in(heading: str) -> tuple[TextRun, ...]:
    """The labels of a line of nothing else; words that no label has go on with the one before them."""
    if len(heading) > _LONGEST_HEADING or any(map(str.isdecimal, heading)):
        return ()
    found = sorted(_known_labels(heading), key=lambda label: (label.start, -label.stop))
    labels: list[TextRun] = []
    for label in found:
        if not labels or label.start >= labels[-1].stop:
            labels.append(label)
    places = [Label((label.kind,), label.start, label.stop, 1.0) for label in labels]
    if len(labels) < _FEWEST or covered_share(heading, places) < _LEAST_COVERED:
        return ()
    if _LETTERS.search(heading[: labels[0].start]):
        return ()
    return tuple(labels)


def _known_labels(heading: str) -> Iterator[TextRun]:
    for term in TERMS.find(heading):
        yield TextRun(term.start, term.stop, _kind_of_term(term.meanings[0]))
    for label in LABELS.find(heading):
        yield TextRun(label.start, label.stop, _kind_of_concept(label.meanings[0]))
    for column in COLUMNS.find(heading):
        if _NO_VALUE.isdisjoint(column.meanings) and Column.DESCRIPTION in column.meanings:
            yield TextRun(column.start, column.stop, "name")
    for word in _WORD.finditer(heading):
        if word[0].isupper() and formats_named(word[0]):
            yield TextRun(word.start(), word.end(), "code")


def _kind_of_term(term: str) -> RunKind:
    if term.endswith("_date") or term.startswith("date_of"):
        return "date"
    if term.startswith("number_of_") or not _AMOUNT_WORDS.isdisjoint(term.split("_")):
        return "amount"
    return "code" if term in _CODE_TERMS or term.endswith("_number") else "name"


def _kind_of_concept(concept: Concept) -> RunKind:
    if concept in DATE_CONCEPTS:
        return "date"
    if concept in _AMOUNT_CONCEPTS:
        return "amount"
    return "code" if concept in _CODE_CONCEPTS else "name"
