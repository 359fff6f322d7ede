"""Calibrations, from held-out answers and whether they were right."""

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.learned.calibration import FARTHEST, Calibration

_STEPS = 50
_RIDGE = 1.0
_CONSTANT = 1e-6
_PRIOR = 0.5
"""Right and wrong answers added to each step, so that few answers do not make certain."""


def calibrated(
    signs: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64]
) -> Calibration:
    """A logistic curve, then steps that never fall. signs: shape (answers, signs)."""
    middle, width = signs.mean(axis=0), signs.std(axis=0)
    width[width < _CONSTANT] = 1
    scaled = np.hstack([np.clip((signs - middle) / width, -FARTHEST, FARTHEST), np.ones((len(signs), 1))])
    coefficients = _logistic(scaled, right.astype(np.float64), weights)
    beliefs = 1 / (1 + np.exp(-(scaled @ coefficients)))
    return Calibration(
        middle, width, coefficients[:-1], float(coefficients[-1]), steps(beliefs, right, weights)
    )


def _logistic(
    rows: NDArray[np.float64], right: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """By Newton's method; the last column is the offset and is not held small."""
    ridge = np.full(rows.shape[1], _RIDGE)
    ridge[-1] = 1e-6
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-(rows @ found)))
        slope = rows.T @ ((shares - right) * weights) + ridge * found
        curve = (rows * (shares * (1 - shares) * weights)[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < 1e-8:  # noqa: PLR2004 - it has settled
            break
    return found


def steps(
    beliefs: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Beliefs and the shares of right answers at them, rising: neighbours that fall are pooled."""
    order = np.argsort(beliefs, kind="stable")
    blocks: list[list[float]] = []  # belief times weight, right times weight, weight
    for at in order.tolist():
        weight = float(weights[at])
        blocks.append([float(beliefs[at]) * weight, float(right[at]) * weight, weight])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            last = blocks.pop()
            blocks[-1] = [one + two for one, two in zip(blocks[-1], last, strict=True)]
    shares = np.maximum.accumulate([(block[1] + _PRIOR) / (block[2] + 2 * _PRIOR) for block in blocks])
    middles = [block[0] / block[2] for block in blocks]
    return np.array([[0.0, *middles, 1.0], [shares[0] / 2, *shares, shares[-1]]])
