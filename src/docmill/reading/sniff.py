"""What a file is, by its content and never by its name."""

from pathlib import Path

from docmill.errors import CorruptError, UnsupportedFileTypeError

PDF = "application/pdf"
HEAD_BYTES = 1024 + 8
"""Readers accept a PDF whose header starts within the first 1,024 bytes."""
HEIF_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"})


def media_type(path: Path) -> str:
    """The type, one that docmill reads. Raises UnsupportedFileTypeError for others, CorruptError if empty."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise CorruptError("the file is empty; save or send it again")
    found = _picture(head) or (PDF if b"%PDF-" in head else None)
    if found is None:
        raise UnsupportedFileTypeError("this kind of file cannot be read; save it as a PDF")
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
    if head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS:
        return "image/heic"
    return None
