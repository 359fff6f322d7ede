"""Parties on one line, `Name, street, ZIP town`, with or without a label, and the text after an address."""

import re

from docmill.understanding.constraints.address_features import has_postcode
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import LABELS, WRITERS, Label
from docmill.understanding.page.layout import Span
from docmill.understanding.vocabulary import Concept

_COMMA = re.compile(r",\s+")
_HAS_NUMBER = re.compile(r"\d")
_STREET_AND_TOWN = re.compile(r"\d{1,4}[A-Za-z]? [^\W\d_][^,]+,\s*[^\W\d_]")
"""`9 Abbey Walk, Bath`, an address without a postcode."""
_TOWN_OF_STATE = re.compile(
    r"[^\W\d_][^\d,]{1,30},\s*[A-Z]{2}\.?,?\s+\d{5}(?:-\d{4})?(?:,\s*[^\W\d_][\w .]{1,30})?"
)
_NOTE = re.compile(r"\s*\([^()]{1,30}\)(?=\s*:)")
_WORDS_BEFORE_NOTE = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,3}(?=\s*\()")
_PHONE_TAIL = re.compile(r"\s*[,;·|]?\s+(?:\+\d|\(\d{2,5}\)\s?)[\d\s()./-]{5,}$")
_LABELS_BEHIND = frozenset(
    {Concept.VAT_NUMBER, Concept.TAX_NUMBER, Concept.PHONE, Concept.REGISTRATION_NUMBER, Concept.IBAN}
)


def with_note(text: str, label: Label[Concept]) -> Label[Concept]:
    """A label with the note in brackets after it: `Customer (issuer):`.

    Of `Issued by (customer):` the note says which party it is.
    """
    note = _NOTE.match(text, label.stop)
    if note is None:
        return label
    meant = next(iter(LABELS.find(note[0])), label)
    is_writer = any(writer.start == label.start for writer in WRITERS.find(text))
    return label._replace(stop=note.end(), meanings=meant.meanings if is_writer else label.meanings)


def label_in_note(text: str) -> Label[Concept] | None:
    """The label that a note in brackets adds to other words: `On behalf of (supplier):`."""
    words = _WORDS_BEFORE_NOTE.match(text)
    note = _NOTE.match(text, words.end()) if words else None
    labels = LABELS.find(note[0]) if note else []
    if note is None or len(labels) != 1:
        return None
    return labels[0]._replace(start=0, stop=note.end())


def is_town_of_state(text: str) -> bool:
    """True for a line that is a town of the United States and no name: `Seattle, WA 98109-5210, US`."""
    return _TOWN_OF_STATE.fullmatch(text.strip(" .,")) is not None


def split_at_address(name: Span) -> tuple[Span, Span] | None:
    """The name and the address on one line; None if the line does not have both."""
    text = name.segment.text
    if is_town_of_state(name.text):
        return None
    comma = _COMMA.search(text, name.start, name.stop)
    if comma is None or comma.start() - name.start < 3:  # noqa: PLR2004 - the shortest name
        return None
    first, rest = text[name.start : comma.start()], text[comma.end() : name.stop]
    if (
        not (has_postcode(rest) or _STREET_AND_TOWN.match(rest))
        or _HAS_NUMBER.search(first)
        or not any(map(str.isalpha, rest))
    ):
        return None
    return Span(name.segment, name.start, comma.start()), Span(name.segment, comma.end(), name.stop)


def without_tail(span: Span, candidates: Candidates) -> Span:
    """A line of an address without identifiers and telephone numbers after the town."""
    text = span.text
    stops = [
        label.start - span.start
        for label in candidates.labels(span.segment)
        if label.start > span.start and _LABELS_BEHIND.intersection(label.meanings)
    ]
    for found in (*candidates.vat_ids, *candidates.doubtful_vat_ids):
        stops += [
            other.start - span.start
            for other in found.spans
            if other.segment.index == span.segment.index and other.start > span.start
        ]
    phone = _PHONE_TAIL.search(text)
    if phone is not None:
        stops.append(phone.start())
    stops = [stop for stop in stops if stop > 0]
    stop = next((stop for stop in sorted(stops) if has_postcode(text[:stop])), len(text))
    for label in candidates.labels(span.segment) if stop < len(text) else ():
        at = label.start - span.start
        if (
            label.quality == 1
            and 0 < at < stop
            and not any(map(str.isalnum, text[label.stop - span.start : stop]))
        ):
            stop = at  # of the identifier behind it, as in `BTW NL...`
            break
    return Span(span.segment, span.start, span.start + len(text[:stop].rstrip(" ,;·|(-:")))
