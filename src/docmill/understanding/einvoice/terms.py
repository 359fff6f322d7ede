"""Business terms of EN 16931: their places in a syntax, and their values in a document."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, NamedTuple

from docmill.understanding.einvoice.tree import Element, find_elements, find_texts

Kind = Literal["text", "date", "number"]
Value = str | date | Decimal

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_LONGEST_NUMBER = 40
_BASIC_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{4}(?:\d{2})?)?")
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T+Z-].*)?")
_MONTH = re.compile(r"\d{6}|\d{4}-\d{2}")


class BusinessTerm(NamedTuple):
    """number: as `BT-1` in EN 16931, or a name of ours. paths: the first that leads to a text counts."""

    number: str
    kind: Kind
    paths: tuple[str, ...]


def text(number: str, *paths: str) -> BusinessTerm:
    """A term that is a text."""
    return BusinessTerm(number, "text", paths)


def day(number: str, *paths: str) -> BusinessTerm:
    """A term that is a date."""
    return BusinessTerm(number, "date", paths)


def amount(number: str, *paths: str) -> BusinessTerm:
    """A term that is an exact number."""
    return BusinessTerm(number, "number", paths)


@dataclass(frozen=True, slots=True)
class Section:
    """Terms in one element of a document. paths: the first that leads to an element counts for all."""

    paths: tuple[str, ...]
    terms: tuple[BusinessTerm, ...]


@dataclass(frozen=True, slots=True)
class BusinessGroup:
    """Terms that occur together any number of times. number: of EN 16931, such as `BG-25`."""

    number: str
    path: str
    terms: tuple[BusinessTerm, ...]
    groups: tuple["BusinessGroup", ...] = ()


def charge_group(
    number: str, path: str, terms: tuple[str, str, str], paths: tuple[str, str, str]
) -> BusinessGroup:
    """Allowances or charges of the document: the terms of amount, VAT category and rate, and their paths."""
    (charged, category, rate), (charged_path, category_path, rate_path) = terms, paths
    members = amount(charged, charged_path), text(category, category_path), amount(rate, rate_path)
    return BusinessGroup(number, path, members)


@dataclass(frozen=True, slots=True)
class SyntaxBinding:
    """The places of all terms in a syntax. The order counts: paths may ask for terms before them."""

    terms: tuple[BusinessTerm, ...]
    sections: tuple[Section, ...]
    groups: tuple[BusinessGroup, ...]


@dataclass(frozen=True, slots=True)
class MalformedTerm:
    """A term whose text is no date or no number."""

    number: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class TermValues:
    """The values of a document's terms, by number, and the occurrences of its groups, by number."""

    values: Mapping[str, Value]
    groups: Mapping[str, Sequence["TermValues"]]
    malformed: tuple[MalformedTerm, ...] = ()

    def __contains__(self, number: str) -> bool:
        return number in self.values

    def text(self, number: str) -> str | None:
        """The value of a term that is a text, if there is one."""
        value = self.values.get(number)
        return value if isinstance(value, str) else None

    def date(self, number: str) -> date | None:
        """The value of a term that is a date, if there is one."""
        value = self.values.get(number)
        return value if isinstance(value, date) else None

    def number(self, number: str) -> Decimal | None:
        """The value of a term that is a number, if there is one."""
        value = self.values.get(number)
        return value if isinstance(value, Decimal) else None

    def all(self, group: str) -> Sequence["TermValues"]:
        """The occurrences of a group."""
        return self.groups.get(group, ())

    def all_malformed(self) -> Iterator[MalformedTerm]:
        """Yield the malformed terms of the document and of its groups."""
        yield from self.malformed
        for occurrences in self.groups.values():
            for occurrence in occurrences:
                yield from occurrence.all_malformed()


def read_terms(element: Element, binding: SyntaxBinding | BusinessGroup) -> TermValues:
    """Read the terms of a document, or of one occurrence of a group."""
    values: dict[str, Value] = {}
    malformed: list[MalformedTerm] = []
    for term in binding.terms:
        _read_term(element, term, values, malformed)
    for section in binding.sections if isinstance(binding, SyntaxBinding) else ():
        places = (place for path in section.paths for place in find_elements(element, path, values))
        place = next(places, None)
        for term in section.terms if place is not None else ():
            assert place is not None
            _read_term(place, term, values, malformed)
    groups = {
        group.number: [read_terms(place, group) for place in find_elements(element, group.path, values)]
        for group in binding.groups
    }
    return TermValues(values, groups, tuple(malformed))


def _read_term(
    element: Element, term: BusinessTerm, values: dict[str, Value], malformed: list[MalformedTerm]
) -> None:
    """Add the value of a term to `values`, or to `malformed`; nothing if there is no text."""
    raw = next((raw for path in term.paths for raw in find_texts(element, path, values)), None)
    if raw is None:
        return
    value: Value | None = None
    if term.kind == "text":
        value = raw
    elif term.kind == "number":
        if len(raw) <= _LONGEST_NUMBER and _NUMBER.fullmatch(raw):
            value = Decimal(raw)
    elif parts := _BASIC_DATE.fullmatch(raw) or _ISO_DATE.fullmatch(raw):
        with suppress(ValueError):
            value = date(*map(int, parts.groups()))
    if value is not None:
        values[term.number] = value
    elif term.kind != "date" or not _MONTH.fullmatch(raw):  # a month is valid, and no date
        malformed.append(MalformedTerm(term.number, term.kind, raw))
