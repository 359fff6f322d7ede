"""Making of corrections from reviewed documents, and their use on later documents.

A value is taken only if it is printed on this document. The exception is the name of a seller whose numbers
are printed: it gets no place, so that a person looks at it.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from docmill.model.corrections import CorrectedValue, Correction, Corrections, LayoutWeights, ReviewedValues
from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.paths import is_same_value, leaves
from docmill.model.result import Evidence, Extraction, Schema, StepTaken
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.schemas.filling import ValueWithEvidence, replace_values
from docmill.schemas.outline import outline
from docmill.understanding.corrections.counterparties import (
    ConfirmedValue,
    confirmed_values,
    find_misread_value,
    identifiers,
)
from docmill.understanding.corrections.endings import (
    disagreement,
    goes_on_in_brackets,
    has_brackets,
    printed_texts,
)
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.features import layout_words
from docmill.understanding.fields.findings import evidence_of
from docmill.understanding.locate.searched_pages import Occurrence, SearchedPages
from docmill.understanding.locate.values import MISREAD_LETTERS, find_text
from docmill.understanding.user_schemas.extractor import find_values, meanings_of, value_for_kind
from docmill.understanding.user_schemas.schema_model import SAME_LAYOUT, SchemaModel, layout_likeness

CONFIRMED = 0.995
"""Confidence in a value that people confirmed for the same numbers."""
MISREAD = 0.97
"""Confidence in such a value if letters of it are misread on this document."""
_UNSURE = 0.9
"""Confidence below which a seller's name gives way to the confirmed one, even if that is not printed."""
_NEAR = 0.03
"""Distance, in fractions of the page, within which values of one layout are at the same place."""
_SELLER = "seller.name"
_MAY_BE_MISREAD = ("name", "address")
"""Ends of paths whose values are the same if a letter or two differ; a number that differs is another."""


def make_correction(document: Document, reviewed: ReviewedValues, read: Extraction) -> Correction:
    """The correction of a reviewed document. read: its extraction before any correction was applied."""
    before, printed = dict(leaves(read.data)), printed_texts(document)
    values: dict[str, CorrectedValue] = {}
    for path, value in reviewed.values.items():
        given = None if value is None else str(value)
        page, box = reviewed.places.get(path, (None, None))
        if box is None and given is None and (proof := read.evidence.get(path)):
            page, box = proof.page, proof.box
        goes_on = given is not None and goes_on_in_brackets(given, printed)
        values[path] = CorrectedValue(given, not _is_equal(given, before.get(path)), page, box, goes_on)
    return Correction(reviewed.name, identifiers(document), layout_words(document), values)


def _is_equal(given: str | None, before: object) -> bool:
    if given is None or before is None:
        return given == before
    try:
        return Decimal(given) == Decimal(str(before))
    except InvalidOperation:
        return letters_and_digits(given) == letters_and_digits(str(before))


def apply_corrections(
    document: Document, schema: Schema, read: Extraction, corrections: Corrections
) -> Extraction:
    """Apply to an extraction what people corrected on documents of the same layout or counterparty."""
    words = layout_words(document)
    alike = [other for other in corrections.documents if layout_likeness(words, [other.words]) >= SAME_LAYOUT]
    latest = {path: value for other in reversed(alike) for path, value in other.values.items()}
    cleared = tuple(
        path
        for path, proof in read.evidence.items()
        if path in latest and latest[path].value is None and _is_near(latest[path], proof.page, proof.box)
    )
    extraction = replace_values(read, schema, dict.fromkeys(cleared))
    if layout_likeness(words, corrections.layout.pages) >= SAME_LAYOUT:
        extraction = _with_learned_places(document, schema, extraction, corrections.layout)
    extraction = _with_values_in_place(document, schema, extraction, alike)
    extraction = with_confirmed_values(document, schema, extraction, corrections.documents)
    extraction = _with_doubtful_endings(document, extraction, corrections.documents)
    confirmed = tuple(path for path, proof in extraction.evidence.items() if proof.reason)
    if confirmed:
        extraction = extraction.with_step(StepTaken(kind="confirmed", fields=confirmed))
    return extraction.with_step(StepTaken(kind="cleared", fields=cleared)) if cleared else extraction


def _with_doubtful_endings(
    document: Document, read: Extraction, corrections: Sequence[Correction]
) -> Extraction:
    """Doubt texts of which people kept a part in brackets about as often as they left it out.

    Each is as likely as its kind of ending was, and its evidence says that this cannot be learned.
    """
    printed, before = printed_texts(document), dict(leaves(read.data))
    doubtful: dict[str, Evidence] = {}
    for path, proof in read.evidence.items():
        text = before.get(path)
        if not isinstance(text, str) or not (has_brackets(text) or goes_on_in_brackets(text, printed)):
            continue
        given = [other.values[path] for other in corrections if path in other.values]
        kept = sum(has_brackets(value.value or "") for value in given)
        cut = sum(value.goes_on for value in given)
        if found := disagreement(path, kept, cut):
            share = (kept if has_brackets(text) else cut) / (kept + cut)
            confidence = min(proof.confidence, share)
            doubtful[path] = proof.model_copy(update={"confidence": confidence, "reason": found.message})
    return read.model_copy(update={"evidence": {**read.evidence, **doubtful}}) if doubtful else read


def _with_learned_places(
    document: Document, schema: Schema, read: Extraction, layout: LayoutWeights
) -> Extraction:
    """Take the values at the learned places of the layout if they are more probable than the present ones."""
    fields = meanings_of(outline(schema)).items()
    meanings = {path: meaning for path, meaning in fields if path in layout.weights}
    candidates = candidates_of(document)
    before = dict(leaves(read.data))
    better: dict[str, ValueWithEvidence | None] = {}
    learned = SchemaModel(schema.name, layouts=(layout,)).on(document)
    for path, finding in find_values(candidates, meanings, learned).items():
        value, proof = value_for_kind(finding, meanings[path]), evidence_of(finding, candidates.layout)
        read_proof = read.evidence.get(path)
        is_as_sure = read_proof is not None and read_proof.confidence >= proof.confidence
        if value is not None and not (is_as_sure and is_same_value(value, before.get(path))):
            source = layout.sources.get(path)
            reason = f"where you said it stands on {source}" if source else "where you said it stands"
            better[path] = ValueWithEvidence(value, proof.model_copy(update={"reason": reason}))
    return replace_values(read, schema, better)


def _with_values_in_place(
    document: Document, schema: Schema, read: Extraction, alike: Sequence[Correction]
) -> Extraction:
    """Take texts that are printed at the same place as on documents of the same layout.

    Only if the text read there without corrections was wrong, or if nothing was read on this document.
    """
    pages = SearchedPages(document)
    better: dict[str, ValueWithEvidence | None] = {}
    for path, value in _single_texts(schema, read).items():
        correction = next((correction for correction in alike if path in correction.values), None)
        given = correction and correction.values[path]
        if correction is None or given is None or given.value is None:
            continue
        is_same = letters_and_digits(value or "") == letters_and_digits(given.value)
        if not is_same and (given.is_corrected or not value):
            for place in _places(pages, given.value):
                if _is_near(given, place.sheet.page.number, place.box):
                    better[path] = _printed_value(given.value, place, correction.name)
                    break
    return replace_values(read, schema, better)


def with_confirmed_values(
    document: Document, schema: Schema, read: Extraction, corrections: Sequence[Correction]
) -> Extraction:
    """Take the values that people confirmed of the same counterparty. corrections: the latest first."""
    confirmed = confirmed_values(corrections, identifiers(document))
    if not confirmed:
        return read
    pages = SearchedPages(document)
    better = {
        path: replacement
        for path, value in _single_texts(schema, read).items()
        if path in confirmed
        and (replacement := _confirmed_value(path, confirmed[path], value, read, pages)) is not None
    }
    return replace_values(read, schema, better)


def _single_texts(schema: Schema, read: Extraction) -> dict[str, str | None]:
    """The text read for each text field that is in no list, by path; None where nothing was read."""
    values = dict(leaves(read.data))
    return {
        field.path: str(values[field.path]) if field.path in values else None
        for field in outline(schema)
        if field.kind == "text" and not field.is_listed and not field.choices
    }


def _confirmed_value(
    path: str, confirmed: Sequence[ConfirmedValue], value: str | None, read: Extraction, pages: SearchedPages
) -> ValueWithEvidence | None:
    """The confirmed value, placed where the same or a misreading of it was read, else where it is printed."""
    proof = read.evidence.get(path)
    is_receipt = DEFINITIONS[known_type(read.document_type)].is_till_paper
    recognised = {sheet.page.number for sheet in pages.sheets if sheet.page.source == "ocr"}
    if proof is not None:
        if proof.match in ("computed", "embedded"):
            return None
        wanted = letters_and_digits(value or "")
        equal = [other for other in confirmed if wanted and wanted == letters_and_digits(other.value)]
        if equal:
            sure = {"confidence": max(CONFIRMED, proof.confidence), "reason": _reason(equal[0].source)}
            return ValueWithEvidence(equal[0].value, proof.model_copy(update=sure))
        if path.endswith(_MAY_BE_MISREAD) and proof.box is not None and proof.page in recognised:
            near = find_misread_value(path, confirmed, value or "", is_receipt=is_receipt)
            if near is not None:
                misread = {"confidence": MISREAD, "reason": _reason(near.source), "match": "normalised"}
                return ValueWithEvidence(near.value, proof.model_copy(update=misread))
    for candidate in confirmed:
        # Another account or address may be a new one, and another buyer another customer: only where people
        # had to correct it before. A seller has one name.
        if not value or candidate.is_corrected or path == _SELLER:
            place = next(_places(pages, candidate.value), None)
            if place is not None:
                return _printed_value(candidate.value, place, candidate.source)
    is_unsure = proof is None or proof.confidence < _UNSURE
    if path == _SELLER and is_unsure and is_receipt and 1 in recognised:
        reason = f"{_reason(confirmed[0].source)} for the same numbers; not found on this document"
        nowhere = Evidence(page=None, box=None, text=None, match="none", confidence=0.0, reason=reason)
        return ValueWithEvidence(confirmed[0].value, nowhere)
    return None


def _reason(source: str) -> str:
    return f"as you confirmed on {source}" if source else "as you confirmed before"


def _places(pages: SearchedPages, value: str) -> Iterator[Occurrence]:
    """The places where the value is printed, the best first."""
    return (
        place for place in find_text(pages, value) if place.trust >= MISREAD_LETTERS and not place.is_plain
    )


def _printed_value(value: str, place: Occurrence, source: str) -> ValueWithEvidence:
    confidence = (CONFIRMED if place.trust >= 1 else MISREAD) * place.trust
    return ValueWithEvidence(value, place.evidence(confidence, _reason(source)))


def _is_near(given: CorrectedValue, page: int | None, box: Box | None) -> bool:
    """Return whether a box is where the value was on the earlier document."""
    if box is None or given.box is None or page != given.page:
        return False
    return abs(box.x0 - given.box.x0) < _NEAR and abs(box.y0 - given.box.y0) < _NEAR
