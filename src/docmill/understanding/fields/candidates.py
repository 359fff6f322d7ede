"""Typed candidates for field values: where they stand, and which labels speak for them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Generic, Literal, TypeAlias, TypeVar

from docmill.understanding.fields.weights import DATE_CONCEPTS
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.page.layout import Layout, Segment, Sheet
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
from docmill.understanding.vocabulary import Concept
from docmill.understanding.vocabulary.labels import LABELS, Label
from docmill.understanding.vocabulary.terms import Term, find_terms

Value = TypeVar("Value", bound=date | Decimal | str)
Role = Literal["", "start", "end"]

_GAP_DECAY = 0.88
"""What a label loses for each word between it and the value."""
_FARTHER_SEGMENT = 0.85
_OTHER_VALUE_BETWEEN = 0.8
_ABOVE = 0.9
_HEADER = 0.75
_BESIDE_LEFT_LABEL = {"date": 0.15, "money": 0.8, "code": 0.1}
"""What a label above counts where one on the left speaks already: in tables of money both matter."""
_NEAR_LINES = 2.6
_FAR_LINES = 45
_SMALLEST_CLUE = 0.05
_MOST_CANDIDATES = 1500
"""More of one kind than any header or total needs; a hostile page must not cost minutes."""

_DIGIT = re.compile(r"\d")
_SMALL_WORDS = frozenset(
    "den vom von bis ab an le du au del al da dal van tot aan to from desde".split()  # noqa: SIM905 - a list of words
)
"""Labels that are prepositions and articles elsewhere: in a sentence they must stand right before a value."""
_LONGEST_SMALL_WORD = max(map(len, _SMALL_WORDS))

_PLAIN_LANGUAGES = frozenset({"en", "ms"})

Kind = Literal["date", "money", "code"]
Clues: TypeAlias = dict[Concept, float]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(Generic[Value]):
    """A value at `start` to `stop` of a segment's text.

    clues: for each concept how strongly a label says it, in [0, 1]. role: its end of a period.
    plain: written without what usually marks its kind, such as cents or currency.
    """

    value: Value
    segment: Segment
    start: int
    stop: int
    clues: Clues
    role: Role = ""
    plain: bool = False

    @property
    def text(self) -> str:
        """As read."""
        return self.segment.text[self.start : self.stop]


class Candidates:
    """All candidates of a document, by kind; each kind is made when first asked for."""

    def __init__(self, layout: Layout, conventions: Conventions) -> None:
        self.layout = layout
        self.conventions = conventions
        self._labels: dict[int, list[Label[Concept]]] = {}
        self._texts: dict[str, list[Label[Concept]]] = {}
        self._on_left: dict[tuple[int, Kind], Clues] = {}
        self._on_top: dict[tuple[int, frozenset[int]], Clues] = {}
        self._misread = {sheet.page_index: sheet.page.source == "ocr" for sheet in layout.sheets}

    @property
    def plain(self) -> bool:
        """Whether accents are misread: a recognised page in a language that has none."""
        return any(self._misread.values()) and self.conventions.language in _PLAIN_LANGUAGES

    def labels(self, segment: Segment) -> list[Label[Concept]]:
        """The labels in a segment."""
        found = self._labels.get(segment.index)
        if found is None:
            found = self._labels[segment.index] = LABELS.find(segment.text)
        return found

    def labels_of(self, text: str) -> list[Label[Concept]]:
        """The labels in a text of the document."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = LABELS.find(text)
        return found

    @cached_property
    def _written_dates(self) -> list[Sequence[WrittenDate]]:
        return [find_dates(segment.text) for segment in self.layout.segments]

    @cached_property
    def _written_terms(self) -> list[list[Term]]:
        return [list(find_terms(segment.text)) for segment in self.layout.segments]

    @cached_property
    def _written_amounts(self) -> list[list[WrittenAmount]]:
        return [
            [
                amount
                for amount in find_amounts(segment.text, misread=self._misread[segment.page_index])
                if not _within(amount.start, amount.stop, self._written_dates[segment.index])
                and not _within(amount.start, amount.stop, self._written_terms[segment.index])
            ]
            for segment in self.layout.segments
        ]

    @cached_property
    def dates(self) -> list[Candidate[date]]:
        """Dates, with their part in a period."""
        found: list[Candidate[date]] = []
        for segment in self.layout.segments:
            written = self._written_dates[segment.index]
            roles = _roles(segment.text, written)
            for index, one in enumerate(written[:_MOST_CANDIDATES]):
                value = one.value(day_first=self.conventions.day_first)
                if value is not None:
                    begin = written[index - 1].stop if index and roles[index] != "end" else 0
                    if roles[index] == "end":
                        begin = written[index - 2].stop if index > 1 else 0
                    clues = self._clues(segment, one.start, begin=begin, kind="date")
                    found.append(Candidate(value, segment, one.start, one.stop, clues, role=roles[index]))
        return found[:_MOST_CANDIDATES]

    @cached_property
    def amounts(self) -> list[Candidate[Decimal]]:
        """Amounts of money. Whole numbers without a currency are `plain`."""
        return self._amounts(self.layout.segments, frozenset())

    def amounts_outside(self, cells: frozenset[int], headings: frozenset[int]) -> list[Candidate[Decimal]]:
        """The amounts that are not in these segments, and what labels say of them but these headings."""
        if not cells:
            return self.amounts
        first = min(headings, default=0)
        before = [one for one in self.amounts if one.segment.index < first]
        after = [one for one in self.layout.segments if one.index >= first and one.index not in cells]
        return [*before, *self._amounts(after, headings)][:_MOST_CANDIDATES]

    def _amounts(self, segments: Sequence[Segment], ignored: frozenset[int]) -> list[Candidate[Decimal]]:
        found: list[Candidate[Decimal]] = []
        for segment in segments:
            begin = 0
            for one in self._written_amounts[segment.index]:
                if one.percent:
                    continue
                clues = self._clues(segment, one.start, begin=begin, kind="money", ignored=ignored)
                plain = not one.has_cents and one.currency is None
                value = one.value(self.conventions.mark)
                found.append(Candidate(value, segment, one.start, one.stop, clues, plain=plain))
                if not plain:
                    begin = one.stop
        return found[:_MOST_CANDIDATES]

    @cached_property
    def percentages(self) -> list[Decimal]:
        """Rates printed with a percent sign."""
        mark = self.conventions.mark
        return [one.value(mark) for found in self._written_amounts for one in found if one.percent]

    @cached_property
    def identifiers(self) -> list[Candidate[str]]:
        """Words with digits that are neither dates nor money nor codes of a known form."""
        found: list[Candidate[str]] = []
        for segment in self.layout.segments:
            if not _DIGIT.search(segment.text):
                continue
            # Eight digits can be a date and a number; the labels decide.
            taken = [
                one
                for one in self._written_dates[segment.index]
                if not segment.text[one.start : one.stop].isdecimal()
            ]
            money = [one for one in self._written_amounts[segment.index] if one.has_cents or one.percent]
            begin = 0
            for code in find_identifiers(segment.text):
                if _within(code.start, code.stop, taken) or _within(code.start, code.stop, money):
                    continue
                clues = self._clues(segment, code.start, begin=begin, kind="code")
                found.append(Candidate(code.value, segment, code.start, code.stop, clues))
        return found[:_MOST_CANDIDATES]

    @cached_property
    def ibans(self) -> list[Candidate[str]]:
        """IBANs whose checksum holds."""
        return self._codes(find_ibans)

    @cached_property
    def bics(self) -> list[Candidate[str]]:
        """What has the form of a BIC."""
        return self._codes(find_bics)

    @cached_property
    def vat_ids(self) -> list[Candidate[str]]:
        """VAT identifiers whose checksum holds."""
        return self._codes(find_vat_ids)

    @cached_property
    def doubtful_vat_ids(self) -> list[Candidate[str]]:
        """What is labelled as a VAT identifier and has its form, though the checksum does not hold."""
        return [one for one in self._codes(find_doubtful_vat_ids) if one.clues.get(Concept.VAT_NUMBER)]

    @cached_property
    def doubtful_ibans(self) -> list[Candidate[str]]:
        """What is labelled as an IBAN and has its form, though the checksum does not hold."""
        return [one for one in self._codes(find_doubtful_ibans) if self._is_called_iban(one)]

    def _is_called_iban(self, code: Candidate[str]) -> bool:
        """Whether its label says so, or a BIC follows."""
        if code.clues.get(Concept.IBAN):
            return True
        after = (label for label in self.labels(code.segment) if label.start >= code.stop)
        return any(Concept.BIC in label.meanings for label in after)

    def _codes(self, find: Callable[[str], Iterator[Code]]) -> list[Candidate[str]]:
        return [
            Candidate(
                code.value,
                segment,
                code.start,
                code.stop,
                self._clues(segment, code.start, begin=0, kind="code"),
            )
            for segment in self.layout.segments
            for code in find(segment.text)
        ][:_MOST_CANDIDATES]

    def _clues(
        self,
        segment: Segment,
        at: int,
        *,
        begin: int,
        kind: Kind,
        ignored: frozenset[int] = frozenset(),
    ) -> Clues:
        """What the labels before, left of and above the value at `at` say, but for the headings `ignored`."""
        clues = _before(self.labels(segment), segment.text, begin=begin, at=at)
        if not clues:
            clues = {**self._left(segment, kind)}
        speaks = any(concept in clues for concept in DATE_CONCEPTS) if kind == "date" else bool(clues)
        share = _BESIDE_LEFT_LABEL[kind] if speaks else 1.0
        for concept, strength in self._above(segment, ignored).items():
            clues[concept] = max(clues.get(concept, 0), strength * share)
        return {concept: strength for concept, strength in clues.items() if strength >= _SMALLEST_CLUE}

    def _left(self, segment: Segment, kind: Kind) -> Clues:
        key = (segment.index, kind)
        if key not in self._on_left:
            self._on_left[key] = self._said_left(self.layout.sheet(segment), segment, kind)
        return self._on_left[key]

    def _said_left(self, sheet: Sheet, segment: Segment, kind: Kind) -> Clues:
        strength = 1.0
        for other in sheet.left_of(segment):
            labels = self.labels(other)
            if labels:
                return _weighed(_before(labels, other.text, begin=0, at=len(other.text)), strength)
            strength *= _OTHER_VALUE_BETWEEN if self._has_value(other, kind) else _FARTHER_SEGMENT
        return {}

    def _has_value(self, segment: Segment, kind: Kind) -> bool:
        if kind == "date":
            return bool(self._written_dates[segment.index])
        return _DIGIT.search(segment.text) is not None

    def _above(self, segment: Segment, ignored: frozenset[int]) -> Clues:
        key = (segment.index, ignored)
        if key not in self._on_top:
            self._on_top[key] = self._said_above(self.layout.sheet(segment), segment, ignored)
        return self._on_top[key]

    def _said_above(self, sheet: Sheet, segment: Segment, ignored: frozenset[int]) -> Clues:
        """The label right above, or the column's header: the first text above that has no value in it."""
        for count, other in enumerate(sheet.above(segment.box)):
            lines = (segment.middle - other.middle) / max(segment.height, sheet.text_height)
            if count > _FAR_LINES or other.index in ignored:
                break
            labels = self.labels(other)
            if self._has_value(other, "money"):
                continue
            if not labels:
                if count == 0 and lines < _NEAR_LINES:
                    continue
                break
            strength = _ABOVE if lines < _NEAR_LINES and count == 0 else _HEADER
            return _weighed(_before(labels, other.text, begin=0, at=len(other.text)), strength)
        return {}


def _within(start: int, stop: int, taken: Sequence[WrittenDate | WrittenAmount | Term]) -> bool:
    return any(start < other.stop and other.start < stop for other in taken)


def _before(labels: Sequence[Label[Concept]], text: str, *, begin: int, at: int) -> Clues:
    """What the labels of `text` between `begin` and `at` say; the nearer, the stronger."""
    clues: Clues = {}
    for label in labels:
        if label.start < begin or label.stop > at:
            continue
        between = len(text[label.stop : at].split())
        if between and label.stop - label.start <= _LONGEST_SMALL_WORD and _is_small_word(text, label):
            continue
        strength = label.quality * _GAP_DECAY ** max(0, between - 1)
        for concept in label.meanings:
            clues[concept] = max(clues.get(concept, 0), strength)
    return clues


def _is_small_word(text: str, label: Label[Concept]) -> bool:
    """Whether a label is one of the words that say something of what follows at once and of nothing else."""
    return text[label.start : label.stop].casefold() in _SMALL_WORDS


def _weighed(clues: Clues, factor: float) -> Clues:
    return {concept: strength * factor for concept, strength in clues.items()}


def _roles(text: str, written: Sequence[WrittenDate]) -> list[Role]:
    """Which dates are the start and end of a period written as one."""
    folded = fold(text)
    roles: list[Role] = [""] * len(written)
    for index, (one, other) in enumerate(pairwise(written)):
        if roles[index] == "" and RANGE_LINK.fullmatch(folded[one.stop : other.start]):
            roles[index], roles[index + 1] = "start", "end"
    return roles
