"""Text layer of a PDF page; lines are made by geometry, since the order in the file means nothing."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page, letters_and_digits
from docmill.reading.pdf import form_fields, text_runs
from docmill.reading.pdf.page_objects import PagePictures, find_pictures, show_text
from docmill.reading.pdf.pdf_file import PdfPage, PdfTextPage, raw
from docmill.reading.pdf.pdfium import SAMPLE, Characters, find_garbled, find_invisible, read_characters
from docmill.reading.pdf.text_runs import NO_RUNS, Boxes, TextRuns, covered_share, turn_boxes

UPRIGHT = 0.5
"""Share of neighbours that follow each other from left to right on a page that stands upright."""
MAX_GARBAGE = 0.3
"""Share of characters without meaning from which on the layer is not to be believed."""
FEW = 100
"""Fewer characters may be a stamp on a scan."""
SCAN_SHARE = 0.5
"""Of the page, covered by pictures."""
LARGE_SHARE = 0.08
"""Of the page: a smaller picture is a logo or a signature."""
INSIDE = 0.5
"""Share of a word that stands in what it belongs to."""
STRIDE = 1.5
"""Of a letter's extent along the writing: neighbours are no further apart."""
RUN = 2
"""So many letters in a row are no accident: an unknown one alone is an icon."""

Missing: TypeAlias = Literal["nothing", "gaps", "everything"]
"""What the file does not say of what the page shows: nothing, what stands in `gaps`, or all of it."""


class Layer(NamedTuple):
    """Text layer of a page, as displayed after a turn by `rotation`.

    upright, sideways: what is sure. scanned: what somebody once recognised, printed invisibly.
    gaps: where the page shows text that the file does not hold. filled: boxes of form fields that are.
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


def read_layer(page: PdfPage, number: int) -> Layer:
    """Read the page's text from the file itself. Raises PdfiumError for a page that is broken."""
    left, bottom, right, top = page.get_bbox()
    size = np.array([right - left, top - bottom], np.float32)
    text = page.get_textpage()
    try:
        layer = _layer(text, page, number, size)
    finally:
        text.close()
    return _with_fields(layer, page, size)


def _layer(text: PdfTextPage, page: PdfPage, number: int, size: NDArray[np.float32]) -> Layer:
    stored = page.get_rotation()
    bare = Layer(number, displayed(size, stored), stored)
    if not raw.FPDFPage_CountObjects(page):
        return bare
    characters = read_characters(text, page)
    if not len(characters.codes):
        return bare._replace(missing="everything")
    meaningless, share = find_garbled(text, characters)
    if share > MAX_GARBAGE:
        return bare._replace(missing="everything")
    rotation = _rotation(text, page, characters)
    shown = find_pictures(page)
    hidden, scanned = _unseen(text, characters, shown)
    upright, sideways = _find_runs(
        text, characters.only(~hidden) if hidden.any() else characters, size, rotation
    )
    layer = Layer(number, displayed(size, rotation), rotation, upright, sideways)
    if scanned.any():
        under, beside = _find_runs(text, characters.only(scanned), size, rotation)
        return layer._replace(scanned=text_runs.concatenate_runs([under, *beside]), missing="everything")
    unknown = characters.boxes[_in_runs(meaningless)]
    gaps = np.concatenate([_unread(page, shown.boxes, characters, size), unknown])
    if not len(gaps):
        return layer
    return layer._replace(gaps=turn_boxes(gaps, size, rotation), missing="gaps")


def _unseen(
    text: PdfTextPage, characters: Characters, shown: PagePictures
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of invisible characters, and of those among them that repeat what a picture shows.

    Text drawn before the picture that covers it is unseen, too. The rest is there to be found by machines
    alone, and is not what the page says.
    """
    hidden = find_invisible(text, characters)
    hidden |= _over(characters.boxes, shown.boxes[shown.over_text]) > INSIDE
    if not hidden.any():
        return hidden, hidden
    mostly = hidden.mean() > 1 - INSIDE
    return hidden, hidden if mostly else hidden & (_over(characters.boxes, shown.boxes) > INSIDE)


def _over(boxes: Boxes, pictures: Boxes) -> NDArray[np.float32]:
    """Of each box, how much stands in one of the pictures."""
    share = np.zeros(len(boxes), np.float32)
    for picture in pictures:  # one by one: characters times pictures may be many
        share = np.maximum(share, covered_share(boxes, picture[None]))
    return share


def _unread(page: PdfPage, shown: Boxes, characters: Characters, size: NDArray[np.float32]) -> Boxes:
    """The pictures that show text which nobody has put over them."""
    areas = np.prod(shown[:, 2:] - shown[:, :2], axis=1) / max(float(np.prod(size)), 1e-6)
    if areas.sum() > SCAN_SHARE:
        return shown if len(characters.codes) < FEW else shown[:0]
    large = shown[areas > LARGE_SHARE]
    bare = [(covered_share(characters.boxes, picture[None]) > INSIDE).sum() < FEW for picture in large]
    large = large[np.array(bare, np.bool_)]
    return large[show_text(page, large)] if len(large) else large


def _find_runs(
    text: PdfTextPage, characters: Characters, size: NDArray[np.float32], rotation: int
) -> tuple[TextRuns, tuple[TextRuns, ...]]:
    """The words that stand upright on the turned page, and the others by the turn they would need."""
    boxes, shown = turn_boxes(characters.boxes, size, rotation), displayed(size, rotation)
    suspects = _suspects(characters, boxes)
    if not suspects.any():
        return _printed(characters, boxes, shown), ()
    turns = np.zeros(len(boxes), np.intp)
    turns[suspects] = (_turns(text, characters.indices[suspects]) - rotation) % 360
    found: dict[int, TextRuns] = {}
    for turn in np.unique(turns).tolist():
        here = turns == turn
        sheet = displayed(shown, turn)
        part = _printed(characters.only(here), turn_boxes(boxes[here], shown, turn), sheet)
        found[turn] = part.turned(sheet, -turn % 360)
    return found.pop(0, NO_RUNS), tuple(part for part in found.values() if part.texts)


def _printed(characters: Characters, boxes: Boxes, sheet: NDArray[np.float32]) -> TextRuns:
    """The words on a sheet of this size, each once."""
    return text_runs.without_doubles(
        text_runs.inside_page(text_runs.runs_of_characters(characters, boxes), sheet)
    )


def _suspects(characters: Characters, boxes: Boxes) -> NDArray[np.bool_]:
    """Letters of which each stands close to the last, but not to its right."""
    extent = (boxes[:, 2:] - boxes[:, :2]).max(axis=1)[1:, None] * STRIDE
    steps = np.diff(boxes[:, :2] + boxes[:, 2:], axis=0) / 2
    close = (np.abs(steps) <= extent).all(axis=1) & ~text_runs.is_leftwards(characters.codes)
    astray = close & ((steps[:, 0] < 0) | (np.abs(steps[:, 1]) > np.abs(steps[:, 0])))
    suspects = np.zeros(len(boxes), np.bool_)
    runs = _in_runs(astray)
    suspects[:-1] |= runs
    suspects[1:] |= runs
    return suspects


def _in_runs(marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The marks of which several follow each other."""
    if not marks.any():
        return marks
    edges = np.diff(marks, prepend=False, append=False).nonzero()[0].reshape(-1, 2)
    found = np.zeros(len(marks), np.bool_)
    for start, stop in edges[edges[:, 1] - edges[:, 0] >= RUN].tolist():
        found[start:stop] = True
    return found


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


def _with_fields(layer: Layer, page: PdfPage, size: NDArray[np.float32]) -> Layer:
    """Add what was typed into the page's form, unless it is printed there as well."""
    found = form_fields.fields(page)
    if not found:
        return layer
    boxes = turn_boxes(np.array([field.box for field in found], np.float32), size, layer.rotation)
    printed = _texts_in(layer.upright, boxes)
    new = [
        index
        for index, (field, text) in enumerate(zip(found, printed, strict=True))
        if not (value := letters_and_digits(field.value)) or value not in text
    ]
    values = form_fields.values([found[index]._replace(box=tuple(boxes[index].tolist())) for index in new])
    return layer._replace(upright=text_runs.concatenate_runs([layer.upright, values]), filled=boxes[new])


def _texts_in(printed: TextRuns, boxes: Boxes) -> list[str]:
    """The letters and digits that stand in each of the boxes."""
    inside = [covered_share(printed.boxes, box[None]) > INSIDE for box in boxes]
    return [
        letters_and_digits("".join(text for text, here in zip(printed.texts, mask, strict=True) if here))
        for mask in inside
    ]


def displayed(size: NDArray[np.float32], rotation: int) -> NDArray[np.float32]:
    """Width and height of a page after a turn."""
    return size[::-1] if rotation % 180 else size


def page_from_layer(layer: Layer, *, quality: float = 1.0) -> Page:
    """The page by its own text alone."""
    upright = text_runs.concatenate_runs([layer.upright, layer.scanned])
    words = text_runs.arrange_runs(upright, layer.size, layer.sideways)
    width, height = layer.size.tolist()
    return Page(layer.number, width, height, words, source="text", quality=quality, rotation=layer.rotation)
