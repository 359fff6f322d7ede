"""Fields that letters print at usual places: the subject, and the date beside the town.

A subject stands beside its label, above the salutation or below it, or in large print at the top.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, Findings, finding_of
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.text.number_forms import is_reference
from docmill.understanding.vocabulary import Concept

_TOP = 0.6
"""The share of the first page that holds the subject."""
_BY_LABEL, _BY_SALUTATION, _BY_SIZE = 0.9, 0.9, 0.6
"""Confidence in a subject: beside its label, at a salutation, in larger print."""
_BY_SALUTATION_ON_PICTURES = 0.7
"""The same on recognised pages, whose lines may be parted otherwise."""
_BY_TITLE = 0.88
"""The same where it is the title of the document: `Mietvertrag`."""
_BY_TOWN = 0.85
"""Confidence in the only date that stands alone or behind a town."""
_BEFORE_DATE = re.compile(r"\W*|[^\W\d_][^\d:]{1,30},\s*(?:[^\W\d_]{1,4}\.?\s*){0,2}")
"""Nothing, or a town; perhaps a word such as `den` or `le`."""
_LARGE = 1.1
"""Larger print is so many times as high as the page's usual text."""
_FLUSH = 0.03
_NEAR = 6
"""Text heights between a subject and the salutation below it."""
_HEADING_AND_TEXT = 2
_APART = 1.6
"""A heading is at least so many text heights above the text: more than the lines of a paragraph."""
_CLOSE = 2.0
"""Lines of one block are no farther apart than this many text heights."""
_LONGEST = 16
"""Words of a subject."""
_FEWEST_LETTERS = 4
_NUMBERS = frozenset({
    Concept.INVOICE_NUMBER, Concept.DOCUMENT_NUMBER, Concept.ORDER_NUMBER, Concept.PURCHASE_ORDER_NUMBER,
    Concept.DELIVERY_NOTE_NUMBER, Concept.CONTRACT_NUMBER, Concept.CUSTOMER_NUMBER, Concept.OTHER_NUMBER,
    Concept.PHONE,
})  # fmt: skip
"""Labels of a line that is no subject, since it holds a number."""
_DATE_LINE = 0.4
"""A line of which a date takes this share is none but the line of the date."""


def letter_fields(candidates: Candidates, ruled: Findings) -> Iterator[tuple[str, Finding]]:
    """Find the subject and the day of a letter. ruled: the names in its letterhead, which are no subject."""
    top = [
        segment for segment in candidates.layout.segments if segment.page_index == 0 and segment.middle < _TOP
    ]
    names = {str(ruled[path].value) for path in ("seller.name", "buyer.name") if path in ruled}
    sheet = candidates.layout.sheets[0]
    found = _find_subject(top, sheet.text_height, is_recognised=sheet.page.source == "ocr")
    if found is not None and (found[0].text not in names or _is_title(found[0].text)):
        span, probability = found
        yield "subject", Finding(span.text, (span,), probability, form="text")
    day = _day_beside_town(candidates)
    if day is not None:
        yield "issue_date", finding_of(day, _BY_TOWN)


def is_day_of_invoice(day: Finding, document_type: DocumentType) -> bool:
    """Return True if the date is that of an invoice named in the text: `Invoice 8 of 3 May`."""
    before = day.spans[0].segment.text[: day.spans[0].start] if day.spans else ""
    return _invoice_label(document_type).search(fold(before)) is not None


@cache
def _invoice_label(document_type: DocumentType) -> re.Pattern[str]:
    labels = DEFINITIONS[document_type].labels.get("invoice_number", ())
    return re.compile(rf"(?<!\w)(?:{alternatives(map(fold, labels))})(?!\w)")


def _find_subject(
    top: Sequence[Segment], text_height: float, *, is_recognised: bool
) -> tuple[Span, float] | None:
    labelled = _beside_label(top)
    if labelled is not None:
        return labelled, _BY_LABEL
    if any(map(_greets, top)):
        above = _above_salutation(top, text_height) or _below_salutation(top, text_height)
        if above is None:
            return None
        return above, (_BY_SALUTATION_ON_PICTURES if is_recognised else _BY_SALUTATION)
    title = next((segment for segment in top if _is_title(segment.text) and _may_be_one(segment)), None)
    # Recognised lines of one size differ in height, so that a large one is hardly a subject.
    large = None if is_recognised else _in_large_print(top, text_height)
    is_larger = large is not None and (title is None or large.segment.height > title.height)
    if large is not None and is_larger and not _is_title(large.text):
        return large, _BY_SIZE
    return None if title is None else (Span(title, 0, len(title.text)), _BY_TITLE)


def _day_beside_town(candidates: Candidates) -> Candidate[date] | None:
    """The only date that stands alone or behind a town: `Leith, 3 May 2026`."""
    alone = [
        candidate
        for candidate in candidates.dates
        if not candidate.segment.text[candidate.stop :].strip(" .")
        and _BEFORE_DATE.fullmatch(candidate.segment.text[: candidate.start])
        and not candidate.role
        and not candidates.labels(candidate.segment)
    ]
    first = [candidate for candidate in alone if candidate.segment.page_index == 0]
    # A table of bookings or invoices has many such cells below the salutation.
    text = next((segment.middle for segment in candidates.layout.segments if _greets(segment)), 1.0)
    first = [candidate for candidate in first if candidate.segment.middle < text] or first
    return first[0] if first and len({candidate.value for candidate in first}) == 1 else None


def _beside_label(top: Sequence[Segment]) -> Span | None:
    for index, segment in enumerate(top):
        match = _label().match(fold(segment.text))
        if match is None:
            continue
        if match.end() < len(segment.text):
            span = Span(segment, match.end(), len(segment.text))
        else:
            beside = next((other for other in top[index + 1 :] if other.line == segment.line), None)
            span = None if beside is None else Span(beside, 0, len(beside.text))
        if span is not None and not is_reference(span.text):
            return span
    return None


def _above_salutation(top: Sequence[Segment], text_height: float) -> Span | None:
    salutation = next(filter(_greets, top), None)
    if salutation is None:
        return None
    above = [
        segment
        for segment in top
        if 0 < salutation.middle - segment.middle < _NEAR * text_height
        and abs(segment.box.x0 - salutation.box.x0) < _FLUSH
        and not _is_number(segment)
    ]
    nearest = max(above, key=lambda segment: segment.middle, default=None)
    if nearest is None or not _may_be_one(nearest):
        return None
    # A line close below another one is the last of an address.
    gaps = [nearest.middle - other.middle for other in above if other is not nearest]
    return None if any(gap < _CLOSE * text_height for gap in gaps) else Span(nearest, 0, len(nearest.text))


def _below_salutation(top: Sequence[Segment], text_height: float) -> Span | None:
    """The heading between a salutation and the text, as in British letters: a line without a full stop."""
    salutation = next(filter(_greets, top), None)
    if salutation is None:
        return None
    below = sorted(
        (other for other in top if other.middle > salutation.middle), key=lambda other: other.middle
    )
    if len(below) < _HEADING_AND_TEXT:
        return None
    heading, text = below[:2]
    ends = heading.text.rstrip()[-1:]
    is_apart = text.middle - heading.middle >= _APART * text_height
    is_near = heading.middle - salutation.middle < _NEAR * text_height
    goes_on = heading.text[:1].islower() or text.text[:1].islower()
    if ends in ".,;:!?" or goes_on or not is_near or not is_apart:
        return None
    return Span(heading, 0, len(heading.text)) if _may_be_one(heading) else None


def _in_large_print(top: Sequence[Segment], text_height: float) -> Span | None:
    large = [
        segment
        for segment in top
        if segment.height > _LARGE * text_height and _may_be_one(segment) and not _is_number(segment)
    ]
    # A letterhead is printed above it, larger or not.
    lowest = max(large, key=lambda segment: segment.middle, default=None)
    return Span(lowest, 0, len(lowest.text)) if lowest is not None else None


def _greets(segment: Segment) -> bool:
    """True for the line of a salutation."""
    return segment.page_index == 0 and _salutation().match(fold(segment.text)) is not None


def _is_title(text: str) -> bool:
    """True if the text begins with the title of a type."""
    return _titles().match(fold(text)) is not None


def _may_be_one(segment: Segment) -> bool:
    text = segment.text
    dates = sum(found.stop - found.start for found in find_dates(text))
    letters = sum(map(str.isalpha, text))
    is_line = len(text.split()) <= _LONGEST and letters >= _FEWEST_LETTERS and not text.endswith(",")
    return is_line and dates < _DATE_LINE * len(text)


def _is_number(segment: Segment) -> bool:
    """True if a line is the label of a number and the number: `Customer no. 10233`."""
    label = next(iter(LABELS.find(segment.text)), None)
    if label is None or label.start or label.quality < 1 or _NUMBERS.isdisjoint(label.meanings):
        return False
    number = " ".join(segment.text[label.stop :].split()[:2])
    return any(map(str.isdecimal, number))


@cache
def _label() -> re.Pattern[str]:
    labels = (label for each in DEFINITIONS.values() for label in each.labels.get("subject", ()))
    return re.compile(rf"\W*(?:{alternatives(map(fold, labels))})\.?\s*(?::\s*|$)")


@cache
def _titles() -> re.Pattern[str]:
    titles = [
        fold(phrase)
        for definition in DEFINITIONS.values()
        for phrases in definition.words.titles.values()
        for phrase in phrases
    ]
    whole = alternatives(phrase for phrase in titles if not phrase.startswith("-"))
    endings = alternatives(phrase[1:] for phrase in titles if phrase.startswith("-"))
    return re.compile(rf"(?:{whole})\b|\w+(?:{endings})\b")


@cache
def _salutation() -> re.Pattern[str]:
    groups = (definition.words.phrases.get("salutation", {}) for definition in DEFINITIONS.values())
    phrases = (phrase for group in groups for of_language in group.values() for phrase in of_language)
    return re.compile(rf"(?:{alternatives(fold(phrase.removeprefix('^')) for phrase in phrases)})\b")
