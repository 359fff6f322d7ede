"""Lines of a tilted, fanned or curled paper made level, so that its rows are told; no pixel is moved.

Every line of text says that its two ends are equally high on the paper. A height on the paper for each point
of the picture is fitted to all of them by least squares.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LONG = 6
"""Characters that a line needs so that its slant is believed."""
FITTED = 4
"""Characters of the lines to which bends are fitted: prices tell how the right side curls."""
STRAIGHT = 0.3
"""Radians up to which the median slant of the lines is believed as it is."""
STEEPEST = 0.9
"""Radians up to which it is believed where the lines agree; beyond, the page is not skewed but turned."""
AGREED = 0.1
"""Radians by which lines that agree may differ."""
LEAST_AGREED = 0.6
"""Share of the lines that must agree."""
LEAST_LINES = 5
"""Long lines from which on bends are looked for."""
ROUNDS = 4
"""Of fitting; in each, lines that disagree count less."""
OUTLIER = 0.15
"""Line heights of disagreement from which on a line counts less."""
STIFFNESS = 0.02
"""By how much a bend must pay, in line heights of a paper that is as wide as high."""

Corners = NDArray[np.float32]


def level_lines(corners: Corners, texts: Sequence[str]) -> Corners:
    """The corners of lines on a paper whose rows are level. corners, texts: as in `RecognisedLines`."""
    if not len(corners):
        return corners
    across = corners[:, 1] - corners[:, 0]
    long = (across[:, 0] > 0) & (np.array([len(text) for text in texts]) >= LONG)
    if not long.any():
        return corners
    slants = np.arctan2(across[long, 1], across[long, 0])
    angle = float(np.median(slants))
    agreed = float(np.mean(np.abs(slants - angle) < AGREED))
    if abs(angle) > (STEEPEST if agreed >= LEAST_AGREED else STRAIGHT):
        return corners
    cos, sin = np.cos(-angle), np.sin(-angle)
    level = corners @ np.array([[cos, sin], [-sin, cos]], np.float32)
    usable = (across[:, 0] > 0) & (np.array([len(text) for text in texts]) >= FITTED)
    return _unbend(level, usable) if np.count_nonzero(long) >= LEAST_LINES else level


def _unbend(corners: Corners, long: NDArray[np.bool_]) -> Corners:
    """The corners without what slant, fan and curl are left, as fitted to the long lines."""
    centre = (corners.min(axis=(0, 1)) + corners.max(axis=(0, 1))) / 2
    size = max(float(np.ptp(corners, axis=(0, 1)).max()) / 2, 1.0)
    points = ((corners - centre) / size).astype(np.float64)
    starts, ends = (points[:, 0] + points[:, 3]) / 2, (points[:, 1] + points[:, 2]) / 2
    height = max(float(np.median(np.linalg.norm(points[:, 3] - points[:, 0], axis=1))), 1e-6)
    slopes = (_bends(ends) - _bends(starts))[long]
    falls = (ends - starts)[long, 1]
    stiff = np.diag([0.0, *[STIFFNESS * height] * (slopes.shape[1] - 1)])
    weights = np.ones(len(falls))
    bend = np.zeros(slopes.shape[1])
    for _ in range(ROUNDS):
        weighted = slopes * weights[:, None]
        bend = np.linalg.lstsq(
            np.vstack([weighted, stiff]), np.append(-falls * weights, np.zeros(len(stiff))), rcond=None
        )[0]
        weights = 1 / (1 + (np.abs(slopes @ bend + falls) / (OUTLIER * height)))
    level = points.copy()
    level[..., 1] += _bends(points) @ bend
    return (level * size + centre).astype(np.float32)


def _bends(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Basis functions of the correction of heights at each point: slant, curl, fan, and curled fan."""
    x, y = points[..., 0], points[..., 1]
    return np.stack([x, x * x, x * y, x * x * y], axis=-1)
