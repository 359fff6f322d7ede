"""Words on a page, set as lines of text whose columns stand where they stood on the paper."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_COLUMNS = 400
"""Wider than any real page in monospace; a stray coordinate must not make megabyte lines."""


def set_lines(texts: Sequence[str], boxes: NDArray[np.float32], lines: NDArray[np.int32]) -> list[str]:
    """One string per line; gaps between columns become runs of at least two spaces.

    boxes: shape (n, 4), any unit, x0 and x1 in columns 0 and 2.
    lines: shape (n,), the line of each word; words of one line are adjacent and ordered from left to right.

    The width of a character cell is the page's median width per character, so that a column's words start
    at the same offset on every line. A gap narrower than one and a half cells is an ordinary space.
    """
    if not texts:
        return []
    lengths = np.array([max(1, len(text)) for text in texts])
    cell = float(np.median((boxes[:, 2] - boxes[:, 0]) / lengths))
    if not cell > 0:
        cell = 1.0
    left = float(boxes[:, 0].min())
    starts: list[int] = np.flatnonzero(np.diff(lines, prepend=lines[0] - 1)).tolist()
    stops = [*starts[1:], len(texts)]
    return [
        _set_line(texts[start:stop], boxes[start:stop], left=left, cell=cell)
        for start, stop in zip(starts, stops, strict=True)
    ]


def _set_line(texts: Sequence[str], boxes: NDArray[np.float32], *, left: float, cell: float) -> str:
    line = ""
    previous_right = None
    for text, box in zip(texts, boxes, strict=True):
        x0, x1 = float(box[0]), float(box[2])
        column = min(MAX_COLUMNS, round((x0 - left) / cell))
        if previous_right is None:
            spaces = column
        elif x0 - previous_right < 1.5 * cell:
            spaces = 1
        else:
            spaces = max(2, column - len(line))
        line += " " * max(0, spaces) + text
        previous_right = x1
    return line
