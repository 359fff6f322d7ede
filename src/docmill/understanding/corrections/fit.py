"""Fits weights of candidates to documents whose values are known, for a schema and for single layouts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.corrections import Correction, LayoutWeights, Weights
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Extraction, Schema
from docmill.schemas.outline import outline
from docmill.schemas.registry import is_built_in
from docmill.understanding.corrections.counterparties import belongs_to_counterparty
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.features import best_features, layout_words
from docmill.understanding.log_odds import Outcome
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.text.cuts import is_cut_otherwise
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts
from docmill.understanding.user_schemas.extractor import meanings_of, score_fields
from docmill.understanding.user_schemas.schema_model import (
    SAME_LAYOUT,
    Example,
    FieldExample,
    SchemaModel,
    layout_likeness,
)

LEAST_DOCUMENTS = 5
"""From this number of documents on, weights for all layouts are learned."""
_STIFFNESS = 3.0
_STIFFNESS_OF_LAYOUT = 1.0
_STIFFNESS_OF_SCALE = 5.0
"""Factor on the stiffness for the scale of the score with nothing learned."""
_LEAST_CORRECT = 2
"""With this many documents read correctly without weights, a single one that disagrees is an outlier."""
_STEPS, _HISTORY = 40, 8
_SMALLEST_GAIN = _SHORTEST_STEP = 1e-4
_LEAST_WEIGHT = 1e-3

Vector = NDArray[np.float64]


class CorrectedDocument(NamedTuple):
    """A reviewed document and its correction."""

    document: Document
    correction: Correction


def values_by_path(data: Mapping[str, object]) -> dict[str, object]:
    """The values that something is learned from, by path; those of lists are not among them."""
    return {path: value for path, value in leaves(data) if "[" not in path}


def make_example(
    document: Document, schema: Schema, values: Mapping[str, object], paths: Collection[str] | None = None
) -> Example:
    """The document as an example. values: those known, by path; paths: of the fields, None for all."""
    candidates = candidates_of(document)
    meanings = meanings_of(outline(schema))
    if paths is not None:
        meanings = {path: meaning for path, meaning in meanings.items() if path in paths}
    fields: dict[str, FieldExample] = {}
    for path, field in score_fields(candidates, meanings).items():
        features = best_features(field, len(document.pages))
        chosen: list[int] = features.indices.tolist()
        keys = [field.candidates[index].key for index in chosen]
        scores = field.scores[features.indices]
        best = keys[int(scores.argmax())] if keys else ""
        value = values.get(path)
        wanted = None
        if value is not None and value != "":
            wanted = _key(str(value).strip(), field.meaning.form, candidates.conventions)
        fields[path] = FieldExample(
            features.rows,
            scores,
            np.array([wanted is not None and key == wanted for key in keys], np.bool_),
            is_known=wanted is not None,
            cuts=frozenset(index for index, key in enumerate(keys) if is_cut_otherwise(key, best)),
            values=tuple(map(keys.index, keys)),
            null=field.meaning.null,
        )
    return Example(layout_words(document), fields)


def with_reading(
    example: Example, document: Document, schema: Schema, values: Mapping[str, object], read: Extraction
) -> Example:
    """The example with what is read of its document with nothing learned. values: those known, by path."""
    meanings, conventions = meanings_of(outline(schema)), candidates_of(document).conventions
    found = values_by_path(read.data.model_dump())
    fields: dict[str, FieldExample] = {}
    for path, field in example.fields.items():
        keys = [
            None if value is None else _key(str(value).strip(), meanings[path].form, conventions)
            for value in (found.get(path), values.get(path))
        ]
        proof = read.evidence.get(path) if found.get(path) is not None else None
        untaught = Outcome(proof.confidence if proof else 0.0, keys[0] is not None and keys[0] == keys[1])
        fields[path] = replace(field, untaught=untaught)
    return replace(example, fields=fields)


def _key(text: str, form: str, conventions: Conventions) -> date | Decimal | str | None:
    """A known value, as printed or as data, in the form of a candidate's key."""
    if form == "date":
        try:
            return date.fromisoformat(text[:10])
        except ValueError:
            dates = find_dates(text)
            return dates[0].value(day_first=conventions.day_first) if dates else None
    if form in ("money", "number"):
        try:
            return Decimal(text)
        except InvalidOperation:
            amounts = find_amounts(text, misread=False)
            return amounts[0].value(conventions.mark) if amounts else None
    return letters_and_digits(text)


def fit_model(schema: str, examples: Sequence[Example]) -> SchemaModel:
    """The model of these documents: weights for all layouts where they help on unseen ones, and for each."""
    return fit_layouts(SchemaModel(schema, fit_general(examples), (), tuple(examples)))


def fit_general(examples: Sequence[Example]) -> dict[str, Weights]:
    """Weights of those fields that weights fitted to other layouts read better than no weights do."""
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
    """The model with weights for each layout, as far as they read no worse than the general ones."""
    layouts: list[LayoutWeights] = []
    for group in group_by_layout(model.examples):
        members = [model.examples[index] for index in group]
        weights: dict[str, Weights] = {}
        for path in members[0].fields:
            general = model.general.get(path, Weights.none())
            fitted = _fit_field([member.fields[path] for member in members], general)
            if fitted is not None and fitted.is_learned:
                weights[path] = fitted
        layouts.append(LayoutWeights(tuple(member.words for member in members), weights))
    return replace(model, layouts=tuple(layouts))


def group_by_layout(examples: Sequence[Example]) -> list[list[int]]:
    """Indices of documents by layout; each document joins the group with the most similar page."""
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


def fit_layout(schema: Schema, documents: Sequence[CorrectedDocument]) -> LayoutWeights:
    """The weights that find the values of one layout; empty where nothing is gained.

    documents: the latest first; each is left out in turn, to see what the others teach. For a schema of the
    user's own all values are learned, unless they are read better without. For docmill's types, which are
    read by rules, only values that were read wrong are learned, and only if that reads more than the rules.
    """
    paths = learnable_paths(schema, [document.correction for document in documents])
    examples = [
        make_example(
            document.document,
            schema,
            {path: given.value for path, given in document.correction.values.items()},
            paths,
        )
        for document in documents
    ]
    weights: dict[str, Weights] = {}
    sources: dict[str, str] = {}
    for path in sorted(examples[0].fields):
        given = [
            (example.fields[path], document.correction.values[path], document.correction.name)
            for example, document in zip(examples, documents, strict=True)
            if path in document.correction.values and document.correction.values[path].value is not None
        ]
        fields = [field for field, _, _ in given]
        if not any(field.right.any() for field in fields):
            continue
        corrected = [name for _, value, name in given if value.is_corrected]
        fitted = (
            _fit_if_better(fields, correct_by_rules=len(fields) - len(corrected))
            if is_built_in(schema)
            else _fit_field(fields, Weights.none())
        )
        if fitted is not None and fitted.is_learned:
            weights[path], sources[path] = fitted, (corrected or [name for _, _, name in given])[0]
    pages = tuple(example.words for example in examples)
    return LayoutWeights(pages, weights, sources) if weights else LayoutWeights()


def learnable_paths(schema: Schema, corrections: Sequence[Correction]) -> frozenset[str]:
    """The values that `fit_layout` learns; of docmill's types none that is the same on all documents."""
    single = {field.path for field in outline(schema) if not field.is_listed}
    return frozenset(
        path
        for correction in corrections
        for path, given in correction.values.items()
        if given.value is not None
        and path in single
        and (not is_built_in(schema) or (given.is_corrected and not belongs_to_counterparty(path)))
    )


def _fit_field(examples: Sequence[FieldExample], general: Weights) -> Weights | None:
    """A layout's weights; None if its documents, each left out in turn, are read better without.

    Where there are no general weights, these find another place of a value, but decide where it is cut only
    if that is right for documents left out and wrong for none: people do not always copy a name to the same
    word.
    """
    right = [example.is_read_right(general) for example in examples]
    if sum(right) >= _LEAST_CORRECT and not all(right):
        examples = [
            example
            for index, example in enumerate(examples)
            if right[index] or example.is_read_right(_fit_layout_weights(examples, general, left_out=index))
        ]
    weights = _fit_layout_weights(examples, general)
    if len(examples) == 1:
        return replace(weights, cuts=general.is_learned)
    pairs = [
        (example, _fit_layout_weights(examples, general, left_out=index))
        for index, example in enumerate(examples)
    ]
    cut = [example.is_read_right(fitted) for example, fitted in pairs]
    uncut = [example.is_read_right(replace(fitted, cuts=False)) for example, fitted in pairs]
    is_cut_better = cut != uncut and all(new or not old for new, old in zip(cut, uncut, strict=True))
    cuts = general.is_learned or is_cut_better
    before = sum(example.is_read_right(general) for example in examples)
    return replace(weights, cuts=cuts) if sum(cut if cuts else uncut) >= before else None


def _fit_if_better(examples: Sequence[FieldExample], *, correct_by_rules: int) -> Weights | None:
    """A layout's weights, if they read more of the documents left out than the rules did."""
    weights = _fit_layout_weights(examples, Weights.none())
    if len(examples) == 1:
        return weights if examples[0].is_read_right(weights) else None
    correct = sum(
        example.is_read_right(_fit_layout_weights(examples, Weights.none(), left_out=index))
        for index, example in enumerate(examples)
    )
    return weights if correct > correct_by_rules else None


def _fit_layout_weights(
    examples: Sequence[FieldExample], general: Weights, *, left_out: int | None = None
) -> Weights:
    rest = [example for index, example in enumerate(examples) if index != left_out]
    return fit_weights(rest, prior=general, stiffness=_STIFFNESS_OF_LAYOUT)


def fit_weights(
    examples: Sequence[FieldExample], *, prior: Weights | None = None, stiffness: float = 0.5
) -> Weights:
    """The weights of a listwise conditional logit: a softmax over the candidates of a document.

    They make the right values likely and are pulled to `prior`. Every occurrence of a value counts as right.
    Examples whose value is no candidate teach nothing.
    """
    prior = prior or Weights.none()
    examples = [example for example in examples if example.right.any()]
    if not examples:
        return prior
    flat = np.concatenate([row for example in examples for row in example.rows])
    indices = np.unique(np.concatenate([flat, prior.indices])).astype(np.int32)
    start = np.zeros(len(indices) + 1)
    start[np.searchsorted(indices, prior.indices)] = prior.values
    start[-1] = prior.scale
    pull = np.full(len(start), stiffness)
    pull[-1] *= _STIFFNESS_OF_SCALE
    lengths = np.array([len(row) for example in examples for row in example.rows])
    sizes = np.array([len(example.rows) for example in examples])
    loss = _Loss(
        features=np.searchsorted(indices, flat),
        lengths=lengths,
        begins=np.concatenate([[0], np.cumsum(lengths)[:-1]]),
        sizes=sizes,
        groups=np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        scores=np.concatenate([example.scores for example in examples]),
        right=np.concatenate([example.right for example in examples]),
        start=start,
        pull=pull,
    )
    best = _minimise(loss, start)
    kept = np.abs(best[:-1]) > _LEAST_WEIGHT
    return Weights(indices[kept], best[:-1][kept], float(best[-1]))


class _Loss(NamedTuple):
    """Negative log likelihood of the right candidates, with a quadratic pull to `start`.

    features: of all candidates in a row, as indices of a point; lengths, begins: of each candidate's features
    among them. sizes, groups: number and beginning of each document's candidates.
    """

    features: NDArray[np.intp]
    lengths: NDArray[np.int64]
    begins: NDArray[np.int64]
    sizes: NDArray[np.int64]
    groups: NDArray[np.int64]
    scores: Vector
    right: NDArray[np.bool_]
    start: Vector
    pull: Vector

    def at(self, point: Vector) -> tuple[float, Vector]:
        """The loss at a point, and its gradient."""
        total = np.add.reduceat(point[self.features], self.begins) + point[-1] * self.scores
        powers = np.exp(total - np.repeat(np.maximum.reduceat(total, self.groups), self.sizes))
        good = powers * self.right
        all_sum, good_sum = np.add.reduceat(powers, self.groups), np.add.reduceat(good, self.groups) + 1e-300
        slope = np.repeat(1 / all_sum, self.sizes) * powers - np.repeat(1 / good_sum, self.sizes) * good
        away = point - self.start
        gradient = self.pull * away
        gradient[:-1] += np.bincount(self.features, np.repeat(slope, self.lengths), len(point) - 1)
        gradient[-1] += float(slope @ self.scores)
        likelihood = float((np.log(all_sum) - np.log(good_sum)).sum())
        return likelihood + 0.5 * float(self.pull @ (away * away)), gradient


def _minimise(loss: _Loss, point: Vector) -> Vector:
    """Minimise by L-BFGS; the loss is convex but for values that occur in several places.

    Source: Nocedal and Wright, Numerical Optimization, algorithm 7.4.
    """
    value, gradient = loss.at(point)
    history: list[tuple[Vector, Vector]] = []
    for _ in range(_STEPS):
        direction = -gradient
        factors: list[float] = []
        for moved, turned in reversed(history):
            factors.append(float(moved @ direction) / float(moved @ turned))
            direction = direction - factors[-1] * turned
        if history:
            moved, turned = history[-1]
            direction = direction * (float(moved @ turned) / float(turned @ turned))
        for (moved, turned), factor in zip(history, reversed(factors), strict=True):
            direction = direction + moved * (factor - float(turned @ direction) / float(moved @ turned))
        slope = float(direction @ gradient)
        length = 1.0 if history else min(1.0, 1.0 / float(np.abs(gradient).sum() + 1e-12) * 10)
        while True:
            new = point + length * direction
            new_value, new_gradient = loss.at(new)
            if new_value <= value + 1e-4 * length * slope or length < _SHORTEST_STEP:
                break
            length *= 0.5
        moved, turned = new - point, new_gradient - gradient
        gain = value - new_value
        point, value, gradient = new, new_value, new_gradient
        if gain < _SMALLEST_GAIN:
            break
        if float(moved @ turned) > 0:
            history = [*history, (moved, turned)][-_HISTORY:]
    return point
