"""From documents whose values are known to a model of one schema."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation

import numpy as np

from docmill.model.document import Document, letters_and_digits
from docmill.understanding.corrections.logistic import fitted
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts
from docmill.understanding.user_schemas.features import looked_at, signature
from docmill.understanding.user_schemas.learned import (
    ALIKE,
    Known,
    Lesson,
    Model,
    Taught,
    Weights,
    is_cut_otherwise,
    nearest,
)

Truth = Mapping[str, object]

LEAST_DOCUMENTS = 5
"""Fewer teach their own layouts only."""
_STIFFNESS = 3.0
_STIFFNESS_OF_LAYOUT = 1.0
_FOLDS = 4
_RULE = 2
"""Documents read right anyway that make one read otherwise an exception, until there is another like it."""


def lesson_of(field: Scored, truth: object, writes: Conventions, page_count: int) -> Lesson:
    """What a field of a document teaches whose value is `truth`."""
    looked = looked_at(field, page_count)
    chosen: list[int] = looked.indices.tolist()
    candidates = [field.candidates[index] for index in chosen]
    scores = field.scores[looked.indices]
    before = candidates[int(scores.argmax())].key if candidates else ""
    keys: dict[object, int] = {}
    wanted = None if truth in (None, "") else as_key(truth, field, writes)
    return Lesson(
        looked.rows,
        scores,
        np.array([keys.setdefault(one.key, len(keys)) for one in candidates], np.int32),
        np.array([wanted is not None and one.key == wanted for one in candidates], np.bool_),
        is_known=wanted is not None,
        cuts=frozenset(index for index, one in enumerate(candidates) if is_cut_otherwise(one.key, before)),
    )


def taught_by(document: Document, fields: Mapping[str, Scored], truth: Truth, writes: Conventions) -> Taught:
    """What a document teaches. fields: as the extractor scores them untaught."""
    count = len(document.pages)
    lessons = {path: lesson_of(one, truth.get(path), writes, count) for path, one in fields.items()}
    return Taught(signature(document), lessons)


def as_key(truth: object, field: Scored, writes: Conventions) -> date | Decimal | str | None:
    """A known value, as printed or as data, in the form that candidates have."""
    text = str(truth).strip()
    match field.meaning.form:
        case "date":
            return _day(text, writes)
        case "money" | "number":
            return _number(text, writes)
        case _:
            return letters_and_digits(text)


def _day(text: str, writes: Conventions) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        found = find_dates(text)
        return found[0].value(day_first=writes.day_first) if found else None


def _number(text: str, writes: Conventions) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        found = find_amounts(text, misread=False)
        return found[0].value(writes.mark) if found else None


def learned(schema: str, taught: Sequence[Taught]) -> Model:
    """The model of these documents: general weights where they win on layouts not seen, and each layout's."""
    return with_layouts(Model(schema, _general(taught), (), tuple(taught)))


def _general(taught: Sequence[Taught]) -> dict[str, Weights]:
    if len(taught) < LEAST_DOCUMENTS:
        return {}
    groups = layouts_of(taught)
    return {path: _fit(path, taught) for path in _paths(taught) if _wins(path, taught, groups)}


def _paths(taught: Iterable[Taught]) -> list[str]:
    return sorted({path for one in taught for path in one.lessons})


@dataclass(frozen=True, slots=True)
class Figures:
    """How many of `values` known values are read right: untaught, and by what others teach.

    unseen: by documents of other layouts. corrected: by all other documents, its layout's among them.
    """

    values: int
    untaught: int
    unseen: int
    corrected: int

    @property
    def is_better(self) -> bool:
        """Whether the lessons are worth more than nothing."""
        return max(self.unseen, self.corrected) > self.untaught and self.corrected >= self.untaught


def held_out(taught: Sequence[Taught]) -> Figures:
    """What a model of these documents would read right in documents that it does not know."""
    groups = layouts_of(taught)
    count: Counter[str] = Counter()
    for fold in range(_FOLDS):
        test = [index for group in groups[fold::_FOLDS] for index in group]
        general = _general([one for index, one in enumerate(taught) if index not in test])
        count["unseen"] += sum(hits(taught[index], general) for index in test)
    for fold in range(_FOLDS):
        test = [taught[index] for index in range(fold, len(taught), _FOLDS)]
        model = learned("", [one for index, one in enumerate(taught) if index % _FOLDS != fold])
        count["corrected"] += sum(hits(one, weights_for(model, one.words)) for one in test)
    return Figures(
        sum(lesson.is_known for one in taught for lesson in one.lessons.values()),
        sum(hits(one, {}) for one in taught),
        count["unseen"],
        count["corrected"],
    )


def weights_for(model: Model, words: frozenset[str]) -> dict[str, Weights]:
    """What the model knows for a page with these words."""
    layout = model.layout_of(words)
    return {**model.general, **(layout.weights if layout else {})}


def hits(one: Taught, weights: Mapping[str, Weights]) -> int:
    """How many of the document's known values are read right."""
    return sum(hit(lesson, weights.get(path, Weights.none())) for path, lesson in one.lessons.items())


def corrected(model: Model, one: Taught) -> Model:
    """The model after one more document, at once: only what is known of its layout changes."""
    return with_layouts(replace(model, taught=(*model.taught, one)))


def with_layouts(model: Model) -> Model:
    """The model with what each layout's documents say, where that is no worse than the general weights."""
    known: list[Known] = []
    for group in layouts_of(model.taught):
        members = [model.taught[index] for index in group]
        own = {
            path: of_layout([one.lessons[path] for one in members], model.general.get(path, Weights.none()))
            for path in members[0].lessons
        }
        weights = {path: found for path, found in own.items() if found is not None}
        known.append(Known(tuple(one.words for one in members), weights))
    return replace(model, layouts=tuple(known))


def layouts_of(taught: Sequence[Taught]) -> list[list[int]]:
    """The documents by layout: each goes to the group that holds the page most like its own."""
    groups: list[list[int]] = []
    for index, one in enumerate(taught):
        likeness = [nearest(one.words, [taught[other].words for other in group]) for group in groups]
        best = int(np.argmax(likeness)) if likeness else -1
        if best >= 0 and likeness[best] >= ALIKE:
            groups[best].append(index)
        else:
            groups.append([index])
    return groups


def _fit(path: str, taught: Iterable[Taught]) -> Weights:
    return fitted([one.lessons[path] for one in taught], stiffness=_STIFFNESS)


def of_layout(lessons: Sequence[Lesson], general: Weights) -> Weights | None:
    """The layout's own weights; None where its documents, each left out in turn, are read better without.

    Where nothing general is known, they tell another place of a value, and where it is cut only if that
    is right for documents left out and wrong for none: people do not always copy a name to the same word.
    """
    lessons = _without_exceptions(lessons, general)
    if len(lessons) == 1:
        return _own(lessons, general, cuts=_is_learned(general))
    left_out = [_own([*lessons[:index], *lessons[index + 1 :]], general) for index in range(len(lessons))]
    cuts = _is_learned(general) or _cut_better(lessons, left_out)
    own = sum(
        hit(lesson, replace(weights, cuts=cuts)) for lesson, weights in zip(lessons, left_out, strict=True)
    )
    if own < sum(hit(lesson, general) for lesson in lessons):
        return None
    return _own(lessons, general, cuts=cuts)


def _without_exceptions(lessons: Sequence[Lesson], general: Weights) -> Sequence[Lesson]:
    """Those that are read right anyway, or by what the others teach, if two or more are read right anyway."""
    right = [hit(lesson, general) for lesson in lessons]
    if sum(right) < _RULE or all(right):
        return lessons
    return [
        lesson
        for index, lesson in enumerate(lessons)
        if right[index] or hit(lesson, _own([*lessons[:index], *lessons[index + 1 :]], general))
    ]


def _cut_better(lessons: Sequence[Lesson], weights: Sequence[Weights]) -> bool:
    """Whether cutting values as the weights say makes some right, and none wrong."""
    pairs = list(zip(lessons, weights, strict=True))
    cut = [hit(lesson, one) for lesson, one in pairs]
    kept = [hit(lesson, replace(one, cuts=False)) for lesson, one in pairs]
    return cut != kept and all(one or not other for one, other in zip(cut, kept, strict=True))


def _is_learned(weights: Weights) -> bool:
    return len(weights.indices) > 0


def _own(lessons: Sequence[Lesson], general: Weights, *, cuts: bool = True) -> Weights:
    return replace(fitted(lessons, prior=general, stiffness=_STIFFNESS_OF_LAYOUT), cuts=cuts)


def _wins(path: str, taught: Sequence[Taught], groups: Sequence[Sequence[int]]) -> bool:
    """Whether what other layouts teach reads each layout better than nothing learned."""
    score: Counter[str] = Counter()
    for group in groups:
        rest = [one for index, one in enumerate(taught) if index not in group]
        weights = _fit(path, rest)
        for index in group:
            score["learned"] += hit(taught[index].lessons[path], weights)
            score["untaught"] += hit(taught[index].lessons[path], Weights.none())
    return score["learned"] > score["untaught"]


def hit(lesson: Lesson, weights: Weights) -> bool:
    """Whether the best candidate is the value."""
    best = lesson.best(weights)
    return best >= 0 and bool(lesson.right[best])
