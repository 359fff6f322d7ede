"""Terms of payment as printed (BT-20 of EN 16931), such as `30 Tage netto`, and values computed from them."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import islice, pairwise

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.labels import METHODS, PAYMENT_CLAUSES, PAYMENT_LABELS, Label
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.page.terms import (
    begins_with_payment,
    find_terms,
    names_last_day,
    offers_discount,
    says_settled,
    speaks_of_other_terms,
    speaks_of_payment,
)
from docmill.understanding.vocabulary import Concept

LABELLED, UNLABELLED = 0.95, 0.8
"""Confidence in a clause behind a label, and in one without."""
_LONGEST, _LONGEST_UNLABELLED = 250, 160
"""Characters of a clause; more are general terms."""
_MOST_LINES = 4
MOST_PLACES = 50
"""More of one kind than any invoice has; a hostile page must not cost minutes."""
_NEAR_LINES = 4.0
"""Text heights between a label and the clause below it."""
_NEAR_DAYS = 2.6
"""Text heights between a label and the number of days below it."""
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
MARKS = " \t:.;,*-\u2013\u2022\u00b7|"
"""Characters that are stripped from both ends of a clause."""
_COMPUTED = 0.9
"""Confidence in a value that is computed, as a share of that in the value it is computed from."""
_CLEARLY_PAID = 0.5

_Clause = tuple[Span, ...]


def payment_terms(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """The clause after a label, else a sentence that consists of terms; none if two clauses differ."""
    for clauses, probability in ((_labelled(candidates), LABELLED), (_unlabelled(candidates), UNLABELLED)):
        by_letters = {letters_and_digits(_text(clause)): clause for clause in clauses}
        if by_letters:
            longest = max(by_letters, key=len)
            if all(letters in longest for letters in by_letters):
                clause = by_letters[longest]
                yield "payment.terms", Finding(_text(clause), clause, probability)
            return


def leading_payment_label(text: str) -> Label[str] | None:
    """The label of terms or means of payment that a text begins with."""
    label = next(iter(PAYMENT_LABELS.find(text)), None)
    return label if label is not None and not text[: label.start].strip(MARKS) else None


def settlement(candidates: Candidates, findings: Findings) -> Iterator[tuple[str, Finding]]:
    """The amount due and the due date of an invoice, where they are not printed.

    findings: the values printed on the page. Without a word of earlier payments the total is due (BR-CO-16).
    """
    gross = findings.get("gross_total")
    if "amount_due" not in findings and gross is not None and isinstance(gross.value, Decimal):
        paid = {
            abs(amount.value)
            for amount in candidates.amounts
            if amount.clues.get(Concept.PAID, 0) > _CLEARLY_PAID and not amount.plain and amount.value
        }
        due = gross.value - sum(paid)
        may_be_due = not paid or (len(paid) == 1 and sum(paid) < gross.value)
        tax = findings.get("tax_total")
        # What is called a payment may be the net total; and more is due where an old balance is added.
        is_tax = bool(paid) and tax is not None and tax.value == due
        may_be_due = may_be_due and not is_tax and not _is_more_due(candidates, gross.value)
        if may_be_due and not any(says_settled(segment.text) for segment in candidates.layout.segments):
            yield "amount_due", Finding(due, (), gross.probability * _COMPUTED)
    issued = findings.get("issue_date")
    if "due_date" not in findings and issued is not None and isinstance(issued.value, date):
        last_day = max(_days_of_payment(candidates, issued.value), default=None)
        if last_day is not None:
            yield "due_date", Finding(last_day, (), issued.probability * _COMPUTED)


def _is_more_due(candidates: Candidates, gross: Decimal) -> bool:
    """True if an amount due is printed that is more than the total, such as one with a previous balance."""
    return any(
        amount.clues.get(Concept.DUE, 0) > _CLEARLY_PAID and not amount.plain and amount.value > gross
        for amount in candidates.amounts
    )


def _days_of_payment(candidates: Candidates, issued: date) -> Iterator[date]:
    """The days within which to pay, without those for a discount."""
    for segment in candidates.layout.segments:
        for term in find_terms(segment.text):
            if term.otherwise:
                continue
            if not term.of_payment:
                sheet = candidates.layout.sheet(segment)
                near = sheet.left_of(segment)[:1]
                for above in sheet.above(segment.box)[:1]:
                    if segment.middle - above.middle < _NEAR_DAYS * sheet.text_height:
                        near.append(above)
                if not any(speaks_of_payment(label.text) for label in near):
                    continue
            yield term.last_day(issued)


def _labelled(candidates: Candidates) -> Iterator[_Clause]:
    labels = (
        (sheet, segment, label)
        for sheet in candidates.layout.sheets
        for segment in sheet.segments
        if (label := leading_payment_label(segment.text)) and "terms" in label.meanings
    )
    for sheet, segment, label in islice(labels, MOST_PLACES):
        rest = segment.text[label.stop :]
        places = [Span(segment, len(segment.text) - len(rest.lstrip(MARKS)), len(segment.text))]
        if not places[0].text:
            near = sheet.right_of(segment)[:1]
            for below in sheet.below(segment.box)[:2]:
                if below.middle - segment.middle < _NEAR_LINES * sheet.text_height:
                    near.append(below)
            places = [Span(other, 0, len(other.text)) for other in near]
        for place in places:
            paragraph = _paragraph(sheet, place)
            text = _text(paragraph)
            start = end = 0
            for begin, stop in _sentences(text):
                if speaks_of_other_terms(text[begin:stop]):  # arrears, for instance: the clause ends before
                    break
                if end and _is_terms(text[start:end]) and not _are_more_terms(text[begin:stop]):
                    break  # whatever else stands behind it
                start, end = start if end else begin, stop
            if _is_terms(text[start:end]):
                yield _cut(paragraph, start, end)
                break


def _unlabelled(candidates: Candidates) -> Iterator[_Clause]:
    """Short sentences that begin with a word of payment and not with a means of payment."""
    lines = (
        (sheet, segment)
        for sheet in candidates.layout.sheets
        if sum(len(other.text) for other in sheet.segments if len(other.text) > _PROSE_LINE) <= _PROSE
        for segment in sheet.segments
        if segment.middle <= _FOOTER
        and segment.height >= _SMALL_PRINT * sheet.text_height
        and _may_be_terms(segment.text)
    )
    for sheet, segment in islice(lines, MOST_PLACES):
        first = segment
        for _ in range(_MOST_LINES):
            above = next(iter(sheet.above(first.box)), None)
            if above is None or not _goes_on(sheet, Span(above, 0, len(above.text)), first):
                break
            first = above
        paragraph = _paragraph(sheet, Span(first, 0, len(first.text)))
        if len(paragraph) == _MOST_LINES:
            continue
        text = _text(paragraph)
        for start, stop in _sentences(text):
            sentence = text[start:stop]
            means = METHODS.find(sentence)
            if (
                len(sentence) <= _LONGEST_UNLABELLED
                and (begins_with_payment(sentence) or offers_discount(sentence))
                and not (means and means[0].start == 0)
                and ":" not in sentence
                and _may_be_terms(sentence)
                and not says_settled(sentence)
                and _is_terms(sentence)
            ):
                yield _cut(paragraph, start, stop)


def _may_be_terms(text: str) -> bool:
    """True if it says when to pay, or until when with a discount; `net 12` alone may be a weight."""
    terms = [term for term in find_terms(text) if term.of_payment]
    has_days = any(text[term.start : term.stop].strip("0123456789") for term in terms)
    is_discount = offers_discount(text) and names_last_day(text)
    return has_days or is_discount or (bool(terms) and "%" in text) or "immediate" in _clauses(text)


def _clauses(text: str) -> set[str]:
    """The groups of `PAYMENT_CLAUSES` that need no number of days and have a phrase in the text."""
    phrases = (phrase for phrase in PAYMENT_CLAUSES.find(text) if phrase.quality == 1)
    return {meaning for phrase in phrases for meaning in phrase.meanings} & {"immediate", "clause"}


def _is_terms(text: str) -> bool:
    """True if the text behind a label says when to pay, and is whole."""
    if not text or len(text) > _LONGEST or _NUMBERED.match(text):
        return False
    if _is_cut_off(text) or speaks_of_other_terms(text):
        return False
    return bool(next(find_terms(text), None)) or bool(_clauses(text)) or names_last_day(text)


def _are_more_terms(text: str) -> bool:
    """True for a sentence behind terms that adds to them: `Confirm within 3 days.` has days and does not."""
    return _is_terms(text) and (_may_be_terms(text) or begins_with_payment(text) or names_last_day(text))


def _is_cut_off(text: str) -> bool:
    """True if the text ends in the middle of a clause, so that the date or the rest is elsewhere."""
    return _CUT_OFF.search(text.rstrip()) is not None or names_last_day(f"{text} 1") != names_last_day(text)


def _paragraph(sheet: Sheet, first: Span) -> _Clause:
    """A line and those below it that carry on its sentence."""
    lines = [first]
    while len(lines) < _MOST_LINES:
        below = next(iter(sheet.below(lines[-1].segment.box)), None)
        if below is None or not _goes_on(sheet, lines[-1], below):
            break
        lines.append(Span(below, 0, len(below.text)))
    return tuple(lines)


def _goes_on(sheet: Sheet, line: Span, below: Segment) -> bool:
    """True if the sentence of a line is carried on by the line below it."""
    segment, text = line.segment, line.text.rstrip()
    left = sheet.page.words.box(*segment.words(line.start, line.stop)).x0
    if min(abs(below.box.x0 - left), abs(below.box.x0 - segment.box.x0)) > _ALIGNED:
        return False
    if below.box.y0 - segment.box.y1 > _GAP * segment.height or text.endswith((".", "!", "?", ":")):
        return False
    if ":" in below.text[:_COLON_WITHIN] or leading_payment_label(below.text) or sheet.left_of(below):
        return False
    if below.text[:1].islower() or _is_cut_off(text):
        return True
    if segment.box.x1 - segment.box.x0 < _WIDE or sheet.right_of(below):
        return False
    word = sheet.page.words.box(below.start, below.start + 1)
    ends = [other.box.x1 for other in sheet.segments if abs(other.box.x0 - segment.box.x0) < _ALIGNED]
    return segment.box.x1 + (word.x1 - word.x0) > max(ends)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without marks and spaces around it; its full stop stays."""
    for start, stop in pairwise([0, *(match.start() for match in _SENTENCE_END.finditer(text)), len(text)]):
        sentence = text[start:stop]
        begin = start + len(sentence) - len(sentence.lstrip(MARKS))
        end = start + len(sentence.rstrip(MARKS.replace(".", "")))
        if begin < end:
            yield begin, end


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


def _text(clause: Sequence[Span]) -> str:
    return " ".join(span.text for span in clause)
