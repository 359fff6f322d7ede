"""A page as segments: runs of words with no column gap between them, and what stands around each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from docmill.model.document import Box, Document, Page, Words
from docmill.understanding.page.neighbours import Neighbourhood, stretches

FIRST_PAGES = 3
LAST_PAGES = 2
"""Header fields stand on a document's first pages and totals on its last; a long document costs no more."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Words `start` to `stop` (exclusive) of a page, on one line, without a column gap.

    offsets: where each word starts in `text`, in which words are parted by one space.
    line: the line's index on the page. height: of the text, in fractions of the page.
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
        """Of the text, in fractions of the page."""
        return self.box.y1 - self.box.y0

    @property
    def middle(self) -> float:
        """Vertical centre."""
        return (self.box.y0 + self.box.y1) / 2

    def words(self, start: int, stop: int) -> tuple[int, int]:
        """The page's words that hold the characters `start` to `stop` (exclusive) of `text`."""
        first = max(index for index, offset in enumerate(self.offsets) if offset <= start)
        last = max(index for index, offset in enumerate(self.offsets) if offset < max(stop, start + 1))
        return self.start + first, self.start + last + 1


class Sheet:
    """One page's segments, in reading order, with their neighbours."""

    def __init__(self, page: Page, page_index: int, first_index: int) -> None:
        self.page = page
        self.page_index = page_index
        self.segments = list(_segments(page, page_index, first_index))
        self._first_index = first_index

    @cached_property
    def text_height(self) -> float:
        """The median height of a segment."""
        return float(np.median([segment.height for segment in self.segments])) if self.segments else 0.01

    def left_of(self, segment: Segment) -> list[Segment]:
        """The segments left of it on its line, nearest first."""
        return [self.segments[one] for one in self._around.left_of(segment.index - self._first_index)]

    def right_of(self, segment: Segment) -> list[Segment]:
        """The segments right of it on its line, nearest first."""
        return [self.segments[one] for one in self._around.right_of(segment.index - self._first_index)]

    def above(self, box: Box) -> list[Segment]:
        """The segments above `box` that share its columns, nearest first."""
        return [self.segments[one] for one in self._around.above(box)]

    def below(self, box: Box) -> list[Segment]:
        """The segments below `box` that share its columns, nearest first."""
        return [self.segments[one] for one in self._around.below(box)]

    @cached_property
    def _around(self) -> Neighbourhood:
        boxes = np.array([segment.box for segment in self.segments], np.float64).reshape(-1, 4)
        return Neighbourhood(boxes, [segment.line for segment in self.segments])


class Layout:
    """The pages of a document that hold its header fields and totals, as sheets."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.sheets: list[Sheet] = []
        count = 0
        for index in _read_pages(len(document.pages)):
            sheet = Sheet(document.pages[index], index, count)
            count += len(sheet.segments)
            self.sheets.append(sheet)
        self._count = count
        self._sheet_of_page = {sheet.page_index: sheet for sheet in self.sheets}

    @cached_property
    def segments(self) -> list[Segment]:
        """All segments, page by page; a segment's `index` is its place here."""
        return [segment for sheet in self.sheets for segment in sheet.segments]

    def sheet(self, segment: Segment) -> Sheet:
        """The sheet that holds `segment`."""
        return self._sheet_of_page[segment.page_index]

    def sheet_of_page(self, page_index: int) -> Sheet:
        """The sheet of any page, also of one between the first and the last: a table may go over many.

        Its segments come after those of all other sheets and are none of `segments`.
        """
        sheet = self._sheet_of_page.get(page_index)
        if sheet is None:
            sheet = Sheet(self.document.pages[page_index], page_index, self._count)
            self._count += len(sheet.segments)
            self._sheet_of_page[page_index] = sheet
        return sheet


def _read_pages(count: int) -> list[int]:
    return sorted({*range(min(count, FIRST_PAGES)), *range(max(0, count - LAST_PAGES), count)})


def _segments(page: Page, page_index: int, first_index: int) -> list[Segment]:
    found = stretches(page)
    starts = [one.start for one in found]
    low, high, sums = _extents(page.words, starts) if starts else ([], [], [])
    return [
        Segment(
            index=first_index + index,
            page_index=page_index,
            line=one.line,
            start=one.start,
            stop=one.stop,
            box=Box(*low[index], *high[index]),
            text=" ".join(page.words.texts[one.start : one.stop]),
            offsets=_offsets(page.words.texts[one.start : one.stop]),
            confidence=sums[index] / (one.stop - one.start),
        )
        for index, one in enumerate(found)
    ]


def _extents(words: Words, starts: list[int]) -> tuple[list[list[float]], list[list[float]], list[float]]:
    """Of the words from each start to the next: upper left corners, lower right ones, sums of confidences."""
    low = np.minimum.reduceat(words.boxes[:, :2], starts)
    high = np.maximum.reduceat(words.boxes[:, 2:], starts)
    sums = np.add.reduceat(words.confidences.astype(np.float64), starts)
    return low.tolist(), high.tolist(), sums.tolist()


def _offsets(texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(accumulate((len(text) + 1 for text in texts[:-1]), initial=0))
