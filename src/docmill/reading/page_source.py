"""Pages of an original after its first reading: pictures of them, and second readings of their parts."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.errors import DocmillError, ValidationError
from docmill.model.document import Box, Document, Page, Words
from docmill.ports import Original
from docmill.reading.digit_looks import read_digits
from docmill.reading.engines.remote import draw_image
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.page import page_words
from docmill.reading.ocr.text_lines import find_spots, legible_dimension, letter_height, turn_corners
from docmill.workers.pool import Pool

log = logging.getLogger(__name__)

MARGIN = 0.01
"""Margin around the region, in fractions of the page, so that print at its rim is whole."""
SCALES = (0.25, 4.0)
SECOND_SCALE = 0.85
"""Another scale than the first: text that is read alike at both is right more often."""
MAX_PIXELS = 16_000_000
_DRAWN = ("image/", "application/pdf")
"""Media types with pages of their own, which can be read again as they are."""


def read_region(
    path: Path, page_number: int, region: Box, scale: float, rotation: int | None, options: ReadingOptions
) -> Words:
    """Read the words in a region of a page once more, in the child; boxes in fractions of the page.

    scale: of the picture against that of the first reading. rotation: `Page.rotation`, by which the page is
    displayed; None as its file states. Raises ValidationError for a scale or region that makes no picture,
    and the errors of reading a page.
    """
    from docmill.reading.child import render  # noqa: PLC0415 - only children look into files

    fit = (options.max_dimension_px, options.max_dimension_px)
    picture = render.picture(path, page_number, fit, rotation, options)
    dimension_px = legible_dimension(picture.pixels, options.max_dimension_px)
    if dimension_px > options.max_dimension_px:  # as it was drawn for the first reading
        picture = render.picture(path, page_number, (dimension_px, dimension_px), rotation, options)
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
    letter_px = letter_height(find_spots(whole))  # a line alone shows too few letters
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


@dataclass(frozen=True, slots=True)
class PageSource:
    """Draws and recognises pages of originals in the processes of a pool.

    An original may be gone when its pages are asked for; the result is None then.
    """

    pool: Pool
    options: ReadingOptions

    async def picture(self, original: Original, document: Document, page_number: int) -> bytes | None:
        """The page as JPEG; None if the original is gone or cannot be drawn."""
        arguments = (original.path, document.media_type, page_number, self.options)
        try:
            drawn = await self.pool.run(draw_image, *arguments, limit_s=self.options.render_limit_s)
        except DocmillError as error:  # the page's text is enough
            return _nothing("drawn", error)
        return drawn.jpeg

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        """Recognise the region again; None if the original is gone or cannot be read again."""
        page = _drawn_page(document, page_number)
        if page is None:
            return None
        try:
            arguments = (original.path, page_number, region, SECOND_SCALE, page.rotation, self.options)
            return await self.pool.run(read_region, *arguments, limit_s=self.options.ocr_limit_s)
        except DocmillError as error:  # the first reading stays
            return _nothing("read again", error)

    async def look_at_digits(
        self, original: Original, document: Document, page_number: int, *, corners: NDArray[np.float32]
    ) -> list[tuple[str, ...]] | None:
        """Read lines in several preparations; None if the original is gone or cannot be read again.

        corners: as in `read_digits`.
        """
        page = _drawn_page(document, page_number)
        if page is None:
            return None
        try:
            arguments = (original.path, page_number, corners, page.rotation, self.options)
            return await self.pool.run(read_digits, *arguments, limit_s=self.options.ocr_limit_s)
        except DocmillError as error:  # the first reading stays
            return _nothing("read again", error)


def _nothing(done: str, error: DocmillError) -> None:
    """Log why a page was not drawn or not read again, since nothing else tells."""
    log.warning("a page could not be %s", done, extra={"code": error.code})


def _drawn_page(document: Document, page_number: int) -> Page | None:
    """The page, if the document's file has pages of its own that can be read again."""
    if not document.media_type.startswith(_DRAWN):
        return None
    return next((page for page in document.pages if page.number == page_number), None)
