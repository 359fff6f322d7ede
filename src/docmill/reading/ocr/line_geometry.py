"""Geometry of text lines in a picture: crops, turns, and the way up that a page stands."""

import cv2
import numpy as np
from numpy.typing import NDArray

STANDING = 1.5
"""Height over width from which on a line's box is that of a line that runs up or down."""


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
    taken = np.zeros(size, np.uint8)
    cv2.fillPoly(taken, list(others.astype(np.int32)), (1,))
    columns, rows = corners.mean(axis=1).astype(np.int32).T
    return corners[taken[rows, columns] == 0]


def start_at_text(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """Start each line's corners at its text's own top left, which is the top right of a standing line."""
    standing = [height >= STANDING * width for width, height in map(line_size, corners)]
    found = corners.copy()
    found[standing] = np.roll(corners[standing], -1, axis=1)
    return found


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
"""Lines that are asked which way up they are: the longest, of which it is plainest."""


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
    """The indices of the lines to be asked, the longest first."""
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
    """Clockwise turns that may make a page readable, by the stripes that its rows of print make."""
    ink = 255.0 - pixels.mean(axis=2)
    along_rows, along_columns = (float(np.var(np.diff(ink.mean(axis=axis)))) for axis in (1, 0))
    return (90, 270) if along_columns > along_rows else (180,)
