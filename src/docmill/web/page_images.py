"""Pictures of pages, drawn at the first request and stored."""

import asyncio
import re
import tempfile
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError, EncryptedError, TooLargeError, UnsupportedFileTypeError
from docmill.ports import PageRenderer
from docmill.reading.files import file_types
from docmill.service.storage.blobs import Blobs
from docmill.service.store.documents import DocumentRow
from docmill.workers.fair_semaphore import scheduled_for

WIDTHS_PX = (200, 400, 1000, 2000)
"""A small thumbnail, a thumbnail of about 20 KB, a page that fits the window, one to zoom into.

No others, so that few pictures are stored.
"""

DRAWING_VERSION = 2
"""To be raised with every change of layout or drawing: boxes must fit the pictures."""

VIEWABLE = file_types.READ

_ENDINGS = frozenset(
    re.findall(
        r"\w+",
        "bmp csv docx eml gif heic heif htm html jpeg jpg json md msg odp ods odt pdf png pptx rtf tif tiff "
        "tsv txt webp xls xlsm xlsx xml",
    )
)
_UNREADABLE = frozenset(
    error.code for error in (CorruptError, EncryptedError, TooLargeError, UnsupportedFileTypeError)
)
_A4_RATIO = 842 / 595
_UNKNOWN = "application/octet-stream"


class PageImages:
    """Pictures of the pages of stored documents, by content, rotation and `DRAWING_VERSION`."""

    def __init__(self, blobs: Blobs, renderer: PageRenderer) -> None:
        self._blobs = blobs
        self._renderer = renderer
        self._drawing: dict[str, asyncio.Task[bytes]] = {}

    async def get(self, row: DocumentRow, *, page_number: int, width_px: int, rotation: int | None) -> bytes:
        """Return the page as WebP, drawn once for all requests. Raises as `PageRenderer.render`.

        rotation: `Page.rotation`, so that boxes fit; None before the page has been read.
        """
        turned = "" if rotation is None else f"-{rotation}"
        name = f"{page_number}-{width_px}{turned}-v{DRAWING_VERSION}.webp"
        key = f"pages/{row.tenant_id}/{row.content_hash}/{name}"
        stored = await self._blobs.find(key)
        if stored is not None:
            return stored
        drawing = self._drawing.get(key)
        if drawing is None:
            drawing = asyncio.create_task(self._draw(key, row, page_number, width_px, rotation))
            self._drawing[key] = drawing
            drawing.add_done_callback(partial(self._forget, key))
        return await asyncio.shield(drawing)  # a client that goes away does not end it for the others

    def _forget(self, key: str, drawing: asyncio.Task[bytes]) -> None:
        del self._drawing[key]
        if not drawing.cancelled():
            drawing.exception()  # retrieved, even if every client has gone

    async def _draw(
        self, key: str, row: DocumentRow, page_number: int, width_px: int, rotation: int | None
    ) -> bytes:
        """Draw the page from a copy on this machine, since the renderer is another process; store it."""
        original = await self._blobs.get(row.readable_file_path or row.file_path)
        with tempfile.TemporaryDirectory(prefix="docmill-page-") as folder:
            path = Path(folder) / "original"
            await asyncio.to_thread(path.write_bytes, original)
            with scheduled_for(row.tenant_id, row.id):
                image = await self._renderer.render(
                    path, page_number=page_number, width_px=width_px, rotation=rotation
                )
        await self._blobs.put_once(key, image)
        return image


def picture_version(row: DocumentRow) -> str:
    """Return the version for an address, so that a browser never shows pages as they were drawn earlier."""
    return f"{row.ingestion_id.hex[-8:] if row.ingestion_id else '0'}-{DRAWING_VERSION}"


def is_viewable(row: DocumentRow) -> bool:
    """Return whether its pages can be drawn; by the file name until the media type is known."""
    if row.page_count == 0 or (row.page_count is None and row.error_code in _UNREADABLE):
        return False
    if row.media_type == _UNKNOWN:
        return row.file_name.rpartition(".")[2].lower() in _ENDINGS
    return row.media_type in VIEWABLE


def placeholder(width_px: int) -> bytes:
    """Draw an empty sheet with a cross as SVG, transparent for light and dark themes."""
    height_px = round(width_px * _A4_RATIO)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 141"'
        f' width="{width_px}" height="{height_px}">'
        '<g fill="none" stroke="#888" stroke-opacity=".6"><path d="M.5.5h99v140h-99z"/>'
        '<path d="M35 55l30 30m0-30l-30 30" stroke-width="3"/></g></svg>'
    ).encode()
