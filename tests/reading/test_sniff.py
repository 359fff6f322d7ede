import io
import zipfile
from pathlib import Path

import pytest

from docmill.errors import CorruptError, UnsupportedFileTypeError
from docmill.reading import sniff


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return file.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "misleading.docx"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"%PDF-1.7\n", "application/pdf"),
        (b"\0" * 1000 + b"%PDF-1.4", "application/pdf"),
        (b"%\xe2\xe3\xcf\xd3\n3 0 obj\n<</Type /Page", "application/pdf"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"II*\0\x08\0\0\0", "image/tiff"),
        (b"MM\0*\0\0\0\x08", "image/tiff"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (b"\0\0\0\x18ftypXXXX\0\0\0\0mif1heic", "image/heic"),
    ],
)
def test_the_content_decides(file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)

    assert sniff.media_type(file) == expected


@pytest.mark.parametrize(
    ("content", "name", "media_type"),
    [
        (
            zipped("[Content_Types].xml", "word/document.xml"),
            "a Word document",
            sniff.ZIP_KINDS[0][1].media_type,
        ),
        (zipped("xl/workbook.xml"), "an Excel workbook", sniff.ZIP_KINDS[1][1].media_type),
        (zipped("holiday.jpg"), "a ZIP archive", "application/zip"),
        (b"PK\x03\x04broken", "a ZIP archive", "application/zip"),
        (b"GIF89a", "a GIF picture", "image/gif"),
        (b"Subject: Offer\r\nFrom: a@example.com\r\n\r\nHello", "an e-mail", "message/rfc822"),
        (b"<!DOCTYPE html><html>", "a web page", "text/html"),
        (b"just words", "a text file", "text/plain"),
        ("just words".encode("utf-16"), "a text file", "text/plain"),
        (b"\0\1\2\3", "a file of an unknown kind", "application/octet-stream"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isomavc1", "a file of an unknown kind", "application/octet-stream"),
    ],
)
def test_a_refusal_names_what_was_found(file: Path, content: bytes, name: str, media_type: str) -> None:
    file.write_bytes(content)

    with pytest.raises(UnsupportedFileTypeError, match=f"^{name} cannot be read") as refusal:
        sniff.media_type(file)

    assert refusal.value.media_type == media_type


def test_an_empty_file_is_corrupt(file: Path) -> None:
    file.touch()

    with pytest.raises(CorruptError, match="empty"):
        sniff.media_type(file)
