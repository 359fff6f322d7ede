"""Boosted trees, trained by LightGBM and kept as arrays."""

from collections.abc import Mapping
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from docmill.understanding.receipts.trees import Rows, Trees

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
