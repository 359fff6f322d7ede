"""Parties in forms: a heading such as `Seller`, and below it lines such as `Name: ...`, `Address: ...`."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import NAMES, SALUTATIONS, Phrases
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.folding import token_texts
from docmill.understanding.vocabulary import NUMBER_WORDS, Concept

_PAIR = re.compile(r"^\W*((?:[^\s:]+\s+){0,4}[^\s:]*[^\W\d_][^\s:]*)\s?:(?!//)\s*")
"""A label of at most five words and a colon."""
_NEXT_PAIR = re.compile(r"(?:\s+[-\u2013/|]|[,;])\s+[^\W\d_][^:]{1,30}:")
_MOST_LINES = 10
_GAP = 3.0
"""Text heights between two lines of one form."""
_INDENT = 0.04
"""How far left of its heading, in page widths, a form may begin."""
_BESIDE = 0.02
_FLUSH = 0.1


class Form(NamedTuple):
    """The values below a party's heading. pairs: labels with values stand there."""

    name: Span | None
    address: tuple[Span, ...]
    number: Span | None
    pairs: bool


def is_pair(text: str) -> bool:
    """True if a text is a label with a colon, alone or before its value."""
    return _PAIR.match(text) is not None


def is_salutation(text: str) -> bool:
    """True if a line stands before a name and is not of it, such as `Herrn`."""
    return len(SALUTATIONS.find(text)) == 1 and _is_only(SALUTATIONS, text)


def is_name_label(text: str) -> bool:
    """True if a text says that a name follows, and not whose."""
    return _is_only(NAMES, text)


def _is_only(phrases: Phrases[str], text: str) -> bool:
    """True if a text is one of the phrases and nothing behind it."""
    first = next(iter(phrases.find(text)), None)
    return first is not None and first.start == 0 and not any(map(str.isalnum, text[first.stop :]))


def read_form(candidates: Candidates, sheet: Sheet, heading: Segment, others: Sequence[Segment]) -> Form:
    """The form below a heading. others: the headings of other parties, where it ends."""
    name: Span | None = None
    number: Span | None = None
    address: list[Span] = []
    in_address = False
    pairs = list(_pairs(sheet, heading, others))
    for label, value in pairs:
        if value is None:
            continue
        if not label:
            # A line goes on with an address where it begins where that begins.
            in_address = in_address and abs(value.segment.box.x0 - address[0].segment.box.x0) < _BESIDE
            is_flush = value.segment.box.x0 - heading.box.x0 < _FLUSH
            if in_address:
                address.append(value)
            elif name is None and is_flush and not is_salutation(value.text):
                name = value
            continue
        meanings = {
            meaning for label_in_it in candidates.labels_of(label) for meaning in label_in_it.meanings
        }
        words = token_texts(label)
        in_address = Concept.ADDRESS in meanings
        if in_address:
            address.append(value)
        elif name is None and is_name_label(label):
            name = value
        elif number is None and (
            Concept.CUSTOMER_NUMBER in meanings or (words and NUMBER_WORDS.issuperset(words))
        ):
            # Without the next label and its value, as in `ID: 4711 - GLN: 98765`.
            match = _NEXT_PAIR.search(value.text)
            number = value._replace(stop=value.start + match.start()) if match else value
    return Form(name, tuple(address), number, any(label for label, _ in pairs))


def _pairs(sheet: Sheet, heading: Segment, others: Sequence[Segment]) -> Iterator[tuple[str, Span | None]]:
    """The lines below a heading up to the next or a gap: the label, empty if there is none, and the rest.

    They begin below the heading or go on with a value; others are of another column.
    """
    bottom = heading.middle + heading.height / 2
    beside = [
        other.box.x0 for other in others if other.line == heading.line and other.box.x0 > heading.box.x1
    ]
    right = min(beside, default=1.0)
    stop = min((other.middle for other in others if other.middle > bottom), default=1.0)
    rows: dict[int, list[Segment]] = {}
    for segment in sheet.segments:
        across = heading.box.x0 - _INDENT <= segment.box.x0 < right - _BESIDE
        if across and bottom < segment.middle < stop:
            rows.setdefault(segment.line, []).append(segment)
    columns = [heading.box.x0]
    last = heading.box.y1
    count = 0
    for row in sorted(rows.values(), key=lambda row: row[0].middle):
        row.sort(key=lambda segment: segment.box.x0)
        if row[0].box.x0 - heading.box.x0 < _FLUSH:
            columns.extend(segment.box.x0 for segment in row[1:2])
        elif not any(abs(row[0].box.x0 - column) < _BESIDE for column in columns):
            continue
        count += 1
        if count > _MOST_LINES or row[0].box.y0 - last > _GAP * sheet.text_height:
            return
        last = max(segment.box.y1 for segment in row)
        yield _pair(row)


def _pair(row: Sequence[Segment]) -> tuple[str, Span | None]:
    first, text = row[0], row[0].text
    if len(row) > 1 and row[1].text.startswith(":"):
        start = len(row[1].text) - len(row[1].text.lstrip(": "))
        return text, Span(row[1], start, len(row[1].text))
    match = _PAIR.match(text)
    if match is None:
        return "", Span(first, 0, len(text))
    if match.end() < len(text):
        return match[1], Span(first, match.end(), len(text))
    return match[1], Span(row[1], 0, len(row[1].text)) if len(row) > 1 else None
