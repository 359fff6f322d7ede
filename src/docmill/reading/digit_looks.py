"""Looks at single lines of a page, each prepared in several ways: digits that are sure are read alike.

A recogniser that guesses a blurred digit guesses otherwise as soon as its picture changes a little.
"""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr import text_lines

SHARP_PX = 3072
"""The long side to which a page is fitted: larger than for its first reading, if its file holds more."""
_AROUND = 0.17
"""Margin around a line, in its heights."""
_LOWEST_PX = 60
"""A line that is lower is enlarged before it is prepared."""
_ENLARGED = 3
_WIDER = 1.2
_SHARPENED = 1.2
_DARKEST, _BRIGHTEST = 2, 80
"""Percentiles of brightness that become black and white."""


def read_digits(
    path: Path,
    page_number: int,
    corners: NDArray[np.float32],
    rotation: int | None,
    options: ReadingOptions,
) -> list[tuple[str, ...]]:
    """Read lines of a page in each of the preparations, in the child.

    corners: of the lines, shape (n, 4, 2), in fractions of the page. rotation: `Page.rotation`. Raises the
    errors of reading a page.
    """
    from docmill.reading.child import render  # noqa: PLC0415 - only children look into files

    picture = render.picture(path, page_number, (SHARP_PX, SHARP_PX), rotation, options)
    return lines_in(picture.pixels, corners)


def lines_in(pixels: NDArray[np.uint8], corners: NDArray[np.float32]) -> list[tuple[str, ...]]:
    """Read lines of a page's picture in each of the preparations. corners: as in `read_digits`."""
    from docmill.reading.ocr.rapid import (  # noqa: PLC0415 - takes memory that others can do without
        rapid_engine,
    )

    engine = rapid_engine()
    height, width = pixels.shape[:2]
    bgr = np.ascontiguousarray(pixels[:, :, ::-1])
    read: list[tuple[str, ...]] = []
    for line in corners * np.array([width, height], np.float32):
        crop = text_lines.crop_line(bgr, _with_margin(line))
        read.append(tuple(engine.read_line_picture(look) for look in _prepared(crop)))
    return read


def _with_margin(line: NDArray[np.float32]) -> NDArray[np.float32]:
    """The corners of a line with a margin on every side."""
    height = float(np.linalg.norm(line[3] - line[0]))
    along = line[1] - line[0]
    along = along / max(float(np.linalg.norm(along)), 1) * height * _AROUND
    return text_lines.with_margin(line + np.stack([-along, along, along, -along]), _AROUND).astype(np.float32)


def _prepared(crop: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """The picture of a line with even contrast, sharper, wider, black on white, and blurred."""
    if crop.shape[0] < _LOWEST_PX:
        crop = np.asarray(
            cv2.resize(crop, None, fx=_ENLARGED, fy=_ENLARGED, interpolation=cv2.INTER_CUBIC), np.uint8
        )
    height, width = crop.shape[:2]
    grey = np.asarray(cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY), np.float32)
    low, high = (float(level) for level in np.percentile(grey, (_DARKEST, _BRIGHTEST)))
    even = np.asarray(np.clip((grey - low) * (255 / max(high - low, 1)), 0, 255), np.uint8)
    soft = cv2.GaussianBlur(even, (0, 0), 2)
    sharp = cv2.addWeighted(even, 1 + _SHARPENED, soft, -_SHARPENED, 0)
    black = cv2.threshold(even, 0, 255, cv2.THRESH_OTSU)[1]
    for look in (even, sharp, cv2.resize(even, (round(width * _WIDER), height)), black):
        yield np.asarray(cv2.cvtColor(look, cv2.COLOR_GRAY2BGR), np.uint8)
    small = cv2.resize(crop, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    yield np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)
