"""The texts that stand around each segment of a page."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.page.layout import Segment, Sheet
from docmill.understanding.page.neighbours import LEAST_OVERLAP

_NEAR = 3.0
_UNDER = 2.5
"""Text heights to a text above and to one below."""
_AT_ONCE = 512
"""Segments compared with all others of the page at a time."""

Indices = NDArray[np.intp]


class Around(NamedTuple):
    """The texts around a value. before: left of it in its segment; left2: beyond `left`.

    above: right over it; head: the nearest over it that has no number; row: the first of its line.
    """

    before: str = ""
    left: str = ""
    left2: str = ""
    above: str = ""
    head: str = ""
    row: str = ""
    right: str = ""
    below: str = ""


def surroundings(sheet: Sheet) -> Iterator[Around]:
    """The texts around each segment of a page, in order."""
    segments = sheet.segments
    boxes = np.array([one.box for one in segments], np.float64).reshape(-1, 4)
    headings = np.array([_is_heading(one.text) for one in segments], np.bool_)
    for begin in range(0, len(segments), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        over, head, under = _columns(boxes, boxes[part], headings)
        for index, segment in enumerate(segments[part]):
            at = begin + index
            yield _around(segments, at, segment, (int(over[index]), int(head[index]), int(under[index])))


def _columns(
    boxes: NDArray[np.float64], part: NDArray[np.float64], headings: NDArray[np.bool_]
) -> tuple[Indices, Indices, Indices]:
    """For each of `part` the nearest above, the nearest heading above, and the nearest below; -1 for none."""
    left, right = boxes[:, 0], boxes[:, 2]
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    overlap = np.minimum(right, part[:, 2:3]) - np.maximum(left, part[:, 0:1])
    shares = overlap > LEAST_OVERLAP * np.minimum(right - left, (part[:, 2] - part[:, 0])[:, None])
    above = shares & (middles < part[:, 1:2])
    below = shares & (middles > part[:, 3:4])
    return _last(above), _last(above & headings), np.where(below.any(axis=1), below.argmax(axis=1), -1)


def _last(flags: NDArray[np.bool_]) -> Indices:
    return np.where(flags.any(axis=1), flags.shape[1] - 1 - flags[:, ::-1].argmax(axis=1), -1)


def _around(segments: Sequence[Segment], at: int, segment: Segment, found: tuple[int, int, int]) -> Around:
    def beside(step: int) -> str:
        index = at + step
        same = 0 <= index < len(segments) and segments[index].line == segment.line
        return segments[index].text if same else ""

    over, head, under = (None if index < 0 else segments[index] for index in found)
    near = over is not None and segment.box.y0 - over.box.y1 < _NEAR * segment.height
    first = at
    while first and segments[first - 1].line == segment.line:
        first -= 1
    return Around(
        left=beside(-1),
        left2=beside(-2),
        above=over.text if over is not None and near and not _is_pair(over.text) else "",
        head="" if head is None else head.text,
        row=segments[first].text if first < at else "",
        right=beside(1),
        below=under.text
        if under is not None and under.box.y0 - segment.box.y1 < _UNDER * segment.height
        else "",
    )


def _is_pair(text: str) -> bool:
    """A label with its value, which names nothing below it."""
    return re.search(r":\s*\w", text) is not None


def _is_heading(text: str) -> bool:
    return not _is_pair(text) and sum(map(str.isdecimal, text)) <= 1 and any(map(str.isalpha, text))
