"""Pictures of pages, drawn when first asked for and kept."""

import asyncio
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import Protocol

from docmill.errors import CorruptError, EncryptedError, TooLargeError, UnsupportedFileTypeError
from docmill.reading.files import file_types
from docmill.service.storage.blobs import Blobs
from docmill.service.store.documents import DocumentRow

WIDTHS_PX = (200, 400, 1000, 2000)
"""A stamp, a thumbnail of about 20 KB, a page that fits the window, one to zoom into.

No others, so that what is kept stays small.
"""

DRAWING_VERSION = 2
"""To be raised whenever layout or drawing changes: boxes stand on pages as they are drawn today."""

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


class PageRenderer(Protocol):
    """Draws pages, outside of the event loop."""

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """Page `page_number` as WebP, `width_px` wide. rotation: `Page.rotation` if it has been read.

        Raises UnsupportedFileTypeError for a type without pictures, ValidationError for a page that does not
        exist, EncryptedError, CorruptError, TooLargeError, TimeLimitError or CrashedError.
        """
        ...


class PageImages:
    """Pictures of the pages of stored documents, by content, turn and way of drawing."""

    def __init__(self, blobs: Blobs, renderer: PageRenderer) -> None:
        self._blobs = blobs
        self._renderer = renderer
        self._drawing: dict[str, asyncio.Task[bytes]] = {}

    async def get(self, row: DocumentRow, *, page_number: int, width_px: int, rotation: int | None) -> bytes:
        """The page as WebP, drawn once however many ask for it. Raises what `PageRenderer.render` raises.

        rotation: `Page.rotation`, so that boxes fit; None before the page has been read.
        """
        turned = "" if rotation is None else f"-{rotation}"
        name = f"{page_number}-{width_px}{turned}-v{DRAWING_VERSION}.webp"
        key = f"pages/{row.tenant_id}/{row.content_hash}/{name}"
        kept = await self._blobs.find(key)
        if kept is not None:
            return kept
        drawing = self._drawing.get(key)
        if drawing is None:
            drawing = asyncio.create_task(self._drawn_and_kept(key, row, page_number, width_px, rotation))
            self._drawing[key] = drawing
            drawing.add_done_callback(partial(self._forget, key))
        return await asyncio.shield(drawing)  # one client that goes away does not take it from the others

    def _forget(self, key: str, drawing: asyncio.Task[bytes]) -> None:
        del self._drawing[key]
        if not drawing.cancelled():
            drawing.exception()  # seen, even if everyone who asked has gone

    async def _drawn_and_kept(
        self, key: str, row: DocumentRow, page_number: int, width_px: int, rotation: int | None
    ) -> bytes:
        image = await self._drawn(row, page_number, width_px, rotation)
        await self._blobs.put_once(key, image)
        return image

    async def _drawn(self, row: DocumentRow, page_number: int, width_px: int, rotation: int | None) -> bytes:
        """From a copy on this machine, since the renderer works in another process."""
        original = await self._blobs.get(row.readable_file_path or row.file_path)
        with tempfile.TemporaryDirectory(prefix="docmill-page-") as folder:
            path = Path(folder) / "original"
            await asyncio.to_thread(path.write_bytes, original)
            return await self._renderer.render(
                path, page_number=page_number, width_px=width_px, rotation=rotation
            )


def picture_version(row: DocumentRow) -> str:
    """Return the version for an address, so that a browser never shows pages as they were drawn earlier."""
    return f"{row.ingestion_id.hex[-8:] if row.ingestion_id else '0'}-{DRAWING_VERSION}"


def is_viewable(row: DocumentRow) -> bool:
    """Return whether its pages can be drawn; judged by the file name until the content is known."""
    if row.page_count == 0 or (row.page_count is None and row.error_code in _UNREADABLE):
        return False
    if row.media_type == _UNKNOWN:
        return row.file_name.rpartition(".")[2].lower() in _ENDINGS
    return row.media_type in VIEWABLE


def placeholder(width_px: int) -> bytes:
    """An empty sheet with a cross on it, as SVG: light and dark shine through."""
    height_px = round(width_px * _A4_RATIO)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 141"'
        f' width="{width_px}" height="{height_px}">'
        '<g fill="none" stroke="#888" stroke-opacity=".6"><path d="M.5.5h99v140h-99z"/>'
        '<path d="M35 55l30 30m0-30l-30 30" stroke-width="3"/></g></svg>'
    ).encode()
