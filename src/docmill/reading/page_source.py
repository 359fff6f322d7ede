"""Pages of an original, drawn or recognised once more after its first reading."""

from docmill.errors import DocmillError
from docmill.model.document import Box, Document, Words
from docmill.ports import Original
from docmill.reading.engines.page_image import draw
from docmill.reading.files.options import ReadingOptions
from docmill.reading.reread import LocalRereader
from docmill.workers.pool import Pool

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
            drawn = await self._pool.run(draw, *arguments, limit_s=self._options.render_limit_s)
        except DocmillError:  # the page's text is all there is
            return None
        return drawn.jpeg

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        """The region as a second look reads it; None if the original is gone or cannot be read again."""
        page = next((page for page in document.pages if page.number == page_number), None)
        if page is None or not document.media_type.startswith(_DRAWN):
            return None
        try:
            return await self._rereader.reread(original.path, page_number, region, rotation=page.rotation)
        except DocmillError:  # the first look is all there is
            return None
