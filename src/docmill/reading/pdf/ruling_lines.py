"""The ruling lines of a PDF page, from the paths it draws."""

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import c_float, c_int
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from docmill.reading.layout.ruled_tables import Lines
from docmill.reading.pdf.page_pictures import objects_of
from docmill.reading.pdf.pdf_file import PdfPage, raw
from docmill.reading.pdf.pdfium import Pointer, exhaust, unconverted

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
_bounds = unconverted(raw.FPDFPageObj_GetBounds, c_int, *[Pointer] * 5)
_draw_mode = unconverted(raw.FPDFPath_GetDrawMode, c_int, *[Pointer] * 3)
_matrix = unconverted(raw.FPDFPageObj_GetMatrix, c_int, Pointer, Pointer)
_count_segments = unconverted(raw.FPDFPath_CountSegments, c_int, Pointer)
_segment = unconverted(raw.FPDFPath_GetPathSegment, Pointer, Pointer, c_int)
_point = unconverted(raw.FPDFPathSegment_GetPoint, c_int, *[Pointer] * 3)
_kind = unconverted(raw.FPDFPathSegment_GetType, c_int, Pointer)
_closes = unconverted(raw.FPDFPathSegment_GetClose, c_int, Pointer)


def rulings(page: PdfPage) -> tuple[Lines, Lines]:
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
    """What thin paths cover, and each side of those that are drawn as outlines."""
    objects, types = objects_of(page, MOST_OBJECTS)
    paths = [drawn for drawn, kind in zip(objects, types, strict=True) if kind == raw.FPDF_PAGEOBJ_PATH]
    bounds = _bounds_of(paths[:MOST_PATHS])
    found: list[Rectangle] = []
    for drawn, (x0, y0, x1, y1) in zip(paths, bounds.tolist(), strict=False):
        if min(x1 - x0, y1 - y0) <= THIN:
            found.append((x0, y0, x1, y1))
        elif _is_stroked(drawn):
            found += _sides(drawn)
    return found


def _bounds_of(paths: Sequence[int]) -> NDArray[np.float32]:
    """Left, bottom, right and top of each; nothing but zeros for one that has none."""
    bounds = np.zeros((len(paths), 4), np.float32)
    start, size, stop = bounds.ctypes.data, bounds.itemsize, bounds.ctypes.data + bounds.nbytes
    places = [range(start + edge * size, stop + edge * size, 4 * size) for edge in range(4)]
    exhaust(map(_bounds, paths, *places))
    return bounds


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


def _around(one: Point, other: Point) -> Rectangle:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])
