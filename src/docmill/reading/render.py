"""Pictures of pages for people to look at, upright as the boxes are."""

import io
from dataclasses import replace
from pathlib import Path

from PIL import Image

from docmill.errors import ValidationError
from docmill.reading import images, pdf, pdftext, sniff
from docmill.reading.images import Picture
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool

MAX_HEIGHT_PX = 8000
"""A till roll may be long; a page whose box was made to be endless may not."""

QUALITY = 80
"""Of WebP: text stays sharp, a thumbnail takes about 10 KB and a page of 1,000 pixels about 60."""


class LocalRenderer:
    """Draws pages in the processes of a pool."""

    def __init__(self, pool: Pool, options: ReadingOptions | None = None) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()

    async def render(self, original: Path, *, page_number: int, width_px: int) -> bytes:
        """The page as WebP, `width_px` wide unless that makes it too high.

        Raises ValidationError for a page that does not exist, UnsupportedFileTypeError, EncryptedError,
        CorruptError, TooLargeError, TimeLimitError or CrashedError.
        """
        arguments = (original, page_number, width_px, self._options)
        return await self._pool.run(draw_page, *arguments, limit_s=self._options.open_limit_s)


def draw_page(path: Path, page_number: int, width_px: int, options: ReadingOptions) -> bytes:
    """See `LocalRenderer.render`; this is what the child does."""
    if sniff.media_type(path) == sniff.PDF:
        picture = _pdf_page(path, page_number, width_px, options)
    else:
        _check_number(page_number, images.count_frames(path, options))
        picture = images.load(path, page_number, replace(options, max_dimension_px=MAX_HEIGHT_PX))
    image = Image.fromarray(picture.pixels)
    width = min(width_px, image.width)
    height = max(1, round(image.height * width / image.width))
    if (width, height) != image.size:
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    target = io.BytesIO()
    image.save(target, "WEBP", quality=QUALITY, method=4)
    return target.getvalue()


def _pdf_page(path: Path, page_number: int, width_px: int, options: ReadingOptions) -> Picture:
    with pdf.opened(path) as document:
        _check_number(page_number, len(document))
        with pdf.opened_page(document, page_number) as page:
            text = pdftext.text_page(page, page_number)
            turn = (text.rotation - page.get_rotation()) % 360 if text else 0
            width_pt, height_pt = page.get_size()
            if turn % 180:
                width_pt, height_pt = height_pt, width_pt
            height_px = width_px * height_pt / max(1.0, width_pt)
            longest = round(min(MAX_HEIGHT_PX, max(width_px, height_px)))
            return pdf.render(page, replace(options, max_dimension_px=longest), rotation=turn)


def _check_number(page_number: int, count: int) -> None:
    if not 1 <= page_number <= count:
        raise ValidationError(f"there is no page {page_number}; the document has {count}")
