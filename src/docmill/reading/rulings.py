"""The ruling lines of a PDF page, from the paths it draws."""

import ctypes
from collections.abc import Iterator

import numpy as np

from docmill.reading.pdf import PdfPage, raw
from docmill.reading.ruled import Lines

THIN = 2.5
"""Points; a path no thicker is a line."""
SHORT = 6.0
"""Points; what is shorter is a dot or a tick."""
MOST_OBJECTS = 5000
MOST_PATHS = 2000
MOST_SEGMENTS = 400
"""Of one path; with more it is a drawing."""

Rectangle = tuple[float, float, float, float]


def rulings(page: PdfPage) -> tuple[Lines, Lines]:
    """Lines across and down the page, as `ruled.find` takes them; none of a page that is turned."""
    left, _, _, top = page.get_bbox()
    across: list[tuple[float, float, float]] = []
    down: list[tuple[float, float, float]] = []
    if page.get_rotation() == 0:
        for x0, y0, x1, y1 in _strokes(page):
            if x1 - x0 >= SHORT and y1 - y0 <= THIN:
                across.append((top - (y0 + y1) / 2, x0 - left, x1 - left))
            elif y1 - y0 >= SHORT and x1 - x0 <= THIN:
                down.append(((x0 + x1) / 2 - left, top - y1, top - y0))
    return np.array(across, np.float64).reshape(-1, 3), np.array(down, np.float64).reshape(-1, 3)


def _strokes(page: PdfPage) -> Iterator[Rectangle]:
    """What thin paths cover, and each side of those that are drawn as outlines."""
    bounds = [ctypes.c_float() for _ in range(4)]
    paths = 0
    for index in range(min(raw.FPDFPage_CountObjects(page), MOST_OBJECTS)):
        drawn = raw.FPDFPage_GetObject(page, index)
        if raw.FPDFPageObj_GetType(drawn) != raw.FPDF_PAGEOBJ_PATH:
            continue
        paths += 1
        if paths > MOST_PATHS:
            return
        if not raw.FPDFPageObj_GetBounds(drawn, *bounds):
            continue
        x0, y0, x1, y1 = (bound.value for bound in bounds)
        if min(x1 - x0, y1 - y0) <= THIN:
            yield x0, y0, x1, y1
        elif _is_stroked(drawn):
            yield from _sides(drawn)


def _is_stroked(drawn: object) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(raw.FPDFPath_GetDrawMode(drawn, fill, stroke)) and bool(stroke.value)


def _sides(drawn: object) -> Iterator[Rectangle]:
    """The straight pieces of a path."""
    matrix = raw.FS_MATRIX()
    count = raw.FPDFPath_CountSegments(drawn)
    if count > MOST_SEGMENTS or not raw.FPDFPageObj_GetMatrix(drawn, matrix):
        return
    x, y = ctypes.c_float(), ctypes.c_float()
    begin = last = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(drawn, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begin = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield _around(last, point)
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield _around(last, begin)


def _around(one: tuple[float, float], other: tuple[float, float]) -> Rectangle:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])
