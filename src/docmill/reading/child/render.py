"""Pictures of pages for people to look at, upright as the boxes are."""

from dataclasses import replace
from pathlib import Path

from docmill.errors import ValidationError
from docmill.reading.child import tasks
from docmill.reading.child.containers import TEXTS, WHOLES
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file
from docmill.reading.images.image_file import Picture
from docmill.reading.layout import draw
from docmill.reading.layout.typeset import Paragraph, typeset
from docmill.reading.pdf import pdf_file, text_layer
from docmill.workers.fair_semaphore import for_a_person
from docmill.workers.pool import Pool

MAX_HEIGHT_PX = 8000
"""A till roll may be long; a page whose box was made to be endless may not."""


class LocalRenderer:
    """Draws pages in the processes of a pool."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """The page as WebP, `width_px` wide unless that makes it too high, never larger than it is stored.

        rotation: `Page.rotation`, where the page has been read; else it is found out again.
        Raises ValidationError for a page that does not exist, UnsupportedFileTypeError, EncryptedError,
        CorruptError, TooLargeError, TimeLimitError or CrashedError.
        """
        arguments = (original, page_number, width_px, rotation, self._options)
        with for_a_person():
            return await self._pool.run(draw_page, *arguments, limit_s=self._options.render_limit_s)


def draw_page(
    path: Path, page_number: int, width_px: int, rotation: int | None, options: ReadingOptions
) -> bytes:
    """See `LocalRenderer.render`; this is what the child does."""
    return image_file.webp(picture(path, page_number, (width_px, MAX_HEIGHT_PX), rotation, options))


def picture(
    path: Path, page_number: int, fit: tuple[int, int], rotation: int | None, options: ReadingOptions
) -> Picture:
    """The page as displayed, not larger than `fit`. Raises what `LocalRenderer.render` does of a file."""
    media_type = file_types.media_type(path)
    if media_type in TEXTS:
        return _typeset_page(path, media_type, page_number, fit, options)
    if media_type in WHOLES:
        _check_number(page_number, 0)
    if media_type == file_types.PDF:
        return _pdf_page(path, page_number, fit, rotation, options)
    _check_number(page_number, image_file.count_frames(path, options))
    return image_file.load(path, page_number, fit, options, rotation=rotation)


def _pdf_page(
    path: Path, page_number: int, fit: tuple[int, int], rotation: int | None, options: ReadingOptions
) -> Picture:
    with pdf_file.opened(path, options.passwords) as document:
        _check_number(page_number, len(document))
        with pdf_file.opened_page(document, page_number) as page:
            if rotation is None:
                rotation = text_layer.read_layer(page, page_number).rotation
            return pdf_file.render(page, fit, rotation=rotation)


def _typeset_page(
    path: Path, media_type: str, page_number: int, fit: tuple[int, int], options: ReadingOptions
) -> Picture:
    """A page of a format without pages: set again as when it was read, but no further than needed."""
    pages, figures = tasks.set_flow(
        path, media_type, replace(options, max_flow_pages=min(page_number, options.max_flow_pages))
    )
    _check_number(page_number, len(pages))
    page = pages[page_number - 1]
    if page.source == "none" and page.problem:
        (page,) = typeset([Paragraph(page.problem)])
    return draw.draw(page, fit, [figure for figure in figures if figure.page_number == page_number])


def _check_number(page_number: int, count: int) -> None:
    if not 1 <= page_number <= count:
        raise ValidationError(f"there is no page {page_number}; the document has {count}")
