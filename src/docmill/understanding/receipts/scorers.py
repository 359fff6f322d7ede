"""Boosted trees and n-gram models as arrays: prediction needs no library that trained them."""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.text.folding import without_accents

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Trees:
    """Binary trees, one a row: the features and thresholds of their splits, and their branches.

    left, right: the index of the next split, or for a leaf -1 less its index. values: of the leaves.
    classes: the number of trees in one round.
    """

    features: NDArray[np.int16]
    thresholds: NDArray[np.float32]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    values: NDArray[np.float32]
    depth: int
    classes: int = 1

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """The sum of the leaves that each row reaches; shape (rows, classes)."""
        count, width = len(self.features), int(self.features.shape[1])
        first = np.arange(count, dtype=np.intp) * width
        row = np.arange(len(rows))[:, None] * rows.shape[1]
        features, thresholds = self.features.ravel(), self.thresholds.ravel()
        left, right, values = self.left.ravel(), self.right.ravel(), rows.ravel()
        at = np.zeros((len(rows), count), np.int16)
        for _ in range(self.depth):
            split = np.maximum(at, 0) + first
            goes_left = values[row + features[split]] <= thresholds[split]
            at = np.where(at >= 0, np.where(goes_left, left[split], right[split]), at)
        leaves = self.values[np.arange(count), -1 - at].astype(np.float64)
        return leaves.reshape(len(rows), count // self.classes, self.classes).sum(axis=1)

    def probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """The probability of each class, shape (rows, classes); with one class that of yes, shape (rows,)."""
        scores = self.scores(rows)
        if self.classes == 1:
            return 1 / (1 + np.exp(-scores[:, 0]))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The stored form."""
        return {
            "features": self.features,
            "thresholds": self.thresholds,
            "left": self.left,
            "right": self.right,
            "values": self.values,
            "shape": np.array([self.depth, self.classes], np.int16),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "Trees":
        """The trees with these `arrays`."""
        depth, classes = arrays["shape"].tolist()
        return cls(
            features=arrays["features"].astype(np.int16),
            thresholds=arrays["thresholds"].astype(np.float32),
            left=arrays["left"].astype(np.int16),
            right=arrays["right"].astype(np.int16),
            values=arrays["values"].astype(np.float32),
            depth=depth,
            classes=classes,
        )


BUCKETS = 1 << 13
_SIZES = (2, 3, 4)
"""Characters of the n-grams."""
_DIGIT = re.compile(r"\d")
_REST = re.compile(r"[^A-Z0\s]+")


@lru_cache(maxsize=20_000)
def _ngrams(word: str) -> tuple[int, ...]:
    padded = f" {word} "
    return tuple(
        zlib.crc32(padded[at : at + size].encode()) % BUCKETS
        for size in _SIZES
        for at in range(max(1, len(padded) - size + 1))
    )


def bag(text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The hash buckets of a text's character n-grams and their weights, a vector of length one.

    All digits are replaced by 0: a vendor's own numbers say nothing of others.
    """
    plain = _DIGIT.sub("0", without_accents(text).upper())
    counts: dict[int, int] = {}
    for word in _REST.sub(" ", plain).split():
        for bucket in _ngrams(word):
            counts[bucket] = counts.get(bucket, 0) + 1
    marks = zlib.crc32("".join(sorted(set(re.sub(r"[\w\s]", "", plain)))).encode()) % BUCKETS
    counts[marks] = counts.get(marks, 0) + 1
    weights = np.log(np.fromiter(counts.values(), np.float32, len(counts))) + np.float32(1)
    return np.fromiter(counts, np.int32, len(counts)), (weights / np.linalg.norm(weights)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class CharNgramModel:
    """A linear scorer of texts. weights: shape (buckets, classes); offsets: shape (classes,)."""

    weights: NDArray[np.float16]
    offsets: NDArray[np.float32]

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The scores of the classes, shape (texts, classes)."""
        result = np.empty((len(texts), len(self.offsets)), np.float32)
        for row, text in enumerate(texts):
            buckets, weights = bag(text)
            result[row] = weights @ self.weights[buckets].astype(np.float32) + self.offsets
        return result

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The stored form."""
        return {"weights": self.weights, "offsets": self.offsets}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "CharNgramModel":
        """The model with these `arrays`."""
        return cls(arrays["weights"].astype(np.float16), arrays["offsets"].astype(np.float32))
