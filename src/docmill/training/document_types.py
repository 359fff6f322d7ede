"""The model of document types, trained on labelled documents and on made-up pages beside them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document
from docmill.schemas.document_types import TRAINED_TYPES, DocumentType
from docmill.training.folds import shares as weights_of
from docmill.training.generated_pages import made_up
from docmill.training.scorers import boosted
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.page.titles import title_scores
from docmill.understanding.types.model import Kinds, shares
from docmill.understanding.types.signs import signs

MADE_UP = 150
"""Pages of each type; three times as many of what is of none."""
_SEED = 1
_MADE_UP_WEIGHT = 0.3
_ROUNDS, _PACE, _FEATURES, _LEAVES = 140, 0.06, 0.5, 15
_WARMTHS = np.linspace(0.5, 4, 36)


class LabelledDocument(NamedTuple):
    """A document of a known type. source: who made it, or what did; row: its signs."""

    row: NDArray[np.float32]
    document_type: DocumentType
    source: str


def prepared(document: Document, document_type: DocumentType, source: str) -> LabelledDocument | None:
    """The document as an example; None if it has no words, which need no model."""
    layout = Layout(document)
    if not layout.segments:
        return None
    row = signs(Candidates(layout, conventions(layout)), title_scores(layout))
    return LabelledDocument(row, document_type, source)


def made_up_examples(count: int = MADE_UP, *, seed: int = _SEED) -> list[LabelledDocument]:
    """Examples from `docmill.training.generated_pages`."""
    found = (prepared(document, kind, "made up") for document, kind in made_up(count, seed=seed))
    return [one for one in found if one is not None]


def trained(
    examples: Sequence[LabelledDocument],
    invented: Sequence[LabelledDocument],
    *,
    columns: NDArray[np.bool_] | None = None,
) -> Kinds:
    """A model of both. columns: of the signs that it may look at. The same input gives the same model."""
    every = [*examples, *invented]
    rows = np.vstack([one.row for one in every])
    if columns is not None:
        rows = rows * columns
    truth = np.array([TRAINED_TYPES.index(one.document_type) for one in every], np.int64)
    weights = np.append(weights_of([one.source for one in examples]), np.full(len(invented), _MADE_UP_WEIGHT))
    trees = boosted(
        rows,
        truth,
        _balanced(weights, truth),
        rounds=_ROUNDS,
        classes=len(TRAINED_TYPES),
        pace=_PACE,
        features=_FEATURES,
        leaves=_LEAVES,
    )
    return Kinds(trees)


def _balanced(weights: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """A type with much weight counts more than one with little, but not by as much."""
    sums = np.bincount(truth, weights, len(TRAINED_TYPES))
    found = weights / np.sqrt(sums[truth])
    return found / found.mean()


def held_out(
    examples: Sequence[LabelledDocument],
    fold_of: Sequence[int],
    invented: Sequence[LabelledDocument],
    *,
    columns: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The scores of each example by a model that has seen none of its fold."""
    found = np.zeros((len(examples), len(TRAINED_TYPES)))
    for fold in sorted(set(fold_of)):
        model = trained(
            [one for one, own in zip(examples, fold_of, strict=True) if own != fold],
            invented,
            columns=columns,
        )
        own = [index for index, one in enumerate(fold_of) if one == fold]
        rows = np.vstack([examples[index].row for index in own])
        found[own] = model.trees.scores(rows if columns is None else rows * columns)
    return found


def warmth(scores: NDArray[np.float64], examples: Sequence[LabelledDocument]) -> float:
    """By how much held-out scores are too sure: the value that makes the truth most likely."""
    truth = [TRAINED_TYPES.index(one.document_type) for one in examples]
    weights = np.array(weights_of([one.source for one in examples]))
    rows = np.arange(len(truth))

    def surprise(value: float) -> float:
        return float(-(weights * np.log(shares(scores, value)[rows, truth] + 1e-12)).sum())

    return float(min(_WARMTHS, key=surprise))


def shippable(
    examples: Sequence[LabelledDocument], invented: Sequence[LabelledDocument], scores: NDArray[np.float64]
) -> Kinds:
    """The model of all documents, as sure as its like were right about documents they had not seen."""
    return replace(trained(examples, invented), warmth=warmth(scores, examples))
