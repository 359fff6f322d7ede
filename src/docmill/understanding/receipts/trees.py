"""Boosted trees as arrays: no library that trained them is needed to ask them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Trees:
    """Binary trees, one a row: features and thresholds of their splits, and what follows on either side.

    left, right: the split that follows, or for a leaf -1 less its number. values: of the leaves.
    classes: of how many trees one round consists.
    """

    features: NDArray[np.int16]
    thresholds: NDArray[np.float32]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    values: NDArray[np.float32]
    depth: int
    classes: int = 1

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """The sum of the leaves each row falls into; shape (rows, classes)."""
        count, width = len(self.features), int(self.features.shape[1])
        first = np.arange(count, dtype=np.intp) * width
        row = np.arange(len(rows))[:, None] * rows.shape[1]
        features, thresholds = self.features.ravel(), self.thresholds.ravel()
        left, right, asked = self.left.ravel(), self.right.ravel(), rows.ravel()
        at = np.zeros((len(rows), count), np.int16)
        for _ in range(self.depth):
            split = np.maximum(at, 0) + first
            goes_left = asked[row + features[split]] <= thresholds[split]
            at = np.where(at >= 0, np.where(goes_left, left[split], right[split]), at)
        leaves = self.values[np.arange(count), -1 - at].astype(np.float64)
        return leaves.reshape(len(rows), count // self.classes, self.classes).sum(axis=1)

    def shares(self, rows: Rows) -> NDArray[np.float64]:
        """Of each class the probability; of one class alone, that of yes."""
        scores = self.scores(rows)
        if self.classes == 1:
            return 1 / (1 + np.exp(-scores[:, 0]))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """As stored."""
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
        """What `arrays` gave."""
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
