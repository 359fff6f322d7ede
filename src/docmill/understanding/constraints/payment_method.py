"""The means of payment (BT-81 of EN 16931), as the code of UNTDID 4461 that e-invoices use."""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice, pairwise
from typing import NamedTuple

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.payment_terms import MARKS, MOST_PLACES, leading_payment_label
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.labels import METHODS, PAYMENT_PHRASES
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.page.terms import is_conditional
from docmill.understanding.text.money import CASH_ROUNDING, CENT, find_amounts, without_currencies

LABELLED, STATED, TENDERED, ALONE = 0.95, 0.85, 0.85, 0.7
"""Confidence in a means behind a label, in a sentence, beside an amount at a till, alone below the total."""
_GENERAL: Mapping[str, str] = {"58": "30", "59": "49", "54": "48", "55": "48"}
"""SEPA credit transfer, SEPA direct debit, credit card and debit card, with the more general means."""
_TRANSFER, _DIRECT_DEBIT, _CARD = "30", "49", "48"
_NEAR_LINES = 3.0
"""Text heights between a label and the means below it."""
_MOST_WORDS = 6
"""Words behind a label beside the means itself; more are a sentence about something else."""
_PAID_WITHIN = 3
"""Words between `paid by` and the means."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_MASK = re.compile(r"(?<![^\W\d_])x+(?![^\W\d_])", re.IGNORECASE)
"""The hidden digits of a card's number."""
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?])\s+")


class _Means(NamedTuple):
    """A means of payment: its code, and the place where it is printed."""

    code: str
    span: Span
    quality: float

    @property
    def general_code(self) -> str:
        """The code that means of the same sort share."""
        return _GENERAL.get(self.code, self.code)


def payment_method(
    candidates: Candidates, document_type: DocumentType, total: Finding | None
) -> Iterator[tuple[str, Finding]]:
    """The means of payment that the document states; none if it names several. total: the gross total."""
    is_till = DEFINITIONS[document_type].line_items == "till"
    tendered = _tendered(candidates, total) if is_till else []
    sources: list[tuple[Iterable[_Means], float]] = [(_labelled(candidates, is_till=is_till), LABELLED)]
    if is_till:
        sources += [(tendered, TENDERED), (_alone_below_total(candidates, total), ALONE)]
    else:
        sources.append((_stated(candidates), STATED))
    for source, probability in sources:
        means = list(source)
        if means:
            named = [*means, *tendered]
            if len({method.general_code for method in named}) == 1:
                chosen = next((method for method in named if method.code in _GENERAL), named[0])
                yield "payment.method", Finding(chosen.code, (chosen.span,), probability * chosen.quality)
            return


def _labelled(candidates: Candidates, *, is_till: bool) -> Iterator[_Means]:
    """Find the means after a label, to its right or below it; all of them if it names several.

    Misspelt labels are not used: `payment methods` is a list of what is accepted.
    """
    labelled = (
        (sheet, segment, label.stop)
        for sheet in candidates.layout.sheets
        for segment in sheet.segments
        if (label := leading_payment_label(segment.text)) and label.quality >= 1
        if "method" in label.meanings
        # Words such as `payment` are a label alone, before a colon, and on receipts, which have no sentences.
        or ("generic" in label.meanings and (is_till or segment.text[label.stop :].lstrip()[:1] in ("", ":")))
    )
    for sheet, segment, stop in islice(labelled, MOST_PLACES):
        places = [Span(segment, stop, len(segment.text))]
        if not places[0].text.strip(MARKS):
            near = [other for other in sheet.right_of(segment)[:2] if other.text.strip(MARKS)][:1]
            for below in sheet.below(segment.box)[:1]:
                if below.middle - segment.middle < _NEAR_LINES * sheet.text_height:
                    near.append(below)
            places = [Span(other, 0, len(other.text)) for other in near]
        for place in places:
            means = _find_means(place)
            words = sum(len(method.span.text.split()) for method in means)
            if means and len(_WORD.findall(place.text)) <= _MOST_WORDS + words:
                yield from means
                break


def _stated(candidates: Candidates) -> Iterator[_Means]:
    """The means in sentences that say that it was paid, is collected, or is to be transferred.

    All of the document's where another part of it names another: then there is a choice.
    """
    is_stated = False
    for segment in candidates.layout.segments:
        text = segment.text
        phrases = [phrase for phrase in PAYMENT_PHRASES.find(text) if phrase.quality == 1]
        ends = [match.start() for match in _SENTENCE_END.finditer(text)] if phrases else []
        for start, stop in pairwise([0, *ends, len(text)]):
            inside = [phrase for phrase in phrases if start <= phrase.start < stop]
            if not inside or is_conditional(text[start:stop], candidates.conventions.language):
                continue
            named = _find_means(Span(segment, start, stop))
            for phrase in inside:
                means: list[_Means] = []
                if "transfer" in phrase.meanings:
                    means += named or [_Means(_TRANSFER, Span(segment, phrase.start, phrase.stop), 1)]
                if "collected" in phrase.meanings:
                    means += [method for method in named if method.general_code in (_DIRECT_DEBIT, _CARD)]
                if "paid" in phrase.meanings:
                    behind = [method for method in named if method.span.start >= phrase.stop]
                    means += [
                        method
                        for method in behind
                        if len(text[phrase.stop : method.span.start].split()) <= _PAID_WITHIN
                    ]
                is_stated = is_stated or bool(means)
                yield from means
    if is_stated:
        for segment in candidates.layout.segments:
            yield from _find_means(Span(segment, 0, len(segment.text)))


def _tendered(candidates: Candidates, total: Finding | None) -> list[_Means]:
    """The means handed over at a till: lines such as `CASH 50.00`, without other words.

    Less than the total is a part of it, whose rest was paid in another way.
    """
    least = CENT
    if total is not None and isinstance(total.value, Decimal):
        least = max(CENT, total.value - CASH_ROUNDING)
    tendered: list[_Means] = []
    for sheet in candidates.layout.sheets:
        for segment in sheet.segments:
            means = _only_means(segment)
            beside = [other.text for other in sheet.right_of(segment)] if means else []
            if not means or any(map(_has_words, beside)):
                continue
            amounts = [
                abs(amount.value(candidates.conventions.mark))
                for text in (segment.text, *beside)
                for amount in find_amounts(text, misread=sheet.page.source == "ocr")
                if not amount.percent and (amount.has_cents or amount.currency)
            ]
            if any(amount >= least for amount in amounts):
                tendered.extend(means)
    return tendered


def _alone_below_total(candidates: Candidates, total: Finding | None) -> list[_Means]:
    """The only line below the total that names one means and nothing else, as card slips have it."""
    if total is None or not total.spans:
        return []
    above = total.spans[0].segment
    sheet = candidates.layout.sheet(above)
    lines = [
        means
        for segment in sheet.segments
        if segment.middle > above.middle and not sheet.left_of(segment) and not sheet.right_of(segment)
        if (means := _only_means(segment))
    ]
    return lines[0] if len(lines) == 1 and len(lines[0]) == 1 else []


def _only_means(segment: Segment) -> list[_Means]:
    """The means of a text that has no other words."""
    means = _find_means(Span(segment, 0, len(segment.text)), may_be_misspelt=True)
    rest = segment.text
    for method in reversed(means):
        rest = f"{rest[: method.span.start]} {rest[method.span.stop :]}"
    return means if means and not _has_words(rest) else []


def _has_words(text: str) -> bool:
    return _WORD.search(_MASK.sub(" ", without_currencies(text))) is not None


def _find_means(place: Span, *, may_be_misspelt: bool = False) -> list[_Means]:
    """Find the means in a text. A plural such as `cards`, a list of what is accepted, counts as misspelt."""
    return [
        _Means(
            label.meanings[0],
            Span(place.segment, place.start + label.start, place.start + label.stop),
            label.quality,
        )
        for label in METHODS.find(place.text)
        if may_be_misspelt or label.quality == 1
    ]
