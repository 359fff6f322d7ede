"""Text runs: words in the pieces in which they were set, and their reading order."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Words
from docmill.reading.layout.reading_order import arrange_words
from docmill.reading.pdf.page_objects import Boxes, Characters, within

WORD_GAP = 0.15
"""A wider gap, in character heights, separates words even without a space."""
GENERATED_GAP = 0.08
"""The same where PDFium guesses a space, too."""
COLUMN_GAP = 1.0
"""A wider gap, in character heights, separates columns."""
OVERLAP = 0.3
"""A character that starts this far before the end of the last, in character heights, begins a run."""
SAME_GLYPH = 0.01
"""Points."""
SAME_LINE = 0.5
"""Share of the lower of two heights that neighbours on one line have in common."""
COVERED = 0.5
"""Share of the smaller of two boxes from which on equal words that overlap are one word."""
EARLIER = 0.8
"""Confidence of words that another program recognised."""
_HALF_A_CELL = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]], np.float32)
_CELLS_DOWN = 1 << 32
RIGHT_TO_LEFT = (range(0x0590, 0x0900), range(0xFB1D, 0xFE00), range(0xFE70, 0xFEFF))
LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


class TextRuns(NamedTuple):
    """texts, boxes: of words, in points of the displayed page. owners: the run of each, never decreasing.

    spans: shape (m, 4), the box around each run. confidences: of each word.
    """

    texts: list[str]
    boxes: Boxes
    owners: NDArray[np.int32]
    spans: Boxes
    confidences: NDArray[np.float32]

    def only(self, kept: Sequence[int]) -> "TextRuns":
        """The words with these indices, in order."""
        chosen = np.array(kept, np.intp)
        spans, owners = np.unique(self.owners[chosen], return_inverse=True)
        return TextRuns(
            [self.texts[word] for word in kept],
            self.boxes[chosen],
            owners.astype(np.int32),
            self.spans[spans],
            self.confidences[chosen],
        )

    def turned(self, size: NDArray[np.float32], rotation: int) -> "TextRuns":
        """The same on the page of `size` after it is turned; see `turn_boxes`."""
        return self._replace(
            boxes=turn_boxes(self.boxes, size, rotation), spans=turn_boxes(self.spans, size, rotation)
        )


def certain_runs(texts: list[str], boxes: Boxes, owners: NDArray[np.int32]) -> TextRuns:
    """Runs of words with full confidence."""
    return TextRuns(texts, boxes, owners, union_boxes(boxes, owners), np.ones(len(texts), np.float32))


NO_RUNS = TextRuns(
    [],
    np.zeros((0, 4), np.float32),
    np.zeros(0, np.int32),
    np.zeros((0, 4), np.float32),
    np.zeros(0, np.float32),
)


def turn_boxes(boxes: Boxes, size: NDArray[np.float32], rotation: int) -> Boxes:
    """Boxes on a page of `size` (width, height) after it is turned clockwise by `rotation` degrees."""
    x0, y0, x1, y1 = boxes.T
    width, height = size
    columns = {
        0: (x0, y0, x1, y1),
        90: (height - y1, x0, height - y0, x1),
        180: (width - x1, height - y1, width - x0, height - y0),
        270: (y0, width - x1, y1, width - x0),
    }[rotation]
    return np.stack(columns, axis=1)


def concatenate_runs(parts: Sequence[TextRuns]) -> TextRuns:
    """The runs of all parts in order."""
    offsets = np.cumsum([0, *(len(part.spans) for part in parts[:-1])])
    return TextRuns(
        [text for part in parts for text in part.texts],
        np.concatenate([part.boxes for part in parts]),
        np.concatenate([part.owners + offset for part, offset in zip(parts, offsets, strict=True)]).astype(
            np.int32
        ),
        np.concatenate([part.spans for part in parts]),
        np.concatenate([part.confidences for part in parts]),
    )


def recognised_runs(parts: Sequence[TextRuns]) -> TextRuns:
    """The words of all parts, as those of an earlier recognition."""
    runs = concatenate_runs(parts)
    return runs._replace(confidences=np.full(len(runs.texts), EARLIER, np.float32))


def runs_of_characters(characters: Characters, boxes: Boxes) -> TextRuns:
    """Words from characters whose boxes stand upright."""
    if not len(boxes):
        return NO_RUNS
    x0, y0, x1, y1 = boxes.T
    height = np.maximum(np.minimum(y1[1:] - y0[1:], y1[:-1] - y0[:-1]), 1e-3)
    common = np.minimum(y1[1:], y1[:-1]) - np.maximum(y0[1:], y0[:-1])
    to_left = is_leftwards(characters.codes)
    gap = (x0[1:] - x1[:-1]) / height
    gap[to_left] = ((x0[:-1] - x1[1:]) / height)[to_left]
    gap[(np.abs(boxes[1:] - boxes[:-1]) < SAME_GLYPH).all(axis=1)] = 0  # letters of one ligature
    new_run = np.ones(len(boxes), np.bool_)
    new_run[1:] = (common < SAME_LINE * height) | (gap > COLUMN_GAP) | (gap < -OVERLAP)
    new_word = new_run.copy()
    new_word[1:] |= (
        characters.spaced[1:] | (gap > WORD_GAP) | (characters.maybe_spaced[1:] & (gap > GENERATED_GAP))
    )
    new_run[1:] |= new_word[1:] & to_left  # so that words of a line come from left to right, as everywhere
    starts = np.flatnonzero(new_word)
    text = characters.codes.astype("<u4").tobytes().decode("utf-32-le")
    bounds = [*starts.tolist(), len(text)]
    return certain_runs(
        [text[start:stop].translate(LIGATURES) for start, stop in pairwise(bounds)],
        union_boxes(boxes, np.cumsum(new_word).astype(np.int32)),
        (np.cumsum(new_run) - 1)[starts].astype(np.int32),
    )


def union_boxes(boxes: Boxes, owners: NDArray[np.integer[Any]]) -> Boxes:
    """The box around those of each owner, whose boxes follow each other."""
    starts = np.flatnonzero(np.diff(owners, prepend=owners[0] - 1))
    low = np.minimum.reduceat(boxes[:, :2], starts, axis=0)
    high = np.maximum.reduceat(boxes[:, 2:], starts, axis=0)
    return np.concatenate([low, high], axis=1)


def is_leftwards(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Mask of the steps from a character to the next that go from right to left."""
    if not (codes >= RIGHT_TO_LEFT[0].start).any():
        return np.zeros(max(0, len(codes) - 1), np.bool_)
    marks = np.logical_or.reduce([within(codes, bounds) for bounds in RIGHT_TO_LEFT])
    return marks[1:] & marks[:-1]


def without_doubles(runs: TextRuns) -> TextRuns:
    """The runs without words that are printed a second time over themselves."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(runs.texts):
        groups[text].append(index)
    if len(groups) == len(runs.texts):
        return runs
    height = max(float(np.median(runs.boxes[:, 3] - runs.boxes[:, 1])), 1e-3)
    corners, boxes = runs.boxes[:, :2] / height, runs.boxes.tolist()
    cells: list[int] = _cells(corners).tolist()
    near = np.stack([_cells(corners + offset) for offset in _HALF_A_CELL], axis=1).tolist()
    doubled: set[int] = set()
    for members in groups.values():
        kept: dict[int, list[int]] = {}  # words of this text by cell
        for index in members if len(members) > 1 else ():
            others = [other for cell in near[index] if cell in kept for other in kept[cell]]
            if any(_common_share(boxes[index], boxes[other]) > COVERED for other in others):
                doubled.add(index)
            else:
                kept.setdefault(cells[index], []).append(index)
    if not doubled:
        return runs
    return runs.only([index for index in range(len(runs.texts)) if index not in doubled])


def _cells(corners: NDArray[np.float32]) -> NDArray[np.int64]:
    """A number for each place on the page."""
    across, down = np.floor(corners).astype(np.int64).T
    return across * _CELLS_DOWN + down


def _common_share(first: list[float], second: list[float]) -> float:
    """Share of the smaller of two boxes that they have in common."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return max(0.0, width) * max(0.0, height) / max(smaller, 1e-6)


def covered_share(boxes: Boxes, by: Boxes) -> NDArray[np.float32]:
    """Share of each box that a box of `by` covers, at most."""
    if not len(boxes) or not len(by):
        return np.zeros(len(boxes), np.float32)
    low = np.maximum(boxes[:, None, :2], by[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], by[None, :, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=2).max(axis=1)
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return (common / np.maximum(area, 1e-6)).astype(np.float32)


def runs_of_words(words: Words, size: NDArray[np.float32]) -> TextRuns:
    """The words of a page as runs, which end where a line has a gap."""
    if not words.texts:
        return NO_RUNS
    boxes = words.boxes * np.tile(size, 2)
    x0, y0, x1, y1 = boxes.T
    gap = (x0[1:] - x1[:-1]) / np.maximum(np.minimum(y1[1:] - y0[1:], y1[:-1] - y0[:-1]), 1e-3)
    begins = np.ones(len(boxes), np.bool_)
    begins[1:] = (np.diff(words.lines) != 0) | (gap > COLUMN_GAP)
    owners = (np.cumsum(begins) - 1).astype(np.int32)
    return TextRuns(list(words.texts), boxes, owners, union_boxes(boxes, owners), words.confidences)


def arrange_runs(upright: TextRuns, size: NDArray[np.float32], sideways: Sequence[TextRuns] = ()) -> Words:
    """Put all words into reading order; each sideways run is a line of its own after the others."""
    scale = np.tile(size, 2)
    words = arrange_words(
        upright.spans,
        upright.owners,
        upright.texts,
        upright.boxes / scale,
        confidences=upright.confidences,
    )
    for part in sideways:
        lines = part.owners + (words.lines[-1] + 1 if len(words) else 0)
        blocks = part.owners + (words.blocks[-1] + 1 if len(words) else 0)
        words = Words(
            texts=[*words.texts, *part.texts],
            boxes=np.concatenate([words.boxes, np.clip(part.boxes / scale, 0, 1).astype(np.float32)]),
            confidences=np.concatenate([words.confidences, part.confidences]),
            lines=np.concatenate([words.lines, lines]).astype(np.int32),
            blocks=np.concatenate([words.blocks, blocks]).astype(np.int32),
        )
    return words
