"""The text layer of a PDF page, made into lines by geometry: the order in the file means nothing."""

import ctypes
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model import Page, Words
from docmill.reading.layout import arrange
from docmill.reading.pdf import PdfPage, PdfTextPage, raw

WORD_GAP = 0.15
"""Of the character height: a wider gap parts words even without a space."""
GENERATED_GAP = 0.08
"""The same where PDFium, too, thinks that a space is meant."""
COLUMN_GAP = 1.0
"""Of the character height: a wider gap parts columns."""
OVERLAP = 0.3
"""Of the character height: a character that starts so far before the end of the last begins something new."""
SAME_LINE = 0.5
"""Share of the lower of two heights that neighbours on one line have in common."""
UPRIGHT = 0.5
"""Share of neighbours that follow each other from left to right on a page that stands upright."""
MAX_GARBAGE = 0.3
"""Share of characters without meaning from which on the layer is not to be believed."""
FEW = 100
"""Fewer characters may be a stamp on a scan."""
PICTURE_SHARE = 0.5
"""Of the page, covered by one picture: a scan."""
SAMPLE = 200
"""How many characters are asked what only a costly call can tell."""
SURROGATES = range(0xD800, 0xE000)
PRIVATE = range(0xE000, 0xF900)
LAST_CODE = 0x10FFFF
UNKNOWN = 0xFFFD
FIRST_PRINTING = 32
HYPHEN = 2
"""What PDFium gives for a hyphen at a line's end."""
SPACES = np.array([0, 9, 10, 11, 12, 13, 32, 0xA0, *range(0x2000, 0x200C), 0x202F, 0x3000, 0xFEFF], np.uint32)
LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


class Characters(NamedTuple):
    """The printing characters of a page in the file's order.

    indices: PDFium's number of each. codes: uint32. boxes: float32, shape (n, 4), points, unrotated page,
    origin top left, each as wide as the character's advance. spaced: bool, a space of the file stands before;
    maybe_spaced: PDFium guesses one.
    """

    indices: NDArray[np.intp]
    codes: NDArray[np.uint32]
    boxes: NDArray[np.float32]
    spaced: NDArray[np.bool_]
    maybe_spaced: NDArray[np.bool_]


def text_page(page: PdfPage, number: int) -> Page | None:
    """The page by its text layer, or None if that is of no use and the page must be recognised."""
    if not raw.FPDFPage_CountObjects(page):
        return _page(page, number, Words.none(), page.get_rotation())
    text = page.get_textpage()
    try:
        characters = _characters(text, page)
        if _garbage_share(text, characters) > MAX_GARBAGE:
            return None
        if len(characters.codes) < FEW and _is_picture(page):
            return None
        rotation = _rotation(text, page, characters)
    finally:
        text.close()
    left, bottom, right, top = page.get_bbox()
    size = np.array([right - left, top - bottom], np.float32)
    words = _words(
        characters, turned(characters.boxes, size, rotation), size[::-1] if rotation % 180 else size
    )
    return _page(page, number, words, rotation)


def turned(boxes: NDArray[np.float32], size: NDArray[np.float32], rotation: int) -> NDArray[np.float32]:
    """Boxes on a page of `size` (width, height) after it is turned clockwise by `rotation` degrees."""
    x0, y0, x1, y1 = boxes.T
    width, height = size
    columns = {
        0: (x0, y0, x1, y1),
        90: (height - y1, x0, height - y0, x1),
        180: (width - x1, height - y1, width - x0, height - y0),
        270: (y0, width - x1, y1, width - x0),
    }[rotation]
    return np.stack(columns, axis=1)


def _page(page: PdfPage, number: int, words: Words, rotation: int) -> Page:
    width, height = page.get_size()
    if (rotation - page.get_rotation()) % 180:
        width, height = height, width
    return Page(number, width, height, words, source="text", quality=1.0, rotation=rotation)


def _characters(text: PdfTextPage, page: PdfPage) -> Characters:
    count = text.count_chars()
    codes = _codes(text, count)
    boxes = _boxes(text, count)
    left, _, _, top = page.get_bbox()
    # FS_RECTF is left, top, right, bottom with y upwards; some fonts give them in the wrong order.
    x, y = np.sort(boxes[:, [0, 2]] - left, axis=1), np.sort(top - boxes[:, [1, 3]], axis=1)
    blank = np.isin(codes, SPACES)
    generated = np.zeros(count, np.bool_)
    for index in np.flatnonzero(blank).tolist():
        generated[index] = raw.FPDFText_IsGenerated(text, index) == 1
    indices = np.flatnonzero(~blank)
    return Characters(
        indices=indices,
        codes=np.where(codes == HYPHEN, ord("-"), codes)[indices],
        boxes=np.nan_to_num(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)[indices]),
        spaced=_any_before(blank & ~generated, indices),
        maybe_spaced=_any_before(generated, indices),
    )


def _any_before(marks: NDArray[np.bool_], indices: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a mark stands between each printing character and the one before."""
    counts = np.cumsum(marks)[indices]
    return np.diff(counts, prepend=0) > 0


def _codes(text: PdfTextPage, count: int) -> NDArray[np.uint32]:
    """The Unicode of each character, in one call where text and characters agree in number."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if raw.FPDFText_GetText(text, 0, count, buffer) == count + 1:
        codes = np.frombuffer(memoryview(buffer), np.uint16)[:count].astype(np.uint32)
        if not _within(codes, SURROGATES).any():
            return codes
    unicode_of, handle = raw.FPDFText_GetUnicode, text.raw
    codes = np.array([unicode_of(handle, index) for index in range(count)], np.uint32)
    invalid = _within(codes, SURROGATES) | (codes > LAST_CODE)
    return np.where(invalid, UNKNOWN, codes).astype(np.uint32)


def _within(codes: NDArray[np.uint32], bounds: range) -> NDArray[np.bool_]:
    return (codes >= bounds.start) & (codes < bounds.stop)


def _boxes(text: PdfTextPage, count: int) -> NDArray[np.float32]:
    """Each character's box with its full advance: tight boxes leave gaps inside words."""
    boxes = (raw.FS_RECTF * max(1, count))()
    box_of, handle = raw.FPDFText_GetLooseCharBox, text.raw
    for index, box in zip(range(count), boxes, strict=False):
        box_of(handle, index, box)
    return np.frombuffer(boxes, np.float32).reshape(-1, 4)[:count]


def _is_picture(page: PdfPage) -> bool:
    """Whether a picture covers the page."""
    width, height = page.get_size()
    for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=2):
        left, bottom, right, top = picture.get_bounds()
        if (right - left) * (top - bottom) > PICTURE_SHARE * width * height:
            return True
    return False


def _garbage_share(text: PdfTextPage, characters: Characters) -> float:
    """The share of characters that stand for no known letter; 1 for a page without characters."""
    codes = characters.codes
    if not len(codes):
        return 1.0
    private = _within(codes, PRIVATE) | (codes == UNKNOWN) | (codes < FIRST_PRINTING)
    sample = characters.indices[:: max(1, len(codes) // SAMPLE)].tolist()
    unmapped = sum(raw.FPDFText_HasUnicodeMapError(text, index) == 1 for index in sample)
    return max(float(private.mean()), unmapped / len(sample))


def _rotation(text: PdfTextPage, page: PdfPage, characters: Characters) -> int:
    """Degrees clockwise by which the page must be turned for its text to stand upright."""
    stored = page.get_rotation()
    centres = (turned(characters.boxes, np.zeros(2, np.float32), stored)).reshape(-1, 2, 2).mean(axis=1)
    steps = np.diff(centres, axis=0)
    forward = steps[:, 0] > np.abs(steps[:, 1])
    if not len(steps) or forward.mean() >= UPRIGHT:
        return stored
    sample = characters.indices[:: max(1, len(characters.indices) // SAMPLE)].tolist()
    quarters = [round(np.degrees(raw.FPDFText_GetCharAngle(text, index)) / 90) % 4 for index in sample]
    return int(-90 * np.bincount(quarters).argmax() % 360)


def _words(characters: Characters, boxes: NDArray[np.float32], size: NDArray[np.float32]) -> Words:
    new_piece, new_word = _breaks(characters, boxes)
    starts = np.flatnonzero(new_word)
    text = characters.codes.astype("<u4").tobytes().decode("utf-32-le")
    bounds = [*starts.tolist(), len(text)]
    texts: list[str] = [text[start:stop].translate(LIGATURES) for start, stop in pairwise(bounds)]
    word_boxes = _around(boxes, starts)
    kept = _not_overprinted(texts, word_boxes)
    piece_of_word = (np.cumsum(new_piece) - 1)[starts]
    piece_boxes = _around(boxes, np.flatnonzero(new_piece))
    pieces, owners = np.unique(piece_of_word[kept], return_inverse=True)
    return arrange(
        piece_boxes[pieces],
        owners.astype(np.int32),
        [texts[word] for word in kept],
        word_boxes[kept] / np.tile(size, 2),
        confidences=np.ones(len(kept), np.float32),
    )


def _around(boxes: NDArray[np.float32], starts: NDArray[np.intp]) -> NDArray[np.float32]:
    """The boxes around runs of boxes that begin at `starts`."""
    low = np.minimum.reduceat(boxes[:, :2], starts, axis=0)
    high = np.maximum.reduceat(boxes[:, 2:], starts, axis=0)
    return np.concatenate([low, high], axis=1)


def _breaks(
    characters: Characters, boxes: NDArray[np.float32]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each character whether a piece begins with it, and whether a word does."""
    x0, y0, x1, y1 = boxes.T
    height = np.maximum(np.minimum(y1[1:] - y0[1:], y1[:-1] - y0[:-1]), 1e-3)
    common = np.minimum(y1[1:], y1[:-1]) - np.maximum(y0[1:], y0[:-1])
    gap = (x0[1:] - x1[:-1]) / height
    piece = np.ones(len(boxes), np.bool_)
    piece[1:] = (common < SAME_LINE * height) | (gap > COLUMN_GAP) | (gap < -OVERLAP)
    word = piece.copy()
    word[1:] |= (
        characters.spaced[1:] | (gap > WORD_GAP) | (characters.maybe_spaced[1:] & (gap > GENERATED_GAP))
    )
    return piece, word


def _not_overprinted(texts: list[str], boxes: NDArray[np.float32]) -> list[int]:
    """Indices of words, without those printed a second time over themselves (poor man's bold)."""
    height = max(float(np.median(boxes[:, 3] - boxes[:, 1])), 1e-3)
    cells = np.floor((boxes[:, :2] + boxes[:, 2:]) / height).astype(int).tolist()
    seen: set[tuple[str, int, int]] = set()
    kept: list[int] = []
    for index, (text, (x, y)) in enumerate(zip(texts, cells, strict=True)):
        if not any((text, x + dx, y + dy) in seen for dx in (-1, 0, 1) for dy in (-1, 0, 1)):
            kept.append(index)
        seen.add((text, x, y))
    return kept
