"""Parties in forms: a heading such as `Seller`, and below it lines such as `Name: ...`, `Address: ...`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import NAMES, SALUTATIONS
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.folding import tokens
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
    """What is written below a party's heading. pairs: whether labels with values stand there."""

    name: Span | None
    address: tuple[Span, ...]
    number: Span | None
    pairs: bool


class _Line(NamedTuple):
    """A line of a form. label: of its pair, empty if it is none; value: the rest of it."""

    label: str
    value: Span | None


def is_pair(text: str) -> bool:
    """Whether a text is a label with a colon, alone or before its value."""
    return _PAIR.match(text) is not None


def is_salutation(text: str) -> bool:
    """Whether a line stands before a name and is not of it, such as `Herrn`."""
    found = SALUTATIONS.find(text)
    return len(found) == 1 and found[0].start == 0 and not any(map(str.isalnum, text[found[0].stop :]))


def form(candidates: Candidates, sheet: Sheet, heading: Segment, others: Sequence[Segment]) -> Form:
    """The form below a heading. others: the headings of other parties, where it ends."""
    lines = list(_lines(sheet, heading, others))
    name: Span | None = None
    number: Span | None = None
    address: list[Span] = []
    in_address = False
    for line in lines:
        if line.value is None:
            continue
        if not line.label:
            in_address = in_address and _is_below(line.value, address)
            if in_address:
                address.append(line.value)
            elif name is None and not is_salutation(line.value.text) and _is_flush(line.value, heading):
                name = line.value
            continue
        in_address = _speaks(candidates, line.label, Concept.ADDRESS)
        if in_address:
            address.append(line.value)
        elif name is None and is_name_label(line.label):
            name = line.value
        elif number is None and _is_number(candidates, line.label):
            number = _until_next_pair(line.value)
    return Form(name, tuple(address), number, any(line.label for line in lines))


def _is_below(value: Span, address: Sequence[Span]) -> bool:
    """Whether a line goes on with an address: it begins where that begins."""
    return abs(value.segment.box.x0 - address[0].segment.box.x0) < _BESIDE


def _is_flush(value: Span, heading: Segment) -> bool:
    """Whether a line begins below its heading, and not where the values of pairs stand."""
    return value.segment.box.x0 - heading.box.x0 < _FLUSH


def _lines(sheet: Sheet, heading: Segment, others: Sequence[Segment]) -> Iterator[_Line]:
    """The lines below a heading, up to the next or a gap."""
    right = min(
        (one.box.x0 for one in others if one.line == heading.line and one.box.x0 > heading.box.x1),
        default=1.0,
    )
    stop = min(
        (one.middle for one in others if one.middle > heading.middle + heading.height / 2), default=1.0
    )
    rows: dict[int, list[Segment]] = {}
    for segment in sheet.segments:
        across = heading.box.x0 - _INDENT <= segment.box.x0 < right - _BESIDE
        if across and heading.middle + heading.height / 2 < segment.middle < stop:
            rows.setdefault(segment.line, []).append(segment)
    bottom = heading.box.y1
    for row in list(_below_heading(heading, rows.values()))[:_MOST_LINES]:
        if row[0].box.y0 - bottom > _GAP * sheet.text_height:
            return
        bottom = max(segment.box.y1 for segment in row)
        yield _line(row)


def _below_heading(heading: Segment, rows: Iterable[list[Segment]]) -> Iterator[list[Segment]]:
    """The rows that begin below the heading or go on with a value: others are of another column."""
    columns = [heading.box.x0]
    for row in sorted(rows, key=lambda one: one[0].middle):
        row.sort(key=lambda one: one.box.x0)
        if row[0].box.x0 - heading.box.x0 < _FLUSH:
            columns.extend(segment.box.x0 for segment in row[1:2])
            yield row
        elif any(abs(row[0].box.x0 - column) < _BESIDE for column in columns):
            yield row


def _line(row: Sequence[Segment]) -> _Line:
    first = row[0]
    if len(row) > 1 and row[1].text.startswith(":"):
        start = len(row[1].text) - len(row[1].text.lstrip(": "))
        return _Line(first.text, Span(row[1], start, len(row[1].text)))
    match = _PAIR.match(first.text)
    if match is None:
        return _Line("", Span(first, 0, len(first.text)))
    if match.end() < len(first.text):
        return _Line(match[1], Span(first, match.end(), len(first.text)))
    value = Span(row[1], 0, len(row[1].text)) if len(row) > 1 else None
    return _Line(match[1], value)


def _until_next_pair(value: Span) -> Span:
    """A value without the next label and its value, as in `ID: 4711 - GLN: 98765`."""
    match = _NEXT_PAIR.search(value.text)
    return value if match is None else value._replace(stop=value.start + match.start())


def is_name_label(text: str) -> bool:
    """Whether a text says that a name follows, and not whose."""
    found = NAMES.find(text)
    return bool(found) and found[0].start == 0 and not any(map(str.isalnum, text[found[0].stop :]))


def _is_number(candidates: Candidates, label: str) -> bool:
    """Whether a label says no more than that a number follows, or that it is the customer's."""
    words = [token.text for token in tokens(label)]
    alone = bool(words) and all(word in NUMBER_WORDS for word in words)
    return alone or _speaks(candidates, label, Concept.CUSTOMER_NUMBER)


def _speaks(candidates: Candidates, label: str, concept: Concept) -> bool:
    return any(concept in one.meanings for one in candidates.labels_of(label))
