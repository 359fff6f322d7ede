"""Lines cut out of a picture, upright, as a recogniser takes them."""

import cv2
import numpy as np
from numpy.typing import NDArray

STANDING = 1.5
"""Height over width from which on a line's box is that of a line that runs up or down."""


def cut(pixels: NDArray[np.uint8], corners: NDArray[np.float32]) -> NDArray[np.uint8]:
    """What is inside of the corners, turned to lie where it stands."""
    width, height = sides(corners)
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


def apart(
    corners: NDArray[np.float32], others: NDArray[np.float32], size: tuple[int, int]
) -> NDArray[np.float32]:
    """Those lines whose middle is within none of the others. size: height and width of their picture."""
    taken = np.zeros(size, np.uint8)
    cv2.fillPoly(taken, list(others.astype(np.int32)), (1,))
    columns, rows = corners.mean(axis=1).astype(np.int32).T
    return corners[taken[rows, columns] == 0]


def as_read(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """The corners of lines, each beginning with the text's own top left: of a standing line its top right."""
    standing = [height >= STANDING * width for width, height in map(sides, corners)]
    found = corners.copy()
    found[standing] = np.roll(corners[standing], -1, axis=1)
    return found


def sides(corners: NDArray[np.float32]) -> tuple[float, float]:
    """The longer of top and bottom, and the longer of left and right."""
    lengths = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    return float(max(lengths[0], lengths[2])), float(max(lengths[1], lengths[3]))


def taller(corners: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """The corners of a line, as it is read, with that share of its height more above and below."""
    text = as_read(corners[None])[0]
    left, right = (text[3] - text[0]) * share, (text[2] - text[1]) * share
    return text + np.stack([-left, -right, right, left])


def fitted(line: NDArray[np.uint8], *, height: int, width: int | None = None) -> NDArray[np.uint8]:
    """The line scaled to that height, and to that width or in proportion."""
    rows, columns = line.shape[:2]
    width = width or max(1, int(np.ceil(columns * height / rows)))
    return np.asarray(cv2.resize(line, (width, height)), np.uint8)
