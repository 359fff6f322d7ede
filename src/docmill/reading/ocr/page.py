"""Recognised lines made into words of a page, whichever engine recognised them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Words
from docmill.reading.layout.reading_order import arrange

MAX_SKEW = 0.3
"""Radians; a page whose lines slant more is not skewed but turned."""
WORD = re.compile(r"\S+")
LONG = 6
"""Characters from which on a line's slant can be believed."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """Lines of text as an engine saw them.

    corners: float32, shape (n, 4, 2), pixels: top left, top right, bottom right, bottom left of the text.
    scores: float32, shape (n,), in [0, 1].
    places: of each line, float32, shape (characters, 2): start and end of each character as shares of the
    line's width; None from engines that do not tell, whose characters are taken to be equally wide.
    turn: degrees clockwise by which the engine had to turn the picture; corners are those of the turned one.
    None from engines that do not look.
    """

    texts: Sequence[str]
    corners: NDArray[np.float32]
    scores: NDArray[np.float32]
    places: Sequence[NDArray[np.float32]] | None = None
    turn: int | None = None


class Engine(Protocol):
    """Recognises text in pictures."""

    def recognise(self, pixels: NDArray[np.uint8]) -> Recognised:
        """The lines in an RGB picture of shape (height, width, 3), in any order."""
        ...


def page_words(recognised: Recognised, *, width_px: int, height_px: int) -> Words:
    """Words in rows: a label and its value that stand side by side are one line."""
    upright = _deskewed(recognised)
    pieces = (
        np.concatenate([upright.min(axis=1), upright.max(axis=1)], axis=1)
        if len(upright)
        else upright.reshape(0, 4)
    )
    texts: list[str] = []
    owners: list[int] = []
    boxes: list[NDArray[np.float32]] = []
    for line, text in enumerate(recognised.texts):
        for word, start, stop in _words(text, recognised.places[line] if recognised.places else None):
            texts.append(word)
            owners.append(line)
            boxes.append(_part(recognised.corners[line], start, stop))
    scale = np.array([width_px, height_px] * 2, np.float32)
    owner_column = np.array(owners, np.int32)
    return arrange(
        pieces,
        owner_column,
        texts,
        np.array(boxes, np.float32).reshape(-1, 4) / scale,
        confidences=recognised.scores[owner_column] if texts else np.zeros(0, np.float32),
    )


def _deskewed(recognised: Recognised) -> NDArray[np.float32]:
    """The corners, turned back by the lines' median slant."""
    corners = recognised.corners
    if not len(corners):
        return corners
    across = corners[:, 1] - corners[:, 0]
    long = (across[:, 0] > 0) & (np.array([len(text) for text in recognised.texts]) >= LONG)
    angle = float(np.median(np.arctan2(across[long, 1], across[long, 0]))) if long.any() else 0.0
    if abs(angle) > MAX_SKEW:
        return corners
    cos, sin = np.cos(-angle), np.sin(-angle)
    return corners @ np.array([[cos, sin], [-sin, cos]], np.float32)


def _words(text: str, places: NDArray[np.float32] | None) -> list[tuple[str, float, float]]:
    """Each word of a line with the share of the line before its start and before its end."""
    if places is None:
        edges = np.linspace(0, 1, len(text) + 1, dtype=np.float32)
        places = np.stack([edges[:-1], edges[1:]], axis=1)
    return [
        (found.group(), float(places[found.start(), 0]), float(places[found.end() - 1, 1]))
        for found in WORD.finditer(text)
    ]


def _part(corners: NDArray[np.float32], start: float, stop: float) -> NDArray[np.float32]:
    """The upright box around a stretch of a line."""
    top, bottom = corners[1] - corners[0], corners[2] - corners[3]
    points = np.array(
        [
            corners[0] + top * start,
            corners[0] + top * stop,
            corners[3] + bottom * start,
            corners[3] + bottom * stop,
        ]
    )
    return np.concatenate([points.min(axis=0), points.max(axis=0)])
