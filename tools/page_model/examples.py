"""Labelled pages as the classes of the network, and batches of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.training import receipts
from docmill.understanding.page_model.features import (
    GRAMS,
    HIDDEN,
    LOOKS,
    MOST_WORDS,
    NEIGHBOURS,
    NUMBERS,
    label_meanings,
    page_features,
    word_class,
)
from docmill.understanding.page_model.model import FACTS, Vocabulary
from docmill.understanding.page_model.seen import NONE
from tools.page_model.samples import Sample

UNKNOWN = -1
LEAST_WORDS = 3
"""A page with no more words is left out."""


def vocabulary_of(samples: Iterable[Sample]) -> Vocabulary:
    """Every role and fact of these pages."""
    roles: set[str] = set()
    facts: list[set[str]] = [set() for _ in FACTS]
    for sample in samples:
        roles |= {role for role in sample.roles if role}
        for known, name in zip(facts, FACTS, strict=True):
            known.update([value] if (value := getattr(sample.facts, name)) else ())
    return Vocabulary((NONE, *sorted(roles - {NONE})), tuple(tuple(sorted(known)) for known in facts))


@dataclass(slots=True)
class LabelledPage:
    """A page of n words with their classes.

    roles: int64, shape (n,), `UNKNOWN` where nobody knows. goes_on: float32, shape (n,). meanings: see
    `label_meanings`. facts: a class for each of `FACTS`. open_roles: those that a word `none` may have: that
    one, and those that were not labelled on this page.
    """

    texts: list[str]
    boxes: NDArray[np.float32]
    lines: NDArray[np.int32]
    roles: NDArray[np.int64]
    goes_on: NDArray[np.float32]
    meanings: list[tuple[int, ...]]
    facts: list[int]
    open_roles: NDArray[np.bool_]
    source: str

    def __len__(self) -> int:
        return len(self.texts)


def labelled_page(sample: Sample, vocabulary: Vocabulary) -> LabelledPage:
    """The first words of a sample with their classes."""
    classes = {role: index for index, role in enumerate(vocabulary.roles)}
    facts = [
        values.index(value) if (value := getattr(sample.facts, name)) in values else UNKNOWN
        for name, values in zip(FACTS, vocabulary.facts, strict=True)
    ]
    texts, lines = sample.texts[:MOST_WORDS], sample.lines[:MOST_WORDS]
    return LabelledPage(
        texts,
        sample.boxes[:MOST_WORDS],
        lines,
        np.array([classes.get(role or "", UNKNOWN) for role in sample.roles[:MOST_WORDS]], np.int64),
        np.array(sample.goes_on[:MOST_WORDS], np.float32),
        label_meanings(texts, lines),
        facts,
        np.array([role not in sample.known for role in vocabulary.roles]),
        sample.source,
    )


def vendor_of(sample: Sample) -> str:
    """The vendor of a page, named as in the labelled receipts of `bench`."""
    return f"world {sample.group}" if sample.source.startswith("world") else sample.group


def fold_of(sample: Sample) -> int:
    """The fold of a page by its vendor, the same as that of its receipt where trees are trained."""
    return receipts.fold_of(vendor_of(sample))


class Batch(NamedTuple):
    """Pages side by side, padded to the longest; the inputs of the network, and what it shall say.

    hidden: the class of each word that was hidden, else `UNKNOWN`.
    """

    grams: NDArray[np.int64]
    numbers: NDArray[np.float32]
    neighbours: NDArray[np.int64]
    places: NDArray[np.float32]
    mask: NDArray[np.float32]
    roles: NDArray[np.int64]
    goes_on: NDArray[np.float32]
    facts: NDArray[np.int64]
    hidden: NDArray[np.int64]
    open_roles: NDArray[np.bool_]


def batch_of(
    pages: Sequence[LabelledPage],
    *,
    hide: float = 0.0,
    classes: int = 1,
    draw: np.random.Generator | None = None,
) -> Batch:
    """The pages as one batch. hide: the share of words whose text is hidden and to be guessed."""
    count, longest = len(pages), max(map(len, pages))
    batch = Batch(
        np.zeros((count, longest, GRAMS), np.int64),
        np.zeros((count, longest, NUMBERS), np.float32),
        np.full((count, longest, NEIGHBOURS), longest, np.int64),
        np.zeros((count, longest, 5), np.float32),
        np.zeros((count, longest), np.float32),
        np.full((count, longest), UNKNOWN, np.int64),
        np.zeros((count, longest), np.float32),
        np.array([page.facts for page in pages], np.int64),
        np.full((count, longest), UNKNOWN, np.int64),
        np.stack([page.open_roles for page in pages]),
    )
    for row, page in enumerate(pages):
        n = len(page)
        features = page_features(page.texts, page.boxes, page.lines, page.meanings)
        batch.grams[row, :n] = features.grams
        batch.numbers[row, :n] = features.numbers
        batch.neighbours[row, :n] = np.where(features.neighbours == n, longest, features.neighbours)
        batch.places[row, :n] = features.places
        batch.mask[row, :n] = 1
        batch.roles[row, :n] = page.roles
        batch.goes_on[row, :n] = page.goes_on
        if hide and draw is not None:
            chosen = np.flatnonzero(draw.random(n) < hide)
            batch.hidden[row, chosen] = [word_class(page.texts[index], classes) for index in chosen]
            batch.grams[row, chosen] = 0
            batch.grams[row, chosen, 0] = HIDDEN
            batch.numbers[row, chosen, LOOKS:] = 0
    return batch


def batches_by_length(
    pages: Sequence[LabelledPage], words: int, draw: np.random.Generator
) -> list[list[LabelledPage]]:
    """The pages in batches of at most so many words with padding, alike in length, in random order."""
    noise = draw.uniform(0.85, 1.15, len(pages)).tolist()
    order = sorted(range(len(pages)), key=lambda index: len(pages[index]) * noise[index])
    batches: list[list[LabelledPage]] = []
    for page in (pages[index] for index in order):
        if batches and (len(batches[-1]) + 1) * max(len(page), *map(len, batches[-1])) <= words:
            batches[-1].append(page)
        else:
            batches.append([page])
    return [batches[index] for index in draw.permutation(len(batches))]
