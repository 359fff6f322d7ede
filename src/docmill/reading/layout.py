"""From scattered pieces of text to lines in reading order, by geometry alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from docmill.model import Words

SAME_ROW = 0.5
"""How far apart two centres of one row may be, in heights of the lower piece."""
SIDE_BY_SIDE = 0.3
"""How much of the narrower of two pieces may stand over or under the other in one row."""
ROW_WINDOW = 8
"""How many rows back a piece may belong: pieces come sorted by height, so it is one of the last."""
BLOCK_GAP = 0.9
"""A vertical gap of more than this many row heights starts a new block."""


@dataclass(slots=True)
class _Row:
    """Pieces side by side, and what decides whether another belongs to them."""

    centre: float
    height: float
    members: list[int] = field(default_factory=list[int])
    spans: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def takes(self, x0: float, x1: float) -> bool:
        """Whether a piece from x0 to x1 stands beside all members."""
        return all(
            min(x1, right) - max(x0, left) <= SIDE_BY_SIDE * min(x1 - x0, right - left)
            for left, right in self.spans
        )

    def add(self, member: int, span: tuple[float, float], centre: float, height: float) -> None:
        count = len(self.members)
        self.centre = (self.centre * count + centre) / (count + 1)
        self.height = min(self.height, height) if count else height
        self.members.append(member)
        self.spans.append(span)


def rows(boxes: NDArray[np.float32]) -> list[list[int]]:
    """Indices of pieces row by row, top to bottom, each row from left to right.

    boxes: shape (n, 4), any unit, upright pieces that do not span columns.
    """
    heights = np.maximum(boxes[:, 3] - boxes[:, 1], 1e-6)
    centres = (boxes[:, 1] + boxes[:, 3]) / 2
    order: list[int] = np.argsort(centres, kind="stable").tolist()
    found: list[_Row] = []
    columns = zip(
        boxes[order, 0].tolist(), boxes[order, 2].tolist(), centres[order].tolist(), heights[order].tolist(),
        strict=True,
    )  # fmt: skip
    for piece, (x0, x1, centre, height) in zip(order, columns, strict=True):
        row = _row_for(found[-ROW_WINDOW:], x0, x1, centre, height)
        if row is None:
            row = _Row(centre, height)
            found.append(row)
        row.add(piece, (x0, x1), centre, height)
    found.sort(key=lambda row: row.centre)
    return [sorted(row.members, key=lambda piece: float(boxes[piece, 0])) for row in found]


def _row_for(found: list[_Row], x0: float, x1: float, centre: float, height: float) -> _Row | None:
    best, best_distance = None, SAME_ROW
    for row in found:
        distance = abs(centre - row.centre) / min(height, row.height)
        if distance < best_distance and row.takes(x0, x1):
            best, best_distance = row, distance
    return best


def arrange(
    pieces: NDArray[np.float32],
    owners: NDArray[np.int32],
    texts: Sequence[str],
    boxes: NDArray[np.float32],
    *,
    confidences: NDArray[np.float32],
) -> Words:
    """Words in reading order.

    pieces: shape (m, 4), upright boxes of stretches of words that belong together, any unit.
    owners: shape (n,), the piece of each word; words of a piece are adjacent and ordered.
    boxes: shape (n, 4), of each word in fractions of the page.
    """
    if not len(texts):
        return Words.none()
    found = rows(pieces)
    starts = np.searchsorted(owners, np.arange(len(pieces)), side="left")
    stops = np.searchsorted(owners, np.arange(len(pieces)), side="right")
    order: list[int] = []
    lines: list[int] = []
    for line, members in enumerate(found):
        before = len(order)
        for piece in members:
            order.extend(range(int(starts[piece]), int(stops[piece])))
        lines.extend([line] * (len(order) - before))
    line_column = np.array(lines, np.int32)
    return Words(
        texts=[texts[word] for word in order],
        boxes=np.clip(boxes[order], 0, 1).astype(np.float32),
        confidences=confidences[order].astype(np.float32),
        lines=line_column,
        blocks=_blocks(found, pieces)[line_column],
    )


def _blocks(found: list[list[int]], pieces: NDArray[np.float32]) -> NDArray[np.int32]:
    """The block of each row: rows follow each other closely in one block."""
    tops = np.array([pieces[members, 1].min() for members in found])
    bottoms = np.array([pieces[members, 3].max() for members in found])
    gaps = tops[1:] - np.maximum.accumulate(bottoms)[:-1]
    height = float(np.median(bottoms - tops))
    return np.concatenate([[0], np.cumsum(gaps > BLOCK_GAP * height)]).astype(np.int32)
