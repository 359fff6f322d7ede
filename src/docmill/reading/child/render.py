"""Pictures of pages, and of places on them, for people to look at; upright as the boxes are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from docmill.errors import ValidationError
from docmill.model.document import Box
from docmill.reading.child import tasks
from docmill.reading.child.tasks import CONTAINERS, TEXT_READERS
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file
from docmill.reading.images.image_file import Picture
from docmill.reading.layout import draw
from docmill.reading.layout.typeset import Paragraph, typeset
from docmill.reading.pdf import pdf_file, text_layer
from docmill.workers.fair_semaphore import urgently
from docmill.workers.pool import Pool

MAX_HEIGHT_PX = 8000
"""Enough for a till roll, and a limit for a page with a forged box."""
PAGE_PX = 1200
"""Width of the page from which a place is cut: letters are as large as on a screen."""
_AROUND_PX = 60
_ASIDE_PX = 160
_EDGE_PX = 4
_COLOUR = (193, 53, 45)


class LocalRenderer:
    """Draws pages in the processes of a pool."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """The page as WebP, `width_px` wide unless that makes it too high, never larger than it is stored.

        rotation: `Page.rotation`, where the page has been read; else it is detected again.
        Raises ValidationError for a page that does not exist, UnsupportedFileTypeError, EncryptedError,
        CorruptError, TooLargeError, TimeLimitError or CrashedError.
        """
        arguments = (original, page_number, width_px, rotation, self._options)
        with urgently():
            return await self._pool.run(draw_page, *arguments, limit_s=self._options.render_limit_s)


def draw_page(
    path: Path, page_number: int, width_px: int, rotation: int | None, options: ReadingOptions
) -> bytes:
    """`LocalRenderer.render` in the child."""
    return image_file.webp(picture(path, page_number, (width_px, MAX_HEIGHT_PX), rotation, options))


def picture(
    path: Path, page_number: int, fit: tuple[int, int], rotation: int | None, options: ReadingOptions
) -> Picture:
    """The page as displayed, not larger than `fit`. Raises what `LocalRenderer.render` does of a file."""
    media_type = file_types.media_type(path)
    if media_type in TEXT_READERS:  # typeset as when it was read, but no further than needed
        most_pages = min(page_number, options.max_flow_pages)
        pages, figures = tasks.set_flow(path, media_type, replace(options, max_flow_pages=most_pages))
        _check_number(page_number, len(pages))
        page = pages[page_number - 1]
        if page.source == "none" and page.problem:
            (page,) = typeset([Paragraph(page.problem)])
        return draw.draw(page, fit, [figure for figure in figures if figure.page_number == page_number])
    if media_type in CONTAINERS:
        _check_number(page_number, 0)
    if media_type == file_types.PDF:
        with pdf_file.open_document(path, options.passwords) as document:
            _check_number(page_number, len(document))
            with pdf_file.open_page(document, page_number) as page:
                if rotation is None:
                    rotation = text_layer.read_layer(page, page_number).rotation
                return pdf_file.render(page, fit, rotation=rotation)
    _check_number(page_number, image_file.count_frames(path, options))
    return image_file.load(path, page_number, fit, options, rotation=rotation)


def _check_number(page_number: int, count: int) -> None:
    if not 1 <= page_number <= count:
        raise ValidationError(f"there is no page {page_number}; the document has {count}")


class LocalClipper:
    """Cuts places out of pages in the processes of a pool."""

    def __init__(self, pool: Pool, options: ReadingOptions) -> None:
        self._pool = pool
        self._options = options

    async def clip(self, original: Path, page_number: int, box: Box) -> bytes:
        """The place with a frame and its surroundings, as WebP. Raises what `LocalRenderer.render` does."""
        arguments = (original, page_number, box, self._options)
        return await self._pool.run(draw_clip, *arguments, limit_s=self._options.render_limit_s)


def draw_clip(path: Path, page_number: int, box: Box, options: ReadingOptions) -> bytes:
    """`LocalClipper.clip` in the child."""
    page = picture(path, page_number, (PAGE_PX, MAX_HEIGHT_PX), None, options)
    x0, x1 = round(box.x0 * page.width_px), round(box.x1 * page.width_px)
    y0, y1 = round(box.y0 * page.height_px), round(box.y1 * page.height_px)
    around = (
        max(0, x0 - _ASIDE_PX),
        max(0, y0 - _AROUND_PX),
        min(page.width_px, x1 + _ASIDE_PX),
        min(page.height_px, y1 + _AROUND_PX),
    )
    image = Image.fromarray(page.pixels).crop(around)
    left, top = around[:2]
    frame = (x0 - left - _EDGE_PX, y0 - top - _EDGE_PX, x1 - left + _EDGE_PX, y1 - top + _EDGE_PX)
    ImageDraw.Draw(image).rectangle(frame, outline=_COLOUR, width=2)
    return image_file.webp(page._replace(pixels=np.asarray(image)))
