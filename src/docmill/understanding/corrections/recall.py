"""Values that people confirmed of the same counterparty or layout, where they are printed here, too.

Nothing is taken that does not stand on this document, but the name of a vendor whose numbers stand there:
that is said to be found nowhere, so that a person looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rapidfuzz import fuzz

from docmill.model.document import Box, Document, Page, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.outline import outline
from docmill.understanding.corrections.memory import NAME, Confirmed, Memory, marks, nearest
from docmill.understanding.corrections.precedents import Known, Precedent
from docmill.understanding.corrections.values import with_values, without_values
from docmill.understanding.locate.occurrences import Occurrence, SearchedPages
from docmill.understanding.locate.texts import ALIKE, find_text
from docmill.understanding.user_schemas.features import signature
from docmill.understanding.user_schemas.learned import ALIKE as SAME_LAYOUT
from docmill.understanding.user_schemas.learned import nearest as likeness

BELIEVED = 0.995
"""How far a value is believed that people confirmed for the same numbers."""
MENDED = 0.97
"""The same where letters of it are misread here."""
_DOUBTED = 0.9
"""Below it a name that was read gives way to one that is printed nowhere, but known by its numbers."""
_MISREAD = 80
"""Likeness, in percent, from which a name read on a recognised receipt is the known one misread."""
_MISREAD_NAME, _MISREAD_WORD = 90, 75
"""The same on other papers, of the whole and of each word: the numbers there may be the recipient's."""
_NEAR = 0.03
"""Of the page: a value of one layout stands at the same place."""
_OF_PARTIES = ("seller.", "buyer.", "payment.")
_OF_LETTERS = ("name", "address")
"""What may be misread by a letter or two and still be known; a number that differs is another number."""
_ACCOUNTS = frozenset(("iban", "bic", "currency"))


class Recalled(NamedTuple):
    """A value with its evidence, which says on which document it was confirmed."""

    value: str
    evidence: Evidence


def of_counterparty(path: str) -> bool:
    """Whether a value is the same on all papers of a counterparty, wherever it is printed on them."""
    return path.startswith(_OF_PARTIES) or path in _ACCOUNTS


def memory_of(precedents: tuple[Precedent, ...]) -> Memory:
    """What the precedents, the latest first, say of those whose numbers they bear."""
    memory = Memory()
    for one in reversed(precedents):
        known = {path: value.value for path, value in one.values.items() if of_counterparty(path)}
        corrected = [path for path, value in one.values.items() if value.is_corrected]
        memory.add(one.marks, {path: value for path, value in known.items() if value}, one.name, corrected)
    return memory


def with_memory(document: Document, schema: Schema, read: Extraction, memory: Memory) -> Extraction:
    """What was read, with the values that people confirmed of the same counterparty."""
    remembered = memory.lookup(marks(document))
    if remembered is None:
        return read
    page = _Page(document, is_receipt=read.document_type == "receipt")
    found: dict[str, Recalled] = {}
    for path, value in _texts_of(schema, read).items():
        known = remembered.values.get(path)
        better = _remembered(path, known, value, read.evidence.get(path), page=page) if known else None
        if better is not None:
            found[path] = better
    return with_values(read, schema, found)


def with_layout(
    document: Document, schema: Schema, read: Extraction, precedents: tuple[Precedent, ...]
) -> Extraction:
    """What was read, with texts that stand where they stood on papers of the same layout.

    Only where what is read by itself was wrong there, or nothing is read here.
    """
    own = signature(document)
    alike = [one for one in precedents if likeness(own, [one.words]) >= SAME_LAYOUT]
    page = _Page(document)
    found: dict[str, Recalled] = {}
    for path, value in _texts_of(schema, read).items():
        for precedent in alike:
            known = precedent.values.get(path)
            if known is not None:  # the latest that speaks of it
                place = page.at(known.value, known) if known.value and _helps(known, value) else None
                if known.value and place is not None:
                    found[path] = _taken(known.value, place, precedent.name)
                break
    return with_values(read, schema, found)


def _helps(known: Known, value: str | None) -> bool:
    """Whether the value is another than what was read, and was not read by itself before, or is not here."""
    if known.value is None or letters_and_digits(value or "") == letters_and_digits(known.value):
        return False
    return known.is_corrected or not value


def without_cleared(
    document: Document, schema: Schema, read: Extraction, precedents: tuple[Precedent, ...]
) -> Extraction:
    """What was read, without the values that stand where people cleared them on papers of the same layout."""
    own = signature(document)
    latest: dict[str, Known] = {}
    for precedent in precedents:
        if likeness(own, [precedent.words]) >= SAME_LAYOUT:
            latest = {**precedent.values, **latest}
    cleared = [
        path
        for path, known in latest.items()
        if known.value is None and (proof := read.evidence.get(path)) is not None and _stands_at(proof, known)
    ]
    return without_values(read, schema, cleared)


def _stands_at(proof: Evidence, known: Known) -> bool:
    if proof.box is None or known.box is None or proof.page != known.page:
        return False
    return abs(proof.box.x0 - known.box.x0) < _NEAR and abs(proof.box.y0 - known.box.y0) < _NEAR


def _texts_of(schema: Schema, read: Extraction) -> dict[str, str | None]:
    """The texts that the schema asks for, by path, with what was read of each; none of lists."""
    there = dict(leaves(read.data))
    return {
        one.path: str(there[one.path]) if one.path in there else None
        for one in outline(schema)
        if one.kind == "text" and not one.is_listed and not one.choices
    }


def _remembered(
    path: str, known: tuple[Confirmed, ...], value: str | None, proof: Evidence | None, *, page: "_Page"
) -> Recalled | None:
    """The known value, at its place: where the same or nearly the same was read, else wherever it stands."""
    own = letters_and_digits(value or "")
    if proof is not None and proof.match in ("computed", "embedded"):
        return None
    for one in known:
        if own and own == letters_and_digits(one.value) and proof is not None:
            return Recalled(one.value, _sure(proof, one, max(BELIEVED, proof.confidence)))
    is_text = path.endswith(_OF_LETTERS)
    if is_text and proof is not None and proof.box is not None and page.is_recognised(proof.page):
        misread = _misread(path, known, value or "", is_receipt=page.is_receipt)
        if misread is not None:
            return Recalled(misread.value, _sure(proof, misread, MENDED, is_other=True))
    for one in known:
        place = page.anywhere(one.value) if _gives_way(path, value, one) else None
        if place is not None:
            return _taken(one.value, place, one.source)
    if (
        path == NAME
        and page.is_receipt
        and page.is_recognised(1)
        and (proof is None or proof.confidence < _DOUBTED)
    ):
        return Recalled(known[0].value, _nowhere(known[0]))
    return None


def _gives_way(path: str, value: str | None, known: Confirmed) -> bool:
    """Whether what was read gives way to a known value that is printed elsewhere.

    Another account or address may be a new one, and another buyer another customer: only where people had to
    put it right before. A seller has one name.
    """
    return not value or known.is_corrected or path == NAME


def _misread(path: str, known: tuple[Confirmed, ...], value: str, *, is_receipt: bool) -> Confirmed | None:
    if path.endswith("address"):
        return nearest(known, value) if value else None
    own = letters_and_digits(value)
    alike = {one: fuzz.ratio(own, letters_and_digits(one.value)) for one in known}
    best = max(alike, key=lambda one: alike[one])
    if is_receipt:
        return best if alike[best] >= _MISREAD else None
    return best if alike[best] >= _MISREAD_NAME and _is_word_by_word(value, best.value) else None


def _is_word_by_word(value: str, known: str) -> bool:
    """Whether the same words stand there but for a letter: `Harbour South` is not `Harbour North`."""
    one, other = value.split(), known.split()
    return len(one) == len(other) and all(
        fuzz.ratio(letters_and_digits(word), letters_and_digits(same)) >= _MISREAD_WORD
        for word, same in zip(one, other, strict=True)
    )


def _reason(source: str) -> str:
    return f"as you confirmed on {source}" if source else "as you confirmed before"


def _sure(proof: Evidence, one: Confirmed, confidence: float, *, is_other: bool = False) -> Evidence:
    change = {"confidence": confidence, "reason": _reason(one.source)}
    return proof.model_copy(update={**change, "match": "normalised"} if is_other else change)


def _taken(value: str, place: Occurrence, source: str) -> Recalled:
    return Recalled(
        value,
        Evidence(
            page=place.sheet.page.number,
            box=place.box,
            text=place.text,
            match=place.match,
            confidence=round((BELIEVED if place.trust >= 1 else MENDED) * place.trust, 4),
            reason=_reason(source),
        ),
    )


def _nowhere(one: Confirmed) -> Evidence:
    return Evidence(
        page=None,
        box=None,
        text=None,
        match="none",
        confidence=0.0,
        reason=f"{_reason(one.source)} for the same numbers; not found on this document",
    )


@dataclass
class _Page:
    """The document as it is searched."""

    document: Document
    is_receipt: bool = False

    @cached_property
    def _sheets(self) -> SearchedPages:
        return SearchedPages(self.document)

    def is_recognised(self, number: int | None) -> bool:
        """Whether the page was read from a picture."""
        return any(page.number == number and page.source == "ocr" for page in self.document.pages)

    def _sightings(self, value: str) -> Iterator[Occurrence]:
        return (one for one in find_text(self._sheets, value) if one.trust >= ALIKE and not one.is_plain)

    def anywhere(self, value: str) -> Occurrence | None:
        """Where the value stands first."""
        return next(self._sightings(value), None)

    def at(self, value: str, known: Known) -> Occurrence | None:
        """Where the value stands, if that is where it was known to stand."""
        near = (one for one in self._sightings(value) if _is_near(one, known))
        return next(near, None)


def _is_near(one: Occurrence, known: Known) -> bool:
    page: Page = one.sheet.page
    box: Box | None = known.box
    return (
        box is not None
        and page.number == known.page
        and abs(one.box.x0 - box.x0) < _NEAR
        and abs(one.box.y0 - box.y0) < _NEAR
    )
