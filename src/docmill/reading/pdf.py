"""PDF: the text that comes with it, and pictures of its pages, both through PDFium."""

import contextlib
import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pypdfium2

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.images import Picture

pdfium: Any = pypdfium2  # it carries no types
raw: Any = pypdfium2.raw
PdfDocument: TypeAlias = Any
PdfPage: TypeAlias = Any
PdfTextPage: TypeAlias = Any

HEADER_WITHIN = 1024
"""PDF readers accept that many bytes of something else before the header."""
MAX_SCALE = 300 / 72
"""Rendering a small page finer than 300 dpi shows no more."""


@contextmanager
def opened(path: Path) -> Generator[PdfDocument]:
    """The document. Raises EncryptedError, CorruptError."""
    try:
        document = _document(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):  # pyright: ignore[reportUnknownMemberType] - untyped
            raise EncryptedError(
                "the PDF is protected by a password; save it without and upload it again"
            ) from error
        raise CorruptError("the PDF is damaged beyond repair; print or scan it again") from error
    try:
        yield document
    finally:
        document.close()


def _document(path: Path) -> PdfDocument:
    with path.open("rb") as file:
        head = file.read(2 * HEADER_WITHIN)
    if b"%PDF" in head[: HEADER_WITHIN + 4]:
        return pdfium.PdfDocument(path)
    return pdfium.PdfDocument(b"%PDF-1.4\n" + path.read_bytes())  # PDFium insists, then repairs the rest


@contextmanager
def opened_page(document: PdfDocument, page_number: int) -> Generator[PdfPage]:
    """One page. Raises CorruptError, also for what PDFium finds wrong with it later."""
    try:
        with contextlib.closing(document[page_number - 1]) as page:
            yield page
    except pypdfium2.PdfiumError as error:
        raise CorruptError("the page is damaged") from error


def render(page: PdfPage, fit: tuple[int, int], *, rotation: int | None = None) -> Picture:
    """The page's picture, not larger than `fit`, turned by `rotation` or else as the file wants it."""
    stored: int = page.get_rotation()
    turn = stored if rotation is None else rotation
    width_pt, height_pt = page.get_size()
    if (turn - stored) % 180:
        width_pt, height_pt = height_pt, width_pt
    scale = min(MAX_SCALE, fit[0] / max(width_pt, 1), fit[1] / max(height_pt, 1))
    width, height = max(1, round(width_pt * scale)), max(1, round(height_pt * scale))
    pixels = np.full((height, width, 3), 255, np.uint8)
    bitmap = raw.FPDFBitmap_CreateEx(
        width, height, raw.FPDFBitmap_BGR, pixels.ctypes.data_as(ctypes.c_void_p), width * 3
    )
    flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
    raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, (turn - stored) // 90 % 4, flags)
    raw.FPDFBitmap_Destroy(bitmap)
    return Picture(pixels, width_pt, height_pt, turn)
