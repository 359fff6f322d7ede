"""Pages of an original after its first reading: pictures of them, and second readings of their parts."""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from docmill.errors import DocmillError, ValidationError
from docmill.model.document import Box, Document, Words
from docmill.ports import Original
from docmill.reading.engines.remote import draw_image
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.page import page_words
from docmill.reading.ocr.text_lines import find_spots, letter_height, turn_corners
from docmill.workers.pool import Pool

MARGIN = 0.01
"""Of the page, around the region, so that print at its rim is whole."""
SCALES = (0.25, 4.0)
MAX_PIXELS = 16_000_000


class Rereader(Protocol):
    """Reads a part of a page once more."""

    async def reread(
        self,
        original: Path,
        page_number: int,
        region: Box,
        *,
        scale: float = 0.85,
        rotation: int | None = None,
    ) -> Words:
        """The words in the region as a second look gives them, boxes in fractions of the page as displayed.

        scale: of the picture against that of the first look; what both looks read alike is right more often.
        rotation: `Page.rotation`, by which the page is displayed; None as its file says.
        Raises ValidationError for a scale or region that makes no picture, and what reading a page raises.
        """
        ...


class LocalRereader:
    """`Rereader` in the processes of a pool, by RapidOCR."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def reread(
        self,
        original: Path,
        page_number: int,
        region: Box,
        *,
        scale: float = 0.85,
        rotation: int | None = None,
    ) -> Words:
        """See `Rereader.reread`."""
        arguments = (original, page_number, region, scale, rotation, self._options)
        return await self._pool.run(read_region, *arguments, limit_s=self._options.ocr_limit_s)


def read_region(
    path: Path, page_number: int, region: Box, scale: float, rotation: int | None, options: ReadingOptions
) -> Words:
    """`Rereader.reread` in the child."""
    from docmill.reading.child import render  # noqa: PLC0415 - only children look into files

    fit = (options.max_dimension_px, options.max_dimension_px)
    picture = render.picture(path, page_number, fit, rotation, options)
    return words_in(picture, region, scale)


def words_in(picture: Picture, region: Box, scale: float) -> Words:
    """The words in a region of a page's picture, read at another scale."""
    from docmill.reading.ocr.rapid import (  # noqa: PLC0415 - takes memory that others can do without
        rapid_engine,
    )

    if not SCALES[0] <= scale <= SCALES[1]:
        raise ValidationError(f"the scale must be from {SCALES[0]} to {SCALES[1]}")
    height, width = picture.pixels.shape[:2]
    left, top = (
        int(max(0.0, edge - MARGIN) * side) for edge, side in zip(region[:2], (width, height), strict=True)
    )
    right, bottom = (
        int(min(1.0, edge + MARGIN) * side) for edge, side in zip(region[2:], (width, height), strict=True)
    )
    part = picture.pixels[top:bottom, left:right]
    if not part.size or part.shape[0] * part.shape[1] * scale**2 > MAX_PIXELS:
        raise ValidationError("the region must lie on the page and not be larger than it")
    seen = np.asarray(cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC), np.uint8)
    high, wide = seen.shape[:2]
    whole = np.ascontiguousarray(picture.pixels[:, :, ::-1])
    letter_px = letter_height(find_spots(whole))  # a line alone shows too few to tell
    engine = rapid_engine()
    recognised = engine.recognise(seen, letter_px=None if letter_px is None else letter_px * scale)
    turn = recognised.turn or 0  # by which the engine had turned the picture: undone here
    width_px, height_px = (high, wide) if turn % 180 else (wide, high)
    corners = turn_corners(recognised.corners, -turn % 360, width_px=width_px, height_px=height_px)
    read = replace(recognised, corners=corners, turn=None)
    words = page_words(read, width_px=wide, height_px=high)
    size = np.array([right - left, bottom - top] * 2, np.float32)
    corner = np.array([left, top] * 2, np.float32)
    boxes = (words.boxes * size + corner) / np.array([width, height] * 2, np.float32)
    return Words(words.texts, boxes.astype(np.float32), words.confidences, words.lines, words.blocks)


_DRAWN = ("image/", "application/pdf")
"""What has pages of its own, which can be read again as they are."""


class PageSource:
    """Draws and recognises pages of originals in the processes of a pool.

    An original may be gone when its pages are asked for: then there is nothing to give.
    """

    def __init__(self, pool: Pool, options: ReadingOptions) -> None:
        self._pool = pool
        self._options = options
        self._rereader = LocalRereader(pool, options)

    async def picture(self, original: Original, document: Document, page_number: int) -> bytes | None:
        """The page as JPEG; None if the original is gone or cannot be drawn."""
        arguments = (original.path, document.media_type, page_number, self._options)
        try:
            drawn = await self._pool.run(draw_image, *arguments, limit_s=self._options.render_limit_s)
        except DocmillError:  # the page's text is all there is
            return None
        return drawn.jpeg

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        """Recognise the region again; None if the original is gone or cannot be read again."""
        page = next((page for page in document.pages if page.number == page_number), None)
        if page is None or not document.media_type.startswith(_DRAWN):
            return None
        try:
            return await self._rereader.reread(original.path, page_number, region, rotation=page.rotation)
        except DocmillError:  # the first look is all there is
            return None
