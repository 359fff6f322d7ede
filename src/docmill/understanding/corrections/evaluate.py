"""Accuracy of models on documents that they were not learned from."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from docmill.model.corrections import Weights
from docmill.understanding.corrections.fit import fit_general, fit_model, group_by_layout
from docmill.understanding.log_odds import Outcome, fitted_shift
from docmill.understanding.user_schemas.schema_model import Example, HeldOut, SchemaModel, Shifts

_FOLDS = 4
_STIFFNESS_ELSEWHERE, _STIFFNESS_WITHIN = 1.0, 0.25
"""Of `fitted_shift`: of beliefs on other layouts, where one is one outcome, and on the same layout."""
_CLIP, _DIGITS = 0.001, 4
_RELIABLE = 0.8
"""Share of the documents of which a field that is taught should be read correctly."""
_COMMON = 0.5
"""Share of the documents above which an identifier is that of the vault's owner, not of a counterparty."""


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Counts of known values that are read correctly in documents held out, by the field's path.

    shifts, layout_shifts: see `SchemaModel`.
    """

    fields: Mapping[str, HeldOut]
    shifts: Shifts = field(default_factory=dict[str, float])
    layout_shifts: tuple[Shifts, ...] = ()

    @property
    def total(self) -> HeldOut:
        """The counts of all fields together."""
        counts = [astuple(field) for field in self.fields.values()]
        return (
            HeldOut(*(sum(column) for column in zip(*counts, strict=True))) if counts else HeldOut(0, 0, 0, 0)
        )

    @property
    def is_better(self) -> bool:
        """True if more is read correctly with what was learned than without."""
        total = self.total
        return max(total.unseen, total.corrected) > total.untaught and total.corrected >= total.untaught

    @property
    def still_wrong(self) -> Mapping[str, HeldOut]:
        """The fields that were often read wrongly on documents like these, the worst first."""
        often = {
            path: field for path, field in self.fields.items() if field.corrected < _RELIABLE * field.values
        }
        return dict(sorted(often.items(), key=lambda item: item[1].corrected / item[1].values))


def held_out_figures(examples: Sequence[Example]) -> HeldOutFigures:
    """Count the values that models read correctly in documents that they were not fitted to."""
    layouts = group_by_layout(examples)
    layout_of = {index: place for place, layout in enumerate(layouts) for index in layout}
    unseen, corrected, untaught = Counter[str](), Counter[str](), Counter[str]()
    elsewhere: dict[str, list[Outcome]] = defaultdict(list)
    within: list[dict[str, list[Outcome]]] = [defaultdict(list) for _ in layouts]
    for fold in range(_FOLDS):
        out = {index for layout in layouts[fold::_FOLDS] for index in layout}
        general = SchemaModel(
            "", fit_general([each for index, each in enumerate(examples) if index not in out])
        )
        for index in sorted(out):
            weight = 1 / len(layouts[layout_of[index]])  # papers of one layout are wrong together
            for path, outcome in _outcomes(examples[index], general).items():
                elsewhere[path].append(outcome._replace(weight=weight))
                unseen[path] += outcome.came
        model = fit_model("", [other for index, other in enumerate(examples) if index % _FOLDS != fold])
        for index in range(fold, len(examples), _FOLDS):
            for path, outcome in _outcomes(examples[index], model).items():
                within[layout_of[index]][path].append(outcome)
                corrected[path] += outcome.came
    for example in examples:
        untaught.update(_read_right(example, SchemaModel("")))
    values = Counter(path for example in examples for path, field in example.fields.items() if field.is_known)
    return HeldOutFigures(
        {
            path: HeldOut(count, untaught[path], unseen[path], corrected[path])
            for path, count in sorted(values.items())
        },
        _shifts(elsewhere, _STIFFNESS_ELSEWHERE),
        tuple(_shifts(outcomes, _STIFFNESS_WITHIN) for outcomes in within),
    )


def _outcomes(example: Example, model: SchemaModel) -> dict[str, Outcome]:
    """The belief in what the model reads for each known value of the document, and whether it is right."""
    page = model.on_page(example.words)
    outcomes: dict[str, Outcome] = {}
    for path, known in example.fields.items():
        if known.is_known:
            weights = page.weights.get(path, Weights.none())
            belief = page.belief(path, known.share(weights), alone=known.belief_alone(weights))
            outcomes[path] = Outcome(belief, known.is_read_right(weights))
    return outcomes


def _shifts(outcomes: Mapping[str, Sequence[Outcome]], stiffness: float) -> Shifts:
    return {
        path: round(fitted_shift(some, stiffness=stiffness, clip=_CLIP), _DIGITS)
        for path, some in sorted(outcomes.items())
    }


def _read_right(example: Example, model: SchemaModel) -> list[str]:
    """The paths of the document's known values that the model reads correctly."""
    weights = model.on_page(example.words).weights
    return [
        path
        for path, field in example.fields.items()
        if field.is_read_right(weights.get(path, Weights.none()))
    ]


def _hits(example: Example, model: SchemaModel) -> int:
    """The number of known values of the document that the model reads correctly."""
    return len(_read_right(example, model))


@dataclass(frozen=True, slots=True)
class ReviewedExample:
    """A reviewed document. identifiers: the numbers on it that identify its counterparty."""

    example: Example
    identifiers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts of known values that are read correctly in documents whose counterparty was left out.

    untaught: with nothing learned; before: learned from the documents of the model in use; after: from these
    and the reviewed documents. groups: the number of different counterparties and layouts.
    """

    documents: int
    groups: int
    values: int
    untaught: int
    before: int
    after: int

    @property
    def is_better(self) -> bool:
        """True if the new model reads more values correctly than the one in use, and than an empty one."""
        return self.after > self.before and self.after > self.untaught


def retrain(model: SchemaModel, reviewed: Sequence[ReviewedExample]) -> SchemaModel:
    """Fit a model to the documents of the model in use and to the reviewed ones."""
    return learned_model(model.schema, _join_examples(model.examples, reviewed))


def learned_model(
    schema: str, examples: Sequence[Example], figures: HeldOutFigures | None = None
) -> SchemaModel:
    """Fit a model that knows how well its fields are read on documents that it was not fitted to.

    figures: those of `held_out_figures`; counted anew if they are not given.
    """
    found = figures or held_out_figures(examples)
    return replace(
        fit_model(schema, examples),
        held_out=found.fields,
        shifts=found.shifts,
        layout_shifts=found.layout_shifts,
    )


def compare_models(model: SchemaModel, reviewed: Sequence[ReviewedExample]) -> Comparison:
    """Compare the model in use with the new one, each fitted without the counterparties it is tested on."""
    groups = group_by_counterparty(reviewed)
    before = after = 0
    for fold in range(min(_FOLDS, len(groups))):
        out = {index for group in groups[fold::_FOLDS] for index in group}
        test = [reviewed[index].example for index in sorted(out)]
        seen = {example.words for example in test}
        rest = [example for example in model.examples if example.words not in seen]
        reviewed_rest = [document for index, document in enumerate(reviewed) if index not in out]
        model_before = fit_model(model.schema, rest)
        model_after = fit_model(model.schema, _join_examples(rest, reviewed_rest))
        before += sum(_hits(example, model_before) for example in test)
        after += sum(_hits(example, model_after) for example in test)
    nothing = SchemaModel(model.schema)
    return Comparison(
        documents=len(reviewed),
        groups=len(groups),
        values=sum(field.is_known for document in reviewed for field in document.example.fields.values()),
        untaught=sum(_hits(document.example, nothing) for document in reviewed),
        before=before,
        after=after,
    )


def group_by_counterparty(reviewed: Sequence[ReviewedExample]) -> list[list[int]]:
    """The indices by counterparty: documents of one layout, or with an identifier in common, together.

    If all are of one counterparty, each document is a group, since nothing else can be left out.
    """
    counts = Counter(identifier for document in reviewed for identifier in document.identifiers)
    linked = group_by_layout([document.example for document in reviewed])
    linked += [
        [index for index, document in enumerate(reviewed) if identifier in document.identifiers]
        for identifier, times in counts.items()
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


def _join_examples(examples: Sequence[Example], reviewed: Sequence[ReviewedExample]) -> list[Example]:
    """All documents, each once, by its latest review."""
    again = {document.example.words for document in reviewed}
    return [
        *(example for example in examples if example.words not in again),
        *(document.example for document in reviewed),
    ]
