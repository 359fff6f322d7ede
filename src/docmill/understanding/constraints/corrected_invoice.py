"""The invoice that a credit note corrects: its number and date, which are not those of the credit note."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import cache
from typing import Any

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, Findings, finding_of
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.vocabulary import LANGUAGES, Concept

NUMBER, DAY = "preceding_invoice_number", "preceding_invoice_date"
_SURE, _LIKELY = 0.97, 0.9
"""Shares of belief in what follows the words for the invoice, and in a day with the label of an invoice's."""
_NEAR = 14
"""Characters between the words for an invoice and its number, or between that and its date."""
_LINES = 4
"""Lines below the invoice's number in which its date may have its label."""
_NUMBER_WORDS = alternatives(
    word for language in LANGUAGES for word in (*language.numbers, "n\u00b0", "n\u00ba", "no.", "#")
)

_INVOICES = frozenset(fold(word) for language in LANGUAGES for word in language.pages.documents.invoice)


@once
def corrected_invoice(candidates: Candidates, kind: DocumentType) -> Findings:
    """Number and date of the invoice, by the words of the type that refer to one; empty without them."""
    if not DEFINITIONS[kind].words.references:
        return {}
    places = [
        Span(segment, match.end(), len(segment.text))
        for segment in candidates.layout.segments
        for match in [_reference(kind).search(fold(segment.text))]
        if match is not None
    ]
    for place in places or _beside_own(candidates, kind):
        found = dict(_at(candidates, place))
        if found:
            return found
    return {}


def is_of(place: Sequence[Span], others: Collection[Finding]) -> bool:
    """Return True if a place is that of one of the findings, or a part of it."""
    return any(span.overlaps(other) for span in place for finding in others for other in finding.spans)


@cache
def _reference(kind: DocumentType) -> re.Pattern[str]:
    words = DEFINITIONS[kind].words.references.values()
    phrases = alternatives(fold(phrase) for several in words for phrase in several)
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)(?:[\s.:]*(?:{_NUMBER_WORDS})(?!\w))?[\s.:]*")


def _beside_own(candidates: Candidates, kind: DocumentType) -> list[Span]:
    """The texts after labels of an invoice's number; empty without a label of the document's own number."""
    of_invoice: list[Span] = []
    is_own = False
    for segment in candidates.layout.segments:
        for label in candidates.labels(segment):
            name = fold(segment.text[label.start : label.stop])
            is_own |= label.quality == 1 and {Concept.DOCUMENT_NUMBER}.issuperset(label.meanings)
            if Concept.INVOICE_NUMBER not in label.meanings or name in _INVOICES:
                continue
            if _own_name(kind).search(name):
                is_own = True
            elif any(word in name for word in _INVOICES):
                of_invoice.append(Span(segment, label.stop, len(segment.text)))
    return of_invoice if is_own else []


@cache
def _own_name(kind: DocumentType) -> re.Pattern[str]:
    words = DEFINITIONS[kind].words
    titles = [title for several in words.titles.values() for title in several]
    doubtful = [title for several in words.doubtful.values() for title in several]
    return re.compile(alternatives(map(fold, (*titles, *doubtful))))


def _at(candidates: Candidates, place: Span) -> Iterator[tuple[str, Finding]]:
    """The number that begins at a place or in the next segment, and the date behind it."""
    number = _first(candidates.identifiers, place)
    if number is None and not any(map(str.isalnum, place.text)):
        sheet = candidates.layout.sheet(place.segment)
        beside = [*sheet.right_of(place.segment)[:1], *sheet.below(place.segment.box)[:1]]
        numbers = (_first(candidates.identifiers, Span(other, 0, len(other.text))) for other in beside)
        number = next(filter(None, numbers), None)
    if number is not None:
        yield NUMBER, finding_of(number, _SURE)
        place = Span(number.segment, number.stop, len(number.segment.text))
    day = _first(candidates.dates, place)
    if day is not None:
        yield DAY, finding_of(day, _SURE)
    elif number is not None:
        labelled = _labelled_day(candidates, number.segment)
        if labelled is not None:
            yield DAY, finding_of(labelled, _LIKELY)


def _first(options: Sequence[Candidate[Any]], place: Span) -> Candidate[Any] | None:
    """The first candidate of a place, if little stands before it."""
    inside = (
        option
        for option in options
        if option.segment is place.segment and place.start <= option.start <= place.start + _NEAR
    )
    return min(inside, key=lambda option: option.start, default=None)


def _labelled_day(candidates: Candidates, after: Segment) -> Candidate[date] | None:
    """The next date with the label of an invoice's date, if it is not the only date."""
    days = [
        day
        for day in candidates.dates
        if day.clues.get(Concept.INVOICE_DATE)
        and day.segment.page_index == after.page_index
        and 0 <= day.segment.line - after.line <= _LINES
    ]
    day = min(days, key=lambda day: (day.segment.line, day.start), default=None)
    if day is None or all(other.value == day.value for other in candidates.dates):
        return None
    return day
