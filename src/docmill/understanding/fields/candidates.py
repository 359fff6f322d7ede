"""Typed candidates for the values of fields, each with its context."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from docmill.model.document import letters_and_digits
from docmill.model.paths import comparison_key
from docmill.understanding.page.context import Clues, Contexts, TextsAround, ValueContext
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.page.double_labels import LabelledPart, labelled_parts
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
    find_vat_numbers,
)
from docmill.understanding.text.dates import FIRST_YEAR, RANGE_LINK, WrittenDate, find_dates, find_times
from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import WrittenAmount, currency_code, currency_spans, find_amounts
from docmill.understanding.text.standard_numbers import find_numbers
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
    "standard number",
    "mail",
    "currency",
]
"""The form of a value. A percentage is a `number`; amounts and other numbers are `money`."""

MOST_CANDIDATES = 1500
"""Most candidates of one kind, more than any field needs; a hostile page must not cost minutes."""
SHORTEST = 3
"""Letters and digits of a code or a name."""
YES = frozenset(word for language in LANGUAGES for word in language.fields.yes)
NO = frozenset(word for language in LANGUAGES for word in language.fields.no)

_LONGEST_CODE = 24
_VAT_COUNTRIES = {language.code: language.vat for language in LANGUAGES}
_PLAIN_LANGUAGES = frozenset(language.code for language in LANGUAGES if not language.accents)
_WORD_WITH_DIGIT = re.compile(r"[^\W_](?:[^\W_]|[\-_/.](?=[^\W_]))*")
_SERIES = re.compile(r"[^\W\d_]{1,4}[/ ]\d+/\d")
"""A number with month and year, `FV/5/03/2026`: no date, though the end of it could be one."""
_FILE_ENDING = re.compile(r"\.[a-z]{2,3}$")
_LETTERS_BEFORE = re.compile(r"(?:^|[:#.]\s?)([A-Z]{2,5}) $")
"""Capital letters right behind a label that may begin a code: `Container no.: MSKU 781234-5`."""
_GROUPS = re.compile(r"(?<![^\s:#])\d{1,6}(?: \d{1,6})+(?: [A-Z]{1,2})?(?=$|[,;] )")
"""Groups of digits at the end of a text or before a comma, as one number: `8467 21 99`, `4 471 882 B`."""
_REVISION = re.compile(r"\s?/\s?\d{1,2}\b| ?\((?:Rev|Ver)\.? ?\d+\)", re.IGNORECASE)
_REST_OF_CODE = re.compile(
    r"(?: (?=[^\W_]{1,7}(?:$|[,;) ]))(?:[A-Z]{1,4}|[A-Z][a-z]|[A-Z]*\d[A-Z\d]*))+(?=$|[,;)])"
)
"""Short groups that go on with a code up to the end of its text or a comma: `KX19 ZTR`, `HT-520 Li`."""
_MAIL = re.compile(r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+")
_TICKED, _UNTICKED = frozenset("\u2713\u2714\u2612\u2611"), frozenset("\u2610")
_ANSWER = re.compile(r"\[[xX ]\]|[\u2610-\u2612\u2713\u2714]|(?<![^\s:])[^\W\d_]+(?![^\s.,;])")
_SOURCES: Mapping[Form, str] = {
    "date": "days",
    "time": "times",
    "money": "amounts_and_terms",
    "number": "numbers",
    "boolean": "answers",
    "code": "codes",
    "iban": "ibans",
    "bic": "bics",
    "vat id": "vat_ids",
    "mail": "mails",
    "currency": "currencies",
}
"""The candidates of each form that needs to know no more of a field."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(Generic[Value]):
    """A possible value of a field, with its place and context.

    role: start or end of a period. plain: written without the usual sign of its kind, such as cents or a
    currency. marked: with a currency, or with a checksum that holds. previous, following: the words beside
    a name, in its segment. currency: the code of that of an amount, where one stands beside it.
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
    currency: str | None = None

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
    def is_under_labels(self) -> bool:
        """True if a line of several labels over it tells which of them is its own."""
        return self.context.is_under_labels

    @property
    def text(self) -> str:
        """As read."""
        return " ".join(span.text for span in self.spans)

    @property
    def key(self) -> Value:
        """A key that is equal for candidates of the same value."""
        key: Value = comparison_key(self.value)
        return key


_CURRENCY_SIGNS = frozenset("$€£¥₹")

AnyCandidate: TypeAlias = Candidate[date] | Candidate[Decimal] | Candidate[str]


def _is_money(amount: WrittenAmount, text: str) -> bool:
    """True for an amount without cents that no code looks like: `EUR 40,000`, `$0`."""
    has_sign = not _CURRENCY_SIGNS.isdisjoint(text[max(0, amount.start - 1) : amount.stop + 1])
    return has_sign or (amount.currency is not None and "," in amount.digits)


class Candidates:
    """The candidates of a document by form, each form computed on first use."""

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

    def of_form(self, form: Form) -> Sequence[AnyCandidate]:
        """The candidates of a form that depends on nothing but the document."""
        candidates: Sequence[AnyCandidate] = getattr(self, _SOURCES[form])
        return candidates[:MOST_CANDIDATES]

    @cached_property
    def written_dates(self) -> list[Sequence[WrittenDate]]:
        """The dates as they are written, by segment."""
        written: list[Sequence[WrittenDate]] = [find_dates(segment.text) for segment in self.layout.segments]
        for index, parts in self.labelled_parts.items():
            days = [part.day for part in parts if part.day is not None]
            written[index] = [
                day for day in written[index] if not _overlaps(day.start, day.stop, parts)
            ] + days
        return written

    @cached_property
    def labelled_parts(self) -> Mapping[int, list[LabelledPart]]:
        """Parts of values under double labels such as `Number/Date`, by segment."""
        return labelled_parts(self.layout)

    def _given_clues(self, segment: Segment, start: int) -> Clues | None:
        """The clues of the part of a value that begins here, if a label names several parts."""
        parts = self.labelled_parts.get(segment.index, ())
        return next((part.clues for part in parts if part.start == start), None)

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
        """The dates that a business paper may have, without those of birth."""
        return [candidate for candidate in self.days if candidate.value.year >= FIRST_YEAR]

    @cached_property
    def days(self) -> list[Candidate[date]]:
        """Dates, with their part in a period."""
        dates: list[Candidate[date]] = []
        for segment in self.layout.segments:
            written = self.written_dates[segment.index]
            roles: list[Role] = [""] * len(written)
            folded = fold(segment.text) if len(written) > 1 else ""
            for index, (day, following) in enumerate(pairwise(written)):
                if roles[index] == "" and RANGE_LINK.fullmatch(folded[day.stop : following.start]):
                    roles[index], roles[index + 1] = "start", "end"
            for index, (day, role) in enumerate(zip(written, roles, strict=True)):
                value = day.value(day_first=self.conventions.day_first)
                if value is None:
                    continue
                # The label of a period stands before its start.
                before = index - 2 if role == "end" else index - 1
                context = ValueContext(
                    self.contexts,
                    segment,
                    day.start,
                    kind="date",
                    begin=written[before].stop if before >= 0 else 0,
                    label_stop=written[index - 1].start if role == "end" else day.start,
                    given=self._given_clues(segment, day.start),
                )
                dates.append(
                    Candidate("date", value, (Span(segment, day.start, day.stop),), context, role=role)
                )
        return dates[:MOST_CANDIDATES]

    @cached_property
    def numbers(self) -> list[Candidate[Decimal]]:
        """Numbers and percentages that are part of no date."""
        return self._numbers(self.layout.segments, frozenset())

    @cached_property
    def amounts_and_terms(self) -> list[Candidate[Decimal]]:
        """Numbers that are no percentages."""
        return [number for number in self.numbers if number.form == "money"]

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
        numbers: list[Candidate[Decimal]] = []
        for segment in segments:
            begin = 0
            for amount in self._written_amounts[segment.index]:
                context = ValueContext(
                    self.contexts, segment, amount.start, kind="money", begin=begin, ignored=ignored
                )
                number = Candidate(
                    "number" if amount.percent else "money",
                    amount.value(self.conventions.mark),
                    (Span(segment, amount.start, amount.stop),),
                    context,
                    plain=not amount.has_cents and amount.currency is None,
                    marked=amount.currency is not None,
                    currency=amount.currency,
                )
                numbers.append(number)
                if not number.plain and not amount.percent and not self._is_term(number.spans[0]):
                    begin = amount.stop
        return numbers

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
        identifiers: list[Candidate[str]] = []
        for segment in self._segments_with_digits:
            taken: list[WrittenDate | WrittenAmount] = [
                *self._marked_dates(segment),
                *(
                    amount
                    for amount in self._written_amounts[segment.index]
                    if (amount.has_cents or amount.percent or _is_money(amount, segment.text))
                    and not self._is_term(Span(segment, amount.start, amount.stop))
                ),
            ]
            parts = self.labelled_parts.get(segment.index, ())
            identifiers.extend(self._numbers_under_labels(segment))
            identifiers.extend(
                self.candidate("code", code.value, segment, code.start, code.stop)
                for code in find_identifiers(segment.text)
                if not _overlaps(code.start, code.stop, parts)
                and (_SERIES.match(code.value) or not _overlaps(code.start, code.stop, taken))
            )
        return identifiers[:MOST_CANDIDATES]

    def _numbers_under_labels(self, segment: Segment) -> Iterator[Candidate[str]]:
        """The parts of a segment that a double label says to be numbers."""
        for part in self.labelled_parts.get(segment.index, ()):
            if part.day is None:
                value = segment.text[part.start : part.stop]
                yield self.candidate("code", value, segment, part.start, part.stop)

    @cached_property
    def codes(self) -> list[Candidate[str]]:
        """Words with a digit, whole and without their last part; dates are `plain`."""
        codes: list[Candidate[str]] = []
        for segment in self._segments_with_digits:
            text, dates = segment.text, self._marked_dates(segment)
            codes.extend(self._numbers_under_labels(segment))
            codes.extend(
                self.candidate("code", groups[0], segment, *groups.span())
                for groups in _GROUPS.finditer(text)
                if not _overlaps(*groups.span(), dates)
            )
            for match in _WORD_WITH_DIGIT.finditer(text):
                word, (start, stop) = match[0], match.span()
                if (
                    not any(map(str.isdecimal, word))
                    or _FILE_ENDING.search(word)
                    or text[:start].endswith("@")
                ):
                    continue
                if not SHORTEST <= len(letters_and_digits(word)) <= _LONGEST_CODE:
                    continue
                is_date = _overlaps(start, stop, dates)
                revision = _REVISION.match(text, stop)
                slash = start + word.index("/") if "/" in word else 0
                rest = _REST_OF_CODE.match(text, stop)
                letters = _LETTERS_BEFORE.search(text, 0, start)
                ends = (stop, slash, revision.end() if revision else 0, rest.end() if rest else 0)
                places = [(start, end) for end in ends]
                if letters and not is_date:
                    places.append((letters.start(1), stop))
                codes.extend(
                    self.candidate("code", text[begin:end], segment, begin, end, plain=is_date)
                    for begin, end in places
                    if len(letters_and_digits(text[begin:end])) >= SHORTEST
                )
        return codes[:MOST_CANDIDATES]

    @cached_property
    def short_texts(self) -> list[Candidate[str]]:
        """Texts that are too short for a code and stand alone, such as the number of a seat: `22`, `F`."""
        return [
            self.candidate("code", text, segment, 0, len(text))
            for segment in self.layout.segments
            if 0 < len(letters_and_digits(text := segment.text)) < SHORTEST and len(text) <= SHORTEST
        ][:MOST_CANDIDATES]

    @cached_property
    def _segments_with_digits(self) -> list[Segment]:
        return [segment for segment in self.layout.segments if any(map(str.isdecimal, segment.text))]

    def _marked_dates(self, segment: Segment) -> list[WrittenDate]:
        """The dates but those of digits alone: eight digits can be a date and a number; the labels decide."""
        dates = self.written_dates[segment.index]
        return [day for day in dates if not segment.text[day.start : day.stop].isdecimal()]

    @cached_property
    def ibans(self) -> list[Candidate[str]]:
        """IBANs whose checksum holds."""
        return self._matches("iban", find_ibans)

    @cached_property
    def bics(self) -> list[Candidate[str]]:
        """Codes of the form of a BIC."""
        return self._matches("bic", find_bics)

    @cached_property
    def vat_ids(self) -> list[Candidate[str]]:
        """VAT identifiers whose checksum holds; without the country's prefix only those with their label."""
        codes = self._matches("vat id", find_vat_ids)
        country = _VAT_COUNTRIES.get(self.conventions.language or "")
        if country:
            for number in self._matches("vat id", partial(find_vat_numbers, country=country)):
                clues = number.clues
                if max(clues, key=clues.__getitem__, default=None) is Concept.VAT_NUMBER:
                    codes.append(number)
        return codes

    @cached_property
    def doubtful_vat_ids(self) -> list[Candidate[str]]:
        """Codes with the label and form of a VAT identifier whose checksum does not hold."""
        codes = self._matches("vat id", find_doubtful_vat_ids)
        return [code for code in codes if code.clues.get(Concept.VAT_NUMBER)]

    @cached_property
    def doubtful_ibans(self) -> list[Candidate[str]]:
        """Codes of the form of an IBAN whose checksum does not hold, with its label before or a BIC after."""
        return [
            code
            for code in self._matches("iban", find_doubtful_ibans)
            if code.clues.get(Concept.IBAN)
            or any(
                label.start >= code.stop and Concept.BIC in label.meanings
                for label in self.labels(code.segment)
            )
        ]

    @cached_property
    def times(self) -> list[Candidate[str]]:
        """Times of day as HH:MM:SS."""
        return self._matches("time", find_times, self._segments_with_digits)

    @cached_property
    def mails(self) -> list[Candidate[str]]:
        """Mail addresses."""
        return self._matches(
            "mail", lambda text: ((match[0], *match.span()) for match in _MAIL.finditer(text))
        )

    @cached_property
    def answers(self) -> list[Candidate[str]]:
        """Yes and no, as words and as ticked or empty boxes."""
        return self._matches("boolean", _find_answers)

    @cached_property
    def currencies(self) -> list[Candidate[str]]:
        """The places of the document's currency, and those of others beside amounts, which are `plain`."""
        own, language = self.conventions.currency, self.conventions.language
        currencies: list[Candidate[str]] = []
        for segment in self.layout.segments:
            amounts = self._written_amounts[segment.index]
            for printed, start, stop in currency_spans(segment.text):
                code = currency_code(printed, language) or ""
                if own is not None and code in (own, "USD" if printed == "$" else own):
                    currencies.append(self.candidate("currency", own, segment, start, stop))
                elif any(amount.currency == code and _overlaps(start, stop, [amount]) for amount in amounts):
                    currencies.append(self.candidate("currency", code, segment, start, stop, plain=True))
        return currencies[:MOST_CANDIDATES]

    def standard_numbers(self, formats: Sequence[str]) -> list[Candidate[str]]:
        """The numbers of any of these formats; those whose checksum holds are `marked`."""
        return [
            replace(
                self.candidate("standard number", code.value, segment, code.start, code.stop),
                marked=code.valid,
            )
            for segment in self._segments_with_digits
            for code in find_numbers(segment.text, formats)
            if code.valid or not _overlaps(code.start, code.stop, self._marked_dates(segment))
        ][:MOST_CANDIDATES]

    def choices(self, texts: Sequence[str]) -> list[Candidate[str]]:
        """The places of any of the texts that a field may have, as whole words."""
        places: list[Candidate[str]] = []
        for choice in texts:
            pattern = re.compile(r"(?<!\w)" + re.escape(fold(choice.replace("_", " "))) + r"(?!\w)")
            for segment in self.layout.segments:
                places.extend(
                    self.candidate("choice", choice, segment, *match.span())
                    for match in pattern.finditer(fold(segment.text))
                )
        return places[:MOST_CANDIDATES]

    def _matches(
        self,
        form: Form,
        find: Callable[[str], Iterable[Code | tuple[str, int, int]]],
        segments: Iterable[Segment] | None = None,
    ) -> list[Candidate[str]]:
        """A candidate for each match of `find` in the segments, or in all segments of the layout.

        find: yields the value, start and stop of each match in a text.
        """
        return [
            self.candidate(form, match[0], segment, match[1], match[2])
            for segment in (self.layout.segments if segments is None else segments)
            for match in find(segment.text)
        ][:MOST_CANDIDATES]

    def candidate(
        self, form: Form, value: Value, segment: Segment, start: int, stop: int, *, plain: bool = False
    ) -> Candidate[Value]:
        """A candidate at these characters of a segment."""
        context = ValueContext(self.contexts, segment, start, given=self._given_clues(segment, start))
        return Candidate(form, value, (Span(segment, start, stop),), context, plain=plain)


def _overlaps(
    start: int, stop: int, others: Sequence[WrittenDate | WrittenAmount | Term | LabelledPart]
) -> bool:
    return any(start < other.stop and other.start < stop for other in others)


def _find_answers(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _ANSWER.finditer(text):
        word = fold(match[0])
        if word in YES or word in _TICKED:
            yield "true", *match.span()
        elif word in NO or word in _UNTICKED:
            yield "false", *match.span()
