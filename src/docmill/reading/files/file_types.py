"""Detection of a file's type by its content, never by its name."""

import re
import struct
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path
from typing import NamedTuple

import olefile

from docmill.errors import CorruptError, EncryptedError, UnsupportedFileTypeError
from docmill.reading.files import delimited
from docmill.reading.files.passwords import LOCKED, OLE_START
from docmill.reading.text import encodings

ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    LookupError,
    NotImplementedError,
    struct.error,
    RuntimeError,
)


PDF = "application/pdf"
HEAD_BYTES = 4096
TEXT_HEAD_BYTES = 64 * 1024
PDF_HEAD_BYTES = 1024 + 4
PDF_START = re.compile(rb"%PDF|^\s*%?.{0,80}\s\d+ \d+ ?obj\b", re.DOTALL)
"""A header anywhere in the head, or an object at the start of a file that has lost its header."""
PDF_OBJECT = re.compile(rb"\d+ \d+ ?obj\b")
TNEF_START = b"\x78\x9f\x3e\x22"
ZIP_START = b"PK\x03\x04"
ZIP_MEMBERS_READ = 20_000
HEIF_BRANDS = frozenset(b"heic heix heim heis hevc hevx hevm hevs mif1 mif2 mif3 msf1".split())
MAIL_FIELDS = frozenset({
    "bcc", "cc", "content-type", "date", "delivered-to", "dkim-signature", "from", "in-reply-to",
    "message-id", "mime-version", "received", "references", "reply-to", "return-path", "sender", "subject",
    "to", "x-mailer",
})  # fmt: skip
"""Header fields that mails have and letters and forms seldom; two of them make a mail."""
MAIL_HEADER = re.compile(r"\A(?:From [^\n]*\n)?((?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+)")
MAIL_IN_BOX = re.compile(rb"(?:\A|\r?\n\r?\n)(?=From [^\r\n]*\d{4}[^\r\n]*\r?\n[!-9;-~]+:)")
"""The start of a mail in a mailbox (RFC 4155)."""
FIELD_NAME = re.compile(r"^([!-9;-~]+):", re.MULTILINE)
HTML_START = re.compile(
    r"\A(?:(?><!--[\s\S]*?-->)\s*)*+<(?:!doctype\s+html|html|head|body|table|div|p|span|meta|title|script|style|font|center|h[1-6])\b",
    re.IGNORECASE,
)
"""An element of a page, with nothing but comments before it."""
HTML_ROOT = re.compile(r"\A<[^>]*>[^\0]*?(?:<html\b|<!doctype\s+html)", re.IGNORECASE)
"""A root after something else, such as a comment or an XML declaration."""
XML_START = re.compile(r"\A(?:(?><!--[^\0]*?-->)\s*)*+(?:<\?xml\b|<(?:[\w.-]+:)?[\w.-]+\s[^<>]*\bxmlns\b)")
"""Without the declaration, the root must name a namespace."""
MARKDOWN = re.compile(
    r"^#{1,6} \S|^ {0,3}\|?(?: *:?-{3,}:? *\|)+ *:?-* *:?\s*$|^(?:```|~~~)|^\S[^\n]*\n={3,}\s*$", re.MULTILINE
)
"""A heading, the rule below a table's head, or fenced code."""


class Kind(NamedTuple):
    """A type of file. name: for people, with its article. advice: empty for a type that is read."""

    media_type: str
    name: str
    advice: str = ""


AS_PDF = "save it as a PDF and use that"
ASK = "do not start it; ask whoever sent it for the document as a PDF"
UNPACKED = "unpack it and upload what it holds"
OPEN_XML = "application/vnd.openxmlformats-officedocument"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"

UNKNOWN = Kind(
    "application/octet-stream",
    "a file that is damaged or of an unknown kind",
    "see whether it opens in its own program, and save it from there as a PDF",
)
JPEG_2000 = Kind("image/jp2", "a JPEG 2000 picture", AS_PDF)
POSTSCRIPT = Kind("application/postscript", "a PostScript file", AS_PDF)

SIGNATURES: tuple[tuple[bytes, Kind], ...] = (
    (b"\xff\xd8\xff", Kind("image/jpeg", "a JPEG picture")),
    (b"\x89PNG\r\n\x1a\n", Kind("image/png", "a PNG picture")),
    (b"II*\0", Kind("image/tiff", "a TIFF picture")),
    (b"MM\0*", Kind("image/tiff", "a TIFF picture")),
    (b"GIF8", Kind("image/gif", "a GIF picture")),
    (b"BM", Kind("image/bmp", "a BMP picture")),
    (b"8BPS", Kind("image/vnd.adobe.photoshop", "a Photoshop picture", AS_PDF)),
    (b"\0\0\0\x0cjP  ", JPEG_2000),
    (b"\xff\x4f\xff\x51", JPEG_2000),
    (b"%!PS", POSTSCRIPT),
    (b"\xc5\xd0\xd3\xc6", POSTSCRIPT),
    (b"\x1f\x8b", Kind("application/gzip", "a compressed archive", UNPACKED)),
    (b"7z\xbc\xaf\x27\x1c", Kind("application/x-7z-compressed", "a compressed archive", UNPACKED)),
    (b"Rar!\x1a\x07", Kind("application/vnd.rar", "a compressed archive", UNPACKED)),
    (b"\x7fELF", Kind("application/x-executable", "a program", ASK)),
    (b"MZ", Kind("application/x-msdownload", "a program", ASK)),
)
"""Types by first bytes. Only types without advice are read."""

WEBP = Kind("image/webp", "a WebP picture")
HEIC = Kind("image/heic", "a HEIC picture")

OLE_KINDS: tuple[tuple[str, Kind], ...] = (
    ("__properties_version1.0", Kind("application/vnd.ms-outlook", "an Outlook message")),
    ("WordDocument", Kind("application/msword", "an old Word document", "save it as .docx or as a PDF")),
    (
        "PowerPoint Document",
        Kind(
            "application/vnd.ms-powerpoint",
            "an old PowerPoint presentation",
            "save it as .pptx or as a PDF",
        ),
    ),
    ("Workbook", Kind("application/vnd.ms-excel", "an old Excel workbook")),
    ("Book", Kind("application/vnd.ms-excel", "an old Excel workbook")),
)
"""Types of compound files by their streams."""
OLE = Kind("application/x-ole-storage", "an old Office file of an unknown kind", AS_PDF)

ZIP_KINDS: tuple[tuple[str, Kind], ...] = (
    ("word/", Kind(f"{OPEN_XML}.wordprocessingml.document", "a Word document")),
    ("xl/", Kind(f"{OPEN_XML}.spreadsheetml.sheet", "an Excel workbook")),
    ("ppt/", Kind(f"{OPEN_XML}.presentationml.presentation", "a PowerPoint presentation")),
)
"""Types of Open XML packages by their members."""
OPEN_DOCUMENT_KINDS: tuple[Kind, ...] = (
    Kind(f"{OPEN_DOCUMENT}.text", "an OpenDocument text"),
    Kind(f"{OPEN_DOCUMENT}.spreadsheet", "an OpenDocument spreadsheet"),
    Kind(f"{OPEN_DOCUMENT}.presentation", "an OpenDocument presentation"),
    Kind(f"{OPEN_DOCUMENT}.graphics", "an OpenDocument drawing", AS_PDF),
    Kind("application/epub+zip", "an e-book", AS_PDF),
)
"""Types by the member `mimetype`; that of a template is longer."""
TNEF = Kind("application/ms-tnef", "a winmail.dat")
ZIP = Kind("application/zip", "a ZIP archive")

RTF = Kind("application/rtf", "an RTF document")
MAIL = Kind("message/rfc822", "an e-mail")
MAILBOX = Kind("application/mbox", "a mailbox")
HTML = Kind("text/html", "a web page")
CSV = Kind("text/csv", "a table as text")
TSV = Kind("text/tab-separated-values", "a table as text")
TEXT = Kind("text/plain", "a text file")

CAMT = Kind("application/x-camt+xml", "a bank statement (CAMT)")
MT940 = Kind("application/x-mt940", "a bank statement (MT940)")
OFX = Kind("application/x-ofx", "a bank statement (OFX)")
STATEMENT_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (
        re.compile(
            r"""\A(?:(?><!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!DOCTYPE\b[^\[>]*(?:\[[\s\S]*?\]\s*)?>)\s*)*+<[^<>]*\bxmlns(?::[\w.-]+)?\s*=\s*["'][^"'<>]*"""
            r"""\bcamt\.05[34]\.\d{3}\.\d\d"""
        ),
        CAMT,
    ),
    (
        re.compile(
            r"\A(?:[^\0]{0,600}?^)?:20:[^\n]{0,60}\n(?::\d\d[A-Z]?:[^\n]*\n){0,3}?:25[A-Z]?:", re.MULTILINE
        ),
        MT940,
    ),
    (re.compile(r"\A(?:OFXHEADER\s*:\s*\d|(?:<\?xml\b[^>]*>\s*)?(?:<\?OFX\b|<OFX>))", re.IGNORECASE), OFX),
)
"""Files in which banks send bookings, by their beginnings.

They are found in damaged files, too, and with a document type, which their readers refuse. CAMT: the root's
namespace; intraday reports (CAMT.052) are not final. MT940: a reference and an account,
perhaps behind the header blocks of SWIFT.
"""

TEXT_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"\A\{\\rtf"), RTF),
    (HTML_START, HTML),
    (HTML_ROOT, HTML),
    (XML_START, Kind("application/xml", "an XML file")),
    (re.compile(r"\A(?:\{\s*[\"}]|\[\s*[\"{\[\]\d])"), Kind("application/json", "a JSON file")),
    (MARKDOWN, Kind("text/markdown", "a Markdown text")),
)
"""Types by the beginning of a text; the first that matches decides."""


READ = frozenset(
    candidate.media_type
    for candidate in (
        *(candidate for _, candidate in (*SIGNATURES, *OLE_KINDS, *ZIP_KINDS, *STATEMENT_KINDS, *TEXT_KINDS)),
        *(*OPEN_DOCUMENT_KINDS, ZIP, WEBP, HEIC, MAIL, CSV, TSV, TEXT, Kind(PDF, "a PDF")),
    )
    if not candidate.advice
)
"""The types that `media_type` gives."""


def media_type(path: Path) -> str:
    """The type, one that docmill reads.

    Raises UnsupportedFileTypeError, EncryptedError for an Office file with a password, CorruptError for an
    empty file.
    """
    media_type, name, advice = kind(path)
    if advice:
        raise UnsupportedFileTypeError(f"{name} cannot be read; {advice}", media_type=media_type)
    return media_type


def kind(path: Path) -> Kind:
    """Detect any type, also one that is not read. Raises EncryptedError, CorruptError for an empty file."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        if not head:
            raise CorruptError("the file is empty; save or send it again")
        binary = _binary_kind(path, head)
        if binary is not None:
            return binary
        head += file.read(TEXT_HEAD_BYTES - len(head))
    text = encodings.decode(head).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff \t\n")
    if not encodings.is_text(head):
        return next((candidate for pattern, candidate in STATEMENT_KINDS if pattern.search(text)), UNKNOWN)
    if _is_mail(text):
        is_box = head.startswith(b"From ") and len(MAIL_IN_BOX.findall(path.read_bytes())) > 1
        return MAILBOX if is_box else MAIL
    for pattern, candidate in (*STATEMENT_KINDS, *TEXT_KINDS):
        if pattern.search(text):
            return candidate
    table = delimited.find_table(text, is_whole=len(head) < TEXT_HEAD_BYTES)
    if table is None:
        return TEXT
    return TSV if table.delimiter == "\t" else CSV


def _binary_kind(path: Path, head: bytes) -> Kind | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[4:8] == b"ftyp":
        # The brands with which an ISO media file claims to conform (ISO/IEC 14496-12, 4.3).
        size = min(int.from_bytes(head[:4]), len(head))
        brands = [head[8:12], *(head[at : at + 4] for at in range(16, size - 3, 4))]
        if not HEIF_BRANDS.isdisjoint(brands):
            return HEIC
    container = _container_kind(path, head)
    if container is not None:
        return container
    pdf = PDF_START.search(head[:PDF_HEAD_BYTES])
    if pdf is not None and head[: pdf.start()].strip() and encodings.is_text(head):
        # A text may mention PDF, and a mail may hold one as it is.
        is_mail = _is_mail(encodings.decode(head).replace("\r\n", "\n"))
        pdf = None if is_mail else PDF_OBJECT.search(head)
    if pdf is not None:
        return Kind(PDF, "a PDF")
    for signature, candidate in SIGNATURES:
        if head.startswith(signature) and not (signature.isalpha() and encodings.is_text(head)):
            return candidate
    return None


def _container_kind(path: Path, head: bytes) -> Kind | None:
    """Types that hold other files as they are: a PDF near their beginning does not make them one."""
    if head.startswith(ZIP_START):
        return _zip_kind(path, head)
    if head.startswith(OLE_START):
        try:
            with path.open("rb") as file, olefile.OleFileIO(file) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
                entries: list[list[str]] = compound.listdir(storages=True)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
        except (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
            return OLE
        names = {entry[0] for entry in entries if len(entry) == 1}  # a document may hold others inside
        if "EncryptedPackage" in names:
            raise EncryptedError(LOCKED)
        return next((candidate for name, candidate in OLE_KINDS if name in names), OLE)
    return TNEF if head.startswith(TNEF_START) else None


def _zip_kind(path: Path, head: bytes) -> Kind:
    """Type of an archive by the names in it, and by the type that its member `mimetype` declares."""
    declared = ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:ZIP_MEMBERS_READ]
            if "mimetype" in names:
                with archive.open("mimetype") as member:
                    declared = member.read(100).decode("ascii", "replace")
    except ZIP_FAULTS:
        # The end is missing: the names of the first members stand before their contents.
        starts = [match.start() for match in re.finditer(ZIP_START, head)]
        sizes = [int.from_bytes(head[at + 26 : at + 28], "little") for at in starts]
        names = [
            head[at + 30 : at + 30 + size].decode("ascii", "replace")
            for at, size in zip(starts, sizes, strict=True)
        ]
    for candidate in OPEN_DOCUMENT_KINDS:
        if declared.startswith(candidate.media_type):
            return candidate
    if "[Content_Types].xml" in names:
        for beginning, candidate in ZIP_KINDS:
            if any(name.startswith(beginning) for name in names):
                return candidate
    return ZIP


def _is_mail(text: str) -> bool:
    header = MAIL_HEADER.match(text)
    if header is None:
        return False
    names = {name.lower() for name in FIELD_NAME.findall(header[1])}
    return len(names & MAIL_FIELDS) > 1
