"""Text lines in a picture: their detection, and the geometry of lines, crops and turns.

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
"""RapidOCR's own: pictures without letters whose short side is shorter are enlarged."""
MULTIPLE = 32
"""The detector takes pictures whose sides are multiples of it."""
LETTERS = (10, 15)
"""Median height in pixels that a page's letters should have so that its lines are found."""
LINE = 1.85
"""Height of a line as it is found, in heights of its letters."""
LONG_LINE = 2.0
"""Width over height from which on a line's height is believed."""
LEAST_LINES = 3
LARGER = 1.25
"""Ratio by which a picture must be enlarged so that searching it again pays."""
LEGIBLE = (12, 20)
"""Median height below which letters that were reduced are drawn larger, and the height they then have."""
MOST_PIXELS = 8_000_000
"""To which a page is drawn larger: the detector reduces it again, but its lines are cut out in full size."""
SIGNS = 30
"""Letters that a picture must show so that their height is believed."""
ROW = 10
"""Letters that make a row of text."""
FINDABLE = 8
"""Least height of a letter in pixels so that its line is found."""
SOLID = 0.15
"""The least share of its box that a letter fills."""
SPECK = 5
HEADLINE = 100
"""Least height of a letter in pixels, and the height from which on a spot is none."""


class Spots(NamedTuple):
    """Spots that may be letters: int32 columns in pixels. ink: how many of the box's pixels are dark."""

    left: NDArray[np.int32]
    top: NDArray[np.int32]
    width: NDArray[np.int32]
    height: NDArray[np.int32]
    ink: NDArray[np.int32]

    def where(self, mask: NDArray[np.bool_]) -> "Spots":
        """The spots in the mask."""
        return Spots(*(column[mask] for column in self))

    def middles(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The row and the column in which the middle of each lies."""
        return self.top + self.height // 2, self.left + self.width // 2


def find_spots(bgr: NDArray[np.uint8]) -> Spots:
    """Find the dark spots of a picture that have the size of letters."""
    grey = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    dark = cv2.adaptiveThreshold(grey, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 15)
    _, _, statistics, _ = cv2.connectedComponentsWithStats(dark, connectivity=8)
    spots = Spots(*np.asarray(statistics[1:], np.int32).T)
    wide = (spots.width > 1) & (spots.width < HEADLINE)
    return spots.where((spots.height >= SPECK) & (spots.height < HEADLINE) & wide)


def letter_height(spots: Spots) -> float | None:
    """Median height of the letters in pixels; None where there are too few."""
    return float(np.median(spots.height)) if len(spots.height) >= SIGNS else None


def legible_dimension(pixels: NDArray[np.uint8], max_dimension_px: int) -> int:
    """The long side in pixels with which a page must be drawn so that its letters are recognised well.

    pixels: of its picture, fitted to `max_dimension_px`.
    """
    height, width = pixels.shape[:2]
    letter = letter_height(find_spots(np.ascontiguousarray(pixels[:, :, ::-1])))
    if max(height, width) < max_dimension_px or letter is None or letter >= LEGIBLE[0]:
        return max_dimension_px
    enlarged = min(LEGIBLE[1] / letter, math.sqrt(MOST_PIXELS / (height * width)))
    return round(max_dimension_px * max(1.0, enlarged))


def has_small_print(spots: Spots, corners: NDArray[np.float32], size: tuple[int, int], scale: float) -> bool:
    """True if rows of letters outside the lines found are too small to be found at this scale.

    corners: of the lines. size: height and width of the picture. scale: at which it was searched.
    """
    in_lines = _line_mask(corners, size)
    full = spots.ink >= SOLID * spots.width * spots.height
    small = (spots.height > SPECK) & (spots.height * scale < FINDABLE) & (spots.width < 3 * spots.height)
    missed = spots.where(full & small & (in_lines[spots.middles()] == 0))
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


def _line_mask(corners: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.uint8]:
    """1 within the lines with these corners, else 0; size: height and width."""
    mask = np.zeros(size, np.uint8)
    cv2.fillPoly(mask, list(corners.astype(np.int32)), (1,))
    return mask


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
    rows, columns = (max(MULTIPLE, round(side * scale / MULTIPLE) * MULTIPLE) for side in (height, width))
    return rows, columns


def enlarged_size(height: int, width: int, corners: NDArray[np.float32], searched: int) -> tuple[int, int]:
    """Height and width in which a picture of that height and width is searched again for small print.

    corners: of the lines that were found in a picture of the height `searched`. It is that size again where
    they are not small. The lines tell better than spots: those of dotted print are smaller than its letters.
    """
    scale = searched / height
    sizes = np.sort(np.array([line_size(line) for line in corners], np.float32).reshape(-1, 2), axis=1)
    heights = sizes[sizes[:, 1] >= LONG_LINE * sizes[:, 0], 0]
    if len(heights) >= LEAST_LINES:
        wished = min(LETTERS[1] * LINE / float(np.median(heights)), math.sqrt(LARGEST / (height * width)))
        scale = wished if wished >= LARGER * scale else scale
    rows, columns = (max(MULTIPLE, round(side * scale / MULTIPLE) * MULTIPLE) for side in (height, width))
    return rows, columns


# PP-OCR's own constants: the networks were trained with them.
INK = 0.3
"""Least probability of a point of text."""
BELIEVED = 0.5
"""Least mean probability of the points of a line."""
SPREAD = 1.6
"""The map shows the cores of lines; they are widened by this times their area over their circumference."""
SMALLEST_LINE = 3
"""Points of the map, and pixels, that a line must exceed in height and width."""
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
    lines: list[NDArray[np.float32]] = []
    for contour in contours[:MOST]:
        core = cv2.minAreaRect(contour)
        if min(core[1]) < SMALLEST_LINE or _mean_probability(probabilities, core) < BELIEVED:
            continue
        centre, (across, down), angle = core
        step = across * down * SPREAD / (2 * (across + down))
        widened = centre, (across + 2 * step, down + 2 * step), angle
        box = np.asarray(cv2.boxPoints(widened), np.float32)
        # From the top left on: the upper of the two on the left.
        box = box[np.argsort(box[:, 0], kind="stable")]
        left, right = (side[np.argsort(side[:, 1])] for side in (box[:2], box[2:]))
        corners = np.stack([left[0], right[0], right[1], left[1]])
        corners = np.clip(np.rint(corners * scale), 0, highest)
        sides = np.linalg.norm(corners[0] - corners[[1, 3]], axis=1)
        if sides.min() >= SMALLEST_LINE + 1:
            lines.append(corners)
    return np.array(lines, np.float32).reshape(-1, 4, 2)


def _mean_probability(probabilities: NDArray[np.float32], rectangle: Rectangle) -> float:
    """Mean of the points within a rectangle of the map."""
    rows, columns = probabilities.shape
    corners = cv2.boxPoints(rectangle)
    left, top = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, [columns - 1, rows - 1])
    right, bottom = np.clip(np.ceil(corners.max(axis=0)).astype(int), 0, [columns - 1, rows - 1])
    inside = np.zeros((bottom - top + 1, right - left + 1), np.uint8)
    cv2.fillPoly(inside, [(corners - [left, top]).astype(np.int32)], (1,))
    return float(cv2.mean(probabilities[top : bottom + 1, left : right + 1], inside)[0])


STANDING = 1.5
"""A box with at least this height over width is that of a line that runs up or down."""


def crop_line(pixels: NDArray[np.uint8], corners: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Crop of a line by its corners; a line that runs up or down is turned to lie."""
    width, height = line_size(corners)
    columns, rows = max(1, int(width)), max(1, int(height))
    target = np.array([[0, 0], [columns, 0], [columns, rows], [0, rows]], np.float32)
    line = cv2.warpPerspective(
        pixels,
        cv2.getPerspectiveTransform(corners, target),
        (columns, rows),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    upright = np.rot90(line) if rows >= STANDING * columns else line
    return np.ascontiguousarray(upright, np.uint8)


def lines_outside(
    corners: NDArray[np.float32], others: NDArray[np.float32], size: tuple[int, int]
) -> NDArray[np.float32]:
    """The lines whose middle lies in none of the others. size: height and width of their picture."""
    columns, rows = corners.mean(axis=1).astype(np.int32).T
    return corners[_line_mask(others, size)[rows, columns] == 0]


def start_at_text(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """Start each line's corners at its text's own top left, which is the top right of a standing line."""
    standing = [height >= STANDING * width for width, height in map(line_size, corners)]
    started = corners.copy()
    started[standing] = np.roll(corners[standing], -1, axis=1)
    return started


def line_size(corners: NDArray[np.float32]) -> tuple[float, float]:
    """The longer of top and bottom, and the longer of left and right."""
    lengths = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    return float(max(lengths[0], lengths[2])), float(max(lengths[1], lengths[3]))


def with_margin(corners: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """The corners of a line, as it is read, with that share of its height more above and below."""
    text = start_at_text(corners[None])[0]
    left, right = (text[3] - text[0]) * share, (text[2] - text[1]) * share
    return text + np.stack([-left, -right, right, left])


def scale_line(line: NDArray[np.uint8], *, height: int, width: int | None = None) -> NDArray[np.uint8]:
    """The line scaled to that height, and to that width or in proportion."""
    rows, columns = line.shape[:2]
    width = width or max(1, int(np.ceil(columns * height / rows)))
    return np.asarray(cv2.resize(line, (width, height)), np.uint8)


SAMPLE = 8
"""Number of lines, the longest, by which the way up of a page is told."""


def is_sideways(corners: NDArray[np.float32]) -> bool:
    """True if most text runs up or down. corners: as in `RecognisedLines`."""
    if not len(corners):
        return False
    width = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    height = np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1)
    up = height[height >= STANDING * width].sum()
    across = width[width >= STANDING * height].sum()
    return bool(up > across)


def longest_lines(corners: NDArray[np.float32]) -> list[int]:
    """The indices of the longest lines, the longest first."""
    across = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    down = np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1)
    order: list[int] = np.argsort(-np.maximum(across, down), kind="stable").tolist()
    return order[:SAMPLE]


def turn_picture(pixels: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """The picture turned clockwise by a multiple of 90 degrees."""
    return np.ascontiguousarray(np.rot90(pixels, -turn // 90 % 4))


def turn_corners(
    corners: NDArray[np.float32], turn: int, *, width_px: int, height_px: int
) -> NDArray[np.float32]:
    """Turn corners with their picture, which was that wide and high, clockwise by `turn` degrees.

    Each line's corners begin again with the one that is now its top left.
    """
    x, y = corners[..., 0], corners[..., 1]
    moved = {
        0: (x, y),
        90: (height_px - y, x),
        180: (width_px - x, height_px - y),
        270: (y, width_px - x),
    }[turn]
    return np.roll(np.stack(moved, axis=-1), turn // 90, axis=-2).astype(np.float32)


def likely_turns(pixels: NDArray[np.uint8]) -> tuple[int, ...]:
    """Clockwise turns that may make a page readable, by the stripes of its rows of print."""
    ink = 255.0 - pixels.mean(axis=2)
    along_rows, along_columns = (float(np.var(np.diff(ink.mean(axis=axis)))) for axis in (1, 0))
    return (90, 270) if along_columns > along_rows else (180,)
