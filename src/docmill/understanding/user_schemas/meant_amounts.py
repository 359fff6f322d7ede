"""Amounts of labelled fields: a minus of deductions is dropped, amounts of other columns are doubted."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import Segment
from docmill.understanding.text.folding import fold, token_texts

_OF_OTHERS = 0.5
"""Factor of the confidence in an amount that stands in a column of other amounts."""


def meant_amounts(
    candidates: Candidates, document_type: DocumentType, findings: Mapping[str, Finding]
) -> dict[str, Finding]:
    """The findings; amounts of fields that are never negative lose their minus.

    An amount below or beside a heading of other amounts, such as those of the year so far, is half as
    probable.
    """
    fields = DEFINITIONS[document_type].fields
    headings = [
        segment for segment in candidates.layout.segments if _is_of_others(document_type, segment.text)
    ]
    meant: dict[str, Finding] = {}
    for path, finding in findings.items():
        if isinstance(finding.value, Decimal) and path in fields:
            value = abs(finding.value) if fields[path].is_positive else finding.value
            segments = {span.segment for span in finding.spans}
            is_others = any(_heads(heading, segment) for heading in headings for segment in segments)
            belief = finding.probability * (_OF_OTHERS if is_others else 1)
            agrees = False if is_others else finding.agrees
            meant[path] = replace(finding, value=value, probability=belief, agrees=agrees)
        else:
            meant[path] = finding
    return meant


def _heads(heading: Segment, segment: Segment) -> bool:
    """True if a heading stands above an amount or before it on its line."""
    if heading.page_index != segment.page_index:
        return False
    if heading.line == segment.line:
        return heading.box.x0 <= segment.box.x0
    is_over = min(heading.box.x1, segment.box.x1) > max(heading.box.x0, segment.box.x0)
    return heading.middle < segment.middle and is_over


@cache
def _phrases(document_type: DocumentType) -> tuple[str, ...]:
    of_languages = DEFINITIONS[document_type].words.other_amounts.values()
    return tuple(f" {' '.join(token_texts(fold(phrase)))} " for phrases in of_languages for phrase in phrases)


def _is_of_others(document_type: DocumentType, text: str) -> bool:
    words = f" {' '.join(token_texts(text))} "
    return any(phrase in words for phrase in _phrases(document_type))
