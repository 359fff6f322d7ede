"""Corrections made from reviewed documents, and the places of values that documents of one layout teach."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from docmill.model.corrections import CorrectedValue, Correction, LayoutWeights, ReviewedValues, Weights
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Extraction, Schema
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.corrections.counterparties import belongs_to_counterparty, identifiers
from docmill.understanding.corrections.fit import fit_field, make_example
from docmill.understanding.corrections.logistic import fit_weights
from docmill.understanding.user_schemas.features import signature
from docmill.understanding.user_schemas.learned import FieldExample

_STIFFNESS = 1.0


class CorrectedDocument(NamedTuple):
    """A reviewed document and its correction."""

    document: Document
    correction: Correction


def make_correction(document: Document, reviewed: ReviewedValues, read: Extraction) -> Correction:
    """The correction of a reviewed document. read: its extraction without corrections."""
    before = dict(leaves(read.data))
    values: dict[str, CorrectedValue] = {}
    for path, value in reviewed.values.items():
        given = None if value is None else str(value)
        page, box = reviewed.places.get(path, (None, None))
        if box is None and given is None and (proof := read.evidence.get(path)):
            page, box = proof.page, proof.box
        is_corrected = not _is_same(given, before.get(path))
        values[path] = CorrectedValue(given, is_corrected, page, box)
    return Correction(reviewed.name, identifiers(document), signature(document), values)


def fit_layout(schema: Schema, documents: Sequence[CorrectedDocument]) -> LayoutWeights:
    """Learn where documents of one layout have their values; empty where nothing is gained.

    documents: the latest first; each is left out in turn, to see what the others teach. Of a schema of the
    user's own the places of all values are learned, unless it is read better without. Of docmill's types,
    which are read by rules, only those of values that were read wrong, if more is read right so than by the
    rules.
    """
    paths = learnable_paths(schema, [one.correction for one in documents])
    examples = [
        make_example(
            one.document,
            schema,
            {path: given.value for path, given in one.correction.values.items()},
            paths,
        )
        for one in documents
    ]
    weights: dict[str, Weights] = {}
    sources: dict[str, str] = {}
    for path in sorted(examples[0].fields):
        given = [
            (example.fields[path], one.correction.values[path], one.correction.name)
            for example, one in zip(examples, documents, strict=True)
            if path in one.correction.values and one.correction.values[path].value is not None
        ]
        fields = [field for field, _, _ in given]
        if not any(field.right.any() for field in fields):
            continue
        corrected = [name for _, value, name in given if value.is_corrected]
        own = (
            fit_field(fields, Weights.none())
            if _is_users_own(schema)
            else _fit_if_better(fields, read_right=len(fields) - len(corrected))
        )
        if own is not None:
            weights[path], sources[path] = own, (corrected or [name for _, _, name in given])[0]
    pages = tuple(example.words for example in examples)
    return LayoutWeights(pages, weights, sources) if weights else LayoutWeights()


def learnable_paths(schema: Schema, corrections: Sequence[Correction]) -> frozenset[str]:
    """The values whose places are learned: see `fit_layout`; of docmill's types none that stays the same."""
    single = {field.path for field in outline(schema) if not field.is_listed}
    is_users_own = _is_users_own(schema)
    return frozenset(
        path
        for correction in corrections
        for path, given in correction.values.items()
        if given.value is not None
        and path in single
        and (is_users_own or (given.is_corrected and not belongs_to_counterparty(path)))
    )


def _is_users_own(schema: Schema) -> bool:
    return schema.name not in REGISTRY or schema.fields is not REGISTRY[schema.name].fields


def _fit_if_better(fields: Sequence[FieldExample], *, read_right: int) -> Weights | None:
    """The weights of these documents, if they read more right of those left out than was read by rule."""
    weights = fit_weights(fields, stiffness=_STIFFNESS)
    if len(fields) == 1:
        return weights if fields[0].is_read_right(weights) else None
    right = sum(
        field.is_read_right(fit_weights([*fields[:index], *fields[index + 1 :]], stiffness=_STIFFNESS))
        for index, field in enumerate(fields)
    )
    return weights if right > read_right else None


def _is_same(given: str | None, before: object) -> bool:
    if given is None or before is None:
        return given == before
    try:
        return Decimal(given) == Decimal(str(before))
    except InvalidOperation:
        return letters_and_digits(given) == letters_and_digits(str(before))
