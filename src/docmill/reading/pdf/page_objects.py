"""Characters, pictures and ruling lines of a PDF page, by PDFium's functions themselves.

pypdfium2's own bindings convert every argument, which takes longer than the call.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from ctypes import c_float, c_int
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.layout.tables import RulingLines
from docmill.reading.pdf.pdf_file import PdfPage, PdfTextPage, raw, render

Boxes: TypeAlias = NDArray[np.float32]
Pointer: TypeAlias = ctypes.c_void_p
Call: TypeAlias = Callable[..., Any]


def _address(function_or_handle: Any) -> int:  # noqa: ANN401 - ctypes' pointers have no common type
    """Address of one of PDFium's objects in memory."""
    return ctypes.cast(function_or_handle, ctypes.c_void_p).value or 0


def raw_function(function: Any, result: type, *arguments: type) -> Call:  # noqa: ANN401 - as above
    """A function of PDFium's that takes addresses, and numbers, as plain integers."""
    return ctypes.CFUNCTYPE(result, *arguments)(_address(function))


SAMPLE = 200
"""Number of characters for which costly calls are made."""
SURROGATES = range(0xD800, 0xE000)
PRIVATE = range(0xE000, 0xF900)
LAST_CODE = 0x10FFFF
UNKNOWN = 0xFFFD
FIRST_PRINTING = 32
HYPHEN = 2
"""Code that PDFium gives for a hyphen at a line's end; elsewhere it is an unmapped character's."""
SPACES = np.array([0, 9, 10, 11, 12, 13, 32, 0xA0, *range(0x2000, 0x200C), 0x202F, 0x3000, 0xFEFF], np.uint32)
_IS_SPACE = np.isin(np.arange(0x10000), SPACES)
MANY_SWAPPED = 0.5
"""Share of characters whose second byte is zero: Latin letters whose bytes were swapped."""
INVISIBLE = 3
"""Text render mode, ISO 32000-1, 9.3.6."""

_loose_box = raw_function(raw.FPDFText_GetLooseCharBox, c_int, Pointer, c_int, Pointer)
_is_generated = raw_function(raw.FPDFText_IsGenerated, c_int, Pointer, c_int)
_has_no_unicode = raw_function(raw.FPDFText_HasUnicodeMapError, c_int, Pointer, c_int)
_object_of = raw_function(raw.FPDFText_GetTextObject, Pointer, Pointer, c_int)
_render_mode = raw_function(raw.FPDFTextObj_GetTextRenderMode, c_int, Pointer)
_set_render_mode = raw_function(raw.FPDFTextObj_SetTextRenderMode, c_int, Pointer, c_int)


class Characters(NamedTuple):
    """Printing characters of a page in the file's order.

    indices: PDFium's number of each. codes: uint32. boxes: float32, shape (n, 4), points, unrotated page,
    origin top left, each as wide as the character's advance. spaced: bool, a space of the file stands before;
    maybe_spaced: PDFium guesses one.
    """

    indices: NDArray[np.intp]
    codes: NDArray[np.uint32]
    boxes: NDArray[np.float32]
    spaced: NDArray[np.bool_]
    maybe_spaced: NDArray[np.bool_]

    def only(self, kept: NDArray[np.bool_]) -> "Characters":
        """The characters marked in `kept`; a space before one that is left out comes before the next."""
        chosen = np.flatnonzero(kept)
        return Characters(
            self.indices[chosen],
            self.codes[chosen],
            self.boxes[chosen],
            _has_mark_since(self.spaced, chosen),
            _has_mark_since(self.maybe_spaced, chosen),
        )


def read_characters(text: PdfTextPage, page: PdfPage) -> Characters:
    """Every printing character of a page."""
    count = text.count_chars()
    codes = _codes(text, count)
    hyphens = [at for at in np.flatnonzero(codes == HYPHEN).tolist() if raw.FPDFText_IsHyphen(text, at) == 1]
    codes[hyphens] = ord("-")
    blank = _IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    indices = np.flatnonzero(~blank)
    generated = np.zeros(count, np.bool_)
    blanks: list[int] = np.flatnonzero(blank).tolist()
    flags = map(_is_generated, repeat(_address(text.raw)), blanks)
    generated[blanks] = np.fromiter(flags, np.intc, len(blanks)) == 1
    # Boxes with the full advance: tight ones leave gaps inside words.
    boxes = np.zeros((len(indices), 4), np.float32)
    start = boxes.ctypes.data
    places = range(start, start + boxes.nbytes, boxes.itemsize * 4)
    deque(
        map(_loose_box, repeat(_address(text.raw)), indices.tolist(), places), maxlen=0
    )  # the results are in memory
    left, _, _, top = page.get_bbox()
    # FS_RECTF is left, top, right, bottom with y upwards; some fonts give them in the wrong order.
    x, y = np.sort(boxes[:, [0, 2]] - left, axis=1), np.sort(top - boxes[:, [1, 3]], axis=1)
    return Characters(
        indices=indices,
        codes=codes[indices],
        boxes=np.nan_to_num(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)),
        spaced=_has_mark_since(blank & ~generated, indices),
        maybe_spaced=_has_mark_since(generated, indices),
    )


def _has_mark_since(marks: NDArray[np.bool_], indices: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mask of the indices with a mark there or since the index before."""
    counts = np.cumsum(marks)[indices]
    return np.diff(counts, prepend=0) > 0


def _codes(text: PdfTextPage, count: int) -> NDArray[np.uint32]:
    """The Unicode of each character, in one call where text and characters agree in number."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if raw.FPDFText_GetText(text, 0, count, buffer) == count + 1:
        codes = np.frombuffer(memoryview(buffer), np.uint16)[:count].astype(np.uint32)
        if not within(codes, SURROGATES).any():
            return codes
    unicode_of, handle = raw.FPDFText_GetUnicode, text.raw
    codes = np.array([unicode_of(handle, index) for index in range(count)], np.uint32)
    invalid = within(codes, SURROGATES) | (codes > LAST_CODE)
    return np.where(invalid, UNKNOWN, codes).astype(np.uint32)


def within(codes: NDArray[np.uint32], bounds: range) -> NDArray[np.bool_]:
    """Mask of the codes in a range."""
    return (codes >= bounds.start) & (codes < bounds.stop)


def find_garbled(text: PdfTextPage, characters: Characters) -> tuple[NDArray[np.bool_], float]:
    """Mask of characters without a known letter, and their share, to which a sample adds unmapped ones."""
    codes = characters.codes
    meaningless = within(codes, PRIVATE) | (codes == UNKNOWN) | (codes < FIRST_PRINTING)
    swapped = codes & 0xFF == 0
    if swapped.mean() > MANY_SWAPPED:
        meaningless |= swapped
    sample = characters.indices[:: max(1, len(codes) // SAMPLE)].tolist()
    unmapped = sum(flag == 1 for flag in map(_has_no_unicode, repeat(_address(text.raw)), sample))
    return meaningless, max(float(meaningless.mean()), unmapped / len(sample))


def text_objects(text: PdfTextPage, indices: NDArray[np.intp]) -> list[int | None]:
    """Address of the text object that draws each character; None for a character that PDFium made up."""
    return list(map(_object_of, repeat(_address(text.raw)), indices.tolist()))


def find_invisible(text: PdfTextPage, characters: Characters) -> NDArray[np.bool_]:
    """Mask of invisible characters, such as those under a scan, which are there only to be found.

    A sample is asked first: on nearly every page all text is visible.
    """
    step = max(1, len(characters.codes) // SAMPLE)
    objects: list[int | None] = []
    hidden: set[int | None] = set()
    for indices in (characters.indices[::step], characters.indices):
        objects = text_objects(text, indices)
        hidden = {item for item in set(objects) if item is not None and _render_mode(item) == INVISIBLE}
        if not hidden:
            return np.zeros(len(characters.codes), np.bool_)
    return np.array([item in hidden for item in objects], np.bool_)


MAX_DEPTH = 3
MAX_OBJECTS = 50_000
"""Objects beyond are left out: the page is a drawing."""
LOOK_PX = 1400
"""Long side of the page's picture in which text is looked for: letters of 6 points are 7 pixels high."""
FAINT = 24
"""Difference in brightness, of 255, up to which nobody sees a mark."""
LETTERS = 40
"""With so many spots of a letter's size a picture shows text."""
SMALLEST_PX, LARGEST_PX = 5, 40

Corners: TypeAlias = tuple[float, float, float, float]
Gray: TypeAlias = NDArray[np.uint8]

_object_of_page = raw_function(raw.FPDFPage_GetObject, Pointer, Pointer, c_int)
_type = raw_function(raw.FPDFPageObj_GetType, c_int, Pointer)


class PagePictures(NamedTuple):
    """boxes: shape (k, 4), points, unrotated page, origin top left. over_text: drawn after the first text."""

    boxes: Boxes
    over_text: NDArray[np.bool_]


def page_objects(page: PdfPage, most: int) -> tuple[list[int], list[int]]:
    """Addresses and types of the objects that the page draws, at most `most`."""
    count = min(raw.FPDFPage_CountObjects(page), most)
    objects = list(map(_object_of_page, repeat(_address(page.raw)), range(count)))
    return objects, list(map(_type, objects))


def find_pictures(page: PdfPage) -> PagePictures:
    """Find the pictures on the page."""
    objects, types = page_objects(page, MAX_OBJECTS)
    text_from = types.index(raw.FPDF_PAGEOBJ_TEXT) if raw.FPDF_PAGEOBJ_TEXT in types else len(types)
    corners: list[Corners] = []
    over: list[bool] = []
    kinds = {raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM}
    for index, (item, kind) in enumerate(zip(objects, types, strict=True)):
        if kind in kinds:
            inside = list(_pictures_in(ctypes.cast(item, raw.FPDF_PAGEOBJECT), kind, MAX_DEPTH))
            corners += inside
            over += [index > text_from] * len(inside)
    # Left, bottom, right, top in the file's space become boxes inside the page.
    stored = np.array(corners, np.float32).reshape(-1, 4)
    left, bottom, right, top = page.get_bbox()
    x = np.clip(stored[:, [0, 2]] - left, 0, right - left)
    y = np.clip(top - stored[:, [3, 1]], 0, top - bottom)
    boxes = np.nan_to_num(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1))
    is_visible = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    return PagePictures(boxes[is_visible], np.array(over, np.bool_)[is_visible])


def _pictures_in(item: Any, kind: int, depth: int) -> Iterator[Corners]:  # noqa: ANN401 - PDFium's
    """The bounds of a picture, or of those inside a form, in the space around it."""
    if kind == raw.FPDF_PAGEOBJ_IMAGE:
        bounds = [c_float() for _ in range(4)]
        if raw.FPDFPageObj_GetBounds(item, *bounds):
            yield (bounds[0].value, bounds[1].value, bounds[2].value, bounds[3].value)
    elif kind == raw.FPDF_PAGEOBJ_FORM and depth:
        matrix = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, matrix)
        for index in range(min(raw.FPDFFormObj_CountObjects(item), MAX_OBJECTS // 10)):
            inner = raw.FPDFFormObj_GetObject(item, index)
            for x0, y0, x1, y1 in _pictures_in(inner, raw.FPDFPageObj_GetType(inner), depth - 1):
                xs = [matrix.a * x + matrix.c * y + matrix.e for x in (x0, x1) for y in (y0, y1)]
                ys = [matrix.b * x + matrix.d * y + matrix.f for x in (x0, x1) for y in (y0, y1)]
                yield (min(xs), min(ys), max(xs), max(ys))


def render_gray(page: PdfPage, *, rotation: int) -> Gray:
    """Draw the page in shades of gray, large enough to see text."""
    picture = render(page, (LOOK_PX, LOOK_PX), rotation=rotation).pixels
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)


def find_unmarked(page: PdfPage, text: PdfTextPage, characters: Characters) -> NDArray[np.bool_]:
    """Mask of the characters that leave no mark on the page, by drawing it with and without their text.

    Their font has no outlines, they have the colour of what is behind them, or something covers them.
    """
    objects = {item for item in text_objects(text, characters.indices) if item is not None}
    modes = {item: _render_mode(item) for item in objects}
    drawn = render_gray(page, rotation=0)
    for item in modes:
        _set_render_mode(item, INVISIBLE)
    bare = render_gray(page, rotation=0)
    for item, mode in modes.items():
        _set_render_mode(item, mode)
    marks = cv2.integral((cv2.absdiff(drawn, bare) > FAINT).astype(np.uint8))
    left, bottom, right, top = page.get_bbox()
    height, width = drawn.shape
    scale = np.array([width / (right - left), height / (top - bottom)] * 2)
    most = np.array([width, height] * 2)
    x0, y0, x1, y1 = np.clip(characters.boxes * scale + (0, 0, 1, 1), 0, most).astype(np.intp).T
    return np.asarray(marks[y1, x1] - marks[y0, x1] - marks[y1, x0] + marks[y0, x0] == 0, np.bool_)


def show_text(page: PdfPage, boxes: Boxes) -> NDArray[np.bool_]:
    """Mask of the boxes, in points of the unrotated page, that show something like text."""
    gray = render_gray(page, rotation=0)
    left, bottom, right, top = page.get_bbox()
    scale = min(gray.shape[1] / (right - left), gray.shape[0] / (top - bottom))
    counts: list[int] = []
    for box in boxes:
        x0, y0, x1, y1 = (int(value) for value in box * scale)
        counts.append(len(letter_centres(gray[y0 : y1 + 1, x0 : x1 + 1])))
    return np.array(counts, np.intp) >= LETTERS


def letter_centres(gray: Gray) -> NDArray[np.intp]:
    """The centres, x and y, of spots that have the size and the shape of a letter."""
    if min(gray.shape) < SMALLEST_PX:
        return np.zeros((0, 2), np.intp)
    dark = cv2.adaptiveThreshold(gray, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 15)
    _, _, statistics, centres = cv2.connectedComponentsWithStats(dark)
    width, height = statistics[1:, cv2.CC_STAT_WIDTH], statistics[1:, cv2.CC_STAT_HEIGHT]
    tall = (height >= SMALLEST_PX) & (height <= LARGEST_PX)
    return centres[1:][tall & (width > 1) & (width <= LARGEST_PX * 3 // 2)].astype(np.intp)


THIN = 2.5
"""Points; a path no thicker is a line."""
SHORT = 6.0
"""Points; a shorter path is a dot or a tick."""
MAX_LINE_OBJECTS = 5000
MOST_PATHS = 2000
MOST_SEGMENTS = 400
"""A path with more segments is a drawing."""

Point = tuple[float, float]
Rectangle = tuple[float, float, float, float]

_Modes, _Matrix, _Place = c_int * 2, c_float * 6, c_float * 2
_bounds = raw_function(raw.FPDFPageObj_GetBounds, c_int, *[Pointer] * 5)
_draw_mode = raw_function(raw.FPDFPath_GetDrawMode, c_int, *[Pointer] * 3)
_matrix = raw_function(raw.FPDFPageObj_GetMatrix, c_int, Pointer, Pointer)
_count_segments = raw_function(raw.FPDFPath_CountSegments, c_int, Pointer)
_segment = raw_function(raw.FPDFPath_GetPathSegment, Pointer, Pointer, c_int)
_point = raw_function(raw.FPDFPathSegment_GetPoint, c_int, *[Pointer] * 3)
_kind = raw_function(raw.FPDFPathSegment_GetType, c_int, Pointer)
_closes = raw_function(raw.FPDFPathSegment_GetClose, c_int, Pointer)


def find_ruling_lines(page: PdfPage) -> tuple[RulingLines, RulingLines]:
    """Find lines across and down the page; none of a page that is turned."""
    if page.get_rotation() != 0:
        return np.zeros((0, 3)), np.zeros((0, 3))
    objects, types = page_objects(page, MAX_LINE_OBJECTS)
    paths = [path for path, kind in zip(objects, types, strict=True) if kind == raw.FPDF_PAGEOBJ_PATH]
    paths = paths[:MOST_PATHS]
    bounds = np.zeros((len(paths), 4), np.float32)  # left, bottom, right, top; zeros for a path without
    start, size, stop = bounds.ctypes.data, bounds.itemsize, bounds.ctypes.data + bounds.nbytes
    places = [range(start + edge * size, stop + edge * size, 4 * size) for edge in range(4)]
    deque(map(_bounds, paths, *places), maxlen=0)
    modes = _Modes()
    fill = ctypes.addressof(modes)
    strokes: list[Rectangle] = []  # thin paths, and each side of paths drawn as outlines
    for path, (x0, y0, x1, y1) in zip(paths, bounds.tolist(), strict=False):
        if min(x1 - x0, y1 - y0) <= THIN:
            strokes.append((x0, y0, x1, y1))
        elif _draw_mode(path, fill, fill + ctypes.sizeof(c_int)) and modes[1]:  # it is stroked
            strokes += _sides(path)
    left, _, _, top = page.get_bbox()
    x0, y0, x1, y1 = np.array(strokes, np.float64).reshape(-1, 4).T
    wide, high = x1 - x0, y1 - y0
    is_across = (wide >= SHORT) & (high <= THIN)
    is_down = ~is_across & (high >= SHORT) & (wide <= THIN)
    across = np.stack([top - (y0 + y1) / 2, x0 - left, x1 - left], axis=1)
    down = np.stack([(x0 + x1) / 2 - left, top - y1, top - y0], axis=1)
    return across[is_across], down[is_down]


def _sides(path: int) -> list[Rectangle]:
    """The straight pieces of a path."""
    matrix = _Matrix()
    count = _count_segments(path)
    if count > MOST_SEGMENTS or not _matrix(path, ctypes.addressof(matrix)):
        return []
    a, b, c, d, e, f = matrix
    place = _Place()
    at = ctypes.addressof(place)
    sides: list[Rectangle] = []
    begin = last = (0.0, 0.0)
    for segment in map(_segment, repeat(path), range(count)):
        _point(segment, at, at + ctypes.sizeof(c_float))
        x, y = place
        point = a * x + c * y + e, b * x + d * y + f
        kind = _kind(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            sides.append(_around(last, point))
        last = point
        if _closes(segment):
            sides.append(_around(last, begin))
    return sides


def _around(start: Point, end: Point) -> Rectangle:
    return min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])
