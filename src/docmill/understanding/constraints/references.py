"""The document's own number and the numbers it refers to; account and tax identifiers."""

import re
from collections.abc import Collection, Iterator, Mapping

from docmill.schemas.document_types import DocumentType
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, best, finding_of
from docmill.understanding.fields.meaning import FieldMeaning, built_in_meaning
from docmill.understanding.page.layout import Span
from docmill.understanding.vocabulary import Concept

_REFERENCES = ("order_number", "contract_number", "customer_number", "delivery_note_number")
"""Numbers of other documents and of the customer."""
_SHORT = 3
_ASIDE = 2.0
_DOUBTFUL = 0.4
"""Probability of a code with a wrong checksum; the gate has a person check it."""
_LEAST_BY_LABEL = 0.5
_OF_BANKS = frozenset({Concept.BANK, Concept.IBAN, Concept.BIC, Concept.ACCOUNT})
_BANK_LINES = 5
"""Text heights around an account number in which a bank may be named."""


def numbers(
    candidates: Candidates, document_type: DocumentType, taken: Collection[tuple[Span, ...]] = ()
) -> dict[str, Finding]:
    """`number` and the references. A place serves the field it fits best and no other.

    taken: the places of other fields' values.
    """
    number = built_in_meaning("number", document_type)
    # An order's own number is no reference; neither is a delivery note's.
    meanings = [number, *(built_in_meaning(path) for path in _REFERENCES if path != number.same_as)]
    scores: list[tuple[Candidate[str], dict[str, float]]] = []
    for candidate in candidates.identifiers:
        if candidate.spans in taken:
            continue
        clues = candidate.clues
        is_account = clues.get(Concept.ACCOUNT) and clues.get(Concept.CUSTOMER_NUMBER)
        if is_account and not _is_near_bank(candidate, candidates):  # then it is the customer's
            clues = {
                concept: strength for concept, strength in clues.items() if concept is not Concept.ACCOUNT
            }
        scores.append((candidate, {meaning.path: _score(clues, candidate, meaning) for meaning in meanings}))
    chosen: dict[str, Finding] = {}
    for meaning in meanings:
        path = meaning.path
        fitting = [(candidate, of[path]) for candidate, of in scores if of[path] >= max(of.values())]
        finding = best(fitting, null=meaning.null)
        if finding is not None:
            chosen[path] = finding
    return chosen


def _is_near_bank(candidate: Candidate[str], candidates: Candidates) -> bool:
    sheet = candidates.layout.sheet(candidate.segment)
    near = _BANK_LINES * sheet.text_height
    return any(
        not _OF_BANKS.isdisjoint(label.meanings)
        for segment in sheet.segments
        if abs(segment.middle - candidate.segment.middle) < near
        for label in candidates.labels(segment)
        if Concept.CUSTOMER_NUMBER not in label.meanings
    )


def _score(clues: Mapping[Concept, float], candidate: Candidate[str], meaning: FieldMeaning) -> float:
    """The labels' score, and a little for place and shape where labels speak for the field."""
    by_label = meaning.score(clues)
    if by_label < _LEAST_BY_LABEL:
        return by_label
    value = candidate.value
    shape = -1.5 if len(value) < _SHORT else 0.0
    if re.fullmatch(r"(?:19|20)\d\d", value):
        shape -= 1
    if re.fullmatch(r"\d{1,2}\.\d{1,2}", value) or candidate.segment.text[: candidate.start].endswith("("):
        shape -= _ASIDE  # a version, a code
    if sum(map(str.isdecimal, value)) >= _SHORT:
        shape += 0.3
    place = 0.4 if candidate.segment.page_index == 0 else 0.0
    place += 0.4 * (1 - candidate.segment.middle)
    return by_label + shape + place


def account_codes(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """IBAN and BIC to be paid to: the first on the page, since a checksum leaves little doubt."""
    for path, codes in (("payment.iban", candidates.ibans), ("payment.bic", candidates.bics)):
        usable = [
            (code, 3.0 + code.clues.get(Concept.IBAN, 0) + code.clues.get(Concept.BIC, 0) - 0.01 * index)
            for index, code in enumerate(codes)
            if path == "payment.iban" or code.clues.get(Concept.BIC, 0) or code.clues.get(Concept.BANK, 0)
        ]
        finding = best(usable, null=0)
        if finding is not None:
            yield path, finding
        elif path == "payment.iban" and candidates.doubtful_ibans:
            yield path, finding_of(candidates.doubtful_ibans[0], _DOUBTFUL)
