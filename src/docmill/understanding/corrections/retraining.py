"""A model trained anew with documents that people reviewed, and whether it is better than the one in use."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.understanding.corrections.fitting import hits, layouts_of, learned, weights_for
from docmill.understanding.user_schemas.learned import Model, Taught

_FOLDS = 4
_COMMON = 0.5
"""Share of the documents from which on a mark says nothing of whose they are: it is the reader's own."""


@dataclass(frozen=True, slots=True)
class Example:
    """A reviewed document. marks: numbers on it, by which its counterparty is known."""

    taught: Taught
    marks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many of `values` known values are read right in documents whose counterparty was left out.

    untaught: by nothing learned; before: by what the model in use was learned from; after: with the reviewed
    documents, too. groups: counterparties and layouts that were told apart.
    """

    documents: int
    groups: int
    values: int
    untaught: int
    before: int
    after: int

    @property
    def is_better(self) -> bool:
        """Whether the new model reads more than the one in use, and than nothing learned."""
        return self.after > self.before and self.after > self.untaught


def retrained(model: Model, examples: Sequence[Example]) -> Model:
    """The model of what the one in use was learned from, and of the reviewed documents."""
    return learned(model.schema, _together(model.taught, examples))


def compared(model: Model, examples: Sequence[Example]) -> Comparison:
    """Both models, each learned without the counterparties that it is asked about."""
    groups = counterparties(examples)
    count: Counter[str] = Counter()
    for fold in range(min(_FOLDS, len(groups))):
        out = {index for group in groups[fold::_FOLDS] for index in group}
        test = [examples[index].taught for index in sorted(out)]
        seen = {one.words for one in test}
        known = [one for one in model.taught if one.words not in seen]
        rest = [one for index, one in enumerate(examples) if index not in out]
        for name, candidate in (
            ("before", learned(model.schema, known)),
            ("after", learned(model.schema, _together(known, rest))),
        ):
            count[name] += sum(hits(one, weights_for(candidate, one.words)) for one in test)
    return Comparison(
        documents=len(examples),
        groups=len(groups),
        values=sum(lesson.is_known for one in examples for lesson in one.taught.lessons.values()),
        untaught=sum(hits(one.taught, {}) for one in examples),
        before=count["before"],
        after=count["after"],
    )


def counterparties(examples: Sequence[Example]) -> list[list[int]]:
    """The documents by whose they are: those of one layout, or with a number in common, together.

    All of one counterparty are told apart by document, since nothing else can be left out.
    """
    often = Counter(mark for one in examples for mark in one.marks)
    own = {mark for mark, times in often.items() if times > _COMMON * len(examples)}
    group_of = list(range(len(examples)))

    def join(members: Sequence[int]) -> None:
        joined = {group_of[index] for index in members}
        for index, group in enumerate(group_of):
            if group in joined:
                group_of[index] = min(joined)

    for layout in layouts_of([one.taught for one in examples]):
        join(layout)
    for mark in sorted(often.keys() - own):
        join([index for index, one in enumerate(examples) if mark in one.marks])
    found = [[index for index, own_ in enumerate(group_of) if own_ == group] for group in sorted({*group_of})]
    return found if len(found) > 1 else [[index] for index in range(len(examples))]


def _together(taught: Sequence[Taught], examples: Sequence[Example]) -> list[Taught]:
    """Both, each document once: what people said last holds."""
    again = {one.taught.words for one in examples}
    return [*(one for one in taught if one.words not in again), *(one.taught for one in examples)]
