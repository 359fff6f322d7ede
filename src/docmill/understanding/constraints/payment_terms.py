"""The terms of payment as they are printed (BT-20 of EN 16931): `30 Tage netto`, `Net 30`."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.labels import METHODS, PAYMENT_CLAUSES, PAYMENT_LABELS
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.page.terms import (
    begins_with_payment,
    find_terms,
    names_last_day,
    says_settled,
    speaks_of_other_terms,
)

LABELLED, UNLABELLED = 0.95, 0.8
"""Confidence in a clause behind a label, and in one without."""
_LONGEST, _LONGEST_UNLABELLED = 250, 160
"""Characters of a clause; more are general terms."""
_MOST_LINES = 4
_MOST_PLACES = 50
"""More of one kind than any invoice has; a hostile page must not cost minutes."""
_NEAR_LINES = 4.0
"""Text heights between a label and the clause below it."""
_GAP = 0.9
"""Text heights between the lines of one paragraph."""
_ALIGNED = 0.012
"""Fractions of the page's width between the left edges of lines that belong together."""
_WIDE = 0.35
"""Share of the page's width from which a line may have been broken because it was full."""
_FOOTER = 0.94
_SMALL_PRINT = 0.8
"""Share of a page's text height below which a line is small print."""
_PROSE_LINE, _PROSE = 60, 2500
"""A page with this many characters in lines longer than that is prose, such as general terms."""
_COLON_WITHIN = 40
_CUT_OFF = re.compile(r"(?:[,;:(+&/\u2013-]|,\s*\d{1,3}\s?%?)$")
_NUMBERED = re.compile(r"§|\(?\d{1,2}[.)]\s")
"""The beginning of a paragraph of general terms."""
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?])\s+|(?<=\d[.!?])\s+(?=[A-ZÀ-Þ])")
_MARKS = " \t:.;,*-\u2013\u2022\u00b7|"

_Clause = tuple[Span, ...]


def payment_terms(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """The clause behind a label, or else a sentence that is nothing but terms; none where two differ."""
    for clauses, probability in ((_labelled(candidates), LABELLED), (_unlabelled(candidates), UNLABELLED)):
        found = {letters_and_digits(_text(clause)): clause for clause in clauses}
        longest = max(found, key=len, default="")
        if found:
            if all(other in longest for other in found):
                clause = found[longest]
                yield "payment.terms", Finding(_text(clause), clause, probability)
            return


def _labelled(candidates: Candidates) -> Iterator[_Clause]:
    starts = (
        (sheet, segment, start)
        for sheet in candidates.layout.sheets
        for segment in sheet.segments
        if (start := _after_label(segment.text)) is not None
    )
    for sheet, segment, start in islice(starts, _MOST_PLACES):
        places = _places(sheet, segment, start)
        paragraphs = (_leading(_trimmed(_paragraph(sheet, place))) for place in places)
        clause = next((clause for clause in paragraphs if _is_terms(_text(clause))), None)
        if clause is not None:
            yield clause


def _places(sheet: Sheet, segment: Segment, start: int) -> list[Span]:
    """Where the clause of a label may begin: behind it, else right of it or below it."""
    own = Span(segment, start, len(segment.text))
    if own.text.strip(_MARKS):
        return [own]
    below = [
        other
        for other in sheet.below(segment.box)[:2]
        if other.middle - segment.middle < _NEAR_LINES * sheet.text_height
    ]
    return [Span(other, 0, len(other.text)) for other in [*sheet.right_of(segment)[:1], *below]]


def _leading(paragraph: _Clause) -> _Clause:
    """Its sentences up to the first that speaks of something else, such as arrears."""
    stop = 0
    for sentence in _sentences(paragraph):
        if speaks_of_other_terms(_text(sentence)):
            break
        stop = _text(paragraph).index(_text(sentence), stop) + len(_text(sentence))
    return _cut(paragraph, 0, stop)


def _after_label(text: str) -> int | None:
    """Where the text behind a label of terms at its start begins."""
    label = next(iter(PAYMENT_LABELS.find(text)), None)
    if label is None or "terms" not in label.meanings or text[: label.start].strip(_MARKS):
        return None
    return label.stop + len(text[label.stop :]) - len(text[label.stop :].lstrip(_MARKS))


def _unlabelled(candidates: Candidates) -> Iterator[_Clause]:
    lines = (
        (sheet, segment)
        for sheet in candidates.layout.sheets
        if not _is_prose(sheet)
        for segment in sheet.segments
        if segment.middle <= _FOOTER
        and segment.height >= _SMALL_PRINT * sheet.text_height
        and _may_be_terms(segment.text)
    )
    for sheet, segment in islice(lines, _MOST_PLACES):
        paragraph = _paragraph(sheet, _first_line(sheet, segment))
        if len(paragraph) < _MOST_LINES:
            yield from filter(lambda clause: _is_surely_terms(_text(clause)), _sentences(paragraph))


def _is_prose(sheet: Sheet) -> bool:
    lengths = (len(segment.text) for segment in sheet.segments)
    return sum(length for length in lengths if length > _PROSE_LINE) > _PROSE


def _may_be_terms(text: str) -> bool:
    """Whether it names days to pay, or none at all; `net 12` alone may be a weight."""
    terms = [term for term in find_terms(text) if term.of_payment]
    has_days = any(text[term.start : term.stop].strip("0123456789") for term in terms)
    return has_days or (bool(terms) and "%" in text) or "immediate" in _clauses(text)


def _clauses(text: str) -> frozenset[str]:
    """What phrases that are terms of payment without a number of days are found, as in `PAYMENT_CLAUSES`."""
    found = PAYMENT_CLAUSES.find(text)
    meanings = (meaning for phrase in found if phrase.quality == 1 for meaning in phrase.meanings)
    return frozenset(meanings) & {"immediate", "clause"}


def _is_terms(text: str) -> bool:
    """Whether the text behind a label says when to pay, and is whole."""
    if not text or len(text) > _LONGEST or _NUMBERED.match(text):
        return False
    if _is_cut_off(text) or speaks_of_other_terms(text):
        return False
    return bool(next(find_terms(text), None)) or bool(_clauses(text)) or names_last_day(text)


def _is_surely_terms(text: str) -> bool:
    """The same of a sentence without a label: it begins with payment, not with a means, and it is short."""
    means = METHODS.find(text)
    return (
        len(text) <= _LONGEST_UNLABELLED
        and begins_with_payment(text)
        and not (means and means[0].start == 0)
        and ":" not in text
        and _may_be_terms(text)
        and not says_settled(text)
        and _is_terms(text)
    )


def _is_cut_off(text: str) -> bool:
    """Whether the text ends where no clause does, as the date or the rest stands elsewhere."""
    return _CUT_OFF.search(text.rstrip()) is not None or names_last_day(f"{text} 1") != names_last_day(text)


def _paragraph(sheet: Sheet, first: Span) -> _Clause:
    """A line and those below it that carry on its sentence."""
    lines = [first]
    while len(lines) < _MOST_LINES:
        below = sheet.below(lines[-1].segment.box)[:1]
        if not below or not _goes_on(sheet, lines[-1], below[0]):
            break
        lines.append(Span(below[0], 0, len(below[0].text)))
    return tuple(lines)


def _first_line(sheet: Sheet, segment: Segment) -> Span:
    """The first line of the paragraph in which a segment stands."""
    for _ in range(_MOST_LINES):
        above = sheet.above(segment.box)[:1]
        if not above or not _goes_on(sheet, Span(above[0], 0, len(above[0].text)), segment):
            break
        segment = above[0]
    return Span(segment, 0, len(segment.text))


def _goes_on(sheet: Sheet, line: Span, below: Segment) -> bool:
    """Whether the sentence of a line is carried on by the line below it."""
    segment, text = line.segment, line.text.rstrip()
    left = sheet.page.words.box(*segment.words(line.start, line.stop)).x0
    if min(abs(below.box.x0 - left), abs(below.box.x0 - segment.box.x0)) > _ALIGNED:
        return False
    if below.box.y0 - segment.box.y1 > _GAP * segment.height or text.endswith((".", "!", "?", ":")):
        return False
    if ":" in below.text[:_COLON_WITHIN] or _begins_with_label(below.text) or sheet.left_of(below):
        return False
    if below.text[:1].islower() or _is_cut_off(text):
        return True
    if segment.box.x1 - segment.box.x0 < _WIDE or sheet.right_of(below):
        return False
    word = sheet.page.words.box(below.start, below.start + 1)
    ends = [other.box.x1 for other in sheet.segments if abs(other.box.x0 - segment.box.x0) < _ALIGNED]
    return segment.box.x1 + (word.x1 - word.x0) > max(ends)


def _begins_with_label(text: str) -> bool:
    labels = PAYMENT_LABELS.find(text)
    return bool(labels) and not text[: labels[0].start].strip(_MARKS)


def _sentences(paragraph: _Clause) -> Iterator[_Clause]:
    text = _text(paragraph)
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    for start, stop in zip([0, *ends], [*ends, len(text)], strict=True):
        yield _trimmed(_cut(paragraph, start, stop))


def _cut(paragraph: _Clause, start: int, stop: int) -> _Clause:
    """The characters `start` to `stop` of a paragraph's text."""
    spans: list[Span] = []
    begin = 0
    for span in paragraph:
        first, last = max(start, begin), min(stop, begin + len(span.text))
        if first < last:
            spans.append(Span(span.segment, span.start + first - begin, span.start + last - begin))
        begin += len(span.text) + 1
    return tuple(spans)


def _trimmed(clause: _Clause) -> _Clause:
    """Without marks and spaces at its ends; the full stop of a sentence stays."""
    text = _text(clause)
    start = len(text) - len(text.lstrip(_MARKS))
    return _cut(clause, start, len(text.rstrip(_MARKS.replace(".", ""))))


def _text(clause: Sequence[Span]) -> str:
    return " ".join(span.text for span in clause)
