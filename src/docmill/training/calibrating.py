"""Calibrations, from held-out answers and whether they were right."""

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.receipts.calibration import FARTHEST, Calibration

_STEPS = 50
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
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-(rows @ found)))
        slope = rows.T @ (shares - right) + ridge * found
        curve = (rows * (shares * (1 - shares))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < 1e-8:  # noqa: PLR2004 - it has settled
            break
    return found
