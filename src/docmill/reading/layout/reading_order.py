"""From scattered pieces of text to lines in reading order, by geometry alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Words
from docmill.reading.layout import columns

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
    members: list[int]
    spans: list[tuple[float, float]]

    def takes(self, x0: float, x1: float) -> bool:
        """Whether a piece from x0 to x1 stands beside all members."""
        for left, right in self.spans:
            if right <= x0 or x1 <= left:
                continue
            if min(right, x1) - max(left, x0) > SIDE_BY_SIDE * min(x1 - x0, right - left):
                return False
        return True

    def add(self, member: int, span: tuple[float, float], centre: float, height: float) -> None:
        count = len(self.members)
        self.centre = (self.centre * count + centre) / (count + 1)
        self.height = min(self.height, height)
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
    edges = zip(
        boxes[order, 0].tolist(), boxes[order, 2].tolist(), centres[order].tolist(), heights[order].tolist(),
        strict=True,
    )  # fmt: skip
    for piece, (x0, x1, centre, height) in zip(order, edges, strict=True):
        row = _row_for(found, x0, x1, centre, height)
        if row is None:
            found.append(_Row(centre, height, [piece], [(x0, x1)]))
        else:
            row.add(piece, (x0, x1), centre, height)
    found.sort(key=lambda row: row.centre)
    lefts: list[float] = boxes[:, 0].tolist()
    return [sorted(row.members, key=lefts.__getitem__) for row in found]


def _row_for(found: list[_Row], x0: float, x1: float, centre: float, height: float) -> _Row | None:
    best, best_distance = None, SAME_ROW
    for row in found[-ROW_WINDOW:]:
        distance = abs(centre - row.centre)
        if distance >= best_distance * height:
            continue  # the lower of the two is not higher than the piece
        distance /= min(height, row.height)
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
    starts = np.searchsorted(owners, np.arange(len(pieces)), side="left").tolist()
    stops = np.searchsorted(owners, np.arange(len(pieces)), side="right").tolist()
    order: list[int] = []
    lines: list[int] = []
    blocks: list[int] = []
    for region in _read_in_turn(pieces, starts, stops, texts):
        line_blocks = _blocks(region, pieces) + (blocks[-1] + 1 if blocks else 0)
        for members, block in zip(region, line_blocks.tolist(), strict=True):
            before = len(order)
            for piece in members:
                order.extend(range(starts[piece], stops[piece]))
            count = len(order) - before
            lines.extend([lines[-1] + 1 if lines else 0] * count)
            blocks.extend([block] * count)
    return Words(
        texts=[texts[word] for word in order],
        boxes=np.clip(boxes[order], 0, 1).astype(np.float32),
        confidences=confidences[order].astype(np.float32),
        lines=np.array(lines, np.int32),
        blocks=np.array(blocks, np.int32),
    )


def _read_in_turn(
    pieces: NDArray[np.float32], starts: Sequence[int], stops: Sequence[int], texts: Sequence[str]
) -> list[list[list[int]]]:
    """The rows of each region of the page."""
    found = rows(pieces)
    if len(found) < columns.LEAST_ROWS:
        return [found]
    row_of = np.empty(len(pieces), np.intp)
    for row, members in enumerate(found):
        row_of[members] = row

    def piece_texts() -> list[str]:
        return [" ".join(texts[start:stop]) for start, stop in zip(starts, stops, strict=True)]

    parts = columns.regions(pieces, row_of, piece_texts)
    if len(parts) == 1:
        return [found]
    return [[part[row].tolist() for row in rows(pieces[part])] for part in parts]


def _blocks(found: list[list[int]], pieces: NDArray[np.float32]) -> NDArray[np.int32]:
    """The block of each row: rows follow each other closely in one block."""
    ordered = pieces[[piece for members in found for piece in members]]
    starts = np.cumsum([0, *(len(members) for members in found[:-1])])
    tops, bottoms = np.minimum.reduceat(ordered[:, 1], starts), np.maximum.reduceat(ordered[:, 3], starts)
    gaps = tops[1:] - np.maximum.accumulate(bottoms)[:-1]
    height = float(np.median(bottoms - tops))
    return np.concatenate([[0], np.cumsum(gaps > BLOCK_GAP * height)]).astype(np.int32)
