"""Files of documents that are being processed, so that their pages can be drawn once more."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docmill.errors import DocmillError
from docmill.model import Box, Document, Words
from docmill.ports import Original, Reader, Ref
from docmill.reading.engines.drawing import draw
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool
from docmill.reading.rereading import LocalRereader

if TYPE_CHECKING:
    from pathlib import Path

MOST = 1000
_DRAWN = ("image/", "application/pdf")
"""What has pages of its own, which can be read again as they are."""


class Originals:
    """Where the files of the documents lie that were read last, by their content.

    A file may be gone when it is asked for: then its pages have no pictures.
    """

    def __init__(self, pool: Pool, options: ReadingOptions) -> None:
        self._pool = pool
        self._options = options
        self._rereader = LocalRereader(pool, options)
        self.paths: OrderedDict[str, Path] = OrderedDict()

    def noting(self, reader: Reader) -> Reader:
        """The reader, whose files are noted here."""
        return _NotingReader(reader, self)

    def note(self, original: Original) -> None:
        """Remember the file, and forget the one that was noted first if there are too many."""
        self.paths[original.content_hash] = original.path
        self.paths.move_to_end(original.content_hash)
        while len(self.paths) > MOST:
            self.paths.popitem(last=False)

    async def picture(self, document: Document, page_number: int) -> bytes | None:
        """The page as JPEG; None if the document's file is not at hand or cannot be drawn."""
        path = self.paths.get(document.content_hash)
        if path is None:
            return None
        arguments = (path, document.media_type, page_number, self._options)
        try:
            drawn = await self._pool.run(draw, *arguments, limit_s=self._options.render_limit_s)
        except DocmillError:  # the page's text is all there is
            return None
        return drawn.jpeg

    async def reread(self, document: Document, page_number: int, region: Box) -> Words | None:
        """The region as a second look reads it; None if the file is not at hand or cannot be read again."""
        path = self.paths.get(document.content_hash)
        page = next((page for page in document.pages if page.number == page_number), None)
        if path is None or page is None or not document.media_type.startswith(_DRAWN):
            return None
        try:
            return await self._rereader.reread(path, page_number, region, rotation=page.rotation)
        except DocmillError:  # the first look is all there is
            return None


@dataclass(frozen=True, slots=True)
class _NotingReader:
    """`Reader` that notes what it has read."""

    reader: Reader
    originals: Originals

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        original = await self.reader.read(ref)
        self.originals.note(original)
        return original
