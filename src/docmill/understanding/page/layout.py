"""The pages of a document as segments: runs of words without a column gap between them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Document, Page, Words

COLUMN_GAP_CELLS = 1.7
"""A gap wider than this many characters parts two columns."""
LEAST_OVERLAP = 0.15
"""Share of the narrower of two texts that must overlap for one to stand above the other."""
_GLUE = ("/", "|")
"""Signs that part two values in one word."""
FIRST_PAGES = 3
LAST_PAGES = 2
"""Header fields stand on a document's first pages and totals on its last; a long document costs no more."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A run of words on one line that no column gap interrupts.

    It holds the words `start` to `stop` (exclusive) of the page. index: its place among all segments of the
    document. line: index of the line on the page. offsets: where each word starts in `text`, in which one
    space separates the words. confidence: the mean of the words'.
    """

    index: int
    page_index: int
    line: int
    start: int
    stop: int
    box: Box
    text: str
    offsets: tuple[int, ...]
    confidence: float

    @property
    def height(self) -> float:
        """The height of the text, in fractions of the page."""
        return self.box.y1 - self.box.y0

    @property
    def middle(self) -> float:
        """The vertical centre, in fractions of the page."""
        return (self.box.y0 + self.box.y1) / 2

    def words(self, start: int, stop: int) -> tuple[int, int]:
        """The page's words, end exclusive, that hold characters `start` to `stop` (exclusive) of `text`."""
        first = bisect_right(self.offsets, start) - 1
        return self.start + first, self.start + bisect_left(self.offsets, max(stop, start + 1))


class Span(NamedTuple):
    """Characters `start` to `stop` (exclusive) of a segment."""

    segment: Segment
    start: int
    stop: int

    @property
    def text(self) -> str:
        """The text as read."""
        return self.segment.text[self.start : self.stop]

    def overlaps(self, other: "Span") -> bool:
        """Return True if both have a character in common."""
        return self.segment is other.segment and self.start < other.stop and other.start < self.stop


class SpanReading(NamedTuple):
    """The rectangle around the words of spans, and the lowest of the spans' mean confidences."""

    box: Box
    confidence: float


def spans_reading(spans: Iterable[Span], words: Words) -> SpanReading:
    """The rectangle and confidence of one or more spans of a page. words: all words of that page."""
    spans = list(spans)
    ranges = [span.segment.words(span.start, span.stop) for span in spans]
    boxes = [_box_of(span, words, *range_) for span, range_ in zip(spans, ranges, strict=True)]
    return SpanReading(
        Box(
            min(box.x0 for box in boxes),
            min(box.y0 for box in boxes),
            max(box.x1 for box in boxes),
            max(box.y1 for box in boxes),
        ),
        min(float(words.confidences[start:stop].mean()) for start, stop in ranges),
    )


def _box_of(span: Span, words: Words, start: int, stop: int) -> Box:
    """The box of a span's words `start` to `stop`, without what another value is glued to it by a slash.

    Within such a word all characters count as equally wide.
    """
    box, segment = words.box(start, stop), span.segment
    first, last = start - segment.start, stop - 1 - segment.start
    before = segment.text[segment.offsets[first] : span.start]
    after = segment.text[span.stop : segment.offsets[last] + len(words.texts[stop - 1])]
    if before.endswith(_GLUE):
        x0, _, x1, _ = words.boxes[start].tolist()
        box = box._replace(x0=x0 + (x1 - x0) * len(before) / len(words.texts[start]))
    if after.startswith(_GLUE):
        x0, _, x1, _ = words.boxes[stop - 1].tolist()
        box = box._replace(x1=x1 - (x1 - x0) * len(after) / len(words.texts[stop - 1]))
    return box


class Sheet:
    """One page as segments in reading order, with queries for the neighbours of a segment."""

    def __init__(self, page: Page, page_index: int, first_index: int) -> None:
        self.page = page
        self.page_index = page_index
        self.segments: list[Segment] = []
        self._first_index = first_index
        self._above: dict[Box, list[Segment]] = {}
        runs, words = text_runs(page), page.words
        if not runs:
            return
        starts = [run.start for run in runs]
        low: list[list[float]] = np.minimum.reduceat(words.boxes[:, :2], starts).tolist()
        high: list[list[float]] = np.maximum.reduceat(words.boxes[:, 2:], starts).tolist()
        sums: list[float] = np.add.reduceat(words.confidences.astype(np.float64), starts).tolist()
        for index, (line, start, stop) in enumerate(runs):
            texts = words.texts[start:stop]
            self.segments.append(
                Segment(
                    index=first_index + index,
                    page_index=page_index,
                    line=line,
                    start=start,
                    stop=stop,
                    box=Box(*low[index], *high[index]),
                    text=" ".join(texts),
                    offsets=tuple(accumulate((len(text) + 1 for text in texts[:-1]), initial=0)),
                    confidence=sums[index] / (stop - start),
                )
            )

    @cached_property
    def text_height(self) -> float:
        """The median height of the segments, in fractions of the page; 0.01 where nothing has a height."""
        return float(np.median([segment.height for segment in self.segments] or [0.0])) or 0.01

    def left_of(self, segment: Segment) -> list[Segment]:
        """The segments left of this one on its line, nearest first."""
        index = segment.index - self._first_index
        return self.segments[bisect_left(self._lines, segment.line) : index][::-1]

    def right_of(self, segment: Segment) -> list[Segment]:
        """The segments right of this one on its line, nearest first."""
        index = segment.index - self._first_index
        return self.segments[index + 1 : bisect_right(self._lines, segment.line)]

    def above(self, box: Box) -> list[Segment]:
        """The segments above `box` that share its columns, nearest first."""
        above = self._above.get(box)
        if above is None:
            indices = np.flatnonzero(self._shares_columns(box) & (self._middles < box.y0))[::-1].tolist()
            above = self._above[box] = [self.segments[index] for index in indices]
        return above

    def below(self, box: Box) -> list[Segment]:
        """The segments below `box` that share its columns, nearest first."""
        indices = np.flatnonzero(self._shares_columns(box) & (self._middles > box.y1)).tolist()
        return [self.segments[index] for index in indices]

    @cached_property
    def boxes(self) -> NDArray[np.float64]:
        """float64, shape (n, 4): the segments' boxes as x0, y0, x1, y1, in fractions of the page."""
        return np.array([segment.box for segment in self.segments], np.float64).reshape(-1, 4)

    @cached_property
    def _lines(self) -> list[int]:
        return [segment.line for segment in self.segments]

    @cached_property
    def _middles(self) -> NDArray[np.float64]:
        return (self.boxes[:, 1] + self.boxes[:, 3]) / 2

    def _shares_columns(self, box: Box) -> NDArray[np.bool_]:
        left, right = self.boxes[:, 0], self.boxes[:, 2]
        overlap = np.minimum(right, box.x1) - np.maximum(left, box.x0)
        return overlap > LEAST_OVERLAP * np.minimum(right - left, box.x1 - box.x0)


class Layout:
    """The pages of a document that hold its header fields and totals, as sheets."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._sheet_of_page: dict[int, Sheet] = {}
        self._count = 0
        count = len(document.pages)
        header_pages = {*range(min(count, FIRST_PAGES)), *range(max(0, count - LAST_PAGES), count)}
        self.sheets = [self.sheet_of_page(index) for index in sorted(header_pages)]

    @cached_property
    def segments(self) -> list[Segment]:
        """All segments, page by page; a segment's `index` is its place here."""
        return [segment for sheet in self.sheets for segment in sheet.segments]

    def sheet(self, segment: Segment) -> Sheet:
        """The sheet that holds `segment`."""
        return self._sheet_of_page[segment.page_index]

    def sheet_of_page(self, page_index: int) -> Sheet:
        """The sheet of any page, also of a middle page that `sheets` leaves out: tables may go on there.

        The segments of such a page are not in `segments`, and their indices follow those of all others.
        """
        sheet = self._sheet_of_page.get(page_index)
        if sheet is None:
            sheet = Sheet(self.document.pages[page_index], page_index, self._count)
            self._count += len(sheet.segments)
            self._sheet_of_page[page_index] = sheet
        return sheet


class TextRun(NamedTuple):
    """Words `start` to `stop` (exclusive) of a page without a column gap. line: index of their line."""

    line: int
    start: int
    stop: int


def text_runs(page: Page) -> list[TextRun]:
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
    return [TextRun(line, start, stop) for line, start, stop in zip(lines, starts, stops, strict=True)]
