"""The XML of e-invoices: its business terms of EN 16931, found by their places in a syntax.

A place is a path of local names, since senders differ in prefixes and the generations of CII in namespaces.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - the only name it has

Element: TypeAlias = _Element

_STEP = re.compile(r"(?P<names>@?[\w|]+)(?P<conditions>(?:\[[^\]]*\])*)")
_CONDITION = re.compile(r"\[(?P<absent>!?)(?P<path>[^\]=]+)(?:=(?P<value>[^\]]*))?\]")
_BOOLEANS = {"0": "false", "1": "true"}  # both forms are valid (XML Schema Part 2, 3.2.2)
Kind = Literal["text", "date", "number"]
Value = str | date | Decimal

_NUMBER = re.compile(r"[+-]?(?:0*\d{1,15}(?:\.\d*)?|\.\d+)")
"""With up to 15 digits before the point: no amount has more, and sums of them stay exact to the cent."""
_LONGEST_NUMBER = 40
_BASIC_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{4}(?:\d{2})?)?")
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T+Z-].*)?")
_MONTH = re.compile(r"\d{6}|\d{4}-\d{2}")


class BusinessTerm(NamedTuple):
    """A business term of EN 16931 and its places in a syntax.

    number: such as `BT-1`, or a name of our own for what EN 16931 has not. paths: see `find_elements`; the
    first that leads to a text counts.
    """

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


class PartyTerms(NamedTuple):
    """The numbers (`BT-27` …) of the terms of one party."""

    name: str
    identifier: str
    vat_id: str
    first_line: str
    second_line: str
    third_line: str
    city: str
    postal_code: str
    subdivision: str
    country: str


SELLER_TERMS = PartyTerms(
    "BT-27", "BT-29", "BT-31", "BT-35", "BT-36", "BT-162", "BT-37", "BT-38", "BT-39", "BT-40"
)
BUYER_TERMS = PartyTerms(
    "BT-44", "BT-46", "BT-48", "BT-50", "BT-51", "BT-163", "BT-52", "BT-53", "BT-54", "BT-55"
)


@dataclass(frozen=True, slots=True)
class Section:
    """Terms with paths below one element. paths: of that element; the first that leads to one counts."""

    paths: tuple[str, ...]
    terms: tuple[BusinessTerm, ...]


@dataclass(frozen=True, slots=True)
class BusinessGroup:
    """Terms that occur together any number of times, such as those of a line. number: such as `BG-25`."""

    number: str
    path: str
    terms: tuple[BusinessTerm, ...]
    groups: tuple["BusinessGroup", ...] = ()


def charge_group(
    number: str, path: str, terms: tuple[str, str, str], paths: tuple[str, str, str]
) -> BusinessGroup:
    """The group of a document's allowances or charges.

    terms, paths: the numbers of amount, VAT category and VAT rate, and their paths below the group's.
    """
    (charged, category, rate), (charged_path, category_path, rate_path) = terms, paths
    members = amount(charged, charged_path), text(category, category_path), amount(rate, rate_path)
    return BusinessGroup(number, path, members)


@dataclass(frozen=True, slots=True)
class SyntaxBinding:
    """The places of all terms in a syntax. A condition in a path may name a term that stands before it."""

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
    """Read the terms of a document or of one occurrence of a group. element: paths begin below it."""
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


class UnreadableError(Exception):
    """The content is no XML that can be read; the message gives the reason in plain words."""


class _Condition(NamedTuple):
    """path: from the element. value: the text that must be there, unless the path must be absent."""

    path: str
    value: str
    is_absent: bool


class _Step(NamedTuple):
    names: frozenset[str]
    conditions: tuple[_Condition, ...]


def parse_xml(content: bytes) -> Element:
    """Parse XML into its root element. Raises UnreadableError if it is not well-formed or declares a DTD.

    No entity is resolved and nothing is fetched.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content.lstrip(b"\xef\xbb\xbf \t\r\n"), parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise UnreadableError("it is no well-formed XML") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnreadableError("it declares a document type, which no e-invoice may")
    return root


def local_name(element: Element) -> str:
    """The name of an element without its namespace."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - an entity's tag is a function


def find_elements(element: Element, path: str, terms: Mapping[str, object]) -> Iterator[Element]:
    """Yield the elements at a path below the element, in the document's order.

    A step is a local name, or several separated by "|", with conditions: `[@scheme=VA]`, `[Code=380]`,
    `[!Code]` for one that must be absent. `{BT-5}` in a condition is replaced by the value of that term; if
    there is none, any text will do.
    """
    elements: Iterable[Element] = (element,)
    for step in _parse_path(path):
        elements = _find_children(elements, step, terms)
    yield from elements


def find_texts(element: Element, path: str, terms: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts at a path, stripped and without empty ones. It may end in an attribute, `@name`."""
    owner, _, last = path.rpartition("/")
    if last.startswith("@"):
        values = (str(child.get(last[1:], "")) for child in find_elements(element, owner, terms))
    else:
        values = ("".join(map(str, child.itertext())) for child in find_elements(element, path, terms))
    yield from filter(None, (value.strip() for value in values))


def _find_children(parents: Iterable[Element], step: _Step, terms: Mapping[str, object]) -> Iterator[Element]:
    for parent in parents:
        for child in parent:
            if local_name(child) in step.names and all(
                _is_met(condition, child, terms) for condition in step.conditions
            ):
                yield child


def _is_met(condition: _Condition, element: Element, terms: Mapping[str, object]) -> bool:
    values = list(find_texts(element, condition.path, terms))
    if condition.is_absent:
        return not values
    wanted = condition.value
    if wanted.startswith("{"):
        term = terms.get(wanted[1:-1])
        if term is None:
            return True
        wanted = str(term)
    return any(_BOOLEANS.get(value, value) == wanted for value in values)


@cache
def _parse_path(path: str) -> tuple[_Step, ...]:
    """The steps of a path; all are cached, since there are as many as the bindings have."""
    return tuple(
        _Step(
            frozenset(step["names"].split("|")),
            tuple(
                _Condition(condition["path"], condition["value"] or "", bool(condition["absent"]))
                for condition in _CONDITION.finditer(step["conditions"])
            ),
        )
        for step in _STEP.finditer(path)
    )
