import io
import zipfile
from pathlib import Path

import pytest

from docmill.errors import CorruptError, UnsupportedFileTypeError
from docmill.reading.files import file_types

CAMT = "application/x-camt+xml"


def zipped(*names: str, packing: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name in names:
            archive.writestr(name, "")
        for name, content in members.items():
            archive.writestr(name, content)
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

    assert file_types.media_type(file) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"just words", "text/plain"),
        ("just words".encode("utf-16"), "text/plain"),
        ("just words".encode("utf-32-be"), "text/plain"),
        (b"BMW Bank\nKontoauszug", "text/plain"),
        (b"Files begin with %PDF, says the manual.\n", "text/plain"),
        (b"From: a@b.c\nSubject: " + b"Bill " * 20 + b"\n\n%PDF-1.4\n1 0 obj\n<<>>", "message/rfc822"),
        (b"Served: " + b"well " * 20 + b"\n\n%PDF-1.4\n1 0 obj\n<<>>", "application/pdf"),
        (b"Invoice: 12\nTotal: 30,00\n", "text/plain"),
        (b"Dear Ms Jones,\nthank you, again, for all.\n", "text/plain"),
        (b"<!DOCTYPE html><html>", "text/html"),
        (b"<table><tr><td>1", "text/html"),
        (b"<!-- c --><p>hello", "text/html"),
        (b"<!-- a -->\n <!-- > -->\n<h1>hello", "text/html"),
        (b"<!-- c --> text", "text/plain"),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html>\n<html>", "text/html"),
        (b"<?xml version='1.0'?>\n<Invoice/>", "application/xml"),
        (b"<?xml version='1.0'?>" + b"<?a ?><b>" * 5000, "application/xml"),
        (b"<!-- -->" * 5000 + b"text", "text/plain"),
        (b"<!-- a --><?b ?><c:Document xmlns:c='urn:iso:std:iso:20022:tech:xsd:camt.053.001.08'>", CAMT),
        (b"<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.052.001.08'>", "application/xml"),
        (b":20:X\r\n:21:Y\r\n:25:1/2\r\n", "application/x-mt940"),
        (b"{1:F01X}{2:O940}{4:\n:20:X\n:25:1\n", "application/x-mt940"),
        (b":20:X\nis what I write before an account\n", "text/plain"),
        (b"OFXHEADER:100\nDATA:OFXSGML\n", "application/x-ofx"),
        (b"<?xml version='1.0'?><?OFX OFXHEADER='200'?><OFX>", "application/x-ofx"),
        (b"<!-- A. B. -->\n<ubl:Invoice\n xmlns:ubl='urn:x'>", "application/xml"),
        (b"<Invoice>is what I wanted to write about", "text/plain"),
        (b'{"total": 1}', "application/json"),
        (b"# Title\n\nText", "text/markdown"),
        (b"| a | b |\n|---|---|\n| 1 | 2 |\n", "text/markdown"),
        (b"a,b\n1,2\n", "text/csv"),
        (b'a;b\n"1;\n2";3\n', "text/csv"),
        (b"a\tb\n1\t2\n", "text/tab-separated-values"),
        (b"Statement\nPeriod;2024\n\nDay;Text;Amount\n1.1.;Fee;1,20\n2.1.;Rent;3,40\n", "text/csv"),
        (b"Day;Text;Amount\n1.1.;Fee;1,20\n2.1.;Rent\n3.1.;Food;3,40;\n4.1.;Fee;1,20\n\nTotal\n", "text/csv"),
        (b"Dear Ann,\nwe saw Tom, Eve, Max.\nNo 7, 8, 9 are free, all the others, 5, not.\n", "text/plain"),
        (b"Shopping\nmilk; bread\napples; 3 pears; tea\n\nsee you\n", "text/plain"),
        (b"Subject: Offer\r\nFrom: a@example.com\r\n\r\nHello", "message/rfc822"),
        (b"GIF89a", "image/gif"),
        (zipped("holiday.jpg"), "application/zip"),
        (
            zipped("[Content_Types].xml", "word/document.xml"),
            f"{file_types.OPEN_XML}.wordprocessingml.document",
        ),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), f"{file_types.OPEN_XML}.spreadsheetml.sheet"),
        (
            zipped("[Content_Types].xml", "word/a.xml")[:120],
            f"{file_types.OPEN_XML}.wordprocessingml.document",
        ),
        (zipped("word/a.docx"), "application/zip"),
        (
            zipped(mimetype=b"application/vnd.oasis.opendocument.text"),
            "application/vnd.oasis.opendocument.text",
        ),
        (b"PK\x03\x04broken", "application/zip"),
        (b"\0\1\2\3", "application/octet-stream"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isomavc1", "application/octet-stream"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 broken", "application/x-ole-storage"),
    ],
)
def test_every_kind_is_known_by_its_content(file: Path, content: bytes, expected: str) -> None:
    file.write_bytes(content)

    assert file_types.kind(file).media_type == expected


@pytest.mark.parametrize(
    ("content", "message", "media_type"),
    [
        (b"\xff\x4f\xff\x51", "a JPEG 2000 picture cannot be read; save it as a PDF", "image/jp2"),
        (b"\x1f\x8b\x08", "a compressed archive cannot be read; unpack it", "application/gzip"),
        (
            b"\0\1\2\3",
            "a file that is damaged or of an unknown kind cannot be read; see whether",
            "application/octet-stream",
        ),
    ],
)
def test_a_refusal_names_what_was_found_and_what_to_do(
    file: Path, content: bytes, message: str, media_type: str
) -> None:
    file.write_bytes(content)

    with pytest.raises(UnsupportedFileTypeError, match=f"^{message}") as refusal:
        file_types.media_type(file)

    assert refusal.value.media_type == media_type


def test_an_empty_file_is_corrupt(file: Path) -> None:
    file.touch()

    with pytest.raises(CorruptError, match="empty"):
        file_types.media_type(file)


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_whose_declaration_cannot_be_unpacked_is_known_by_its_names(
    file: Path, packing: int
) -> None:
    content = zipped("word/a.xml", "[Content_Types].xml", packing=packing, mimetype=b"application/epub+zip")
    at = content.rindex(b"mimetype", 0, content.index(b"PK\x01\x02")) + len("mimetype")
    file.write_bytes(content[:at] + b"\xff" * 8 + content[at + 8 :])

    assert file_types.media_type(file).endswith("wordprocessingml.document")
