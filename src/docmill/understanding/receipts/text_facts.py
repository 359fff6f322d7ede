"""Facts about the name and the address of a receipt, for belief: their words and the text around them."""

import re
from collections.abc import Mapping

from docmill.model.document import letters_and_digits
from docmill.understanding.constraints.address_features import (
    NET,
    NOT_LETTERHEAD,
    PHONE,
    has_common_words,
    has_postcode,
)
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.layout import Segment, Sheet
from docmill.understanding.receipts.spans import ROLES
from docmill.understanding.text.folding import fold
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.text.mixed_words import has_mixed_words
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import Concept

_NEAR = 4
"""Segments above and below that count as near."""
_LARGEST = 3
_MOST_LINES = 4
_LEAST_LETTERS = 4
"""Letters of the shortest word that says something in a web address."""
_CONTACTS = frozenset({Concept.PHONE, Concept.TAX_NUMBER, Concept.VAT_NUMBER, Concept.REGISTRATION_NUMBER})


def text_facts(findings: Findings, candidates: Candidates) -> dict[str, Mapping[str, float]]:
    """The facts about the name and the address that were found, by path and by their names in `FACTS`."""
    return {
        path: _text_facts(path, findings, candidates)
        for path in ROLES.values()
        if path in findings and findings[path].spans
    }


def _text_facts(path: str, findings: Findings, candidates: Candidates) -> Mapping[str, float]:
    finding, is_name = findings[path], path == ROLES["name"]
    first, last = finding.spans[0].segment, finding.spans[-1].segment
    sheet = candidates.layout.sheet(first)
    text, printed = str(finding.value), " ".join(span.text for span in finding.spans)
    around = _around(sheet, first, last)
    below = [segment for segment in around if segment.index > last.index]
    return {
        "legal form": float(legal_form_end(text) > 0),
        "mixed": float(has_mixed_words(printed)),
        "first": 1 / (1 + first.line),
        "large": min(first.height / max(sheet.text_height, 1e-6), _LARGEST) / _LARGEST,
        "labelled": float(_is_labelled(candidates, finding)),
        "priced": float(any(_has_amount(segment) for segment in (first, last))),
        "sentence": float(has_common_words(text)),
        "web": float(is_name and _is_in_web_address(text, candidates)),
        "other near": float(_is_other_near(ROLES["address" if is_name else "name"], findings, around)),
        "contact near": float(any(_is_contact(candidates, segment) for segment in around)),
        "corrected": float(letters_and_digits(text) != letters_and_digits(printed)),
        "postcode": float(has_postcode(text)),
        "postcode below": float(any(has_postcode(segment.text) for segment in below[:2])),
        "lines": min(len({span.segment.line for span in finding.spans}) - 1, _MOST_LINES) / _MOST_LINES,
    }


def _around(sheet: Sheet, first: Segment, last: Segment) -> list[Segment]:
    """The segments near a text, without its own."""
    start, stop = sorted(segment.index - sheet.segments[0].index for segment in (first, last))
    return [*sheet.segments[max(0, start - _NEAR) : start], *sheet.segments[stop + 1 : stop + 1 + _NEAR]]


def _is_labelled(candidates: Candidates, finding: Finding) -> bool:
    """Return whether the text contains a label of another field."""
    return any(
        NOT_LETTERHEAD.intersection(label.meanings) and label.start < span.stop and label.stop > span.start
        for span in finding.spans
        for label in candidates.labels(span.segment)
    )


def _has_amount(segment: Segment) -> bool:
    return any(amount.has_cents or amount.currency for amount in find_amounts(segment.text, misread=False))


def _is_in_web_address(name: str, candidates: Candidates) -> bool:
    """Return whether a word of the name stands in a web or mail address."""
    folded = fold(name)
    words = [word for word in re.findall(r"[a-z]+", folded) if len(word) >= _LEAST_LETTERS]
    return any(word in text for text in _web_addresses(candidates) if text != folded for word in words[:2])


@once
def _web_addresses(candidates: Candidates) -> list[str]:
    """The texts with a web or mail address, folded."""
    texts = (fold(segment.text) for segment in candidates.layout.segments)
    return [text for text in texts if NET.search(text)]


def _is_other_near(other: str, findings: Findings, around: list[Segment]) -> bool:
    """Return whether the other of the two, name and address, is printed near this one.

    other: its path. around: the segments near this one.
    """
    return other in findings and any(span.segment in around for span in findings[other].spans)


def _is_contact(candidates: Candidates, segment: Segment) -> bool:
    folded = fold(segment.text)
    return (
        PHONE.search(folded) is not None
        or NET.search(folded) is not None
        or any(_CONTACTS.intersection(label.meanings) for label in candidates.labels(segment))
    )
