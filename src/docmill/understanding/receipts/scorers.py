"""Boosted trees and n-gram models as arrays: prediction needs no library that trained them."""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.text.folding import without_accents

Rows = NDArray[np.float32]
_BLOCK = 256
"""Rows that are scored at once: more take memory and no less time."""


@dataclass(frozen=True)
class Trees:
    """Binary trees, one a row: the features and thresholds of their splits, and their branches.

    left, right: the index of the next split, or for a leaf -1 less its index. values: of the leaves, at most
    65 a tree. depth: of the deepest leaf. classes: the number of trees in one round.
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
        count = len(self.values)
        reached = np.empty((len(rows), count))
        for start in range(0, len(rows), _BLOCK):
            reached[start : start + _BLOCK] = self._reached_leaves(rows[start : start + _BLOCK])
        return reached.reshape(len(rows), count // self.classes, self.classes).sum(axis=1)

    def _reached_leaves(self, rows: Rows) -> NDArray[np.float64]:
        splits, (count, leaves) = self._splits, self.values.shape
        # Not `>`: a feature that is no number goes right, as in training.
        goes_right = ~(rows.T.copy().take(splits.features, axis=0) <= splits.thresholds)
        passed = np.multiply(goes_right, splits.passed, dtype=splits.passed.dtype)
        passed = np.bitwise_or.reduce(passed.reshape(-1, count, len(rows)), axis=0)
        index = np.bitwise_count(passed & ~(passed + 1)).T
        return splits.values[index + np.arange(0, count * leaves, leaves)]

    @cached_property
    def _splits(self) -> "_Splits":
        """The trees in the form of QuickScorer (Lucchese et al., 2015)."""
        count, leaves = self.values.shape
        passed = np.zeros((leaves - 1, count), np.min_scalar_type((1 << (leaves - 1)) - 1))
        order = np.zeros((count, leaves), np.intp)
        for tree, (left, right) in enumerate(zip(self.left.tolist(), self.right.tolist(), strict=True)):
            _order_leaves(left, right, passed[:, tree], order[tree])
        return _Splits(
            features=self.features.T.astype(np.intp).ravel(),
            thresholds=self.thresholds.T.reshape(-1, 1),
            passed=passed.reshape(-1, 1),
            values=np.take_along_axis(self.values, order, axis=1).astype(np.float64).ravel(),
        )

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


class _Splits(NamedTuple):
    """The splits of all trees, one a row, the first ones of all trees before the second ones.

    passed: the leaves, a bit each from left to right, that a row does not reach if it goes right at a split:
    it reaches the first one that it passes nowhere. values: of the leaves in this order, tree by tree.
    """

    features: NDArray[np.intp]
    thresholds: NDArray[np.float32]
    passed: NDArray[np.unsignedinteger]
    values: NDArray[np.float64]


def _order_leaves(
    left: list[int], right: list[int], passed: NDArray[np.unsignedinteger], order: NDArray[np.intp]
) -> None:
    """Fill in the leaves of one tree from left to right, and for each split those on its left."""
    position = 0

    def visit(node: int) -> int:
        nonlocal position
        if node < 0:
            order[position] = -1 - node
            position += 1
            return 1 << (position - 1)
        on_left = visit(left[node])
        passed[node] = on_left
        return on_left | visit(right[node])

    if left[0] != right[0]:  # else a tree of one leaf
        visit(0)


BUCKETS = 1 << 13
_SIZES = (2, 3, 4)
"""Characters of the n-grams."""
_DIGIT = re.compile(r"\d")
_MARKS = re.compile(r"[^\w\s]")
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
    return _bag(_DIGIT.sub("0", without_accents(text).upper()))


@lru_cache(maxsize=4096)
def _bag(plain: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    counts = Counter(bucket for word in _REST.sub(" ", plain).split() for bucket in _ngrams(word))
    counts[zlib.crc32("".join(sorted(set(_MARKS.findall(plain)))).encode()) % BUCKETS] += 1
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
