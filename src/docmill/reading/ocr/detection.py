"""Detection of text lines: the scale at which a picture is searched, and the corners of its lines.

The detector takes time by the pixel; letters larger than they need gain nothing (docs/decisions/013).
Source of the corners: Liao et al., Real-time Scene Text Detection with Differentiable Binarization, AAAI
2020, section 3.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

LARGEST = 1_800_000
"""Pixels among which lines are searched at most, to be recognised from all (docs/decisions/013)."""
SMALLEST_PICTURE = 600_000
"""Pixels below which a picture is not made smaller."""
SHORT_SIDE = 736
"""RapidOCR's own: pictures whose short side is shorter are enlarged, where letters are not to be seen."""
MULTIPLE = 32
"""The detector takes pictures whose sides are multiples of it."""
LETTERS = (10, 15)
"""Pixels that the middle one of a page's letters should be high for its line to be found."""
SIGNS = 30
"""Letters that a picture must show for their height to be believed."""
ROW = 10
"""Letters that make a row of text."""
FINDABLE = 8
"""Pixels that a letter must be high for its line to be found."""
SOLID = 0.15
"""The least share of its box that a letter fills."""
SPECK = 5
HEADLINE = 100
"""Pixels between which letters are high."""


class Spots(NamedTuple):
    """Spots that may be letters: int32 columns in pixels. ink: how many of the box's pixels are dark."""

    left: NDArray[np.int32]
    top: NDArray[np.int32]
    width: NDArray[np.int32]
    height: NDArray[np.int32]
    ink: NDArray[np.int32]

    def where(self, these: NDArray[np.bool_]) -> "Spots":
        """Some of them."""
        return Spots(*(column[these] for column in self))

    def middles(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The row and the column in which the middle of each lies."""
        return self.top + self.height // 2, self.left + self.width // 2


def find_spots(bgr: NDArray[np.uint8]) -> Spots:
    """The dark spots of a picture that are no larger and no smaller than letters."""
    grey = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    dark = cv2.adaptiveThreshold(grey, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 15)
    _, _, found, _ = cv2.connectedComponentsWithStats(dark, connectivity=8)
    spots = Spots(*np.asarray(found[1:], np.int32).T)
    wide = (spots.width > 1) & (spots.width < HEADLINE)
    return spots.where((spots.height >= SPECK) & (spots.height < HEADLINE) & wide)


def letter_height(spots: Spots) -> float | None:
    """Pixels that the middle one of the letters is high; None where too few are to be seen."""
    return float(np.median(spots.height)) if len(spots.height) >= SIGNS else None


def has_small_print(spots: Spots, corners: NDArray[np.float32], size: tuple[int, int], scale: float) -> bool:
    """True if rows of letters outside the lines found are too small to be found at this scale.

    corners: of the lines. size: height and width of the picture. scale: at which it was searched.
    """
    found = np.zeros(size, np.uint8)
    cv2.fillPoly(found, list(corners.astype(np.int32)), (1,))
    full = spots.ink >= SOLID * spots.width * spots.height
    small = (spots.height > SPECK) & (spots.height * scale < FINDABLE) & (spots.width < 3 * spots.height)
    missed = spots.where(full & small & (found[spots.middles()] == 0))
    if len(missed.height) < ROW:
        return False
    height = float(np.median(missed.height))
    bands = np.zeros(size, np.uint8)
    for left, top, width, high, _ in zip(*missed, strict=True):
        bands[top : top + high, left : left + width] = 1
    bands = cv2.dilate(bands, np.ones((1, int(3 * height) | 1), np.uint8))
    _, owners, rows, _ = cv2.connectedComponentsWithStats(bands, connectivity=4)
    counts = np.bincount(owners[missed.middles()], minlength=len(rows))
    close = rows[:, cv2.CC_STAT_WIDTH] < 2 * height * counts  # dots that lead to a price stand further apart
    flat = rows[:, cv2.CC_STAT_HEIGHT] <= 2.5 * height
    return bool(np.any((counts >= ROW) & close & flat))


def detection_size(height: int, width: int, letter: float | None = None) -> tuple[int, int]:
    """Height and width in which lines are searched in a picture of that height and width.

    letter: see `letter_height`.
    """
    area = height * width
    if letter is None:
        smallest = SHORT_SIDE / min(height, width)
        scale = max(min(1.0, math.sqrt(LARGEST / area)), smallest)
    else:
        small, large = LETTERS
        wished = min(1.0, large / letter) if letter > small else small / letter
        scale = min(max(wished, min(1.0, math.sqrt(SMALLEST_PICTURE / area))), math.sqrt(LARGEST / area))
    return _multiple(height * scale), _multiple(width * scale)


def _multiple(side: float) -> int:
    return max(MULTIPLE, round(side / MULTIPLE) * MULTIPLE)


# PP-OCR's own: the networks were trained with them.
INK = 0.3
"""How sure the map must be of a point to be text."""
BELIEVED = 0.5
"""How sure it must be of a line, on the mean of its points."""
SPREAD = 1.6
"""The map shows the hearts of lines; they are widened by this times their area over their circumference."""
SMALLEST_LINE = 3
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
        if min(heart[1]) < SMALLEST_LINE or _sureness(probabilities, heart) < BELIEVED:
            continue
        centre, (across, down), angle = heart
        step = across * down * SPREAD / (2 * (across + down))
        widened = centre, (across + 2 * step, down + 2 * step), angle
        corners = _clockwise(np.asarray(cv2.boxPoints(widened), np.float32))
        corners = np.clip(np.rint(corners * scale), 0, highest)
        sides = np.linalg.norm(corners[0] - corners[[1, 3]], axis=1)
        if sides.min() >= SMALLEST_LINE + 1:
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


def _clockwise(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """The corners from the top left on: the upper of the two on the left."""
    across = corners[np.argsort(corners[:, 0], kind="stable")]
    left, right = across[:2], across[2:]
    left, right = left[np.argsort(left[:, 1])], right[np.argsort(right[:, 1])]
    return np.stack([left[0], right[0], right[1], left[1]])
