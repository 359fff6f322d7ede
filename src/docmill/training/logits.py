"""Logistic regression over hashed letter groups; the last column stands for every text."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from docmill.understanding.receipts.ngrams import BUCKETS, Letters, bag

_STRENGTH = 3.0
"""How far a text may pull: the inverse of the weight on the squared coefficients."""
_STEPS = 120
"""Of Nesterov's accelerated descent."""
_POWER, _MARGIN = 12, 1.1
_bag = lru_cache(maxsize=200_000)(bag)
"""The same texts are asked for at every stage of training."""


class _Linear(Protocol):
    """A sparse matrix, which scipy gives no types of its own."""

    def __matmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]: ...


def spelled(
    texts: Sequence[str], truth: NDArray[np.int64], weights: NDArray[np.float64], *, classes: int
) -> Letters:
    """What the letters of texts say of their class."""
    matrix, turned = _matrices(texts)
    wanted = np.zeros((len(texts), classes), np.float32)
    wanted[np.arange(len(texts)), truth] = 1
    importance = weights.astype(np.float32)[:, None]
    pace = 1 / (_steepest(matrix, turned, importance) + 1 / _STRENGTH)
    found = ahead = np.zeros((BUCKETS + 1, classes), np.float32)
    for step in range(_STEPS):
        scores = matrix @ ahead
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope = turned @ ((shares - wanted) * importance) + ahead / _STRENGTH
        before, found = found, ahead - pace * slope
        ahead = found + step / (step + 3) * (found - before)
    return Letters(found[:-1].astype(np.float16), found[-1])


def _steepest(matrix: _Linear, turned: _Linear, importance: NDArray[np.float32]) -> float:
    """A bound on how fast the slope changes: half the largest eigenvalue, by power iteration."""
    direction = np.ones((BUCKETS + 1, 1), np.float32)
    for _ in range(_POWER):
        direction = (direction / np.linalg.norm(direction)).astype(np.float32)
        direction = turned @ (importance * (matrix @ direction))
    return 0.5 * float(np.linalg.norm(direction)) * _MARGIN


def _matrices(texts: Sequence[str]) -> tuple[_Linear, _Linear]:
    """A row for each text, and the same turned."""
    bags = [_bag(text) for text in texts]
    starts = np.cumsum([0, *(len(buckets) + 1 for buckets, _ in bags)])
    buckets = np.concatenate([np.append(buckets, BUCKETS) for buckets, _ in bags])
    weights = np.concatenate([np.append(weights, np.float32(1)) for _, weights in bags])
    matrix = csr_matrix((weights, buckets, starts), shape=(len(texts), BUCKETS + 1))
    turned = csc_matrix((weights, buckets, starts), shape=(BUCKETS + 1, len(texts)))
    return cast("_Linear", matrix), cast("_Linear", turned)
