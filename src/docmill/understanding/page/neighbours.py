"""What stands around a text: left and right on its line, above and below in its column; labels and values."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Page, Place

COLUMN_GAP_CELLS = 1.7
"""A gap wider than this many characters parts two columns."""
LEAST_OVERLAP = 0.15
"""Share of the narrower of two texts that must overlap for one to stand above the other."""
BELOW = 1.6
"""Text heights between a label and a value under it, at most."""
FLUSH = 1.0
"""Text heights by which the left edges of a label and a value under it may differ."""
SMALLER = 0.85
"""A text so much lower than the one under it is the printed name of a field."""
LONGEST_LABEL = 6
"""Words."""

Side = Literal["left", "above", "right", "below"]


class Stretch(NamedTuple):
    """Words `start` to `stop` (exclusive) of a page, on its line number `line`, without a column's gap."""

    line: int
    start: int
    stop: int


class Neighbour(NamedTuple):
    """A text beside another. distance: between their boxes, in points."""

    place: Place
    distance: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and what stands where its value belongs. side: of the label, on which the value stands."""

    label: Place
    value: Place
    side: Literal["right", "below"]


def stretches(page: Page) -> list[Stretch]:
    """The page's lines cut at column gaps, in reading order."""
    words = page.words
    if not words.texts:
        return []
    left, right = words.boxes[:, 0].astype(np.float64), words.boxes[:, 2].astype(np.float64)
    cells = (right - left) / np.array([max(1, len(text)) for text in words.texts])
    cell = np.maximum(np.median(cells), np.minimum(cells[1:], cells[:-1]))
    begins = np.ones(len(words), np.bool_)
    begins[1:] = (np.diff(words.lines) > 0) | ((left[1:] - right[:-1]) > COLUMN_GAP_CELLS * cell)
    starts: list[int] = np.flatnonzero(begins).tolist()
    stops = [*starts[1:], len(words)]
    lines: list[int] = np.cumsum(np.diff(words.lines, prepend=words.lines[0]) > 0)[starts].tolist()
    return [Stretch(line, start, stop) for line, start, stop in zip(lines, starts, stops, strict=True)]


class Neighbourhood:
    """Boxes in reading order, and which of them stand beside each other.

    boxes: shape (n, 4), fractions of the page. lines: of each, never decreasing.
    """

    def __init__(self, boxes: NDArray[np.float64], lines: Sequence[int]) -> None:
        self._boxes = boxes
        self._lines = lines

    def left_of(self, index: int) -> list[int]:
        """Those left of it on its line, nearest first."""
        first = bisect_left(self._lines, self._lines[index])
        return list(range(index - 1, first - 1, -1))

    def right_of(self, index: int) -> list[int]:
        """Those right of it on its line, nearest first."""
        stop = bisect_right(self._lines, self._lines[index])
        return list(range(index + 1, stop))

    def above(self, box: Box) -> list[int]:
        """Those above `box` that share its columns, the last in reading order first."""
        found = np.flatnonzero(self._shares(box) & (self._middles < box.y0))
        return found[::-1].tolist()

    def below(self, box: Box) -> list[int]:
        """Those below `box` that share its columns, in reading order."""
        return np.flatnonzero(self._shares(box) & (self._middles > box.y1)).tolist()

    @cached_property
    def _middles(self) -> NDArray[np.float64]:
        return (self._boxes[:, 1] + self._boxes[:, 3]) / 2

    def _shares(self, box: Box) -> NDArray[np.bool_]:
        left, right = self._boxes[:, 0], self._boxes[:, 2]
        overlap = np.minimum(right, box.x1) - np.maximum(left, box.x0)
        return overlap > LEAST_OVERLAP * np.minimum(right - left, box.x1 - box.x0)


class Surroundings:
    """The stretches of a page as places, and what stands around any of its words."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._stretches = stretches(page)
        self.places = [page.place(one.start, one.stop) for one in self._stretches]
        boxes = np.array([place.box for place in self.places], np.float64).reshape(-1, 4)
        self._around = Neighbourhood(boxes, [one.line for one in self._stretches])

    def of(self, start: int, stop: int) -> dict[Side, Neighbour]:
        """What stands nearest on each side of words `start` to `stop` (exclusive), where anything does."""
        place = self._page.place(start, stop)
        first, last = self._index(start), self._index(stop - 1)
        found: dict[Side, Neighbour] = {}
        sides: tuple[tuple[Side, list[int]], ...] = (
            ("left", self._around.left_of(first)),
            ("right", self._around.right_of(last)),
            ("above", self._around.above(place.box)),
            ("below", self._around.below(place.box)),
        )
        for side, indices in sides:
            neighbours = [Neighbour(self.places[one], self._gap(place, self.places[one])) for one in indices]
            if neighbours:
                found[side] = min(neighbours, key=lambda one: one.distance)
        inside = self._inside(place, first, last)
        return {**found, **inside}

    def _inside(self, place: Place, first: int, last: int) -> dict[Side, Neighbour]:
        """The rest of the stretches that hold the words."""
        before, after = self.places[first].start, self.places[last].stop
        found: dict[Side, Neighbour] = {}
        if before < place.start:
            rest = self._page.place(before, place.start)
            found["left"] = Neighbour(rest, self._gap(place, rest))
        if place.stop < after:
            rest = self._page.place(place.stop, after)
            found["right"] = Neighbour(rest, self._gap(place, rest))
        return found

    def pairs(self) -> Iterator[Pair]:
        """Labels with their values: by a colon, by standing under small print, in the page's order."""
        for index, place in enumerate(self.places):
            pair = self._within(place) or self._beside(index, place) or self._under(place)
            if pair is not None:
                yield pair

    def _within(self, place: Place) -> Pair | None:
        """A label and a value with no more than a colon between them."""
        texts = self._page.words.texts
        for word in range(place.start, min(place.stop - 1, place.start + LONGEST_LABEL)):
            if texts[word].endswith((":", "\uff1a")):
                label, value = self._page.place(place.start, word + 1), self._page.place(word + 1, place.stop)
                return Pair(label, value, "right")
        return None

    def _beside(self, index: int, place: Place) -> Pair | None:
        if not _is_label(place):
            return None
        right = self._around.right_of(index)
        if right and not _is_label(self.places[right[0]]):
            return Pair(place, self.places[right[0]], "right")
        return self._under(place, marked=True)

    def _under(self, place: Place, *, marked: bool = False) -> Pair | None:
        below = self._around.below(place.box)
        if not below or place.stop - place.start > LONGEST_LABEL:
            return None
        value = self.places[below[0]]
        height = self._height(value)
        near = self._gap(place, value) <= BELOW * height
        flush = abs(value.box.x0 - place.box.x0) * self._page.width_pt <= FLUSH * height
        if near and flush and not _is_label(value) and (marked or self._height(place) < SMALLER * height):
            return Pair(place, value, "below")
        return None

    def _height(self, place: Place) -> float:
        return (place.box.y1 - place.box.y0) * self._page.height_pt

    def _index(self, word: int) -> int:
        return bisect_right([one.start for one in self._stretches], word) - 1

    def _gap(self, one: Place, other: Place) -> float:
        across = max(0.0, one.box.x0 - other.box.x1, other.box.x0 - one.box.x1) * self._page.width_pt
        down = max(0.0, one.box.y0 - other.box.y1, other.box.y0 - one.box.y1) * self._page.height_pt
        return float(np.hypot(across, down))


def _is_label(place: Place) -> bool:
    return place.text.endswith((":", "\uff1a"))
