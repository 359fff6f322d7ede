"""Input of the gate's checks: a document, the extraction from it, and look-ups in both."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from docmill.model.document import Document, Page
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.document_types import DEFINITIONS, TypeDefinition, known_type
from docmill.schemas.field_names import field_name, inside_sentence
from docmill.schemas.outline import FieldOutline, outline
from docmill.schemas.registry import is_built_in
from docmill.understanding.fields.meaning import FieldMeaning, meaning_of, words_of
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import Mark, WrittenAmount, find_amounts, number
from docmill.understanding.user_schemas.extractor import find_periods
from docmill.understanding.vocabulary import Concept

_WORDS: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8")
)
LONGEST_SEARCHED = 200_000
"""Characters of a document that are searched for amounts."""
_MARKS: tuple[Mark, Mark] = (".", ",")
Values = Mapping[str, Any]
"""Values that are not null, by path, lists by index: `lines[0].net_amount`."""


class ValueLine(NamedTuple):
    """The line of a page that a value stands on. before, after: its text left and right of the value."""

    before: str
    after: str
    line: int
    page: Page


@dataclass(frozen=True)
class GateInput:
    """An extraction to be judged, with its document and schema."""

    document: Document
    extraction: Extraction
    schema: Schema

    @cached_property
    def values(self) -> Values:
        """See `Values`."""
        return dict(leaves(self.extraction.data))

    @cached_property
    def printed_numbers(self) -> frozenset[Decimal]:
        """The numbers printed anywhere in the document, see `numbers_in`."""
        return numbers_in(self.document.text)

    @cached_property
    def printed_counts(self) -> Counter[Decimal]:
        """The number of places at which each of `printed_numbers` is printed; percentages do not count."""
        amounts = find_amounts(self.document.text[:LONGEST_SEARCHED], misread=False)
        return Counter(reading for amount in amounts if not amount.percent for reading in _readings(amount))

    @cached_property
    def refuted_numbers(self) -> frozenset[Decimal]:
        """The absolute numbers that were read as values and that a person has replaced."""
        refuted = self.extraction.refuted.values()
        return frozenset(abs(value) for value in refuted if isinstance(value, Decimal))

    def has_free_place(self, printed: Decimal, *, but: tuple[str, ...] = ()) -> bool:
        """Return whether a number is printed at a place from which no value was read, now or before a review.

        but: paths of values whose places count as free.
        """
        taken = {
            (proof.page, proof.box)
            for path, value in self.values.items()
            if isinstance(value, Decimal) and abs(value) == printed and path not in but
            if (proof := self.evidence(path)) is not None
        }
        refuted = printed in self.refuted_numbers
        return self.printed_counts[printed] > len(taken) + refuted

    @cached_property
    def definition(self) -> TypeDefinition:
        """The definition of the document's type; that of `other` for a user's schema."""
        return DEFINITIONS[known_type(self.extraction.document_type)]

    @cached_property
    def own_fields(self) -> type[BaseModel] | None:
        """The model of a user's schema; None for a built-in type."""
        return None if is_built_in(self.schema) else self.schema.fields

    def name(self, path: str) -> str:
        """The name of a field as it is shown to people."""
        return field_name(path, self.own_fields)

    def inner_name(self, path: str) -> str:
        """The name of a field as it is written inside a sentence."""
        return inside_sentence(self.name(path))

    def path(self, role: str) -> str:
        """The path of the value with a role such as `net_total`; users' schemas have other paths for it."""
        return role if self.own_fields is None else _roles(self.own_fields).get(role, "")

    def amount(self, role: str) -> Decimal | None:
        """The amount with this role; None if there is none."""
        value = self.values.get(self.path(role))
        return value if isinstance(value, Decimal) else None

    @cached_property
    def days(self) -> Mapping[str, date]:
        """Every date by its path; of a date with a time, the date."""
        dates = {path: value for path, value in self.values.items() if isinstance(value, date)}
        return {path: day.date() if isinstance(day, datetime) else day for path, day in dates.items()}

    def day(self, role: str) -> date | None:
        """The date with this role; None if there is none."""
        return self.days.get(self.path(role))

    def evidence(self, path: str) -> Evidence | None:
        """The evidence of a value that was read on a page; None for one that was not."""
        evidence = self.extraction.evidence.get(path)
        return evidence if evidence is not None and evidence.box is not None and evidence.text else None

    def is_computed(self, path: str) -> bool:
        """Return whether a value was computed from others and stands nowhere."""
        evidence = self.extraction.evidence.get(path)
        return evidence is not None and evidence.match == "computed"

    def line_of(self, path: str) -> ValueLine | None:
        """The line that a value stands on; None if it was not read on a page."""
        evidence = self.evidence(path)
        page = evidence and next((page for page in self.document.pages if page.number == evidence.page), None)
        if not evidence or not page or not evidence.box:
            return None
        words, box = page.words, evidence.box
        x, y = (words.boxes[:, 0] + words.boxes[:, 2]) / 2, (words.boxes[:, 1] + words.boxes[:, 3]) / 2
        inside = np.flatnonzero((box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1))
        if not len(inside):
            return None
        line = int(words.lines[inside[0]])
        of_line = np.flatnonzero(words.lines == line)
        first, last = int(inside[0]), int(inside[-1])
        # Of a word that holds its label, too, as in `Date:1/2/2026`, the label is before the value.
        glued = words.texts[first].partition((evidence.text or "").split()[0])[0]
        before = [words.texts[index] for index in of_line if index < first]
        after = [words.texts[index] for index in of_line if index > last]
        glued = "" if glued == words.texts[first] else glued
        return ValueLine(" ".join([*before, glued]).rstrip(), " ".join(after), line, page)


def numbers_in(text: str) -> frozenset[Decimal]:
    """The absolute numbers in a text, each read with a decimal point and with a decimal comma."""
    written = find_amounts(text[:LONGEST_SEARCHED], misread=False)
    return frozenset(reading for amount in written for reading in _readings(amount))


def _readings(amount: WrittenAmount) -> set[Decimal]:
    """The absolute values of a number, read with a decimal point and with a decimal comma."""
    return {abs(number(amount.digits, mark)) for mark in _MARKS}


def meanings_before(line: ValueLine) -> frozenset[Concept]:
    """Meanings of the nearest label before a value on its line; empty without a label."""
    labels = LABELS.find(line.before)
    return frozenset(labels[-1].meanings) if labels else frozenset()


def label_before(text: str) -> str:
    """The last label of a text, without what stands before it on the line; its end if it has none."""
    labels = LABELS.find(text)
    return text[labels[-1].start :].strip() if labels else text[-_LONGEST_LABEL:]


@lru_cache(maxsize=64)
def own_meanings(fields: type[BaseModel]) -> Mapping[str, FieldMeaning]:
    """Meanings of the fields of a user's schema, by path, without the members of lists."""
    outlines: tuple[FieldOutline, ...] = outline(Schema("", fields))
    return {field.path: meaning_of(field) for field in outlines if not field.is_listed}


_ROLES: Mapping[str, tuple[frozenset[Concept], frozenset[Concept]]] = {
    "net_total": (frozenset({Concept.NET, Concept.EXCLUDING}), frozenset({Concept.DUE, Concept.PRICE})),
    "tax_total": (
        frozenset({Concept.TAX}),
        frozenset({Concept.PRICE, Concept.INCLUDING, Concept.EXCLUDING, Concept.NET, Concept.GROSS}),
    ),
    "gross_total": (
        frozenset({Concept.GROSS, Concept.GRAND, Concept.INCLUDING}),
        frozenset({Concept.PRICE, Concept.DUE}),
    ),
    "issue_date": (frozenset({Concept.INVOICE_DATE, Concept.DATE}), frozenset({Concept.DUE_DATE})),
    "due_date": (frozenset({Concept.DUE_DATE}), frozenset({Concept.DELIVERY_DATE})),
    "period_start": (frozenset({Concept.PERIOD_START}), frozenset[Concept]()),
    "period_end": (frozenset({Concept.PERIOD_END}), frozenset[Concept]()),
}
"""Meanings that a field of a user's schema must have one of, and those that it must not have."""
_AMOUNTS = frozenset({"net_total", "tax_total", "gross_total"})
_LONGEST_LABEL = 40
_SHARES = frozenset(_WORDS["shares"])


@lru_cache(maxsize=64)
def _roles(fields: type[BaseModel]) -> Mapping[str, str]:
    """By role, such as `net_total`, the path of the field in a user's schema; only where one field fits."""
    paths: dict[str, list[str]] = {}
    for path, meaning in own_meanings(fields).items():
        concepts = meaning.labels.keys()
        for role, (wanted, unwanted) in _ROLES.items():
            is_amount = meaning.kind == "decimal" and _SHARES.isdisjoint(words_of(path))
            is_kind = is_amount if role in _AMOUNTS else meaning.form == "date"
            if is_kind and not wanted.isdisjoint(concepts) and unwanted.isdisjoint(concepts):
                paths.setdefault(role, []).append(path)
    roles = {role: found[0] for role, found in paths.items() if len(found) == 1}
    periods = find_periods(list(own_meanings(fields).values()))
    if periods.get(roles.get("period_start", "")) != roles.get("period_end"):
        roles = {role: path for role, path in roles.items() if role not in ("period_start", "period_end")}
    return roles
