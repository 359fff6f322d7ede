"""Preprocessing of pictures that were read badly: flattening, straightening, cleaning, contrast."""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

SMALL = 600_000
"""Pixels below which a page is enlarged: its letters are a few pixels high."""
THUMBNAIL = 600
"""Pixels of the long side in which the paper and the slant are looked for."""
PAPER = (0.25, 0.92)
"""Share of a photograph that its paper covers; larger paper needs no cutting out."""
BACKGROUND = 31
"""Pixels of a thumbnail around a spot where the paper's brightness is looked for: larger than letters."""
MAX_SKEW = 8.0
"""Degrees up to which a page is straightened; a page that slants more is turned."""
SKEW_STEP = 0.5
LEAST_SKEW = 1.0
CLEARLY = 1.1
"""Least ratio of the contrast between lines at an angle to that without turning."""
EDGE_CONTRAST = 40.0
"""Grey levels between a sheet's rim and the surface below; a shadow has no such edge."""
RIM = 9
"""Pixels of a thumbnail on either side of that edge."""
NOISY = 6.0
"""Grey levels of noise from which on it is smoothed."""
BLURRED = 60.0
"""Variance of the Laplacian, of a picture with full contrast, below which edges are sharpened."""
DARKEST, BRIGHTEST = 1.0, 60.0
"""Percentiles of brightness that become black and white: print covers little of a page."""


class PreprocessedPicture(NamedTuple):
    """A better picture. matrix: shape (3, 3), from its pixels to those of the picture it was made of."""

    pixels: NDArray[np.uint8]
    matrix: NDArray[np.float64]


def map_back(corners: NDArray[np.float32], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Corners in a preprocessed picture, shape (n, 4, 2), in the one it was made of; by its `matrix`."""
    if not len(corners):
        return corners
    points = cv2.perspectiveTransform(corners.reshape(-1, 1, 2).astype(np.float64), matrix)
    return points.reshape(corners.shape).astype(np.float32)


def preprocess_picture(pixels: NDArray[np.uint8]) -> PreprocessedPicture:
    """Cut out and straighten the paper, and remove noise, shadows and blur; RGB like `pixels`."""
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8)
    forward = np.eye(3)
    size = (grey.shape[1], grey.shape[0])
    paper = paper_corners(grey)
    if paper is not None:
        sides = np.linalg.norm(paper - np.roll(paper, -1, axis=0), axis=1)
        width, height = int(max(sides[0], sides[2])), int(max(sides[1], sides[3]))
        flat = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        step, size = np.asarray(cv2.getPerspectiveTransform(paper, flat), np.float64), (width, height)
        forward = step @ forward
    angle = skew(_warp(grey, forward, size))
    if abs(angle) >= LEAST_SKEW:
        width, height = size
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1)
        cos, sin = abs(float(turn[0, 0])), abs(float(turn[0, 1]))
        size = round(width * cos + height * sin), round(width * sin + height * cos)
        turn[:, 2] += [(size[0] - width) / 2, (size[1] - height) / 2]
        forward = np.vstack([turn, [0, 0, 1]]) @ forward
    if size[0] * size[1] < SMALL:
        forward = np.diag([2.0, 2.0, 1.0]) @ forward
        size = (2 * size[0], 2 * size[1])
    better = _clean(_warp(grey, forward, size))
    return PreprocessedPicture(
        np.asarray(cv2.cvtColor(better, cv2.COLOR_GRAY2RGB), np.uint8),
        np.asarray(np.linalg.inv(forward), np.float64),
    )


def _warp(grey: NDArray[np.uint8], forward: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.uint8]:
    warped = cv2.warpPerspective(grey, forward, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)


def paper_corners(grey: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    """The corners of a sheet brighter than the surface below, clockwise from the top left, if any."""
    scale = min(1.0, THUMBNAIL / max(grey.shape))
    small = cv2.GaussianBlur(
        cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), (7, 7), 0
    )
    _, bright = cv2.threshold(small, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    bright = cv2.morphologyEx(bright, cv2.MORPH_CLOSE, np.ones((15, 15), np.uint8))
    outlines, _ = cv2.findContours(bright, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    if not outlines:
        return None
    outline = cv2.convexHull(max(outlines, key=cv2.contourArea))
    share = cv2.contourArea(outline) / small.size
    sheet = cv2.approxPolyDP(outline, 0.03 * cv2.arcLength(outline, closed=True), closed=True)
    if not PAPER[0] <= share <= PAPER[1] or len(sheet) != 4:  # noqa: PLR2004 - a sheet has four corners
        return None
    inside = cv2.fillConvexPoly(np.zeros(small.shape, np.uint8), np.asarray(sheet, np.int32), 1)
    kernel = np.ones((RIM, RIM), np.uint8)
    rim, around = inside - cv2.erode(inside, kernel), cv2.dilate(inside, kernel) - inside
    if not around.any() or np.median(small[rim > 0]) - np.median(small[around > 0]) < EDGE_CONTRAST:
        return None
    points = sheet.reshape(4, 2).astype(np.float32) / scale
    around, across = points.sum(axis=1), points[:, 0] - points[:, 1]
    return points[[around.argmin(), across.argmax(), around.argmax(), across.argmin()]]


def skew(grey: NDArray[np.uint8]) -> float:
    """Degrees clockwise by which lines of text fall: turned back, they have most contrast."""
    scale = min(1.0, THUMBNAIL / max(grey.shape))
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    ink = cv2.morphologyEx(small, cv2.MORPH_BLACKHAT, np.ones((15, 15), np.uint8))
    centre = (small.shape[1] / 2, small.shape[0] / 2)
    size = (small.shape[1], small.shape[0])

    def contrast(angle: float) -> float:
        turned = cv2.warpAffine(ink, cv2.getRotationMatrix2D(centre, angle, 1), size)
        return float(np.var(np.diff(turned.sum(axis=1, dtype=np.float64))))

    steepest = max(np.arange(-MAX_SKEW, MAX_SKEW + SKEW_STEP, SKEW_STEP), key=contrast)
    return float(steepest) if contrast(steepest) > CLEARLY * contrast(0) else 0.0


def _clean(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture without noise, shadows and blur, print black on white."""
    # The noise's standard deviation (Immerkær 1996); by the median, not the mean, for print is no noise.
    mask = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
    noise = float(np.median(np.abs(cv2.filter2D(grey, cv2.CV_32F, mask)))) / (6 * 0.6745)
    if noise >= NOISY:
        grey = np.asarray(
            cv2.fastNlMeansDenoising(grey, None, h=1.2 * noise, templateWindowSize=5, searchWindowSize=13),
            np.uint8,
        )
    # Shadows go when the picture is divided by the brightness of its paper.
    scale = min(1.0, THUMBNAIL / max(grey.shape))
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    paper = cv2.medianBlur(cv2.dilate(small, np.ones((7, 7), np.uint8)), BACKGROUND)
    paper = cv2.resize(paper, (grey.shape[1], grey.shape[0]), interpolation=cv2.INTER_LINEAR)
    even = np.asarray(cv2.divide(grey, np.maximum(paper, 1), scale=255), np.uint8)
    low, high = np.percentile(even, (DARKEST, BRIGHTEST))
    stretched = (even.astype(np.float32) - low) * (255 / max(float(high - low), 1))
    even = np.asarray(np.clip(stretched, 0, 255), np.uint8)
    if noise < NOISY and cv2.Laplacian(even, cv2.CV_64F).var() < BLURRED:
        soft = cv2.GaussianBlur(even, (0, 0), 2)
        even = np.asarray(cv2.addWeighted(even, 2.5, soft, -1.5, 0), np.uint8)
    return even
