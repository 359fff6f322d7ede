"""Pictures and ruling lines among the objects that a PDF page draws."""

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import c_float, c_int
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.layout.ruled_tables import RulingLines
from docmill.reading.pdf.pdf_file import PdfPage, raw, render
from docmill.reading.pdf.pdfium import Pointer, address, exhaust, raw_function
from docmill.reading.pdf.text_runs import Boxes

MAX_DEPTH = 3
MAX_OBJECTS = 50_000
"""More are looked at no further: a drawing."""
LOOK_PX = 1400
"""Long side of the page's picture in which text is looked for: letters of 6 points are 7 pixels high."""
LETTERS = 40
"""So many spots of a letter's size, and it is text."""
SMALLEST_PX, LARGEST_PX = 5, 40

Corners: TypeAlias = tuple[float, float, float, float]
Gray: TypeAlias = NDArray[np.uint8]

_object_of_page = raw_function(raw.FPDFPage_GetObject, Pointer, Pointer, ctypes.c_int)
_type = raw_function(raw.FPDFPageObj_GetType, ctypes.c_int, Pointer)


class PagePictures(NamedTuple):
    """boxes: shape (k, 4), points, unrotated page, origin top left. over_text: drawn after the first text."""

    boxes: Boxes
    over_text: NDArray[np.bool_]


def page_objects(page: PdfPage, most: int) -> tuple[list[int], list[int]]:
    """Addresses and types of the objects that the page draws, at most `most`."""
    count = min(raw.FPDFPage_CountObjects(page), most)
    objects = list(map(_object_of_page, repeat(address(page.raw)), range(count)))
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
            found = list(_pictures_in(ctypes.cast(item, raw.FPDF_PAGEOBJECT), kind, MAX_DEPTH))
            corners += found
            over += [index > text_from] * len(found)
    # Left, bottom, right, top in the file's space become boxes inside the page.
    stored = np.array(corners, np.float32).reshape(-1, 4)
    left, bottom, right, top = page.get_bbox()
    x = np.clip(stored[:, [0, 2]] - left, 0, right - left)
    y = np.clip(top - stored[:, [3, 1]], 0, top - bottom)
    boxes = np.nan_to_num(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1))
    some = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    return PagePictures(boxes[some], np.array(over, np.bool_)[some])


def _pictures_in(item: Any, kind: int, depth: int) -> Iterator[Corners]:  # noqa: ANN401 - PDFium's
    """The bounds of a picture, or of those inside a form, in the space around it."""
    if kind == raw.FPDF_PAGEOBJ_IMAGE:
        bounds = [ctypes.c_float() for _ in range(4)]
        if raw.FPDFPageObj_GetBounds(item, *bounds):
            yield (bounds[0].value, bounds[1].value, bounds[2].value, bounds[3].value)
    elif kind == raw.FPDF_PAGEOBJ_FORM and depth:
        matrix = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(item, matrix)
        for index in range(min(raw.FPDFFormObj_CountObjects(item), MAX_OBJECTS // 10)):
            inner = raw.FPDFFormObj_GetObject(item, index)
            for corners in _pictures_in(inner, raw.FPDFPageObj_GetType(inner), depth - 1):
                x0, y0, x1, y1 = corners
                xs = [matrix.a * x + matrix.c * y + matrix.e for x in (x0, x1) for y in (y0, y1)]
                ys = [matrix.b * x + matrix.d * y + matrix.f for x in (x0, x1) for y in (y0, y1)]
                yield (min(xs), min(ys), max(xs), max(ys))


def render_gray(page: PdfPage, *, rotation: int) -> Gray:
    """The page in shades of gray, large enough to see whether there is text."""
    picture = render(page, (LOOK_PX, LOOK_PX), rotation=rotation).pixels
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)


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
"""Points; what is shorter is a dot or a tick."""
MOST_OBJECTS = 5000
MOST_PATHS = 2000
MOST_SEGMENTS = 400
"""Of one path; with more it is a drawing."""

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
    """Lines across and down the page, as `ruled.find` takes them; none of a page that is turned."""
    left, _, _, top = page.get_bbox()
    strokes = _strokes(page) if page.get_rotation() == 0 else []
    x0, y0, x1, y1 = np.array(strokes, np.float64).reshape(-1, 4).T
    wide, high = x1 - x0, y1 - y0
    is_across = (wide >= SHORT) & (high <= THIN)
    is_down = ~is_across & (high >= SHORT) & (wide <= THIN)
    across = np.stack([top - (y0 + y1) / 2, x0 - left, x1 - left], axis=1)
    down = np.stack([(x0 + x1) / 2 - left, top - y1, top - y0], axis=1)
    return across[is_across], down[is_down]


def _strokes(page: PdfPage) -> list[Rectangle]:
    """Rectangles of thin paths, and of each side of paths drawn as outlines."""
    objects, types = page_objects(page, MOST_OBJECTS)
    paths = [drawn for drawn, kind in zip(objects, types, strict=True) if kind == raw.FPDF_PAGEOBJ_PATH]
    paths = paths[:MOST_PATHS]
    bounds = np.zeros((len(paths), 4), np.float32)  # left, bottom, right, top; zeros for a path without
    start, size, stop = bounds.ctypes.data, bounds.itemsize, bounds.ctypes.data + bounds.nbytes
    places = [range(start + edge * size, stop + edge * size, 4 * size) for edge in range(4)]
    exhaust(map(_bounds, paths, *places))
    found: list[Rectangle] = []
    for drawn, (x0, y0, x1, y1) in zip(paths, bounds.tolist(), strict=False):
        if min(x1 - x0, y1 - y0) <= THIN:
            found.append((x0, y0, x1, y1))
        elif _is_stroked(drawn):
            found += _sides(drawn)
    return found


def _is_stroked(drawn: int) -> bool:
    modes = _Modes()
    fill = ctypes.addressof(modes)
    return bool(_draw_mode(drawn, fill, fill + ctypes.sizeof(c_int))) and bool(modes[1])


def _sides(drawn: int) -> list[Rectangle]:
    """The straight pieces of a path."""
    matrix = _Matrix()
    count = _count_segments(drawn)
    if count > MOST_SEGMENTS or not _matrix(drawn, ctypes.addressof(matrix)):
        return []
    segments = list(map(_segment, repeat(drawn), range(count)))
    found: list[Rectangle] = []
    begin = last = (0.0, 0.0)
    for segment, point, kind in zip(
        segments, _points(segments, matrix[:]), map(_kind, segments), strict=True
    ):
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            found.append(_around(last, point))
        last = point
        if _closes(segment):
            found.append(_around(last, begin))
    return found


def _points(segments: Sequence[int], matrix: Sequence[float]) -> Iterator[Point]:
    """The end of each segment on the page."""
    a, b, c, d, e, f = matrix
    point = _Place()
    at = ctypes.addressof(point)
    for segment in segments:
        _point(segment, at, at + ctypes.sizeof(c_float))
        x, y = point
        yield a * x + c * y + e, b * x + d * y + f


def _around(start: Point, end: Point) -> Rectangle:
    return min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])
