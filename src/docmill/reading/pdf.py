"""PDF: the text that comes with it, and pictures of its pages, both through PDFium."""

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pypdfium2

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.images import Picture
from docmill.reading.options import ReadingOptions

pdfium: Any = pypdfium2  # it carries no types
raw: Any = pypdfium2.raw
PdfDocument: TypeAlias = Any
PdfPage: TypeAlias = Any
PdfTextPage: TypeAlias = Any

MAX_SCALE = 300 / 72
"""Rendering a small page finer than 300 dpi shows no more."""


@contextmanager
def opened(path: Path) -> Generator[PdfDocument]:
    """The document. Raises EncryptedError, CorruptError."""
    try:
        document = pdfium.PdfDocument(path)
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


@contextmanager
def opened_page(document: PdfDocument, page_number: int) -> Generator[PdfPage]:
    """One page. Raises CorruptError."""
    try:
        page = document[page_number - 1]
    except pypdfium2.PdfiumError as error:
        raise CorruptError("the page is damaged") from error
    try:
        yield page
    finally:
        page.close()


def render(page: PdfPage, options: ReadingOptions, *, rotation: int = 0) -> Picture:
    """The page's picture, fitted into `max_dimension_px`, turned clockwise by `rotation` more degrees."""
    width_pt, height_pt = page.get_size()
    scale = min(MAX_SCALE, options.max_dimension_px / max(width_pt, height_pt, 1))
    width, height = max(1, round(width_pt * scale)), max(1, round(height_pt * scale))
    if rotation % 180:
        width, height, width_pt, height_pt = height, width, height_pt, width_pt
    pixels = np.full((height, width, 3), 255, np.uint8)
    bitmap = raw.FPDFBitmap_CreateEx(
        width, height, raw.FPDFBitmap_BGR, pixels.ctypes.data_as(ctypes.c_void_p), width * 3
    )
    flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
    raw.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, rotation // 90, flags)
    raw.FPDFBitmap_Destroy(bitmap)
    return Picture(pixels, width_pt, height_pt, (page.get_rotation() + rotation) % 360)
