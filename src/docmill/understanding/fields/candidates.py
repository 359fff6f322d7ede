"""Typed candidates for the values of fields, each with its context."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar

from docmill.model.paths import comparison_key
from docmill.understanding.page.context import Clues, Contexts, TextsAround, ValueContext
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.page.layout import Layout, Segment, Span
from docmill.understanding.page.terms import Term, find_terms
from docmill.understanding.text.codes import (
    Code,
    find_bics,
    find_doubtful_ibans,
    find_doubtful_vat_ids,
    find_ibans,
    find_identifiers,
    find_vat_ids,
)
from docmill.understanding.text.dates import RANGE_LINK, WrittenDate, find_dates
from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import WrittenAmount, find_amounts
from docmill.understanding.vocabulary import LANGUAGES, Concept

Value = TypeVar("Value", bound=date | Decimal | str)
Role = Literal["", "start", "end"]
Form = Literal[
    "date",
    "time",
    "money",
    "number",
    "code",
    "name",
    "text",
    "boolean",
    "choice",
    "iban",
    "bic",
    "vat id",
    "mail",
    "currency",
]
"""The form of a value. A percentage is a `number`; amounts and other numbers are `money`."""

MOST_CANDIDATES = 1500
"""Of one form: more than any header or total needs; a hostile page must not cost minutes."""

_DIGIT = re.compile(r"\d")
_PLAIN_LANGUAGES = frozenset(language.code for language in LANGUAGES if not language.accents)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(Generic[Value]):
    """A value that a document might give to a field, where it stands, and its context.

    role: its end of a period. plain: written without what usually marks its kind, such as cents or currency.
    marked: with a currency. previous, following: of a name, the words beside it in its segment.
    """

    form: Form
    value: Value
    spans: tuple[Span, ...]
    context: ValueContext
    role: Role = ""
    plain: bool = False
    marked: bool = False
    previous: str = ""
    following: str = ""

    @property
    def segment(self) -> Segment:
        """The segment in which it begins."""
        return self.spans[0].segment

    @property
    def start(self) -> int:
        """Its first character in its segment."""
        return self.spans[0].start

    @property
    def stop(self) -> int:
        """The end of its first span."""
        return self.spans[0].stop

    @property
    def clues(self) -> Clues:
        """The concepts that labels around it name."""
        return self.context.clues

    @property
    def around(self) -> TextsAround:
        """The texts around it."""
        return self.context.texts

    @property
    def text(self) -> str:
        """As read."""
        return " ".join(span.text for span in self.spans)

    @property
    def key(self) -> Value:
        """A key that is equal for candidates of the same value."""
        key: Value = comparison_key(self.value)
        return key


class Candidates:
    """The candidates of a document by form; each form is made when first asked for."""

    def __init__(self, layout: Layout, conventions: Conventions) -> None:
        self.layout = layout
        self.conventions = conventions
        self.contexts = Contexts(layout)
        self.labels, self.labels_of = self.contexts.labels, self.contexts.labels_of
        self.memo: dict[object, Any] = {}
        """Results of functions of these candidates; see `once`."""
        self._terms: dict[int, list[Term]] = {}
        self._is_misread = {sheet.page_index: sheet.page.source == "ocr" for sheet in layout.sheets}

    @property
    def plain(self) -> bool:
        """True if accents are misread: on a recognised page in a language that has none."""
        return any(self._is_misread.values()) and self.conventions.language in _PLAIN_LANGUAGES

    @cached_property
    def written_dates(self) -> list[Sequence[WrittenDate]]:
        """The dates as they are written, by segment."""
        return [find_dates(segment.text) for segment in self.layout.segments]

    @cached_property
    def _written_amounts(self) -> list[list[WrittenAmount]]:
        """The numbers that are part of no date, by segment."""
        return [
            [
                amount
                for amount in find_amounts(segment.text, misread=self._is_misread[segment.page_index])
                if not _overlaps(amount.start, amount.stop, self.written_dates[segment.index])
            ]
            for segment in self.layout.segments
        ]

    @cached_property
    def dates(self) -> list[Candidate[date]]:
        """Dates, with their part in a period."""
        found: list[Candidate[date]] = []
        for segment in self.layout.segments:
            written = self.written_dates[segment.index]
            roles = _roles(segment.text, written)
            for index, (one, role) in enumerate(zip(written, roles, strict=True)):
                value = one.value(day_first=self.conventions.day_first)
                if value is None:
                    continue
                # The label of a period stands before its start.
                before = index - 2 if role == "end" else index - 1
                context = ValueContext(
                    self.contexts,
                    segment,
                    one.start,
                    kind="date",
                    begin=written[before].stop if before >= 0 else 0,
                    label_stop=written[index - 1].start if role == "end" else one.start,
                )
                span = Span(segment, one.start, one.stop)
                found.append(Candidate("date", value, (span,), context, role=role))
        return found[:MOST_CANDIDATES]

    @cached_property
    def numbers(self) -> list[Candidate[Decimal]]:
        """Numbers and percentages that are part of no date."""
        return self._numbers(self.layout.segments, frozenset())

    @cached_property
    def amounts(self) -> list[Candidate[Decimal]]:
        """Amounts of money. Whole numbers without a currency are `plain`."""
        return self._amounts_of(self.numbers)

    def amounts_outside(self, cells: frozenset[int], headings: frozenset[int]) -> list[Candidate[Decimal]]:
        """The amounts outside these segments, in whose contexts these headings do not count."""
        if not cells:
            return self.amounts
        first = min(headings, default=0)
        before = [amount for amount in self.amounts if amount.segment.index < first]
        segments = self.layout.segments
        after = [segment for segment in segments if segment.index >= first and segment.index not in cells]
        return [*before, *self._amounts_of(self._numbers(after, headings))][:MOST_CANDIDATES]

    def _amounts_of(self, numbers: Sequence[Candidate[Decimal]]) -> list[Candidate[Decimal]]:
        return [
            number for number in numbers if number.form == "money" and not self._is_term(number.spans[0])
        ][:MOST_CANDIDATES]

    def _is_term(self, span: Span) -> bool:
        """True if a number belongs to terms of payment, such as `14 days`."""
        segment = span.segment
        if segment.index not in self._terms:
            self._terms[segment.index] = list(find_terms(segment.text))
        return _overlaps(span.start, span.stop, self._terms[segment.index])

    def _numbers(self, segments: Sequence[Segment], ignored: frozenset[int]) -> list[Candidate[Decimal]]:
        found: list[Candidate[Decimal]] = []
        for segment in segments:
            begin = 0
            for one in self._written_amounts[segment.index]:
                context = ValueContext(
                    self.contexts, segment, one.start, kind="money", begin=begin, ignored=ignored
                )
                number = Candidate(
                    "number" if one.percent else "money",
                    one.value(self.conventions.mark),
                    (Span(segment, one.start, one.stop),),
                    context,
                    plain=not one.has_cents and one.currency is None,
                    marked=one.currency is not None,
                )
                found.append(number)
                if not number.plain and not one.percent and not self._is_term(number.spans[0]):
                    begin = one.stop
        return found

    @cached_property
    def percentages(self) -> list[Decimal]:
        """Rates printed with a percent sign."""
        return [
            number.value
            for number in self.numbers
            if number.form == "number" and not self._is_term(number.spans[0])
        ]

    @cached_property
    def identifiers(self) -> list[Candidate[str]]:
        """Words with digits that are neither dates nor money nor codes of a known form."""
        found: list[Candidate[str]] = []
        for segment in self.layout.segments:
            if not _DIGIT.search(segment.text):
                continue
            # Eight digits can be a date and a number; the labels decide.
            dates = [
                one
                for one in self.written_dates[segment.index]
                if not segment.text[one.start : one.stop].isdecimal()
            ]
            money = [
                one
                for one in self._written_amounts[segment.index]
                if (one.has_cents or one.percent) and not self._is_term(Span(segment, one.start, one.stop))
            ]
            found.extend(
                self.candidate("code", code.value, segment, code.start, code.stop)
                for code in find_identifiers(segment.text)
                if not _overlaps(code.start, code.stop, dates) and not _overlaps(code.start, code.stop, money)
            )
        return found[:MOST_CANDIDATES]

    @cached_property
    def ibans(self) -> list[Candidate[str]]:
        """IBANs whose checksum holds."""
        return self._codes("iban", find_ibans)

    @cached_property
    def bics(self) -> list[Candidate[str]]:
        """Codes of the form of a BIC."""
        return self._codes("bic", find_bics)

    @cached_property
    def vat_ids(self) -> list[Candidate[str]]:
        """VAT identifiers whose checksum holds."""
        return self._codes("vat id", find_vat_ids)

    @cached_property
    def doubtful_vat_ids(self) -> list[Candidate[str]]:
        """Codes with the label and form of a VAT identifier whose checksum does not hold."""
        codes = self._codes("vat id", find_doubtful_vat_ids)
        return [code for code in codes if code.clues.get(Concept.VAT_NUMBER)]

    @cached_property
    def doubtful_ibans(self) -> list[Candidate[str]]:
        """Codes of the form of an IBAN whose checksum does not hold, with its label before or a BIC after."""
        return [
            code
            for code in self._codes("iban", find_doubtful_ibans)
            if code.clues.get(Concept.IBAN)
            or any(
                label.start >= code.stop and Concept.BIC in label.meanings
                for label in self.labels(code.segment)
            )
        ]

    def _codes(self, form: Form, find: Callable[[str], Iterator[Code]]) -> list[Candidate[str]]:
        return [
            self.candidate(form, code.value, segment, code.start, code.stop)
            for segment in self.layout.segments
            for code in find(segment.text)
        ][:MOST_CANDIDATES]

    def candidate(
        self, form: Form, value: Value, segment: Segment, start: int, stop: int, *, plain: bool = False
    ) -> Candidate[Value]:
        """A candidate at these characters of a segment."""
        context = ValueContext(self.contexts, segment, start)
        return Candidate(form, value, (Span(segment, start, stop),), context, plain=plain)


def _overlaps(start: int, stop: int, others: Sequence[WrittenDate | WrittenAmount | Term]) -> bool:
    return any(start < other.stop and other.start < stop for other in others)


def _roles(text: str, written: Sequence[WrittenDate]) -> list[Role]:
    """The part of each date in a period written as one."""
    roles: list[Role] = [""] * len(written)
    folded = fold(text) if len(written) > 1 else ""
    for index, (one, other) in enumerate(pairwise(written)):
        if roles[index] == "" and RANGE_LINK.fullmatch(folded[one.stop : other.start]):
            roles[index], roles[index + 1] = "start", "end"
    return roles
