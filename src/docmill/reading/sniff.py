"""What a file is, by its content and never by its name."""

import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from docmill.errors import CorruptError, UnsupportedFileTypeError

PDF = "application/pdf"
HEAD_BYTES = 4096
PDF_HEAD_BYTES = 1024 + 4
PDF_START = re.compile(rb"%PDF|^\s*%?.{0,80}\s\d+ \d+ ?obj\b", re.DOTALL)
"""A header anywhere in the head, or an object at the start of a file that has lost its header."""
MAIL_START = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*:[ \t][^\n]*\n(?:[ \t][^\n]*\n)*){2}")
"""Two header fields, each with the lines that continue it."""
HEIF_BRANDS = frozenset(
    {
        b"heic",
        b"heix",
        b"heim",
        b"heis",
        b"hevc",
        b"hevx",
        b"hevm",
        b"hevs",
        b"mif1",
        b"mif2",
        b"mif3",
        b"msf1",
    }
)
ZIP_MEMBERS_READ = 20_000


class Kind(NamedTuple):
    """A type that is not read. name: as a person calls it, with its article."""

    media_type: str
    name: str


UNKNOWN = Kind("application/octet-stream", "a file of an unknown kind")
TEXT = Kind("text/plain", "a text file")
MAIL = Kind("message/rfc822", "an e-mail")
OFFICE_97 = Kind("application/x-ole-storage", "an old Office document or Outlook message")
JPEG_2000 = Kind("image/jp2", "a JPEG 2000 picture")
POSTSCRIPT = Kind("application/postscript", "a PostScript file")
ARCHIVE = "a compressed archive"
BINARY_KINDS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OFFICE_97),
    (b"{\\rtf", Kind("application/rtf", "an RTF document")),
    (b"GIF8", Kind("image/gif", "a GIF picture")),
    (b"BM", Kind("image/bmp", "a BMP picture")),
    (b"8BPS", Kind("image/vnd.adobe.photoshop", "a Photoshop picture")),
    (b"\0\0\0\x0cjP  ", JPEG_2000),
    (b"\xff\x4f\xff\x51", JPEG_2000),
    (b"%!PS", POSTSCRIPT),
    (b"\xc5\xd0\xd3\xc6", POSTSCRIPT),
    (b"\x1f\x8b", Kind("application/gzip", ARCHIVE)),
    (b"7z\xbc\xaf\x27\x1c", Kind("application/x-7z-compressed", ARCHIVE)),
    (b"Rar!\x1a\x07", Kind("application/vnd.rar", ARCHIVE)),
    (b"\x7fELF", Kind("application/x-executable", "a program")),
    (b"MZ", Kind("application/x-msdownload", "a program")),
)
OPEN_XML = "application/vnd.openxmlformats-officedocument"
ZIP_KINDS = (
    ("word/", Kind(f"{OPEN_XML}.wordprocessingml.document", "a Word document")),
    ("xl/", Kind(f"{OPEN_XML}.spreadsheetml.sheet", "an Excel workbook")),
    ("ppt/", Kind(f"{OPEN_XML}.presentationml.presentation", "a PowerPoint presentation")),
    ("content.xml", Kind("application/vnd.oasis.opendocument", "an OpenDocument file")),
)
ZIP = Kind("application/zip", "a ZIP archive")
TEXT_KINDS = (
    ((b"<?xml",), Kind("application/xml", "an XML file")),
    ((b"<!doctype html", b"<html"), Kind("text/html", "a web page")),
)


def media_type(path: Path) -> str:
    """The type, one that docmill reads. Raises UnsupportedFileTypeError, CorruptError for an empty file."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise CorruptError("the file is empty; save or send it again")
    found = _picture(head)
    if found is None and PDF_START.search(head[:PDF_HEAD_BYTES]):
        found = PDF
    if found is None:
        kind = _refused_kind(path, head)
        raise UnsupportedFileTypeError(
            f"{kind.name} cannot be read; save it as a PDF and upload that", media_type=kind.media_type
        )
    return found


def _picture(head: bytes) -> str | None:
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[:4] in (b"II*\0", b"MM\0*"):
        return "image/tiff"
    if head[4:8] == b"ftyp" and not HEIF_BRANDS.isdisjoint(_brands(head)):
        return "image/heic"
    return None


def _brands(head: bytes) -> list[bytes]:
    """The brands that an ISO media file says it conforms to (ISO/IEC 14496-12, 4.3)."""
    size = min(int.from_bytes(head[:4]), len(head))
    return [head[8:12], *(head[at : at + 4] for at in range(16, size - 3, 4))]


def _refused_kind(path: Path, head: bytes) -> Kind:
    if head.startswith(b"PK\x03\x04"):
        return _zip_kind(path)
    for signature, kind in BINARY_KINDS:
        if head.startswith(signature):
            return kind
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return UNKNOWN
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if MAIL_START.match(start.replace(b"\r\n", b"\n")):
        return MAIL
    for beginnings, kind in TEXT_KINDS:
        if start.lower().startswith(beginnings):
            return kind
    return TEXT


def _zip_kind(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:ZIP_MEMBERS_READ]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = []
    for beginning, kind in ZIP_KINDS:
        if any(name.startswith(beginning) for name in names):
            return kind
    return ZIP
