"""Figures of models on documents that they were not learned from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.model.corrections import Weights
from docmill.understanding.corrections.fit import fit_general, fit_model, group_by_layout
from docmill.understanding.user_schemas.learned import Example, SchemaModel

_FOLDS = 4
_COMMON = 0.5
"""Share of the documents from which on an identifier is the reader's own, and tells no counterparty."""


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Counts of known values that are read right: with nothing learned, and by what others teach.

    unseen: by documents of other layouts. corrected: by all other documents, its layout's among them.
    """

    values: int
    untaught: int
    unseen: int
    corrected: int

    @property
    def is_better(self) -> bool:
        """True if more is read right with what was learned than without."""
        return max(self.unseen, self.corrected) > self.untaught and self.corrected >= self.untaught


def held_out_figures(examples: Sequence[Example]) -> HeldOutFigures:
    """The figures of models of these documents on documents left out."""
    layouts = group_by_layout(examples)
    unseen = corrected = 0
    for fold in range(_FOLDS):
        out = {index for layout in layouts[fold::_FOLDS] for index in layout}
        rest = [example for index, example in enumerate(examples) if index not in out]
        general = SchemaModel("", fit_general(rest))
        unseen += sum(_hits(examples[index], general) for index in out)
        model = fit_model("", [one for index, one in enumerate(examples) if index % _FOLDS != fold])
        corrected += sum(_hits(example, model) for example in examples[fold::_FOLDS])
    nothing = SchemaModel("")
    return HeldOutFigures(
        sum(field.is_known for example in examples for field in example.fields.values()),
        sum(_hits(example, nothing) for example in examples),
        unseen,
        corrected,
    )


def _hits(example: Example, model: SchemaModel) -> int:
    """The number of the document's known values that are read right."""
    weights = model.weights_for(example.words)
    return sum(
        field.is_read_right(weights.get(path, Weights.none())) for path, field in example.fields.items()
    )


@dataclass(frozen=True, slots=True)
class ReviewedExample:
    """A reviewed document. identifiers: numbers on it, by which its counterparty is known."""

    example: Example
    identifiers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts of known values that are read right in documents whose counterparty was left out.

    untaught: with nothing learned; before: by what the model in use was learned from; after: with the
    reviewed documents, too. groups: counterparties and layouts that were told apart.
    """

    documents: int
    groups: int
    values: int
    untaught: int
    before: int
    after: int

    @property
    def is_better(self) -> bool:
        """True if the new model reads more right than the one in use, and than nothing learned."""
        return self.after > self.before and self.after > self.untaught


def retrain(model: SchemaModel, reviewed: Sequence[ReviewedExample]) -> SchemaModel:
    """The model of what the one in use was learned from, and of the reviewed documents."""
    return fit_model(model.schema, _together(model.examples, reviewed))


def compare_models(model: SchemaModel, reviewed: Sequence[ReviewedExample]) -> Comparison:
    """Both models, each learned without the counterparties that it is asked about."""
    groups = group_by_counterparty(reviewed)
    before = after = 0
    for fold in range(min(_FOLDS, len(groups))):
        out = {index for group in groups[fold::_FOLDS] for index in group}
        test = [reviewed[index].example for index in sorted(out)]
        seen = {example.words for example in test}
        known = [example for example in model.examples if example.words not in seen]
        rest = [one for index, one in enumerate(reviewed) if index not in out]
        model_before = fit_model(model.schema, known)
        model_after = fit_model(model.schema, _together(known, rest))
        before += sum(_hits(example, model_before) for example in test)
        after += sum(_hits(example, model_after) for example in test)
    nothing = SchemaModel(model.schema)
    return Comparison(
        documents=len(reviewed),
        groups=len(groups),
        values=sum(field.is_known for one in reviewed for field in one.example.fields.values()),
        untaught=sum(_hits(one.example, nothing) for one in reviewed),
        before=before,
        after=after,
    )


def group_by_counterparty(reviewed: Sequence[ReviewedExample]) -> list[list[int]]:
    """The indices by counterparty: documents of one layout, or with an identifier in common, together.

    All of one counterparty are told apart by document, since nothing else can be left out.
    """
    often = Counter(identifier for one in reviewed for identifier in one.identifiers)
    linked = group_by_layout([one.example for one in reviewed])
    linked += [
        [index for index, one in enumerate(reviewed) if identifier in one.identifiers]
        for identifier, times in often.items()
        if times <= _COMMON * len(reviewed)
    ]
    group_of = list(range(len(reviewed)))
    for members in linked:
        joined = {group_of[index] for index in members}
        group_of = [min(joined) if group in joined else group for group in group_of]
    groups = [
        [index for index, group in enumerate(group_of) if group == wanted] for wanted in sorted({*group_of})
    ]
    return groups if len(groups) > 1 else [[index] for index in range(len(reviewed))]


def _together(examples: Sequence[Example], reviewed: Sequence[ReviewedExample]) -> list[Example]:
    """Both, each document once: the latest review holds."""
    again = {one.example.words for one in reviewed}
    return [
        *(example for example in examples if example.words not in again),
        *(one.example for one in reviewed),
    ]
