"""How a document is or was paid (BT-81 of EN 16931), as the code of UNTDID 4461 that e-invoices use."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

from docmill.model.result import DocumentType
from docmill.schemas.document_types import DEFINITIONS
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.labels import METHODS, PAYMENT_LABELS, PAYMENT_PHRASES, Label
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.page.terms import is_conditional
from docmill.understanding.text.money import find_amounts

LABELLED, STATED, TENDERED, ALONE = 0.95, 0.85, 0.85, 0.7
"""Confidence in a means behind a label, in a sentence, beside an amount at a till, alone below the total."""
_GENERAL: Mapping[str, str] = {"58": "30", "59": "49", "54": "48", "55": "48"}
"""SEPA credit transfer, SEPA direct debit, credit card and debit card, with what they are a kind of."""
_TRANSFER, _DIRECT_DEBIT, _CARD = "30", "49", "48"
_NEAR_LINES = 3.0
"""Text heights between a label and the means below it."""
_MOST_PLACES = 50
"""More labels than any invoice has; a hostile page must not cost minutes."""
_MOST_WORDS = 6
"""Words behind a label beside the means itself; more are a sentence about something else."""
_PAID_WITHIN = 3
"""Words between `paid by` and the means."""
_CENT, _CASH_ROUNDING = Decimal("0.01"), Decimal("0.05")
_MARKS = " \t:.;,*-\u2013\u2022\u00b7|"
_WORD = re.compile(r"[^\W\d_]{2,}")
_CURRENCY_OR_MASK = re.compile(
    r"(?<![^\W\d_])(?:eur|euro|usd|chf|gbp|myr|sgd|rm|x+)(?![^\W\d_])", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?])\s+")


class _Means(NamedTuple):
    """A means of payment by its code, and where the page names it."""

    code: str
    span: Span
    quality: float

    @property
    def kind(self) -> str:
        """The code that all means of its kind share."""
        return _GENERAL.get(self.code, self.code)


def payment_method(
    candidates: Candidates, document_type: DocumentType, total: Finding | None
) -> Iterator[tuple[str, Finding]]:
    """The means that the document says it is or was paid by; none where it names several.

    total: the gross total.
    """
    if DEFINITIONS[document_type].line_items == "till":
        lines = _tendered(candidates, total)
        ranking = [
            (_labelled(candidates, document_type), LABELLED),
            (lines, TENDERED),
            (_below_total(candidates, total), ALONE),
        ]
    else:
        lines = []
        ranking = [(_labelled(candidates, document_type), LABELLED), (_stated(candidates), STATED)]
    for found, probability in ranking:
        named = list(found)
        if named:
            chosen = _agreed([*named, *lines])
            if chosen is not None:
                yield "payment.method", Finding(chosen.code, (chosen.span,), probability * chosen.quality)
            return


def _agreed(named: Sequence[_Means]) -> _Means | None:
    """The most special of means of one kind; None if they are of several kinds."""
    if len({means.kind for means in named}) > 1:
        return None
    special = [means for means in named if means.code in _GENERAL]
    if len({means.code for means in special}) > 1:
        return named[0]._replace(code=_GENERAL[special[0].code])
    return (special or named)[0]


def _labelled(candidates: Candidates, document_type: DocumentType) -> Iterator[_Means]:
    """The means right behind a label, right of it or right below it; all of them where it names several."""
    labelled = (
        (sheet, segment, labels[0])
        for sheet in candidates.layout.sheets
        for segment in sheet.segments
        if (labels := PAYMENT_LABELS.find(segment.text))
        and _introduces_means(segment.text, labels[0], document_type)
    )
    for sheet, segment, label in islice(labelled, _MOST_PLACES):
        own = Span(segment, label.stop, len(segment.text))
        places = [own] if own.text.strip(_MARKS) else _beside(sheet, segment)
        yield from next((means for means in map(_named, places) if means), list[_Means]())


def _introduces_means(text: str, label: Label[str], document_type: DocumentType) -> bool:
    """Whether the label stands first; a misspelt one may be a plural such as `payment methods`.

    Words such as `payment` are a label alone, before a colon, and on receipts, which have no sentences.
    """
    if label.quality < 1 or text[: label.start].strip(_MARKS):
        return False
    is_alone = text[label.stop :].lstrip()[:1] in ("", ":")
    is_generic = "generic" in label.meanings and (is_alone or DEFINITIONS[document_type].line_items == "till")
    return "method" in label.meanings or is_generic


def _beside(sheet: Sheet, segment: Segment) -> list[Span]:
    """What stands right of a label, a lone colon left aside, and right below it."""
    right = [other for other in sheet.right_of(segment)[:2] if other.text.strip(_MARKS)]
    below = [
        other
        for other in sheet.below(segment.box)[:1]
        if other.middle - segment.middle < _NEAR_LINES * sheet.text_height
    ]
    return [Span(other, 0, len(other.text)) for other in [*right[:1], *below]]


def _named(place: Span) -> list[_Means]:
    """The means that a short text names."""
    means = _clear(place)
    if len(_WORD.findall(place.text)) > _MOST_WORDS + sum(len(method.span.text.split()) for method in means):
        return []
    return means


def _means(place: Span) -> list[_Means]:
    return [_at(place, label) for label in METHODS.find(place.text)]


def _clear(place: Span) -> list[_Means]:
    """The means but those misspelt: a plural such as `cards` is a list of what is accepted."""
    return [means for means in _means(place) if means.quality == 1]


def _at(place: Span, label: Label[str]) -> _Means:
    span = Span(place.segment, place.start + label.start, place.start + label.stop)
    return _Means(label.meanings[0], span, label.quality)


def _stated(candidates: Candidates) -> Iterator[_Means]:
    """The means in sentences that say that it was paid, is collected, or is to be transferred.

    All of the document's where another part of it names another: then there is a choice.
    """
    stated = list(_in_sentences(candidates))
    if not stated:
        return
    yield from stated
    for segment in candidates.layout.segments:
        yield from _clear(Span(segment, 0, len(segment.text)))


def _in_sentences(candidates: Candidates) -> Iterator[_Means]:
    for segment in candidates.layout.segments:
        phrases = [phrase for phrase in PAYMENT_PHRASES.find(segment.text) if phrase.quality == 1]
        if not phrases:
            continue
        for start, stop in _sentences(segment.text):
            if is_conditional(segment.text[start:stop], candidates.conventions.language):
                continue
            inside = [phrase for phrase in phrases if start <= phrase.start < stop]
            yield from _said(Span(segment, start, stop), inside)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    return zip([0, *ends], [*ends, len(text)], strict=True)


def _said(sentence: Span, phrases: Sequence[Label[str]]) -> Iterator[_Means]:
    means = _clear(sentence)
    for phrase in phrases:
        span = Span(sentence.segment, phrase.start, phrase.stop)
        if "transfer" in phrase.meanings:
            yield from means or [_Means(_TRANSFER, span, phrase.quality)]
        if "collected" in phrase.meanings:
            yield from (method for method in means if method.kind in (_DIRECT_DEBIT, _CARD))
        if "paid" in phrase.meanings:
            text = sentence.segment.text
            yield from (method for method in means if _follows(text, phrase.stop, method.span))


def _follows(text: str, start: int, span: Span) -> bool:
    return start <= span.start and len(text[start : span.start].split()) <= _PAID_WITHIN


def _tendered(candidates: Candidates, total: Finding | None) -> list[_Means]:
    """What was handed over at a till: lines such as `CASH 50.00`, without other words.

    Less than the total is a part of it, whose rest was paid in another way.
    """
    least = total.value - _CASH_ROUNDING if total is not None and isinstance(total.value, Decimal) else _CENT
    return [
        means
        for sheet in candidates.layout.sheets
        for segment in sheet.segments
        for means in _only_means(segment)
        if any(abs(amount) >= max(least, _CENT) for amount in _amounts(candidates, sheet, segment))
    ]


def _below_total(candidates: Candidates, total: Finding | None) -> list[_Means]:
    """The only line below the total that names one means and nothing else, as card slips have it."""
    if total is None or not total.spans:
        return []
    above = total.spans[0].segment
    sheet = candidates.layout.sheet(above)
    alone = [
        _only_means(segment)
        for segment in sheet.segments
        if segment.middle > above.middle and not sheet.left_of(segment) and not sheet.right_of(segment)
    ]
    lines = [means for means in alone if means]
    return lines[0] if len(lines) == 1 and len(lines[0]) == 1 else []


def _only_means(segment: Segment) -> list[_Means]:
    """The means of a text that has no other words."""
    means = _means(Span(segment, 0, len(segment.text)))
    rest = segment.text
    for method in reversed(means):
        rest = f"{rest[: method.span.start]} {rest[method.span.stop :]}"
    return means if means and not _has_words(rest) else []


def _has_words(text: str) -> bool:
    return _WORD.search(_CURRENCY_OR_MASK.sub(" ", text)) is not None


def _amounts(candidates: Candidates, sheet: Sheet, segment: Segment) -> Iterator[Decimal]:
    """The amounts on the line of a means, if there are only amounts."""
    mark = candidates.conventions.mark
    texts = [other.text for other in sheet.right_of(segment)]
    if any(map(_has_words, texts)):
        return
    for text in (segment.text, *texts):
        for amount in find_amounts(text, misread=sheet.page.source == "ocr"):
            if not amount.percent and (amount.has_cents or amount.currency):
                yield amount.value(mark)
