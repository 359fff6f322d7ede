"""Boosted trees, trained by LightGBM and kept as arrays."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

import lightgbm
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from docmill.understanding.receipts.model import FARTHEST, Calibration
from docmill.understanding.receipts.scorers import BUCKETS, CharNgramModel, Rows, Trees, bag

_SHARED: Mapping[str, Any] = {
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "min_data_in_leaf": 20,
    "lambda_l2": 2,
    "verbosity": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "max_bin": 63,
    "seed": 1,
}


def boosted(
    rows: Rows,
    truth: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    rounds: int,
    classes: int = 1,
    pace: float = 0.06,
    features: float = 0.5,
    leaves: int = 15,
) -> Trees:
    """Trees that tell the `truth` of rows like these: 0, 1, ... The same input gives the same trees."""
    parameters = dict(_SHARED, learning_rate=pace, feature_fraction=features, num_leaves=leaves)
    parameters |= (
        {"objective": "multiclass", "num_class": classes} if classes > 1 else {"objective": "binary"}
    )
    data = lightgbm.Dataset(rows, truth, weight=weights)
    # its types leave a parameter open
    booster = lightgbm.train(dict(parameters), data, rounds)  # pyright: ignore[reportUnknownMemberType]
    return _exported(booster.dump_model()["tree_info"], classes)


def _exported(found: list[dict[str, Any]], classes: int) -> Trees:
    most = max(2, *(tree["num_leaves"] for tree in found))
    splits = (len(found), most - 1)
    features, left, right = (np.zeros(splits, np.int16) for _ in range(3))
    thresholds = np.zeros(splits, np.float32)
    values = np.zeros((len(found), most), np.float32)
    depth = 1

    def walk(tree: int, node: dict[str, Any], level: int) -> int:
        nonlocal depth
        depth = max(depth, level)
        if "split_index" not in node:
            leaf = node.get("leaf_index", 0)
            values[tree, leaf] = node["leaf_value"]
            return -1 - leaf
        at = node["split_index"]
        features[tree, at] = node["split_feature"]
        thresholds[tree, at] = _not_above(node["threshold"])
        left[tree, at] = walk(tree, node["left_child"], level + 1)
        right[tree, at] = walk(tree, node["right_child"], level + 1)
        return at

    for index, tree in enumerate(found):
        root = tree["tree_structure"]
        if "split_index" not in root:
            values[index, :] = root["leaf_value"]
            left[index, 0] = right[index, 0] = -1
        else:
            walk(index, root, 0)
    return Trees(features, thresholds, left, right, values, depth, classes)


def _not_above(threshold: float) -> np.float32:
    """The largest float32 that is not more: rows are float32, so that every row goes the same way."""
    rounded = np.float32(threshold)
    return np.nextafter(rounded, np.float32(-np.inf)) if float(rounded) > threshold else rounded


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
) -> CharNgramModel:
    """A regression of the texts' classes on their groups of letters."""
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
    return CharNgramModel(found[:-1].astype(np.float16), found[-1])


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


_NEWTON_STEPS = 50
_RIDGE = 30.0
"""Signs are many and vendors few: with 3 the likelihood of vendors not seen is less."""
_CONSTANT = 1e-6


def calibrated(signs: NDArray[np.float64], right: NDArray[np.bool_]) -> Calibration:
    """A logistic curve. signs: shape (answers, signs).

    Every answer counts alike: a confidence is the share of papers, as they come, that are right.
    """
    middle, width = signs.mean(axis=0), signs.std(axis=0)
    width[width < _CONSTANT] = 1
    scaled = np.hstack([np.clip((signs - middle) / width, -FARTHEST, FARTHEST), np.ones((len(signs), 1))])
    coefficients = _logistic(scaled, right.astype(np.float64))
    return Calibration(middle, width, coefficients[:-1], float(coefficients[-1]))


def _logistic(rows: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """By Newton's method; the last column is the offset and is not held small."""
    ridge = np.full(rows.shape[1], _RIDGE)
    ridge[-1] = 1e-6
    found = np.zeros(rows.shape[1])
    for _ in range(_NEWTON_STEPS):
        shares = 1 / (1 + np.exp(-(rows @ found)))
        slope = rows.T @ (shares - right) + ridge * found
        curve = (rows * (shares * (1 - shares))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < 1e-8:  # noqa: PLR2004 - it has settled
            break
    return found
