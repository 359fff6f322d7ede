"""Merging of the text recognised in a picture into the page that shows the picture."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Cell, Page, Table, Words
from docmill.reading.pdf import text_runs

LEAST_SHARE = 0.05
"""Of a page's words: with fewer recognised ones the page is one of text."""
UNREAD = "a picture on this page was not read: {reason}"


class FigurePlace(NamedTuple):
    """Place of a figure in a document. number: from 1."""

    number: int
    page_number: int
    box: Box


def merge_figure(page: Page, place: FigurePlace, seen: Page) -> Page:
    """Merge the words recognised in a figure into its page, in reading order."""
    if seen.source == "none":
        unread = UNREAD.format(reason=seen.problem)
        return replace(page, problem=f"{page.problem}; {unread}" if page.problem else unread)
    if not seen.words.texts:
        return page
    turn = seen.rotation
    # The boxes of a figure that was turned for reading, on the page that shows it unturned.
    back = text_runs.turn_boxes(seen.words.boxes, np.ones(2, np.float32), -turn % 360)
    size = np.array([place.box.x1 - place.box.x0, place.box.y1 - place.box.y0] * 2, np.float32)
    corner = np.array([place.box.x0, place.box.y0] * 2, np.float32)
    boxes = np.clip(back * size + corner, 0, 1).astype(np.float32)
    at = int(np.count_nonzero(page.words.boxes[:, 1] < place.box.y0))
    words = _inserted(page.words, replace(seen.words, boxes=boxes), at)
    found = [_moved(table, at, place.box) for table in seen.tables] if not turn else []
    count = len(seen.words)
    below = [
        replace(table, cells=_with_words(table.cells, lambda index: index + count * (index >= at)))
        for table in page.tables
    ]
    share = len(seen.words) / len(words)
    return replace(
        page,
        words=words,
        tables=tuple(sorted([*below, *found], key=lambda table: table.box.y0)),
        source="ocr" if share >= LEAST_SHARE or page.source == "ocr" else page.source,
        quality=(1 - share) * page.quality + share * seen.quality,
        engine=seen.engine or page.engine,
    )


def _inserted(words: Words, new: Words, at: int) -> Words:
    """The words with others from index `at` on, which have lines and blocks of their own."""

    def counted(column: NDArray[np.int32], added: NDArray[np.int32]) -> NDArray[np.int32]:
        before, after = column[:at], column[at:]
        first = int(before[-1]) + 1 if at else 0
        next_one = first + int(added.max()) + 1
        moved = after - after[0] + next_one if len(after) else after
        return np.concatenate([before, added + first, moved]).astype(np.int32)

    return Words(
        texts=[*words.texts[:at], *new.texts, *words.texts[at:]],
        boxes=np.concatenate([words.boxes[:at], new.boxes, words.boxes[at:]]),
        confidences=np.concatenate([words.confidences[:at], new.confidences, words.confidences[at:]]),
        lines=counted(words.lines, new.lines),
        blocks=counted(words.blocks, new.blocks),
    )


def _moved(table: Table, at: int, within: Box) -> Table:
    cells = [replace(cell, box=_on_page(cell.box, within)) for cell in table.cells]
    return replace(table, box=_on_page(table.box, within), cells=_with_words(cells, lambda index: index + at))


def _with_words(cells: Sequence[Cell], moved: Callable[[int], int]) -> tuple[Cell, ...]:
    return tuple(replace(cell, words=tuple(map(moved, cell.words))) for cell in cells)


def _on_page(box: Box, within: Box) -> Box:
    width, height = within.x1 - within.x0, within.y1 - within.y0
    return Box(
        within.x0 + box.x0 * width,
        within.y0 + box.y0 * height,
        within.x0 + box.x1 * width,
        within.y0 + box.y1 * height,
    )
