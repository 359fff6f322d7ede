"""Corrections of earlier documents, applied to what was read of another.

Nothing is taken that does not stand on this document, but the name of a vendor whose numbers stand there:
that gets no place, so that a person looks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rapidfuzz import fuzz

from docmill.model.corrections import CorrectedValue, Correction, Corrections, LayoutWeights
from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.paths import is_same_value, leaves, set_value
from docmill.model.result import Evidence, Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.schemas.filling import filled
from docmill.schemas.outline import outline
from docmill.understanding.corrections.counterparties import (
    ConfirmedValue,
    confirmed_values,
    identifiers,
    nearest_address,
)
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import evidence_of
from docmill.understanding.locate.occurrences import Occurrence, SearchedPages
from docmill.understanding.locate.texts import ALIKE, find_text
from docmill.understanding.user_schemas.extractor import findings, meanings_of, written
from docmill.understanding.user_schemas.features import signature
from docmill.understanding.user_schemas.learned import SAME_LAYOUT, SchemaModel, layout_likeness

CONFIRMED = 0.995
"""Confidence in a value that people confirmed for the same numbers."""
MISREAD = 0.97
"""The same where letters of it are misread here."""
_UNSURE = 0.9
"""Below it a name that was read gives way to one that is printed nowhere, but known by its numbers."""
_SAME_ON_RECEIPT = 80
"""Likeness, in percent, from which a name read on a recognised receipt is the known one misread."""
_SAME_NAME, _SAME_WORD = 90, 75
"""The same on other papers, of the whole and of each word: the numbers there may be the recipient's."""
_NEAR = 0.03
"""Of the page: a value of one layout stands at the same place."""
_SELLER = "seller.name"
_MAY_BE_MISREAD = ("name", "address")
"""Ends of paths whose values are known though a letter or two differ; a number that differs is another."""


class _Value(NamedTuple):
    """A value with its evidence, whose reason names the document that it is known from."""

    value: object
    evidence: Evidence


def apply_corrections(
    document: Document, schema: Schema, read: Extraction, corrections: Corrections
) -> Extraction:
    """Put right what was read, as people did on earlier documents like this one."""
    words = signature(document)
    alike = [one for one in corrections.documents if layout_likeness(words, [one.words]) >= SAME_LAYOUT]
    found = _without_cleared(schema, read, alike)
    cleared = tuple(path for path in read.evidence if path not in found.evidence)
    if layout_likeness(words, corrections.layout.pages) >= SAME_LAYOUT:
        found = _with_learned_places(document, schema, found, corrections.layout)
    found = _with_values_in_place(document, schema, found, alike)
    found = with_confirmed_values(document, schema, found, corrections.documents)
    confirmed = tuple(path for path, proof in found.evidence.items() if proof.reason)
    if confirmed:
        found = found.with_step(StepTaken(kind="confirmed", fields=confirmed))
    return found.with_step(StepTaken(kind="cleared", fields=cleared)) if cleared else found


def _with(read: Extraction, schema: Schema, values: Mapping[str, _Value | None]) -> Extraction:
    """The extraction with these values in their places; None takes the value out."""
    if not values:
        return read
    data, evidence = read.data.model_dump(), dict(read.evidence)
    for path, found in values.items():
        set_value(data, path, found and found.value)
        if found is None:
            del evidence[path]
        else:
            evidence[path] = found.evidence
    return read.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})


def _without_cleared(schema: Schema, read: Extraction, alike: Sequence[Correction]) -> Extraction:
    """Take out values that stand where people cleared them on documents of the same layout."""
    latest = {path: given for one in reversed(alike) for path, given in one.values.items()}
    cleared = (
        path
        for path, given in latest.items()
        if given.value is None
        and (proof := read.evidence.get(path)) is not None
        and _is_near(given, proof.page, proof.box)
    )
    return _with(read, schema, dict.fromkeys(cleared))


def _with_learned_places(
    document: Document, schema: Schema, read: Extraction, layout: LayoutWeights
) -> Extraction:
    """Read values anew by what was learned of the layout, where that is other or surer than what was read."""
    meanings = {path: one for path, one in meanings_of(outline(schema)).items() if path in layout.weights}
    candidates = candidates_of(document)
    before = dict(leaves(read.data))
    better: dict[str, _Value] = {}
    model = SchemaModel(schema.name, layouts=(layout,))
    for path, finding in findings(candidates, meanings, model).items():
        value, proof = written(finding, meanings[path]), evidence_of(finding, candidates.layout)
        read_proof = read.evidence.get(path)
        is_as_sure = read_proof is not None and read_proof.confidence >= proof.confidence
        if value is not None and not (is_as_sure and is_same_value(value, before.get(path))):
            source = layout.sources.get(path)
            reason = f"where you said it stands on {source}" if source else "where you said it stands"
            better[path] = _Value(value, proof.model_copy(update={"reason": reason}))
    return _with(read, schema, better)


def _with_values_in_place(
    document: Document, schema: Schema, read: Extraction, alike: Sequence[Correction]
) -> Extraction:
    """Take texts that stand where they stood on documents of the same layout.

    Only where what is read without corrections was wrong there, or nothing is read here.
    """
    search = _Search(document)
    better: dict[str, _Value] = {}
    for path, value in _single_texts(schema, read).items():
        latest = next(((one, one.values[path]) for one in alike if path in one.values), None)
        if latest is None:
            continue
        correction, given = latest
        if given.value is None or letters_and_digits(value or "") == letters_and_digits(given.value):
            continue
        if given.is_corrected or not value:
            places = search.places(given.value)
            place = next((one for one in places if _is_near(given, one.sheet.page.number, one.box)), None)
            if place is not None:
                better[path] = _printed(given.value, place, correction.name)
    return _with(read, schema, better)


def with_confirmed_values(
    document: Document, schema: Schema, read: Extraction, corrections: Sequence[Correction]
) -> Extraction:
    """Take the values that people confirmed of the same counterparty. corrections: the latest first."""
    confirmed = confirmed_values(corrections, identifiers(document))
    if not confirmed:
        return read
    search = _Search(document, is_receipt=read.document_type == "receipt")
    found = {
        path: _confirmed(path, confirmed[path], value, read.evidence.get(path), search)
        for path, value in _single_texts(schema, read).items()
        if path in confirmed
    }
    return _with(read, schema, {path: value for path, value in found.items() if value is not None})


def _single_texts(schema: Schema, read: Extraction) -> dict[str, str | None]:
    """The text read for each text field that is in no list, by path; None where nothing was read."""
    values = dict(leaves(read.data))
    return {
        field.path: str(values[field.path]) if field.path in values else None
        for field in outline(schema)
        if field.kind == "text" and not field.is_listed and not field.choices
    }


def _confirmed(
    path: str,
    confirmed: Sequence[ConfirmedValue],
    value: str | None,
    proof: Evidence | None,
    search: "_Search",
) -> _Value | None:
    """The confirmed value at its place: where the same or nearly the same was read, else where it stands."""
    if proof is not None and proof.match in ("computed", "embedded"):
        return None
    wanted = letters_and_digits(value or "")
    same = next((one for one in confirmed if wanted and wanted == letters_and_digits(one.value)), None)
    if same is not None and proof is not None:
        sure = {"confidence": max(CONFIRMED, proof.confidence), "reason": _reason(same.source)}
        return _Value(same.value, proof.model_copy(update=sure))
    is_recognised = proof is not None and proof.box is not None and search.is_recognised(proof.page)
    if path.endswith(_MAY_BE_MISREAD) and is_recognised and proof is not None:
        near = _misread(path, confirmed, value or "", is_receipt=search.is_receipt)
        if near is not None:
            misread = {"confidence": MISREAD, "reason": _reason(near.source), "match": "normalised"}
            return _Value(near.value, proof.model_copy(update=misread))
    for one in confirmed:
        # Another account or address may be a new one, and another buyer another customer: only where people
        # had to put it right before. A seller has one name.
        if not value or one.is_corrected or path == _SELLER:
            place = next(search.places(one.value), None)
            if place is not None:
                return _printed(one.value, place, one.source)
    is_unsure = proof is None or proof.confidence < _UNSURE
    if path == _SELLER and is_unsure and search.is_receipt and search.is_recognised(1):
        reason = f"{_reason(confirmed[0].source)} for the same numbers; not found on this document"
        nowhere = Evidence(page=None, box=None, text=None, match="none", confidence=0.0, reason=reason)
        return _Value(confirmed[0].value, nowhere)
    return None


def _misread(
    path: str, confirmed: Sequence[ConfirmedValue], value: str, *, is_receipt: bool
) -> ConfirmedValue | None:
    """The confirmed value of which this is a misreading."""
    if path.endswith("address"):
        return nearest_address(confirmed, value) if value else None
    wanted = letters_and_digits(value)
    likeness = {one: fuzz.ratio(wanted, letters_and_digits(one.value)) for one in confirmed}
    best = max(likeness, key=lambda one: likeness[one])
    if is_receipt:
        return best if likeness[best] >= _SAME_ON_RECEIPT else None
    # `Harbour South` is not `Harbour North`: each word must be the same but for a letter.
    words, known = value.split(), best.value.split()
    is_same = len(words) == len(known) and all(
        fuzz.ratio(letters_and_digits(word), letters_and_digits(other)) >= _SAME_WORD
        for word, other in zip(words, known, strict=True)
    )
    return best if is_same and likeness[best] >= _SAME_NAME else None


def _reason(source: str) -> str:
    return f"as you confirmed on {source}" if source else "as you confirmed before"


def _printed(value: str, place: Occurrence, source: str) -> _Value:
    """The value where it is printed."""
    confidence = round((CONFIRMED if place.trust >= 1 else MISREAD) * place.trust, 4)
    return _Value(
        value,
        Evidence(
            page=place.sheet.page.number,
            box=place.box,
            text=place.text,
            match=place.match,
            confidence=confidence,
            reason=_reason(source),
        ),
    )


@dataclass
class _Search:
    """Searches a document for given texts."""

    document: Document
    is_receipt: bool = False

    @cached_property
    def _pages(self) -> SearchedPages:
        return SearchedPages(self.document)

    def is_recognised(self, number: int | None) -> bool:
        """Tell whether the page was read from a picture."""
        return any(page.number == number and page.source == "ocr" for page in self.document.pages)

    def places(self, value: str) -> Iterator[Occurrence]:
        """Yield the places where the value stands, the best first."""
        return (
            place for place in find_text(self._pages, value) if place.trust >= ALIKE and not place.is_plain
        )


def _is_near(given: CorrectedValue, page: int | None, box: Box | None) -> bool:
    """Tell whether a box is where the value stood on the earlier document."""
    if box is None or given.box is None or page != given.page:
        return False
    return abs(box.x0 - given.box.x0) < _NEAR and abs(box.y0 - given.box.y0) < _NEAR
