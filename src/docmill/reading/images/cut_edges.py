"""Edges of a picture that cut through its text: what a photograph leaves out is not on the page."""

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Edge

EDGES: tuple[Edge, ...] = ("left", "top", "right", "bottom")
NEAR = 0.6
"""Distance of a word from an edge, in heights of the word, up to which the edge may cut it."""
RIM_PX = 2
"""Pixels along an edge in which print touches it."""
LONGEST_TOUCH = 0.9
"""Share of a word's side along the edge that its print touches at most; a frame or a shadow touches more."""
LEAST_TOUCH = 0.04
LEAST_CONTRAST = 40
"""Grey levels between print and paper."""
LEAST_WORDS = {"left": 2, "right": 2, "top": 1, "bottom": 1}
"""Words that an edge must cut; a line that lies along it is often a single word."""


def find_cut_edges(pixels: NDArray[np.uint8], boxes: NDArray[np.float32]) -> tuple[Edge, ...]:
    """Find the edges that words touch with their print. boxes: of the words, as in `Words`."""
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8)
    cut: list[Edge] = []
    for quarter, edge in enumerate(EDGES):
        # The picture turned so that the edge is on the left.
        upright = np.rot90(grey, quarter)
        count = sum(_touches_left(upright, box) for box in _turn_boxes(boxes, quarter).tolist())
        if count >= LEAST_WORDS[edge]:
            cut.append(edge)
    return tuple(cut)


def _turn_boxes(boxes: NDArray[np.float32], quarters: int) -> NDArray[np.float32]:
    """The boxes after the page was turned anticlockwise by so many quarters."""
    for _ in range(quarters):
        boxes = np.stack([boxes[:, 1], 1 - boxes[:, 2], boxes[:, 3], 1 - boxes[:, 0]], axis=1)
    return boxes


def _touches_left(grey: NDArray[np.uint8], box: list[float]) -> bool:
    """Return True if the print of the word in this box runs into the left edge."""
    height, width = grey.shape
    left, right = int(box[0] * width), int(np.ceil(box[2] * width))
    top, bottom = int(box[1] * height), int(np.ceil(box[3] * height))
    word = grey[top:bottom, : max(right, RIM_PX)]
    if left > NEAR * min(right - left, bottom - top) or word.size == 0:
        return False
    ink, paper = np.percentile(word, (5, 80))
    if paper - ink < LEAST_CONTRAST:
        return False
    touched = float((word[:, :RIM_PX].min(axis=1) < (ink + paper) / 2).mean())
    return LEAST_TOUCH <= touched <= LONGEST_TOUCH
