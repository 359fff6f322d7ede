"""Merging of a page's own text with text that is recognised: in its picture, or in the figures on it.

A scan is recognised even if it has a text layer: that is the work of another recogniser, and seldom of a
better one (`earlier_recognition`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Box, Page, Table, Words, letters_and_digits
from docmill.reading.pdf import text_runs
from docmill.reading.pdf.earlier_recognition import merge_recognitions
from docmill.reading.pdf.form_fields import CHECKED, UNCHECKED
from docmill.reading.pdf.glyph_shapes import GlyphShapes
from docmill.reading.pdf.page_objects import Boxes
from docmill.reading.pdf.pdf_file import PdfPage
from docmill.reading.pdf.text_layer import (
    INSIDE,
    MEANINGLESS,
    Layer,
    page_from_layer,
    read_layer,
)
from docmill.reading.pdf.text_runs import NO_RUNS, TextRuns, covered_share
from docmill.reading.text.quality import language_fit, texts_quality

SAMPLE = 25
"""Number of words whose sense is checked."""
NONSENSE = 0.4
"""Printed text that is no more believable than this is recognised again."""
TELLING_BYTES, NO_LANGUAGE = 150, 200.0
"""Bytes of words from which on their fit in a language tells something, and the fit of letters in any order.

Of 605 honest pages none fits worse than 324, and of 1,210 with exchanged letters one fits better than 200.
"""
REPEATED = re.compile(r"(.)\1+")
LEAST_SHARE = 0.05
"""Share of recognised words from which on a page of text counts as recognised."""
CONFIRMED = 0.5
"""Least share of confirmed words with which doubted text is believed."""
UNSETTLED = 0.5
"""Quality, at most, of a page whose text is doubted and cannot be compared with what the page shows."""
UNREAD = "a picture on this page was not read: {reason}"
TOUCHED = 0.3
"""Overlap, as a share of a recognised word, from which on a word of the file is the same one."""


def read_sound_layer(page: PdfPage, number: int, shapes: GlyphShapes | None = None) -> Layer:
    """Read the page's text layer, with text that makes no sense set apart as doubtful.

    Fonts may show other letters than the file stores. Words in no language are doubted until recognition
    confirms them. shapes: of the document's fonts, if more pages are read.
    """
    layer = read_layer(page, number, shapes or GlyphShapes(page.pdf))
    if len(layer.doubted):
        return layer
    texts = [text for text in layer.upright.texts if text not in (CHECKED, UNCHECKED)]
    texts = texts[:: max(1, len(texts) // SAMPLE)]
    if layer.missing == "everything" or not texts:
        return layer
    if believability(texts) > NONSENSE:
        fit = language_fit(layer.upright.texts)
        if fit.size < TELLING_BYTES or fit.score > NO_LANGUAGE:
            return layer
        return layer._replace(doubted=layer.upright.boxes, doubt="nonsense")
    doubtful = text_runs.recognised_runs([layer.upright, *layer.sideways])
    return layer._replace(
        upright=NO_RUNS, sideways=(), scanned=doubtful, missing="everything", doubt="nonsense"
    )


def text_page(page: PdfPage, number: int, shapes: GlyphShapes | None = None) -> Page | None:
    """The page by its own text, or None if it must be recognised, too. shapes: see `read_sound_layer`."""
    layer = read_sound_layer(page, number, shapes)
    return page_from_layer(layer) if layer.missing == "nothing" and not len(layer.doubted) else None


def believability(texts: Sequence[str]) -> float:
    """`texts_quality`, and less where most of what is printed is neither letter nor digit."""
    quality = texts_quality(texts)
    signs = "".join(REPEATED.sub(r"\1", text) for text in texts)
    share = sum(map(str.isalnum, signs)) / max(1, len(signs))
    return quality if share > NONSENSE else quality * share


def merge_reading(layer: Layer, seen: Page) -> Page:
    """Merge the file's own text with the recognised page, without anything twice.

    Text whose characters the page draws as others counts if the page is recognised as the text states it.
    """
    if len(layer.doubted):
        confirmed = _confirmed_share(layer, seen)
        if confirmed is None or confirmed < CONFIRMED:
            return replace(_page_as_shown(layer, seen, confirmed), layer_doubt=layer.doubt)
        if layer.missing == "nothing":
            return page_from_layer(layer)
    page = _merge_sound_text(layer, seen)
    return page if layer.doubt is None else replace(page, layer_doubt=layer.doubt)


def _merge_sound_text(layer: Layer, seen: Page) -> Page:
    """See `merge_reading`. Certain text of the file stays."""
    if seen.source == "none":
        own = page_from_layer(layer)
        if not own.words.texts:
            return seen
        return replace(own, problem=seen.problem, quality=float(own.words.confidences.mean()))
    turn = (seen.rotation - layer.rotation) % 360
    sure = text_runs.concatenate_runs([layer.upright, *layer.sideways]).turned(layer.size, turn)
    old = layer.scanned.turned(layer.size, turn)
    if not sure.texts and not old.texts:
        return seen
    size = layer.size[::-1] if turn % 180 else layer.size
    if layer.missing == "gaps":
        runs = text_runs.runs_of_words(seen.words, size)
        gaps = text_runs.turn_boxes(layer.gaps, layer.size, turn)
        in_gaps = runs.only(np.flatnonzero(covered_share(runs.boxes, gaps) > INSIDE).tolist())
        return _combined(seen, _complete_words(sure, layer.garbled, runs), in_gaps, size)
    seen = merge_recognitions(seen, old, size)
    if not sure.texts:
        return seen
    filled = text_runs.turn_boxes(layer.filled, layer.size, turn)
    return _combined(seen, sure, text_runs.runs_of_words(seen.words, size), size, filled=filled)


def _complete_words(own: TextRuns, garbled: Sequence[int], recognised: TextRuns) -> TextRuns:
    """The file's words, the garbled ones as recognised, but with the file's own letters where these fit."""
    texts, confidences = list(own.texts), own.confidences.copy()
    for index in garbled:
        there = np.flatnonzero(covered_share(recognised.boxes, own.boxes[index][None]) > INSIDE).tolist()
        read = "".join(recognised.texts[word] for word in there)
        if not read:
            confidences[index] = UNSETTLED
            continue
        parts = MEANINGLESS.split(texts[index])
        fitting = re.fullmatch(".{1,2}".join(f"({re.escape(part)})" for part in parts), read, re.IGNORECASE)
        texts[index] = read if fitting is None else _with_own_letters(read, parts, fitting)
        confidences[index] = recognised.confidences[there].min()
    return own._replace(texts=texts, confidences=confidences)


def _with_own_letters(read: str, parts: Sequence[str], fitting: re.Match[str]) -> str:
    """A recognised word with the known parts of the file's word in place of the recognised ones."""
    bounds = [bound for group in range(1, len(parts) + 1) for bound in fitting.span(group)]
    others = [read[start:stop] for start, stop in zip(bounds[1:-1:2], bounds[2::2], strict=True)]
    return "".join(part + other for part, other in zip(parts, [*others, ""], strict=True))


def _confirmed_share(layer: Layer, seen: Page) -> float | None:
    """Share of the words with doubted characters that are recognised as the file states them.

    None if nothing is recognised at their places.
    """
    turn = (seen.rotation - layer.rotation) % 360
    runs = text_runs.concatenate_runs([layer.upright, *layer.sideways]).turned(layer.size, turn)
    doubted = text_runs.turn_boxes(layer.doubted, layer.size, turn)
    middles = (doubted[:, :2] + doubted[:, 2:]) / 2
    shown = seen.words.boxes * np.tile(layer.size[::-1] if turn % 180 else layer.size, 2)
    outcomes: list[bool] = []
    for text, box in zip(runs.texts, runs.boxes, strict=True):
        if not ((middles >= box[:2]) & (middles <= box[2:])).all(axis=1).any():
            continue
        low, high = np.maximum(shown[:, :2], box[:2]), np.minimum(shown[:, 2:], box[2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        x0, y0, x1, y1 = box.tolist()
        smaller = np.minimum(np.prod(shown[:, 2:] - shown[:, :2], axis=1), (x1 - x0) * (y1 - y0))
        there = np.flatnonzero(common > TOUCHED * smaller).tolist()
        read = letters_and_digits("".join(seen.words.texts[index] for index in there))
        if read:
            outcomes.append(letters_and_digits(text) in read)
    return sum(outcomes) / len(outcomes) if outcomes else None


def _page_as_shown(layer: Layer, seen: Page, confirmed: float | None) -> Page:
    """The recognised page, with the values of form fields, which have no font, as the file states them."""
    if not seen.words.texts:
        return replace(page_from_layer(layer, quality=UNSETTLED), problem=seen.problem)
    in_fields = np.flatnonzero(covered_share(layer.upright.boxes, layer.filled) > INSIDE).tolist()
    page = seen
    if in_fields:
        turn = (seen.rotation - layer.rotation) % 360
        values = layer.upright.only(in_fields).turned(layer.size, turn)
        filled = text_runs.turn_boxes(layer.filled, layer.size, turn)
        size = layer.size[::-1] if turn % 180 else layer.size
        page = _combined(seen, values, text_runs.runs_of_words(seen.words, size), size, filled=filled)
    return replace(page, quality=min(page.quality, UNSETTLED)) if confirmed is None else page


def _combined(
    seen: Page,
    sure: TextRuns,
    recognised: TextRuns,
    size: NDArray[np.float32],
    filled: Boxes | None = None,
) -> Page:
    """Combine the file's own words with recognised ones that stand elsewhere."""
    taken = sure.boxes if filled is None else np.concatenate([sure.boxes, filled])
    new = recognised.only(np.flatnonzero(covered_share(recognised.boxes, taken) < TOUCHED).tolist())
    both = text_runs.concatenate_runs([sure, new])
    share = len(sure.texts) / max(1, len(both.texts))
    return replace(
        seen,
        words=text_runs.arrange_runs(both, size),
        source="text" if share > 1 - INSIDE else seen.source,
        quality=share + (1 - share) * seen.quality,
    )


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
    within, turn = place.box, seen.rotation
    # The boxes of a figure that was turned for reading, on the page that shows it unturned.
    back = text_runs.turn_boxes(seen.words.boxes, np.ones(2, np.float32), -turn % 360)
    size = np.array([within.x1 - within.x0, within.y1 - within.y0] * 2, np.float32)
    corner = np.array([within.x0, within.y0] * 2, np.float32)
    boxes = np.clip(back * size + corner, 0, 1).astype(np.float32)
    old, new = page.words, seen.words
    at, count = int(np.count_nonzero(old.boxes[:, 1] < within.y0)), len(new)
    words = Words(
        texts=[*old.texts[:at], *new.texts, *old.texts[at:]],
        boxes=np.concatenate([old.boxes[:at], boxes, old.boxes[at:]]),
        confidences=np.concatenate([old.confidences[:at], new.confidences, old.confidences[at:]]),
        lines=_insert_numbers(old.lines, new.lines, at),
        blocks=_insert_numbers(old.blocks, new.blocks, at),
    )
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
