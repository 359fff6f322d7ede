"""Parties in forms: a heading such as `Seller` with lines such as `Name: ...` and `Address: ...` below it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import (
    DEPARTMENTS,
    LABELS,
    NAMES,
    PARTIES,
    SALUTATIONS,
    Label,
    Phrases,
)
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.folding import token_texts
from docmill.understanding.vocabulary import NUMBER_WORDS, Concept

_LABEL = re.compile(r"^\W*((?:[^\s:]+\s+){0,4}[^\s:]*[^\W\d_][^\s:]*)\s?:(?!//)\s*")
"""A label of at most five words and a colon."""
_NEXT_LABEL = re.compile(r"(?:\s+[-\u2013/|]|[,;])\s+[^\W\d_][^:]{1,30}:")
"""A further label on the same line, as in `ID: 4711 - GLN: 98765`."""
_MOST_LINES = 10
_GAP = 3.5
"""Largest gap between two lines of a form, in text heights."""
_INDENT = 0.04
"""Largest distance, in page widths, by which a form may begin left of its heading."""
_COLUMN_TOLERANCE = 0.02
"""Left edges that differ less, in page widths, are of one column."""
_WRAPPED = 0.6
"""Largest gap between the lines of a wrapped name, in heights of the line."""
_FIELDS = frozenset(
    {Concept.ADDRESS, Concept.CUSTOMER_NUMBER, Concept.VAT_NUMBER, Concept.TAX_NUMBER, Concept.PHONE}
)
"""Labels of a party's form that may stand without a colon."""
_HEADING_COLUMN = 0.1
"""A line that begins less than this right of the heading, in page widths, is in the form's first column."""


class Form(NamedTuple):
    """The values below the heading of a party. has_labels: True if any of its lines has a label."""

    name: tuple[Span, ...]
    address: tuple[Span, ...]
    customer_number: Span | None
    has_labels: bool


def is_pair(text: str) -> bool:
    """True if a text is a label with a colon, alone or before its value."""
    return _LABEL.match(text) is not None


def is_salutation(text: str) -> bool:
    """True if a line is only a form of address, such as `Herrn`; the name is on the next line."""
    return len(SALUTATIONS.find(text)) == 1 and _is_only(SALUTATIONS, text)


def starts_with_salutation(text: str) -> bool:
    """True if a form of address begins a text, as in `Frau Eva Klein`: a letter's addressee."""
    return any(label.start == 0 and label.stop < len(text) for label in SALUTATIONS.find(text)[:1])


def is_name_label(text: str) -> bool:
    """True if a text is a label for any party's name, such as `Name`."""
    return _is_only(NAMES, text)


def is_attention(text: str) -> bool:
    """True if a line names the person at a firm whom a letter is for, as in `c/o Jane Doe`."""
    return any(label.start <= 1 and "attention" in label.meanings for label in PARTIES.find(text)[:1])


def is_department(text: str) -> bool:
    """True if a text is a part of a firm and no name, such as `Accounts Payable`."""
    return _is_only(DEPARTMENTS, text)


def find_aside_label(text: str) -> Label[str] | None:
    """Find the label of a party that is neither seller nor buyer, alone or before a colon."""
    label = next(iter(PARTIES.find(text)), None)
    if label is None or label.start > 1 or "attention" in label.meanings:
        return None
    rest = text[label.stop :].lstrip(" )")
    return label if not any(map(str.isalnum, rest)) or rest.startswith(":") else None


def _is_only(phrases: Phrases[str], text: str) -> bool:
    """True if a text is one of the phrases and nothing else."""
    first = next(iter(phrases.find(text)), None)
    return first is not None and first.start == 0 and not any(map(str.isalnum, text[first.stop :]))


@dataclass
class _FormReader:
    """The values of a form so far. open: the value that a line without a label continues."""

    heading: Segment
    name: list[Span] = field(default_factory=list[Span])
    address: list[Span] = field(default_factory=list[Span])
    number: Span | None = None
    open: list[Span] | None = None
    before: Span | None = None

    def read(self, candidates: Candidates, label: str, value: Span) -> None:
        """Read one line."""
        if not label:
            self._read_unlabelled(value)
            return
        meanings = {
            meaning for label_in_it in candidates.labels_of(label) for meaning in label_in_it.meanings
        }
        words = token_texts(label)
        self.open = None
        if Concept.ADDRESS in meanings:
            self.address.append(value)
            self.open = self.address
        elif not self.name and is_name_label(label):
            # The label of a wrapped name may stand beside its last line.
            before = self.before
            self.name = [before, value] if before is not None and _is_wrapped(before, value) else [value]
            self.open = self.name
        elif self.number is None and (
            Concept.CUSTOMER_NUMBER in meanings or (words and NUMBER_WORDS.issuperset(words))
        ):
            # The value ends before a further label on the same line.
            match = _NEXT_LABEL.search(value.text)
            self.number = value._replace(stop=value.start + match.start()) if match else value
        self.before = None

    def _read_unlabelled(self, value: Span) -> None:
        """Read a line without a label, which continues a value if their left edges match."""
        if self.open is not None and not _is_flush(self.open[0], value):
            self.open = None
        is_first_column = value.segment.box.x0 - self.heading.box.x0 < _HEADING_COLUMN
        if self.open is not None:
            if self.open is self.address or _is_wrapped(self.open[-1], value):
                self.open.append(value)
        elif not self.name and is_first_column and _may_be_name(value.text):
            self.name = [value]
        elif not is_salutation(value.text):
            self.before = value


def _may_be_name(text: str) -> bool:
    """True if a line is no salutation and has more letters than digits, as identifiers have not."""
    return not is_salutation(text) and sum(map(str.isalpha, text)) > sum(map(str.isdecimal, text))


def _is_flush(first: Span, other: Span) -> bool:
    return abs(other.segment.box.x0 - first.segment.box.x0) < _COLUMN_TOLERANCE


def _is_wrapped(first: Span, other: Span) -> bool:
    """True if two values stand flush, one right below the other."""
    gap = other.segment.box.y0 - first.segment.box.y1
    return _is_flush(first, other) and gap < _WRAPPED * first.segment.height


def read_form(candidates: Candidates, sheet: Sheet, heading: Segment, others: Sequence[Segment]) -> Form:
    """Read the form below a heading. others: the headings of other parties, at which it ends."""
    lines = list(_read_lines(sheet, heading, others))
    reader = _FormReader(heading)
    for label, value in lines:
        if value is not None:
            reader.read(candidates, label, value)
    return Form(tuple(reader.name), tuple(reader.address), reader.number, any(label for label, _ in lines))


def _read_lines(
    sheet: Sheet, heading: Segment, others: Sequence[Segment]
) -> Iterator[tuple[str, Span | None]]:
    """Yield the label and the value of each line below a heading, up to the next heading or a gap.

    The label is empty if the line has none. Lines that begin neither below the heading nor in the column of
    the values are of another part of the page.
    """
    bottom = heading.middle + heading.height / 2
    edges = [other.box.x0 for other in others if other.line == heading.line and other.box.x0 > heading.box.x1]
    right = min(edges, default=1.0)
    stop = min((other.middle for other in others if other.middle > bottom), default=1.0)
    rows: dict[int, list[Segment]] = {}
    for segment in sheet.segments:
        across = heading.box.x0 - _INDENT <= segment.box.x0 < right - _COLUMN_TOLERANCE
        if across and bottom < segment.middle < stop:
            rows.setdefault(segment.line, []).append(segment)
    columns = [heading.box.x0]
    last = heading.box.y1
    count = 0
    for row in sorted(rows.values(), key=lambda row: row[0].middle):
        row.sort(key=lambda segment: segment.box.x0)
        if row[0].box.x0 - heading.box.x0 < _HEADING_COLUMN:
            columns.extend(segment.box.x0 for segment in row[1:2])
        elif not any(abs(row[0].box.x0 - column) < _COLUMN_TOLERANCE for column in columns):
            continue
        count += 1
        if count > _MOST_LINES or row[0].box.y0 - last > _GAP * sheet.text_height:
            return
        last = max(segment.box.y1 for segment in row)
        yield _read_line(row)


def _read_line(row: Sequence[Segment]) -> tuple[str, Span | None]:
    first, text = row[0], row[0].text
    if len(row) > 1 and row[1].text.startswith(":"):
        start = len(row[1].text) - len(row[1].text.lstrip(": "))
        return text, Span(row[1], start, len(row[1].text))
    match = _LABEL.match(text)
    if match is None and len(row) > 1 and _is_field_label(text):
        return text, Span(row[1], 0, len(row[1].text))
    if match is None:
        return "", Span(first, 0, len(text))
    if match.end() < len(text):
        return match[1], Span(first, match.end(), len(text))
    return match[1], Span(row[1], 0, len(row[1].text)) if len(row) > 1 else None


def _is_field_label(text: str) -> bool:
    """True if a text without a colon is the label of a name or an address and nothing else."""
    if is_name_label(text):
        return True
    labels = LABELS.find(text)
    return (
        len(labels) == 1
        and labels[0].start == 0
        and labels[0].stop == len(text.rstrip())
        and not _FIELDS.isdisjoint(labels[0].meanings)
    )
