"""Folds and weights of labelled documents, and the training of scorers on them.

LightGBM trains the boosted trees, which are kept as arrays.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

import lightgbm
import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from scipy.sparse import csc_matrix, csr_matrix

from docmill.model.document import letters_and_digits
from docmill.understanding.receipts.scorers import BUCKETS, CharNgramModel, Rows, Trees, bag

_SAME_NAME = 88
_SAME_ADDRESS = 90
_SHORTEST_ADDRESS = 10
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


def group_by_vendor(names: Mapping[str, str], addresses: Mapping[str, str]) -> dict[str, str]:
    """Assign each document to a vendor: documents with nearly the same name or address are of one vendor.

    names, addresses: by document.
    """
    parent = {key: key for key in names}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for texts, least, shortest in ((names, _SAME_NAME, 0), (addresses, _SAME_ADDRESS, _SHORTEST_ADDRESS)):
        first: dict[str, str] = {}
        for key, text in texts.items():
            letters = letters_and_digits(text)
            if len(letters) <= shortest:
                continue
            for other, owner in first.items():
                if fuzz.ratio(letters, other, score_cutoff=least) >= least:
                    parent[root(key)] = root(owner)
            first.setdefault(letters, key)
    return {key: root(key) for key in parent}


def assign_folds(groups: Mapping[str, str], count: int, *, seed: int) -> dict[str, int]:
    """Assign each document to a fold; a group stays together, and folds are about equally large."""
    sizes = list(Counter(groups.values()).items())
    random.Random(seed).shuffle(sizes)  # noqa: S311 - parts, not secrets
    sizes.sort(key=lambda size: -size[1])
    loads = [0] * count
    fold_of: dict[str, int] = {}
    for group, size in sizes:
        least = min(range(count), key=loads.__getitem__)
        fold_of[group] = least
        loads[least] += size
    return {key: fold_of[group] for key, group in groups.items()}


def group_weights(names: Sequence[str]) -> list[float]:
    """The weight of each document: a group with many counts more than one with few, but not by as much.

    names: of the group of each document.
    """
    counts = Counter(names)
    return [counts[name] ** -0.5 for name in names]


def train_trees(
    rows: Rows,
    truth: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    rounds: int,
    classes: int = 1,
    learning_rate: float = 0.06,
    features: float = 0.5,
    leaves: int = 15,
) -> Trees:
    """Train boosted trees that classify rows. The same input gives the same trees.

    truth: the class of each row, 0, 1, ... learning_rate, features: the shrinkage of each tree, and the share
    of the features that it may split by.
    """
    parameters = dict(_SHARED, learning_rate=learning_rate, feature_fraction=features, num_leaves=leaves)
    parameters |= (
        {"objective": "multiclass", "num_class": classes} if classes > 1 else {"objective": "binary"}
    )
    data = lightgbm.Dataset(rows, truth, weight=weights)
    # its types leave a parameter open
    booster = lightgbm.train(dict(parameters), data, rounds)  # pyright: ignore[reportUnknownMemberType]
    return _export_trees(booster.dump_model()["tree_info"], classes)


def _export_trees(trees: list[dict[str, Any]], classes: int) -> Trees:
    most = max(2, *(tree["num_leaves"] for tree in trees))
    splits = (len(trees), most - 1)
    features, left, right = (np.zeros(splits, np.int16) for _ in range(3))
    thresholds = np.zeros(splits, np.float32)
    values = np.zeros((len(trees), most), np.float32)
    depth = 1
    for index, tree in enumerate(trees):
        root = tree["tree_structure"]
        if "split_index" not in root:
            values[index, :] = root["leaf_value"]
            left[index, 0] = right[index, 0] = -1
            continue
        nodes = [(root, 0)]
        while nodes:
            node, level = nodes.pop()
            depth = max(depth, level)
            if "split_index" not in node:
                values[index, node.get("leaf_index", 0)] = node["leaf_value"]
                continue
            at = node["split_index"]
            # The largest float32 that is not more: rows are float32, so that every row goes the same way.
            threshold = np.float32(node["threshold"])
            is_more = float(threshold) > node["threshold"]
            thresholds[index, at] = np.nextafter(threshold, np.float32(-np.inf)) if is_more else threshold
            features[index, at] = node["split_feature"]
            for side, child in ((left, node["left_child"]), (right, node["right_child"])):
                side[index, at] = (
                    child["split_index"] if "split_index" in child else -1 - child.get("leaf_index", 0)
                )
                nodes.append((child, level + 1))
    return Trees(features, thresholds, left, right, values, depth, classes)


_STRENGTH = 3.0
"""Inverse of the L2 penalty on the coefficients."""
_STEPS = 120
"""Steps of Nesterov's accelerated descent."""
_POWER, _MARGIN = 12, 1.1
_bag = lru_cache(maxsize=200_000)(bag)
"""The same texts are asked for at every stage of training."""


class _Linear(Protocol):
    """A sparse matrix, which scipy gives no types of its own."""

    def __matmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]: ...


def train_ngrams(
    texts: Sequence[str], truth: NDArray[np.int64], weights: NDArray[np.float64], *, classes: int
) -> CharNgramModel:
    """Train a logistic regression of the texts' classes on their character n-grams."""
    bags = [_bag(text) for text in texts]
    starts = np.cumsum([0, *(len(buckets) + 1 for buckets, _ in bags)])
    buckets = np.concatenate([np.append(buckets, BUCKETS) for buckets, _ in bags])
    counts = np.concatenate([np.append(counts, np.float32(1)) for _, counts in bags])
    matrix = cast("_Linear", csr_matrix((counts, buckets, starts), shape=(len(texts), BUCKETS + 1)))
    transposed = cast("_Linear", csc_matrix((counts, buckets, starts), shape=(BUCKETS + 1, len(texts))))
    wanted = np.zeros((len(texts), classes), np.float32)
    wanted[np.arange(len(texts)), truth] = 1
    importance = weights.astype(np.float32)[:, None]
    # A bound on how fast the slope changes: half the largest eigenvalue, by power iteration.
    direction = np.ones((BUCKETS + 1, 1), np.float32)
    for _ in range(_POWER):
        direction = (direction / np.linalg.norm(direction)).astype(np.float32)
        direction = transposed @ (importance * (matrix @ direction))
    pace = 1 / (0.5 * float(np.linalg.norm(direction)) * _MARGIN + 1 / _STRENGTH)
    coefficients = ahead = np.zeros((BUCKETS + 1, classes), np.float32)
    for step in range(_STEPS):
        scores = matrix @ ahead
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope = transposed @ ((shares - wanted) * importance) + ahead / _STRENGTH
        before, coefficients = coefficients, ahead - pace * slope
        ahead = coefficients + step / (step + 3) * (coefficients - before)
    return CharNgramModel(coefficients[:-1].astype(np.float16), coefficients[-1])
