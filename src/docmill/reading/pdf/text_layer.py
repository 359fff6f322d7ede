"""Text layer of a PDF page; geometry makes the lines, since the order in the file means nothing."""

import contextlib
import re
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import LayerDoubt, Page, letters_and_digits
from docmill.reading.pdf import form_fields, text_runs
from docmill.reading.pdf.glyph_shapes import GlyphShapes
from docmill.reading.pdf.page_objects import (
    SAMPLE,
    Boxes,
    Characters,
    find_garbled,
    find_invisible,
    find_pictures,
    find_unmarked,
    read_characters,
    show_text,
)
from docmill.reading.pdf.pdf_file import PdfPage, PdfTextPage, raw
from docmill.reading.pdf.text_runs import NO_RUNS, TextRuns, covered_share, turn_boxes

UPRIGHT = 0.5
"""Share of neighbours that follow each other from left to right on a page that stands upright."""
MAX_GARBAGE = 0.3
"""With a larger share of characters without meaning the layer is not believed."""
FEW = 100
"""Fewer characters may be a stamp on a scan."""
SCAN_SHARE = 0.5
"""Share of a scanned page that pictures cover, at least."""
LARGE_SHARE = 0.08
"""A picture that covers a smaller share of the page is a logo or a signature."""
INSIDE = 0.5
"""Share of a word that must stand in a box to belong to it."""
STRIDE = 1.5
"""Largest distance between neighbouring letters, in extents of a letter along the writing."""
RUN = 2
"""Least letters in a row that are text; a single unknown one is an icon."""

MEANINGLESS = re.compile(r"[\x00-\x1f\ue000-\uf8ff\ufffd]")
"""Characters that fonts without a map to Unicode give."""
_BEHIND_LETTER = re.compile(rf"(?<=[^\W\d_]){MEANINGLESS.pattern}")
"""A character without meaning behind a letter."""

Missing: TypeAlias = Literal["nothing", "gaps", "everything"]
"""Text that the page shows and the file does not hold: none, the text in `gaps`, or all of it."""


class Layer(NamedTuple):
    """Text layer of a page, as displayed after a turn by `rotation`.

    upright, sideways: certain text. scanned: text of an earlier recognition, which nobody sees.
    gaps: boxes where the page shows text that the file does not hold. garbled: indices of the upright words
    of which it holds only some letters. filled: boxes of filled form fields. doubted: boxes of characters
    that the page draws as others. doubt: why the text is not believed as it is.
    """

    number: int
    size: NDArray[np.float32]
    rotation: int
    upright: TextRuns = NO_RUNS
    sideways: tuple[TextRuns, ...] = ()
    scanned: TextRuns = NO_RUNS
    gaps: Boxes = NO_RUNS.boxes
    filled: Boxes = NO_RUNS.boxes
    missing: Missing = "nothing"
    garbled: tuple[int, ...] = ()
    doubted: Boxes = NO_RUNS.boxes
    doubt: LayerDoubt | None = None


def read_layer(page: PdfPage, number: int, shapes: GlyphShapes | None = None) -> Layer:
    """Read the page's text and the values of its form from the file. Raises PdfiumError for a broken page.

    shapes: of the document's fonts; without them, `Layer.doubted` stays empty.
    """
    left, bottom, right, top = page.get_bbox()
    size = np.array([right - left, top - bottom], np.float32)
    with contextlib.closing(page.get_textpage()) as text:
        layer = _printed_layer(text, page, number, size, shapes)
    fields = form_fields.read_fields(page)
    if not fields:
        return layer
    boxes = turn_boxes(np.array([field.box for field in fields], np.float32), size, layer.rotation)
    new: list[int] = []  # the fields whose values are not printed on the page as well
    for index, field in enumerate(fields):
        inside = covered_share(layer.upright.boxes, boxes[index][None]) > INSIDE
        texts = (text for text, is_inside in zip(layer.upright.texts, inside, strict=True) if is_inside)
        value = letters_and_digits(field.value)
        if not value or value not in letters_and_digits("".join(texts)):
            new.append(index)
    values = form_fields.value_runs(
        [fields[index]._replace(box=tuple(boxes[index].tolist())) for index in new]
    )
    return layer._replace(upright=text_runs.concatenate_runs([layer.upright, values]), filled=boxes[new])


def _printed_layer(
    text: PdfTextPage,
    page: PdfPage,
    number: int,
    size: NDArray[np.float32],
    shapes: GlyphShapes | None,
) -> Layer:
    stored = page.get_rotation()
    bare = Layer(number, displayed(size, stored), stored)
    if not raw.FPDFPage_CountObjects(page):
        return bare
    characters = read_characters(text, page)
    if not len(characters.codes):
        return bare._replace(missing="everything")
    meaningless, share = find_garbled(text, characters)
    if share > MAX_GARBAGE:
        return bare._replace(missing="everything", doubt="unmapped")
    rotation = _rotation(text, page, characters)
    pictures = find_pictures(page)
    # Text drawn before the picture that covers it is unseen, too.
    hidden = find_invisible(text, characters)
    hidden |= _share_in_pictures(characters.boxes, pictures.boxes[pictures.over_text]) > INSIDE
    suspects = ~hidden & _in_scan(characters.boxes, pictures.boxes, size)
    if suspects.any():
        hidden[suspects] = find_unmarked(page, text, characters.only(suspects))
    scanned = hidden  # what repeats the text of a picture; the rest is there only for machines to find
    if hidden.any() and hidden.mean() <= 1 - INSIDE:
        scanned = hidden & (_share_in_pictures(characters.boxes, pictures.boxes) > INSIDE)
    visible = characters.only(~hidden) if hidden.any() else characters
    upright, sideways = _find_runs(text, visible, size, rotation)
    garbled = find_garbled_words(upright.texts)
    layer = Layer(number, displayed(size, rotation), rotation, upright, sideways, garbled=garbled)
    if garbled:
        layer = layer._replace(doubt="unmapped")
    if shapes is not None and (mask := shapes.find_contradicted(page, text, visible)).any():
        doubted = turn_boxes(visible.boxes[mask], size, rotation)
        layer = layer._replace(doubted=doubted, doubt="contradicted")
    if scanned.any():
        under, beside = _find_runs(text, characters.only(scanned), size, rotation)
        return layer._replace(scanned=text_runs.recognised_runs([under, *beside]), missing="everything")
    unknown = characters.boxes[_in_runs(meaningless)]
    gaps = np.concatenate([_unread(page, pictures.boxes, characters, size), unknown])
    gaps = np.concatenate([turn_boxes(gaps, size, rotation), upright.boxes[list(garbled)]])
    return layer._replace(gaps=gaps, missing="gaps") if len(gaps) else layer


def find_garbled_words(texts: list[str]) -> tuple[int, ...]:
    """The indices of the words that hold letters of unknown meaning, as of fonts without a map to Unicode.

    At a word's beginning such a character is an icon or a bullet, unless it is a letter in another word.
    """
    odd = [index for index, text in enumerate(texts) if MEANINGLESS.search(text)]
    for_letters = {letter for index in odd for letter in _BEHIND_LETTER.findall(texts[index])}
    return tuple(
        index
        for index in odd
        if not for_letters.isdisjoint(texts[index]) and any(map(str.isalpha, texts[index]))
    )


def _share_in_pictures(boxes: Boxes, pictures: Boxes) -> NDArray[np.float32]:
    """Share of each box that stands in a picture, at most."""
    share = np.zeros(len(boxes), np.float32)
    for picture in pictures:  # one by one: characters times pictures may be many
        share = np.maximum(share, covered_share(boxes, picture[None]))
    return share


def _in_scan(boxes: Boxes, pictures: Boxes, size: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mask of the boxes on pictures that cover most of the page."""
    if np.prod(pictures[:, 2:] - pictures[:, :2], axis=1).sum() <= SCAN_SHARE * np.prod(size):
        return np.zeros(len(boxes), np.bool_)
    return _share_in_pictures(boxes, pictures) > INSIDE


def _unread(page: PdfPage, pictures: Boxes, characters: Characters, size: NDArray[np.float32]) -> Boxes:
    """The pictures that show text without characters of the file over it."""
    areas = np.prod(pictures[:, 2:] - pictures[:, :2], axis=1) / max(float(np.prod(size)), 1e-6)
    if areas.sum() > SCAN_SHARE:
        return pictures if len(characters.codes) < FEW else pictures[:0]
    large = pictures[areas > LARGE_SHARE]
    bare = [(covered_share(characters.boxes, picture[None]) > INSIDE).sum() < FEW for picture in large]
    large = large[np.array(bare, np.bool_)]
    return large[show_text(page, large)] if len(large) else large


def _find_runs(
    text: PdfTextPage, characters: Characters, size: NDArray[np.float32], rotation: int
) -> tuple[TextRuns, tuple[TextRuns, ...]]:
    """The words that stand upright on the turned page, and the others by the turn they would need."""
    boxes, sheet = turn_boxes(characters.boxes, size, rotation), displayed(size, rotation)
    # Suspects are letters of which each stands close to the last, but not to its right.
    extent = (boxes[:, 2:] - boxes[:, :2]).max(axis=1)[1:, None] * STRIDE
    steps = np.diff(boxes[:, :2] + boxes[:, 2:], axis=0) / 2
    is_close = (np.abs(steps) <= extent).all(axis=1) & ~text_runs.is_leftwards(characters.codes)
    astray = is_close & ((steps[:, 0] < 0) | (np.abs(steps[:, 1]) > np.abs(steps[:, 0])))
    suspects = np.zeros(len(boxes), np.bool_)
    in_runs = _in_runs(astray)
    suspects[:-1] |= in_runs
    suspects[1:] |= in_runs
    if not suspects.any():
        return _printed_words(characters, boxes, sheet), ()
    turns = np.zeros(len(boxes), np.intp)
    turns[suspects] = (_turns(text, characters.indices[suspects]) - rotation) % 360
    parts: dict[int, TextRuns] = {}
    for turn in np.unique(turns).tolist():
        here = turns == turn
        turned = displayed(sheet, turn)
        words = _printed_words(characters.only(here), turn_boxes(boxes[here], sheet, turn), turned)
        parts[turn] = words.turned(turned, -turn % 360)
    return parts.pop(0, NO_RUNS), tuple(part for part in parts.values() if part.texts)


def _printed_words(characters: Characters, boxes: Boxes, sheet: NDArray[np.float32]) -> TextRuns:
    """The words on a sheet of this size, each once, without those that stand outside of it."""
    runs = text_runs.runs_of_characters(characters, boxes)
    centres = (runs.boxes[:, :2] + runs.boxes[:, 2:]) / 2
    is_inside = ((centres >= 0) & (centres <= sheet)).all(axis=1)
    if not is_inside.all():
        runs = runs.only(np.flatnonzero(is_inside).tolist())
    return text_runs.without_doubles(runs)


def _in_runs(marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The marks of which several follow each other."""
    if not marks.any():
        return marks
    edges = np.diff(marks, prepend=False, append=False).nonzero()[0].reshape(-1, 2)
    in_runs = np.zeros(len(marks), np.bool_)
    for start, stop in edges[edges[:, 1] - edges[:, 0] >= RUN].tolist():
        in_runs[start:stop] = True
    return in_runs


def _turns(text: PdfTextPage, indices: NDArray[np.intp]) -> NDArray[np.intp]:
    """Degrees clockwise, in quarters, by which the page must be turned for each letter to stand upright."""
    quarters = [round(np.degrees(raw.FPDFText_GetCharAngle(text, index)) / 90) for index in indices.tolist()]
    return -90 * np.array(quarters, np.intp) % 360


def _rotation(text: PdfTextPage, page: PdfPage, characters: Characters) -> int:
    """Degrees clockwise by which the page must be turned for its text to stand upright."""
    stored = page.get_rotation()
    centres = (turn_boxes(characters.boxes, np.zeros(2, np.float32), stored)).reshape(-1, 2, 2).mean(axis=1)
    steps = np.diff(centres, axis=0)
    forward = steps[:, 0] > np.abs(steps[:, 1])
    if not len(steps) or forward.mean() >= UPRIGHT:
        return stored
    sample = characters.indices[:: max(1, len(characters.indices) // SAMPLE)]
    return int(90 * np.bincount(_turns(text, sample) // 90).argmax())


def displayed(size: NDArray[np.float32], rotation: int) -> NDArray[np.float32]:
    """Width and height of a page after a turn."""
    return size[::-1] if rotation % 180 else size


def page_from_layer(layer: Layer, *, quality: float = 1.0) -> Page:
    """The page by its own text alone."""
    upright = text_runs.concatenate_runs([layer.upright, layer.scanned])
    words = text_runs.arrange_runs(upright, layer.size, layer.sideways)
    width, height = layer.size.tolist()
    source = "ocr" if len(layer.scanned.texts) * 2 > len(words) else "text"
    return Page(layer.number, width, height, words, source, quality, rotation=layer.rotation)
