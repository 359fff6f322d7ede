"""PDF files: opening, decryption, repair and excerpts, and pictures of pages, by PDFium and qpdf."""

import contextlib
import ctypes
import io
import logging
import re
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pypdfium2

from docmill.errors import CorruptError, EncryptedError
from docmill.model.document import Box
from docmill.reading.images.image_file import Picture

pdfium: Any = pypdfium2  # it carries no types
raw: Any = pypdfium2.raw
PdfDocument: TypeAlias = Any
PdfPage: TypeAlias = Any
PdfTextPage: TypeAlias = Any

HEADER_WITHIN = 1024
"""PDF readers accept that many bytes of something else before the header."""
MAX_SCALE = 300 / 72
"""Rendering a small page finer than 300 dpi shows no more."""

MAX_EMPTY_BYTES = 20_000
"""Size of the contents of an empty page; unpacked at most a thousand times as much."""
OPERATOR = re.compile(r"[A-Za-z'\"][A-Za-z0-9*]{0,2}|INLINE IMAGE")
"""Form of the names of operators, known ones and others (ISO 32000-1:2008, 7.8.2)."""

LOCKED = "the PDF is protected by a password; give the password, or save the PDF without one"
NOT_OPENED = "the password does not open the PDF; give the right one, or save the PDF without one"
FOR_OTHERS = "the PDF is encrypted for certain people only; save it without that protection"
DAMAGED_PAGE = "the page is damaged"
BEYOND_REPAIR = "the PDF is damaged beyond repair; print or scan it again"
MALFORMED = (OSError, ValueError, RuntimeError, LookupError, TypeError, RecursionError)
"""Errors that qpdf's binding raises on malformed files besides its own."""

logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # it warns of each XFA form


@contextmanager
def open_document(path: Path, passwords: Sequence[str] = ()) -> Generator[PdfDocument]:
    """The document, with its form if it has one. Raises EncryptedError, CorruptError."""
    document = _document(path, passwords)
    try:
        with contextlib.suppress(pypdfium2.PdfiumError):
            document.init_forms()
        yield document
    finally:
        document.close()


def _document(path: Path, passwords: Sequence[str]) -> PdfDocument:
    """Open with the first password that fits, trying none first; qpdf repairs what PDFium cannot open."""
    source: Path | bytes = path
    with path.open("rb") as file:
        if b"%PDF" not in file.read(HEADER_WITHIN + 4):  # PDFium insists, then repairs the rest
            source = b"%PDF-1.4\n" + path.read_bytes()
    for password in (None, *passwords):
        try:
            return pdfium.PdfDocument(source, password)
        except pypdfium2.PdfiumError as error:
            code = error.err_code  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            if code == raw.FPDF_ERR_SECURITY:
                raise EncryptedError(FOR_OTHERS) from error
            if code != raw.FPDF_ERR_PASSWORD:
                break
    # Where PDFium sets no code, that of an earlier file is left: qpdf decides if a password is missing.
    try:
        return pdfium.PdfDocument(decrypt(path, passwords))
    except (CorruptError, pypdfium2.PdfiumError) as error:
        raise CorruptError(BEYOND_REPAIR) from error


@contextmanager
def open_by_qpdf(path: Path, passwords: Sequence[str]) -> Generator[Any]:
    """The document as qpdf reads it. Raises EncryptedError, and CorruptError also for faults found within."""
    import pikepdf  # noqa: PLC0415 - takes a third of a second, and few files need it

    for password in ("", *passwords):
        try:
            with pikepdf.open(path, password=password) as document:
                yield document
        except pikepdf.PasswordError:
            continue
        except (pikepdf.PdfError, *MALFORMED) as error:
            raise CorruptError(BEYOND_REPAIR) from error
        return
    raise EncryptedError(NOT_OPENED if passwords else LOCKED)


def decrypt(path: Path, passwords: Sequence[str]) -> bytes:
    """The document without its encryption, otherwise the same. Raises EncryptedError, CorruptError."""
    file = io.BytesIO()
    with open_by_qpdf(path, passwords) as document:
        document.save(file, encryption=False, deterministic_id=True)
    return file.getvalue()


def excerpt(path: Path, passwords: Sequence[str], first: int, last: int) -> bytes:
    """Pages `first` to `last` as a PDF, the same bytes each time. Raises EncryptedError, CorruptError."""
    import pikepdf  # noqa: PLC0415 - as above

    file = io.BytesIO()
    try:
        with pikepdf.open(io.BytesIO(decrypt(path, passwords))) as document, pikepdf.new() as part:
            part.pages.extend(document.pages[first - 1 : last])
            part.save(file, deterministic_id=True)
    except (pikepdf.PdfError, *MALFORMED) as error:
        raise CorruptError(BEYOND_REPAIR) from error
    return file.getvalue()


def unreadable_pages(path: Path, numbers: Iterable[int], passwords: Sequence[str]) -> list[int]:
    """The pages whose contents cannot be decoded; PDFium shows them as empty paper."""
    try:
        with open_by_qpdf(path, passwords) as document:
            return [number for number in numbers if _is_undecodable(document.pages[number - 1].obj)]
    except (EncryptedError, CorruptError):  # only PDFium can read the file
        return []


def _is_undecodable(page: Any) -> bool:  # noqa: ANN401 - pikepdf's
    import pikepdf  # noqa: PLC0415 - as above

    contents = page.get("/Contents")
    if contents is None:
        # Lost if it has resources that only contents use: qpdf sees none then.
        resources: Any = page.get("/Resources") or {}
        return "/Annots" not in page and bool(resources.get("/Font") or resources.get("/XObject"))
    for stream in contents if isinstance(contents, pikepdf.Array) else [contents]:
        if not isinstance(stream, pikepdf.Stream):
            return True
        if len(stream.read_raw_bytes()) > MAX_EMPTY_BYTES:  # too much to draw nothing
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                instructions = pikepdf.parse_content_stream(stream)
                operators = [str(instruction.operator) for instruction in instructions]
        except (pikepdf.PdfError, UnicodeDecodeError):
            return True
        if not all(map(OPERATOR.fullmatch, operators)):
            return True
    return False


@contextmanager
def open_page(document: PdfDocument, page_number: int) -> Generator[PdfPage]:
    """A page. Raises CorruptError, also for faults that PDFium finds within the block."""
    try:
        with contextlib.closing(document[page_number - 1]) as page:
            yield page
    except pypdfium2.PdfiumError as error:
        raise CorruptError(DAMAGED_PAGE) from error


WHOLE = Box(0.0, 0.0, 1.0, 1.0)


def render(
    page: PdfPage, fit: tuple[int, int], *, rotation: int | None = None, region: Box = WHOLE
) -> Picture:
    """Draw the page, not larger than `fit`, turned by `rotation` or else as its file states.

    region: the part of the page, as displayed, that is drawn.
    """
    stored: int = page.get_rotation()
    turn = stored if rotation is None else rotation
    width_pt, height_pt = page.get_size()
    if (turn - stored) % 180:
        width_pt, height_pt = height_pt, width_pt
    scale = min(MAX_SCALE, fit[0] / max(width_pt, 1), fit[1] / max(height_pt, 1))
    width, height = max(1, round(width_pt * scale)), max(1, round(height_pt * scale))
    left, top = int(region.x0 * width), int(region.y0 * height)
    wide, high = max(1, ceil(region.x1 * width) - left), max(1, ceil(region.y1 * height) - top)
    pixels = np.full((high, wide, 3), 255, np.uint8)
    bitmap = raw.FPDFBitmap_CreateEx(
        wide, high, raw.FPDFBitmap_BGR, pixels.ctypes.data_as(ctypes.c_void_p), wide * 3
    )
    flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
    placed = (bitmap, page, -left, -top, width, height, (turn - stored) // 90 % 4, flags)
    raw.FPDF_RenderPageBitmap(*placed)
    if page.formenv:  # fields that bring no appearance of their own
        raw.FPDF_SetFormFieldHighlightAlpha(page.formenv, 0)
        raw.FPDF_FFLDraw(page.formenv, *placed)
    raw.FPDFBitmap_Destroy(bitmap)
    return Picture(pixels, width_pt, height_pt, turn)
