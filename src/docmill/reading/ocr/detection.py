"""From a map of where text is to the corners of its lines.

Source: Liao et al., Real-time Scene Text Detection with Differentiable Binarization, AAAI 2020, section 3.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

# PP-OCR's own: the networks were trained with them.
INK = 0.3
"""How sure the map must be of a point to be text."""
BELIEVED = 0.5
"""How sure it must be of a line, on the mean of its points."""
SPREAD = 1.6
"""The map shows the hearts of lines; they are widened by this times their area over their circumference."""
SMALLEST = 3
"""Points of the map, and pixels, that a line must be more than high and wide."""
MOST = 1000
"""Lines on one picture."""

_JOINING = np.ones((2, 2), np.uint8)

Rectangle = tuple[Sequence[float], Sequence[float], float]


def line_corners(probabilities: NDArray[np.float32], *, height: int, width: int) -> NDArray[np.float32]:
    """The corners of every line from its top left on clockwise; float32, shape (n, 4, 2), in pixels.

    probabilities: of each point of the map to be text, shape (rows, columns). height, width: of the picture.
    """
    rows, columns = probabilities.shape
    ink = cv2.dilate((probabilities > INK).astype(np.uint8), _JOINING)
    contours, _ = cv2.findContours(ink, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    scale = np.array([width / columns, height / rows], np.float32)
    highest = np.array([width - 1, height - 1], np.float32)
    found: list[NDArray[np.float32]] = []
    for contour in contours[:MOST]:
        heart = cv2.minAreaRect(contour)
        if min(heart[1]) < SMALLEST or _sureness(probabilities, heart) < BELIEVED:
            continue
        corners = _clockwise(np.asarray(cv2.boxPoints(_widened(heart)), np.float32))
        corners = np.clip(np.rint(corners * scale), 0, highest)
        sides = np.linalg.norm(corners[0] - corners[[1, 3]], axis=1)
        if sides.min() >= SMALLEST + 1:
            found.append(corners)
    return np.array(found, np.float32).reshape(-1, 4, 2)


def _sureness(probabilities: NDArray[np.float32], heart: Rectangle) -> float:
    rows, columns = probabilities.shape
    corners = cv2.boxPoints(heart)
    left, top = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, [columns - 1, rows - 1])
    right, bottom = np.clip(np.ceil(corners.max(axis=0)).astype(int), 0, [columns - 1, rows - 1])
    inside = np.zeros((bottom - top + 1, right - left + 1), np.uint8)
    cv2.fillPoly(inside, [(corners - [left, top]).astype(np.int32)], (1,))
    return float(cv2.mean(probabilities[top : bottom + 1, left : right + 1], inside)[0])


def _widened(heart: Rectangle) -> Rectangle:
    centre, (width, height), angle = heart
    step = width * height * SPREAD / (2 * (width + height))
    return centre, (width + 2 * step, height + 2 * step), angle


def _clockwise(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """The corners from the top left on: the upper of the two on the left."""
    across = corners[np.argsort(corners[:, 0], kind="stable")]
    left, right = across[:2], across[2:]
    left, right = left[np.argsort(left[:, 1])], right[np.argsort(right[:, 1])]
    return np.stack([left[0], right[0], right[1], left[1]])
