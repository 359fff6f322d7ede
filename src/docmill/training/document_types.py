"""The model of document types, trained on labelled documents and on made-up pages beside them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document
from docmill.schemas.document_types import TRAINED_TYPES, DocumentType
from docmill.training.generated_pages import generate_pages
from docmill.training.generated_receipts import generate_receipts
from docmill.training.scorers import group_weights, train_trees
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.page.titles import title_scores
from docmill.understanding.types.model import TypeModel, softmax, type_features

MADE_UP = 150
"""Pages of each type; three times as many of what is of none."""
_SEED = 1
_RECEIPT: DocumentType = "receipt"
_MADE_UP_WEIGHT = 0.3
_ROUNDS, _LEARNING_RATE, _FEATURES, _LEAVES = 140, 0.06, 0.5, 15
_TEMPERATURES = np.linspace(0.5, 4, 36)


class LabelledDocument(NamedTuple):
    """A document of a known type. source: who made it, or what did; row: its features."""

    row: NDArray[np.float32]
    document_type: DocumentType
    source: str


def prepare(document: Document, document_type: DocumentType, source: str) -> LabelledDocument | None:
    """Make an example of a document; None if it has no words, for which no model is needed."""
    layout = Layout(document)
    if not layout.segments:
        return None
    row = type_features(Candidates(layout, conventions(layout)), title_scores(layout))
    return LabelledDocument(row, document_type, source)


def generate_examples(count: int = MADE_UP, *, seed: int = _SEED) -> list[LabelledDocument]:
    """Make examples of made-up pages, and of twice as many made-up receipts, which are photographs."""
    pages = [
        *generate_pages(count, seed=seed),
        *((receipt.document, _RECEIPT) for receipt in generate_receipts(2 * count, seed=seed)),
    ]
    examples = (prepare(document, document_type, "made up") for document, document_type in pages)
    return [example for example in examples if example is not None]


def train_model(
    examples: Sequence[LabelledDocument],
    invented: Sequence[LabelledDocument],
    *,
    columns: NDArray[np.bool_] | None = None,
) -> TypeModel:
    """Train a model on both. The same input gives the same model.

    columns: mask of the features that it may use; all by default.

    A type with much weight counts more than one with little, but not by as much.
    """
    rows = np.vstack([example.row for example in (*examples, *invented)])
    truth = np.array(
        [TRAINED_TYPES.index(example.document_type) for example in (*examples, *invented)], np.int64
    )
    weights = np.append(
        group_weights([example.source for example in examples]), np.full(len(invented), _MADE_UP_WEIGHT)
    )
    weights /= np.sqrt(np.bincount(truth, weights, len(TRAINED_TYPES))[truth])
    trees = train_trees(
        rows if columns is None else rows * columns,
        truth,
        weights / weights.mean(),
        rounds=_ROUNDS,
        classes=len(TRAINED_TYPES),
        learning_rate=_LEARNING_RATE,
        features=_FEATURES,
        leaves=_LEAVES,
    )
    return TypeModel(trees)


def cross_validate(
    examples: Sequence[LabelledDocument],
    fold_of: Sequence[int],
    invented: Sequence[LabelledDocument],
    *,
    columns: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Score each example by a model that was trained without the example's fold."""
    scores = np.zeros((len(examples), len(TRAINED_TYPES)))
    rows = np.vstack([example.row for example in examples])
    for fold in sorted(set(fold_of)):
        inside = np.array(fold_of) == fold
        seen = [example for example, is_inside in zip(examples, inside, strict=True) if not is_inside]
        model = train_model(seen, invented, columns=columns)
        scores[inside] = model.trees.scores(rows[inside] if columns is None else rows[inside] * columns)
    return scores


def fit_temperature(scores: NDArray[np.float64], examples: Sequence[LabelledDocument]) -> float:
    """Fit the softmax temperature to held-out scores: the one that makes the true types most likely."""
    truth = [TRAINED_TYPES.index(example.document_type) for example in examples]
    weights = np.array(group_weights([example.source for example in examples]))
    rows = np.arange(len(truth))
    losses = [
        -(weights * np.log(softmax(scores, float(value))[rows, truth] + 1e-12)).sum()
        for value in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def train_shipped(
    examples: Sequence[LabelledDocument], invented: Sequence[LabelledDocument], scores: NDArray[np.float64]
) -> TypeModel:
    """Train the model on all documents, with the softmax temperature that fits the held-out scores."""
    return replace(train_model(examples, invented), temperature=fit_temperature(scores, examples))
