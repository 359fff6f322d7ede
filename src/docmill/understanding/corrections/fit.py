"""A model of one schema, fitted to documents whose values are known."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation

import numpy as np

from docmill.model.corrections import LayoutWeights, Weights
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.understanding.corrections.logistic import fit_weights
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts
from docmill.understanding.user_schemas.extractor import meanings_of, untaught
from docmill.understanding.user_schemas.features import looked_at, signature
from docmill.understanding.user_schemas.learned import (
    SAME_LAYOUT,
    Example,
    FieldExample,
    SchemaModel,
    is_cut_otherwise,
    layout_likeness,
)

LEAST_DOCUMENTS = 5
"""Fewer teach their own layouts only."""
_STIFFNESS = 3.0
_STIFFNESS_OF_LAYOUT = 1.0
_RULE = 2
"""With this many documents read right anyway, a single one that disagrees is an outlier."""


def values_by_path(data: Mapping[str, object]) -> dict[str, object]:
    """The values that teach something, by path; lists teach nothing."""
    return {path: value for path, value in leaves(data) if "[" not in path}


def make_example(
    document: Document, schema: Schema, values: Mapping[str, object], paths: Collection[str] | None = None
) -> Example:
    """The document as an example. values: the known ones, by path; paths: of the fields, None for all."""
    candidates = candidates_of(document)
    meanings = meanings_of(outline(schema))
    if paths is not None:
        meanings = {path: meaning for path, meaning in meanings.items() if path in paths}
    writes, count = candidates.conventions, len(document.pages)
    return Example(
        signature(document),
        {
            path: _field_example(field, values.get(path), writes, count)
            for path, field in untaught(candidates, meanings).items()
        },
    )


def _field_example(field: Scored, value: object, writes: Conventions, page_count: int) -> FieldExample:
    looked = looked_at(field, page_count)
    chosen: list[int] = looked.indices.tolist()
    keys = [field.candidates[index].key for index in chosen]
    scores = field.scores[looked.indices]
    before = keys[int(scores.argmax())] if keys else ""
    wanted = None if value in (None, "") else _key(str(value).strip(), field.meaning.form, writes)
    return FieldExample(
        looked.rows,
        scores,
        np.array([wanted is not None and key == wanted for key in keys], np.bool_),
        is_known=wanted is not None,
        cuts=frozenset(index for index, key in enumerate(keys) if is_cut_otherwise(key, before)),
    )


def _key(text: str, form: str, writes: Conventions) -> date | Decimal | str | None:
    """A known value, as printed or as data, in the form of a candidate's key."""
    if form == "date":
        try:
            return date.fromisoformat(text[:10])
        except ValueError:
            dates = find_dates(text)
            return dates[0].value(day_first=writes.day_first) if dates else None
    if form in ("money", "number"):
        try:
            return Decimal(text)
        except InvalidOperation:
            amounts = find_amounts(text, misread=False)
            return amounts[0].value(writes.mark) if amounts else None
    return letters_and_digits(text)


def fit_model(schema: str, examples: Sequence[Example]) -> SchemaModel:
    """The model of these documents: general weights where they win on layouts not seen, and each layout's."""
    return fit_layouts(SchemaModel(schema, fit_general(examples), (), tuple(examples)))


def fit_general(examples: Sequence[Example]) -> dict[str, Weights]:
    """The weights of the fields that are read better by what other layouts teach than by nothing learned."""
    if len(examples) < LEAST_DOCUMENTS:
        return {}
    layouts = group_by_layout(examples)
    weights: dict[str, Weights] = {}
    for path in sorted({path for example in examples for path in example.fields}):
        learned = before = 0
        for layout in layouts:
            rest = [example.fields[path] for index, example in enumerate(examples) if index not in layout]
            left_out = fit_weights(rest, stiffness=_STIFFNESS)
            fields = [examples[index].fields[path] for index in layout]
            learned += sum(field.is_read_right(left_out) for field in fields)
            before += sum(field.is_read_right(Weights.none()) for field in fields)
        if learned > before:
            every = [example.fields[path] for example in examples]
            weights[path] = fit_weights(every, stiffness=_STIFFNESS)
    return weights


def fit_layouts(model: SchemaModel) -> SchemaModel:
    """The model with weights for each layout, where they read no worse than the general ones."""
    layouts: list[LayoutWeights] = []
    for group in group_by_layout(model.examples):
        members = [model.examples[index] for index in group]
        fitted = {
            path: fit_field(
                [member.fields[path] for member in members], model.general.get(path, Weights.none())
            )
            for path in members[0].fields
        }
        weights = {path: own for path, own in fitted.items() if own is not None}
        layouts.append(LayoutWeights(tuple(member.words for member in members), weights))
    return replace(model, layouts=tuple(layouts))


def group_by_layout(examples: Sequence[Example]) -> list[list[int]]:
    """The indices by layout: each document goes to the group that holds the page most like its own."""
    groups: list[list[int]] = []
    for index, example in enumerate(examples):
        likeness = [
            layout_likeness(example.words, [examples[other].words for other in group]) for group in groups
        ]
        best = int(np.argmax(likeness)) if likeness else -1
        if best >= 0 and likeness[best] >= SAME_LAYOUT:
            groups[best].append(index)
        else:
            groups.append([index])
    return groups


def fit_field(examples: Sequence[FieldExample], general: Weights) -> Weights | None:
    """A layout's weights; None where its documents, each left out in turn, are read better without.

    Where nothing general is known, they tell another place of a value, and where it is cut only if that
    is right for documents left out and wrong for none: people do not always copy a name to the same word.
    """

    def fit(fields: Sequence[FieldExample], *, cuts: bool = True) -> Weights:
        return replace(fit_weights(fields, prior=general, stiffness=_STIFFNESS_OF_LAYOUT), cuts=cuts)

    def fit_without(index: int) -> Weights:
        return fit([*examples[:index], *examples[index + 1 :]])

    right = [example.is_read_right(general) for example in examples]
    if sum(right) >= _RULE and not all(right):
        examples = [
            example
            for index, example in enumerate(examples)
            if right[index] or example.is_read_right(fit_without(index))
        ]
    if len(examples) == 1:
        return fit(examples, cuts=general.is_learned)
    pairs = [(example, fit_without(index)) for index, example in enumerate(examples)]
    cut = [example.is_read_right(weights) for example, weights in pairs]
    kept = [example.is_read_right(replace(weights, cuts=False)) for example, weights in pairs]
    is_cut_better = cut != kept and all(one or not other for one, other in zip(cut, kept, strict=True))
    cuts = general.is_learned or is_cut_better
    before = sum(example.is_read_right(general) for example in examples)
    return fit(examples, cuts=cuts) if sum(cut if cuts else kept) >= before else None
