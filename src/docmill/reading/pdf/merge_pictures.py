"""Merging of the text recognised in a picture into the page that shows the picture."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Page, Table, Words
from docmill.reading.pdf import text_runs

LEAST_SHARE = 0.05
"""Share of recognised words from which on a page of text counts as recognised."""
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
    within = place.box
    turn = seen.rotation
    # The boxes of a figure that was turned for reading, on the page that shows it unturned.
    back = text_runs.turn_boxes(seen.words.boxes, np.ones(2, np.float32), -turn % 360)
    size = np.array([within.x1 - within.x0, within.y1 - within.y0] * 2, np.float32)
    corner = np.array([within.x0, within.y0] * 2, np.float32)
    boxes = np.clip(back * size + corner, 0, 1).astype(np.float32)
    at = int(np.count_nonzero(page.words.boxes[:, 1] < within.y0))
    count = len(seen.words)
    words = _insert_words(page.words, replace(seen.words, boxes=boxes), at)
    tables = [_moved_table(table, at, count) for table in page.tables]
    if not turn:
        for table in seen.tables:
            cells = tuple(replace(cell, box=_on_page(cell.box, within)) for cell in table.cells)
            table_on_page = replace(table, box=_on_page(table.box, within), cells=cells)
            tables.append(_moved_table(table_on_page, 0, at))
    share = count / len(words)
    return replace(
        page,
        words=words,
        tables=tuple(sorted(tables, key=lambda table: table.box.y0)),
        source="ocr" if share >= LEAST_SHARE or page.source == "ocr" else page.source,
        quality=(1 - share) * page.quality + share * seen.quality,
        engine=seen.engine or page.engine,
    )


def _insert_words(words: Words, new: Words, at: int) -> Words:
    """The words with others from index `at` on, which have lines and blocks of their own."""
    return Words(
        texts=[*words.texts[:at], *new.texts, *words.texts[at:]],
        boxes=np.concatenate([words.boxes[:at], new.boxes, words.boxes[at:]]),
        confidences=np.concatenate([words.confidences[:at], new.confidences, words.confidences[at:]]),
        lines=_insert_numbers(words.lines, new.lines, at),
        blocks=_insert_numbers(words.blocks, new.blocks, at),
    )


def _insert_numbers(numbers: NDArray[np.int32], new: NDArray[np.int32], at: int) -> NDArray[np.int32]:
    """Numbers of lines or blocks with others from index `at` on, all counted on."""
    before, after = numbers[:at], numbers[at:]
    first = int(before[-1]) + 1 if at else 0
    if len(after):
        after = after - after[0] + first + int(new.max()) + 1
    return np.concatenate([before, new + first, after]).astype(np.int32)


def _moved_table(table: Table, at: int, count: int) -> Table:
    """The table after `count` words were put before the one with index `at`."""
    cells = (
        replace(cell, words=tuple(index + count * (index >= at) for index in cell.words))
        for cell in table.cells
    )
    return replace(table, cells=tuple(cells))


def _on_page(box: Box, within: Box) -> Box:
    """A box on a figure as a box on its page."""
    width, height = within.x1 - within.x0, within.y1 - within.y0
    return Box(
        within.x0 + box.x0 * width,
        within.y0 + box.y0 * height,
        within.x0 + box.x1 * width,
        within.y0 + box.y1 * height,
    )
