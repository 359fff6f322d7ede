"""Parties on one line, `Name, street, ZIP town`, with or without a label, and the text after an address."""

import re

from docmill.understanding.constraints.address_features import has_postcode
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Span
from docmill.understanding.vocabulary import Concept

_COMMA = re.compile(r",\s+")
_HAS_NUMBER = re.compile(r"\d")
_STREET_AND_TOWN = re.compile(r"\d{1,4}[A-Za-z]? [^\W\d_][^,]+,\s*[^\W\d_]")
"""`9 Abbey Walk, Bath`, an address without a postcode."""
_NOTE = re.compile(r"\s*\([^()]{1,30}\)(?=\s*:)")
_PHONE_TAIL = re.compile(r"\s*[,;·|]?\s+(?:\+\d|\(\d{2,5}\)\s?)[\d\s()./-]{5,}$")
_LABELS_BEHIND = frozenset(
    {Concept.VAT_NUMBER, Concept.TAX_NUMBER, Concept.PHONE, Concept.REGISTRATION_NUMBER, Concept.IBAN}
)


def label_end(text: str, stop: int) -> int:
    """The end of a label, including a note in brackets after it: `Customer (issuer):`."""
    note = _NOTE.match(text, stop)
    return note.end() if note else stop


def split_at_address(name: Span) -> tuple[Span, Span] | None:
    """The name and the address on one line; None if the line does not have both."""
    text = name.segment.text
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
