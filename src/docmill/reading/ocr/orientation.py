"""Which way up a page stands, told from its lines at next to no cost."""

import numpy as np
from numpy.typing import NDArray

from docmill.reading.ocr.line_crops import STANDING

SAMPLE = 8
"""Lines that are asked which way up they are: the longest, of which it is plainest."""


def standing(corners: NDArray[np.float32]) -> bool:
    """Whether most text runs up or down. corners: as in `Recognised`."""
    if not len(corners):
        return False
    width = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    height = np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1)
    up = height[height >= STANDING * width].sum()
    across = width[width >= STANDING * height].sum()
    return bool(up > across)


def longest(corners: NDArray[np.float32]) -> list[int]:
    """The indices of the lines to be asked, the longest first."""
    across = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    down = np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1)
    order: list[int] = np.argsort(-np.maximum(across, down), kind="stable").tolist()
    return order[:SAMPLE]


def turned(pixels: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """The picture turned clockwise by a multiple of 90 degrees."""
    return np.ascontiguousarray(np.rot90(pixels, -turn // 90 % 4))


def turned_corners(
    corners: NDArray[np.float32], turn: int, *, width_px: int, height_px: int
) -> NDArray[np.float32]:
    """Where the corners are once their picture, which was that wide and high, has been turned clockwise.

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


def doubts(pixels: NDArray[np.uint8]) -> tuple[int, ...]:
    """Turns clockwise that might make a page readable: its rows of print show as stripes."""
    ink = 255.0 - pixels.mean(axis=2)
    along_rows, along_columns = (float(np.var(np.diff(ink.mean(axis=axis)))) for axis in (1, 0))
    return (90, 270) if along_columns > along_rows else (180,)
