"""From documents that people spoke of to what helps to read their like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Extraction, Schema
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.corrections.fitting import hit, of_layout, taught_by
from docmill.understanding.corrections.logistic import fitted
from docmill.understanding.corrections.memory import marks
from docmill.understanding.corrections.precedents import Known, Precedent
from docmill.understanding.corrections.recall import of_counterparty
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.user_schemas.extractor import meanings_of, untaught
from docmill.understanding.user_schemas.features import signature
from docmill.understanding.user_schemas.learned import Known as KnownLayout
from docmill.understanding.user_schemas.learned import Lesson, Model, Taught, Weights

_STIFFNESS = 1.0

Place = tuple[int, Box]


@dataclass(frozen=True, slots=True)
class Said:
    """What people said of a document. values: by path, as in its data; places: where they stand."""

    name: str
    values: Mapping[str, object]
    places: Mapping[str, Place]


def precedent(document: Document, said: Said, read: Extraction) -> Precedent:
    """What the document is to those that come after it. read: with nothing learned."""
    before = {path: _text(value) for path, value in leaves(read.data)}
    known: dict[str, Known] = {}
    for path, value in said.values.items():
        text = None if value is None else _text(value)
        page, box = said.places.get(path, _place(read, path) if text is None else (None, None))
        known[path] = Known(text, not _same(text, before.get(path)), page, box)
    return Precedent(said.name, marks(document), signature(document), known)


def _place(read: Extraction, path: str) -> tuple[int | None, Box | None]:
    """Where a value was read that people cleared."""
    proof = read.evidence.get(path)
    return (proof.page, proof.box) if proof else (None, None)


@dataclass(frozen=True, slots=True)
class Shown:
    """A document of a layout, and what it is to its like."""

    document: Document
    precedent: Precedent


def anchors(schema: Schema, shown: Sequence[Shown]) -> tuple[Model, dict[str, str]]:
    """Where documents of one layout have their values, and which document showed it.

    shown: the latest first; each is left out in turn, to see what the others teach. Of a schema of the user's
    own the places of all values are learned, unless it is read better without. Of docmill's types, which are
    read by rules, only those of values that were read wrong, if more is read right so than by the rules.
    """
    paths = anchored_paths(schema, [one.precedent for one in shown])
    meanings = {path: one for path, one in meanings_of(outline(schema)).items() if path in paths}
    taught = [_taught(one, meanings) for one in shown]
    weights: dict[str, Weights] = {}
    sources: dict[str, str] = {}
    for path in sorted(meanings):
        members = [index for index, one in enumerate(shown) if _is_known(one, path)]
        lessons = [taught[index].lessons[path] for index in members]
        speaking = [shown[index] for index in members]
        if not any(lesson.right.any() for lesson in lessons):
            continue
        own = _is_own(schema)
        found = of_layout(lessons, Weights.none()) if own else _better(path, lessons, speaking)
        if found is not None:
            weights[path] = found
            corrected = [one for one in speaking if _is_corrected(one, path)]
            sources[path] = (corrected or speaking)[0].precedent.name
    pages = tuple(one.words for one in taught)
    return Model(schema.name, {}, (KnownLayout(pages, weights),) if weights else ()), sources


def anchored_paths(schema: Schema, precedents: Sequence[Precedent]) -> frozenset[str]:
    """The values whose places are learned: see `anchors`; of docmill's types none that stays the same."""
    single = {one.path for one in outline(schema) if not one.is_listed}
    own = _is_own(schema)
    return frozenset(
        path
        for one in precedents
        for path, known in one.values.items()
        if known.value is not None
        and path in single
        and (own or (known.is_corrected and not of_counterparty(path)))
    )


def _is_own(schema: Schema) -> bool:
    return schema.name not in REGISTRY or schema.fields is not REGISTRY[schema.name].fields


def _is_known(one: Shown, path: str) -> bool:
    known = one.precedent.values.get(path)
    return known is not None and known.value is not None


def _is_corrected(one: Shown, path: str) -> bool:
    return one.precedent.values[path].is_corrected


def _taught(one: Shown, meanings: Mapping[str, object]) -> Taught:
    candidates = candidates_of(one.document)
    fields = untaught(candidates, meanings)  # type: ignore[arg-type]
    truth = {path: known.value for path, known in one.precedent.values.items()}
    return taught_by(one.document, fields, truth, candidates.conventions)


def _better(path: str, lessons: Sequence[Lesson], shown: Sequence[Shown]) -> Weights | None:
    """What the documents teach; None if they are read as well without."""
    by_themselves = sum(not _is_corrected(one, path) for one in shown)
    if len(lessons) == 1:
        found = _fit(lessons)
        return found if hit(lessons[0], found) else None
    right = sum(
        hit(lesson, _fit([*lessons[:index], *lessons[index + 1 :]])) for index, lesson in enumerate(lessons)
    )
    return _fit(lessons) if right > by_themselves else None


def _fit(lessons: Sequence[Lesson]) -> Weights:
    return fitted(lessons, stiffness=_STIFFNESS)


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one == other
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return letters_and_digits(one) == letters_and_digits(other)
