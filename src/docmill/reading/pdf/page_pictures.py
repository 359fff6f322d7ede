"""Pictures on a PDF page, and whether they hold text of their own."""

import ctypes
from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.pdf.pdf_file import PdfPage, raw, render
from docmill.reading.pdf.pdfium import Pointer, address, unconverted
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

_object_of_page = unconverted(raw.FPDFPage_GetObject, Pointer, Pointer, ctypes.c_int)
_type = unconverted(raw.FPDFPageObj_GetType, ctypes.c_int, Pointer)


class Pictures(NamedTuple):
    """boxes: shape (k, 4), points, unrotated page, origin top left. over_text: drawn after the first text."""

    boxes: Boxes
    over_text: NDArray[np.bool_]


def objects_of(page: PdfPage, most: int) -> tuple[list[int], list[int]]:
    """What the page draws, `most` objects at most: their addresses, and their types."""
    count = min(raw.FPDFPage_CountObjects(page), most)
    objects = list(map(_object_of_page, repeat(address(page.raw)), range(count)))
    return objects, list(map(_type, objects))


def pictures(page: PdfPage) -> Pictures:
    """Where pictures stand on the page."""
    objects, types = objects_of(page, MAX_OBJECTS)
    text_from = types.index(raw.FPDF_PAGEOBJ_TEXT) if raw.FPDF_PAGEOBJ_TEXT in types else len(types)
    corners: list[Corners] = []
    over: list[bool] = []
    kinds = {raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM}
    for index, (item, kind) in enumerate(zip(objects, types, strict=True)):
        if kind in kinds:
            found = list(_pictures_in(ctypes.cast(item, raw.FPDF_PAGEOBJECT), kind, MAX_DEPTH))
            corners += found
            over += [index > text_from] * len(found)
    return _on_page(page, np.array(corners, np.float32).reshape(-1, 4), np.array(over, np.bool_))


def _on_page(page: PdfPage, corners: NDArray[np.float32], over: NDArray[np.bool_]) -> Pictures:
    """Left, bottom, right, top in the file's space as boxes inside the page."""
    left, bottom, right, top = page.get_bbox()
    x = np.clip(corners[:, [0, 2]] - left, 0, right - left)
    y = np.clip(top - corners[:, [3, 1]], 0, top - bottom)
    boxes = np.nan_to_num(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1))
    some = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    return Pictures(boxes[some], over[some])


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
                yield _moved(matrix, corners)


def _moved(matrix: Any, corners: Corners) -> Corners:  # noqa: ANN401 - PDFium's
    """The bounds after a transformation."""
    x0, y0, x1, y1 = corners
    xs = [matrix.a * x + matrix.c * y + matrix.e for x in (x0, x1) for y in (y0, y1)]
    ys = [matrix.b * x + matrix.d * y + matrix.f for x in (x0, x1) for y in (y0, y1)]
    return min(xs), min(ys), max(xs), max(ys)


def looked_at(page: PdfPage, *, rotation: int) -> Gray:
    """The page in shades of gray, large enough to see whether there is text."""
    picture = render(page, (LOOK_PX, LOOK_PX), rotation=rotation).pixels
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)


def holding_text(page: PdfPage, boxes: Boxes) -> NDArray[np.bool_]:
    """Which of the boxes, in points of the unrotated page, show something that looks like text."""
    gray = looked_at(page, rotation=0)
    left, bottom, right, top = page.get_bbox()
    scale = min(gray.shape[1] / (right - left), gray.shape[0] / (top - bottom))
    return np.array([len(letters(_cut(gray, box * scale))) >= LETTERS for box in boxes], np.bool_)


def _cut(gray: Gray, box: NDArray[np.float32]) -> Gray:
    x0, y0, x1, y1 = (int(value) for value in box)
    return gray[y0 : y1 + 1, x0 : x1 + 1]


def letters(gray: Gray) -> NDArray[np.intp]:
    """The centres, x and y, of spots that have the size and the shape of a letter."""
    if min(gray.shape) < SMALLEST_PX:
        return np.zeros((0, 2), np.intp)
    dark = cv2.adaptiveThreshold(gray, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 15)
    _, _, statistics, centres = cv2.connectedComponentsWithStats(dark)
    width, height = statistics[1:, cv2.CC_STAT_WIDTH], statistics[1:, cv2.CC_STAT_HEIGHT]
    tall = (height >= SMALLEST_PX) & (height <= LARGEST_PX)
    return centres[1:][tall & (width > 1) & (width <= LARGEST_PX * 3 // 2)].astype(np.intp)
