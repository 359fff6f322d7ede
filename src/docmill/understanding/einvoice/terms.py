"""Business terms: where a syntax keeps them, and what a document says for each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal, NamedTuple

from docmill.understanding.einvoice.tree import Element, found, texts

Kind = Literal["text", "date", "number"]
Value = str | date | Decimal

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_LONGEST_NUMBER = 40
_BASIC_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{4}(?:\d{2})?)?")
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T+Z-].*)?")
_MONTH = re.compile(r"\d{6}|\d{4}-\d{2}")


class Term(NamedTuple):
    """number: of EN 16931, or a word of ours. paths: the first that leads to something counts."""

    number: str
    kind: Kind
    paths: tuple[str, ...]


def text(number: str, *paths: str) -> Term:
    """A term of letters."""
    return Term(number, "text", paths)


def day(number: str, *paths: str) -> Term:
    """A term that is a date."""
    return Term(number, "date", paths)


def amount(number: str, *paths: str) -> Term:
    """A term that is an exact number."""
    return Term(number, "number", paths)


@dataclass(frozen=True, slots=True)
class Section:
    """Terms that stand together. paths: the first that leads somewhere is where all are looked for."""

    paths: tuple[str, ...]
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of terms that may come any number of times. number: of EN 16931, as in `Term`."""

    number: str
    path: str
    terms: tuple[Term, ...]
    groups: tuple["Group", ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """The places of a syntax's terms. The order counts: paths may ask for terms before them."""

    terms: tuple[Term, ...]
    sections: tuple[Section, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Malformed:
    """A term whose text is no date or no number."""

    number: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a document: term number to value, group number to each time the group came."""

    values: Mapping[str, Value]
    groups: Mapping[str, Sequence["Terms"]]
    malformed: tuple[Malformed, ...] = ()

    def __contains__(self, number: str) -> bool:
        return number in self.values

    def text(self, number: str) -> str | None:
        """The value of a term of letters, if there is one."""
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

    def all(self, group: str) -> Sequence["Terms"]:
        """Every time the group came."""
        return self.groups.get(group, ())

    def all_malformed(self) -> Iterator[Malformed]:
        """Those of the groups too."""
        yield from self.malformed
        for times in self.groups.values():
            for one in times:
                yield from one.all_malformed()


@dataclass
class _Reading:
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    malformed: list[Malformed] = field(default_factory=list[Malformed])

    def add(self, element: Element, term: Term) -> None:
        raw = next((raw for path in term.paths for raw in texts(element, path, self.values)), None)
        if raw is None:
            return
        value = _value(term.kind, raw)
        if value is not None:
            self.values[term.number] = value
        elif not (term.kind == "date" and _MONTH.fullmatch(raw)):  # a month is valid, and no date
            self.malformed.append(Malformed(term.number, term.kind, raw))


def read(root: Element, table: Table) -> Terms:
    """The terms of a document."""
    reading = _Reading()
    for term in table.terms:
        reading.add(root, term)
    for section in table.sections:
        places = (place for path in section.paths for place in found(root, path, reading.values))
        place = next(places, None)
        for term in section.terms if place is not None else ():
            assert place is not None
            reading.add(place, term)
    return Terms(reading.values, _groups(root, table.groups, reading.values), tuple(reading.malformed))


def _groups(element: Element, groups: Sequence[Group], known: Mapping[str, Value]) -> dict[str, list[Terms]]:
    return {
        group.number: [_group(place, group) for place in found(element, group.path, known)]
        for group in groups
    }


def _group(element: Element, group: Group) -> Terms:
    reading = _Reading()
    for term in group.terms:
        reading.add(element, term)
    return Terms(reading.values, _groups(element, group.groups, reading.values), tuple(reading.malformed))


def _value(kind: Kind, raw: str) -> Value | None:
    if kind == "text":
        return raw
    if kind == "number":
        return Decimal(raw) if len(raw) <= _LONGEST_NUMBER and _NUMBER.fullmatch(raw) else None
    parts = _BASIC_DATE.fullmatch(raw) or _ISO_DATE.fullmatch(raw)
    try:
        return date(*map(int, parts.groups())) if parts else None
    except ValueError:
        return None
