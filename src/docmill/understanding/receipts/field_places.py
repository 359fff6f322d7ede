"""The places where the date, the time and the number of a receipt may stand, as rows of features."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.candidates import AnyCandidate, Candidates, Form
from docmill.understanding.fields.findings import Findings
from docmill.understanding.page.layout import Span
from docmill.understanding.page_model.seen import value_numbers
from docmill.understanding.text.dates import MISREAD_TIME, clock_time
from docmill.understanding.vocabulary import Concept

FORMS: Mapping[str, Form] = {"issue_date": "date", "time": "time", "number": "code"}
"""The form of the values by path."""
_CONCEPTS = (
    Concept.INVOICE_NUMBER, Concept.RECEIPT_NUMBER, Concept.DOCUMENT_NUMBER, Concept.ORDER_NUMBER,
    Concept.CUSTOMER_NUMBER, Concept.OTHER_NUMBER, Concept.REGISTRATION_NUMBER, Concept.TAX_NUMBER,
    Concept.VAT_NUMBER, Concept.PHONE, Concept.ACCOUNT, Concept.DATE, Concept.INVOICE_DATE,
    Concept.ORDER_DATE, Concept.DELIVERY_DATE, Concept.DUE_DATE, Concept.OTHER_DATE, Concept.PERIOD,
    Concept.PERIOD_START, Concept.PERIOD_END, Concept.TIME, Concept.TOTAL, Concept.AMOUNT, Concept.QUANTITY,
    Concept.CONTACT,
)  # fmt: skip
_MOST = 120
"""Places looked at: more are lists of goods."""
_FAR = 50
"""Lines that are as good as any larger number of them."""


@dataclass(frozen=True)
class FieldPlaces:
    """The places of a field: value, spans and features of each; see `field_places`."""

    values: Sequence[date | str]
    spans: Sequence[tuple[Span, ...]]
    rows: NDArray[np.float32]


def field_places(candidates: Candidates, path: str, ruled: Findings) -> FieldPlaces:
    """Every place of a field. ruled: the findings of the rules, whose own value is one of the places."""
    found = list(_times(candidates)) if path == "time" else candidates.of_form(FORMS[path])[:_MOST]
    rule = ruled.get(path)
    values = [_comparable(one.value) for one in found]
    spans = [one.spans for one in found]
    clues = [one.clues for one in found]
    marks = [(one.plain, one.marked) for one in found]
    if rule is not None and rule.spans and _comparable(rule.value) not in values:
        values.append(_comparable(rule.value))
        spans.append(rule.spans)
        clues.append({})
        marks.append((False, False))
    if not values:
        return FieldPlaces((), (), np.zeros((0, 0), np.float32))
    dated, timed = _lines(candidates.dates), _lines(candidates.times)
    rows = [
        [
            *(clue.get(concept, 0.0) for concept in _CONCEPTS),
            *map(float, mark),
            index / len(values),
            len(values),
            sum(other == value for other in values),
            rule.probability if rule is not None and _comparable(rule.value) == value else 0.0,
            float(rule is not None),
            _nearest(dated, place[0]),
            _nearest(timed, place[0]),
            *_shape(candidates, place),
        ]
        for index, (value, place, clue, mark) in enumerate(zip(values, spans, clues, marks, strict=True))
    ]
    seen = value_numbers(candidates, spans, path)
    return FieldPlaces(values, spans, np.hstack([np.array(rows, np.float32), seen]))


def _comparable(value: object) -> date | str:
    return value if isinstance(value, date) else str(value)


def _times(candidates: Candidates) -> Iterator[AnyCandidate]:
    """Yield the times of day, also those with a misread colon."""
    found = (
        candidates.candidate("time", clock_time(match), segment, *match.span())
        for segment in candidates.layout.segments
        for match in MISREAD_TIME.finditer(segment.text)
    )
    return islice(found, _MOST)


def _lines(found: Sequence[AnyCandidate]) -> Mapping[int, list[int]]:
    """The lines on which values stand, by page."""
    lines: dict[int, list[int]] = {}
    for one in found:
        lines.setdefault(one.segment.page_index, []).append(one.segment.line)
    return lines


def _nearest(lines: Mapping[int, list[int]], span: Span) -> float:
    """Lines from a span to the nearest of these."""
    away = (abs(line - span.segment.line) for line in lines.get(span.segment.page_index, ()))
    return min(min(away, default=_FAR), _FAR)


def _shape(candidates: Candidates, spans: Sequence[Span]) -> list[float]:
    """Features of the text of a place, and of where it stands on the page."""
    segment, text = spans[0].segment, " ".join(span.text for span in spans)
    sheet = candidates.layout.sheet(segment)
    return [
        segment.box.x0,
        segment.box.x1,
        segment.middle,
        segment.line / max(1, sheet.segments[-1].line),
        segment.height / sheet.text_height,
        segment.confidence,
        len(text),
        spans[0].start,
        float(spans[-1].stop == len(spans[-1].segment.text)),
        sum(map(str.isdecimal, text)),
        sum(map(str.isalpha, text)),
    ]
