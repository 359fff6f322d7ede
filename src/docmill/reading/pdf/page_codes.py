"""Codes on pages of a PDF that have text: only parts of a page that may hold one are drawn."""

import ctypes
import time
from collections import deque
from typing import Any

import numpy as np

from docmill.model.document import Box, Code
from docmill.reading.images.codes import MOST, read_codes
from docmill.reading.pdf.page_objects import (
    MAX_OBJECTS,
    Boxes,
    Pointer,
    find_pictures,
    page_objects,
    raw_function,
)
from docmill.reading.pdf.pdf_file import PdfPage, raw, render

DRAWN_PX = 2400
"""Longest side of what is drawn."""
PX_PER_PT = 4.0
SMALLEST_PT = 14.0
"""Shortest side of a picture that may be a code."""
LARGEST_PT = 300.0
"""Longest side of a path that may be a code."""
SEGMENTS = 40
"""Least number of segments of a code that is one path, and least number of objects of one that is a form."""
BAR_PT = (5.0, 110.0)
"""Largest short and long side of a bar, a module or a row of modules."""
CELL_PT = 36
BARS = 10
"""Bars in a square of `CELL_PT` from which on they may be a code."""
LIMIT_S = 2.0
"""Time for the codes of all pages of one task; codes of further pages are not read."""

_bounds = raw_function(raw.FPDFPageObj_GetBounds, ctypes.c_int, *[Pointer] * 5)
_count_segments = raw_function(raw.FPDFPath_CountSegments, ctypes.c_int, Pointer)
_count_objects = raw_function(raw.FPDFFormObj_CountObjects, ctypes.c_int, Pointer)


class CodeSearch:
    """Reads the codes of several pages within one limit of time."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._left_s = limit_s

    def read(self, page: PdfPage, rotation: int) -> tuple[Code, ...]:
        """The codes on a page, from top to bottom. rotation: as in `Page`."""
        region = find_region(page)
        if region is None or self._left_s <= 0:
            return ()
        began = time.monotonic()
        if rotation or page.get_rotation():
            codes = read_codes(render(page, (DRAWN_PX, DRAWN_PX), rotation=rotation).pixels)
        else:
            codes = _read_part(page, region)
        self._left_s -= time.monotonic() - began
        return codes[:MOST]


def _read_part(page: PdfPage, region: Box) -> tuple[Code, ...]:
    """The codes in a part of a page that is not turned."""
    width_pt, height_pt = page.get_size()
    x0, y0, x1, y1 = region
    longest_pt = max((x1 - x0) * width_pt, (y1 - y0) * height_pt)
    scale = min(PX_PER_PT, DRAWN_PX / longest_pt)
    fit = (max(1, round(width_pt * scale)), max(1, round(height_pt * scale)))
    return tuple(
        code._replace(
            box=Box(
                x0 + code.box.x0 * (x1 - x0),
                y0 + code.box.y0 * (y1 - y0),
                x0 + code.box.x1 * (x1 - x0),
                y0 + code.box.y1 * (y1 - y0),
            )
        )
        for code in read_codes(render(page, fit, rotation=0, region=region).pixels)
    )


def find_region(page: PdfPage) -> Box | None:
    """The part of a page around everything that may be a code; None if nothing may be one.

    Of the page as it is stored, not turned.
    """
    left, bottom, right, top = page.get_bbox()
    size = np.array([right - left, top - bottom] * 2, np.float32)
    boxes = np.concatenate([find_pictures(page).boxes, _find_patterns(page, (left, top))])
    sides = boxes[:, 2:] - boxes[:, :2]
    boxes = boxes[sides.min(axis=1) >= SMALLEST_PT] if len(boxes) else boxes
    if not len(boxes) or not (size > 0).all():
        return None
    margin = SMALLEST_PT
    edges = np.concatenate([boxes[:, :2].min(axis=0) - margin, boxes[:, 2:].max(axis=0) + margin])
    x0, y0, x1, y1 = np.clip(edges / size, 0, 1).tolist()
    return Box(x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def _find_patterns(page: PdfPage, origin: tuple[float, float]) -> Boxes:
    """Boxes, in points, of paths, forms and crowds of bars that may be codes."""
    objects, types = page_objects(page, MAX_OBJECTS)
    kinds = {raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_FORM}
    items = [(item, kind) for item, kind in zip(objects, types, strict=True) if kind in kinds]
    stored = np.zeros((len(items), 4), np.float32)  # left, bottom, right, top; zeros for one without
    start, size, stop = stored.ctypes.data, stored.itemsize, stored.ctypes.data + stored.nbytes
    places = [range(start + edge * size, stop + edge * size, 4 * size) for edge in range(4)]
    deque(map(_bounds, [item for item, _ in items], *places), maxlen=0)
    stored = np.nan_to_num(stored)
    x, y = stored[:, [0, 2]] - origin[0], origin[1] - stored[:, [3, 1]]
    boxes = np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1).astype(np.float32)
    sides = boxes[:, 2:] - boxes[:, :2]
    is_large = (sides.min(axis=1) >= SMALLEST_PT) & (sides.max(axis=1) <= LARGEST_PT)
    is_bar = (sides.min(axis=1) <= BAR_PT[0]) & (sides.max(axis=1) <= BAR_PT[1])
    whole = [index for index in np.flatnonzero(is_large).tolist() if _has_many_parts(*items[index])]
    return np.concatenate([boxes[whole], _crowds(boxes[is_bar])])


def _has_many_parts(item: Any, kind: int) -> bool:  # noqa: ANN401 - PDFium's
    count = _count_segments(item) if kind == raw.FPDF_PAGEOBJ_PATH else _count_objects(item)
    return count >= SEGMENTS


def _crowds(bars: Boxes) -> Boxes:
    """The boxes of the squares of the page that hold many bars, each with its bars."""
    cells = np.floor((bars[:, :2] + bars[:, 2:]) / 2 / CELL_PT).astype(np.int64)
    _, owners, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    inside = bars[counts[owners.ravel()] >= BARS] if len(bars) else bars
    if not len(inside):
        return inside
    return np.concatenate([inside[:, :2].min(axis=0), inside[:, 2:].max(axis=0)])[None, :]
