import asyncio
import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from docmill.model.document import Document, Part
from docmill.ports import Original, PartFile
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter, PooledUnpacker
from docmill.reading.files.containers import LINK
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import attached_files, attachments
from docmill.workers.pool import Pool

CASES = Path(__file__).parents[4] / "shared" / "cases"
OPTIONS = ReadingOptions()
CII = b"""<a:CrossIndustryInvoice xmlns:r='r'
xmlns:a='urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100'>
<r:AdditionalReferencedDocument><r:IssuerAssignedID>B-7</r:IssuerAssignedID>%b</r:AdditionalReferencedDocument>
</a:CrossIndustryInvoice>"""
UBL = b"""<Invoice xmlns='urn:oasis:names:specification:ubl:schema:xsd:Invoice-2'><ID>1</ID>
<AdditionalDocumentReference><ID>A1</ID>%b</AdditionalDocumentReference></Invoice>"""


Letter = Callable[..., Path]


@pytest.fixture
def letter(tmp_path: Path) -> Letter:
    """PDFs with a text on each page."""

    def make(*pages: str) -> Path:
        canvas = Canvas(str(tmp_path / "letter.pdf"), pagesize=(595, 842))
        for page in pages:
            text = canvas.beginText(60, 780)
            text.textLines(page)
            canvas.drawText(text)
            canvas.showPage()
        canvas.save()
        return tmp_path / "letter.pdf"

    return make


def with_attached(path: Path, files: Mapping[str, bytes]) -> Path:
    """The PDF with files attached."""
    content = io.BytesIO()
    with pikepdf.open(path) as document:
        for name, data in files.items():
            document.attachments[name] = pikepdf.AttachedFileSpec(document, data, filename=name)  # pyright: ignore[reportCallIssue] - its stub forgets the defaults
        document.save(content)
    path.write_bytes(content.getvalue())
    return path


async def take_out(
    path: Path, folder: Path, options: ReadingOptions = OPTIONS
) -> tuple[Document, dict[str, bytes]]:
    """The document, and what its parts hold by name; the reason in place of those that are not to be had."""
    await asyncio.to_thread(folder.mkdir)
    async with Pool(1) as pool:
        original = Original(path, path.name, "0" * 64)
        document = await LocalConverter(pool, options).convert(original)
        files = await PooledUnpacker(pool, options).unpack(original, document, folder)
    return document, {file.part.name: content_of(file) for file in files}


def content_of(file: PartFile) -> bytes:
    return (file.part.problem or "").encode() if file.path is None else file.path.read_bytes()


async def test_files_attached_to_a_pdf_become_parts_and_its_xml_does_not(
    letter: Letter, tmp_path: Path
) -> None:
    files = {"factur-x": CII % b"", "Bill.pdf": b"%PDF-1", "notes/../hours.csv": b"a;b", "empty.txt": b""}
    path = with_attached(letter("Dear customer, two files are enclosed with this letter."), files)

    document, parts = await take_out(path, tmp_path / "parts")

    assert [part.name for part in document.parts] == ["Bill.pdf", "empty.txt", "notes/hours.csv"]
    assert {part.kind for part in document.parts} == {"attachment"}
    assert parts == {"Bill.pdf": b"%PDF-1", "empty.txt": b"the file is empty", "notes/hours.csv": b"a;b"}
    assert [file.name for file in document.embedded] == ["factur-x"]
    assert not document.is_collection


async def test_a_pdf_that_is_split_keeps_its_attached_files(letter: Letter, tmp_path: Path) -> None:
    pages = [f"Invoice No. {number}\nDate 3 May 2026\nTotal EUR {number}.00" for number in (4711, 4712)]
    sheets = [pages[0], "DOCMILL SEPARATOR", pages[1]]
    path = letter(*sheets)
    with_attached(path, {"plan.txt": b"a plan", f"{path.stem}, page 3.pdf": b"%PDF-2"})

    document, parts = await take_out(
        path, tmp_path / "parts", replace(OPTIONS, split=True, separator="docmillseparator")
    )

    assert document.is_collection
    names = [part.name for part in document.parts]
    assert names == [
        f"{path.stem}, page 3.pdf", "plan.txt", f"{path.stem}, page 1.pdf", f"section {path.stem}, page 3.pdf"
    ]  # fmt: skip
    assert list(parts) == names
    assert parts["plan.txt"] == b"a plan"


def test_files_beyond_the_limits_are_named_with_the_reason(
    letter: Letter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached_files, "MAX_FILES", 3)
    monkeypatch.setattr(attached_files, "MAX_NAMED", 4)
    path = with_attached(letter("Hello"), {f"{number}.txt": b"x" * number for number in range(1, 6)})

    opened = tasks.open_original(path, replace(OPTIONS, max_parts=2))

    assert [part.name for part in opened.parts] == ["1.txt", "2.txt", "3.txt", "4.txt"]
    assert [part.problem for part in opened.parts[:2]] == [None, None]
    assert "more than 2 files" in str(opened.parts[2].problem)
    assert "more than 2 files" in str(opened.parts[3].problem)


def test_a_pdf_without_attached_files_has_no_parts(letter: Letter) -> None:
    assert tasks.open_original(letter("Hello"), OPTIONS).parts == ()


def embedded(element: str, content: bytes, attributes: str = "") -> bytes:
    return f"<{element} {attributes}>{base64.encodebytes(content).decode()}</{element}>".encode()


@pytest.mark.parametrize(
    ("xml", "name"),
    [
        (UBL % embedded("EmbeddedDocumentBinaryObject", b"hours", "filename='Hours.txt'"), "Hours.txt"),
        (UBL % embedded("EmbeddedDocumentBinaryObject", b"hours", "mimeCode='application/pdf'"), "A1.pdf"),
        (CII % embedded("r:AttachmentBinaryObject", b"hours", "filename='Hours.txt'"), "Hours.txt"),
        (CII % embedded("r:AttachmentBinaryObject", b"hours"), "B-7"),
    ],
)
async def test_supporting_documents_of_an_einvoice_become_parts(
    tmp_path: Path, xml: bytes, name: str
) -> None:
    path = tmp_path / "invoice.xml"
    path.write_bytes(xml)

    document, parts = await take_out(path, tmp_path / "parts")

    assert parts == {name: b"hours"}
    assert "aG91cnM" not in document.text
    assert len(document.embedded) == 1


async def test_supporting_documents_of_the_xml_in_a_pdf_become_its_parts(
    letter: Letter, tmp_path: Path
) -> None:
    xml = CII % embedded("r:AttachmentBinaryObject", b"hours", "filename='plan.txt'")
    path = with_attached(letter("Invoice"), {"a.xml": xml, "plan.txt": b"a plan"})

    _, parts = await take_out(path, tmp_path / "parts")

    assert parts == {"plan.txt": b"a plan", "plan (2).txt": b"hours"}


def test_an_einvoice_that_is_large_by_its_files_is_read(
    letter: Letter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_BYTES", 1_000)
    hours = bytes(2_000)
    xml = UBL % embedded("EmbeddedDocumentBinaryObject", hours, "filename='hours.bin'")
    bare = tmp_path / "invoice.xml"
    bare.write_bytes(xml)

    for path in (bare, with_attached(letter("Invoice"), {"a.xml": xml})):
        opened = tasks.open_original(path, OPTIONS)
        taken = tasks.take_parts(path, opened.media_type, 0, 10**6, OPTIONS)

        (invoice,) = opened.embedded
        assert len(invoice.content) < 1_000
        assert b"<ID>A1</ID>" in invoice.content
        assert [part.name for part in opened.parts] == ["hours.bin"]
        assert taken.contents == [hours]


async def test_a_supporting_document_that_is_damaged_or_elsewhere_is_named(tmp_path: Path) -> None:
    path = tmp_path / "invoice.xml"
    damaged = b"<EmbeddedDocumentBinaryObject filename='a.pdf'>!!</EmbeddedDocumentBinaryObject>"
    link = (
        b"<Attachment><ExternalReference><URI>https://a.example/b.pdf</URI></ExternalReference></Attachment>"
    )
    path.write_bytes(
        (UBL % damaged).replace(
            b"</Invoice>",
            b"<AdditionalDocumentReference><ID>B2</ID>%b</AdditionalDocumentReference></Invoice>" % link,
        )
    )

    _, parts = await take_out(path, tmp_path / "parts")

    assert parts == {"a.pdf": b"this file in the XML is damaged; have it sent again", "B2": LINK.encode()}


@pytest.mark.parametrize("xml", [UBL[:-12], b"<!DOCTYPE Invoice [<!ENTITY a 'b'>]>" + UBL % b""])
def test_xml_that_is_damaged_or_declares_entities_has_no_parts(tmp_path: Path, xml: bytes) -> None:
    path = tmp_path / "invoice.xml"
    path.write_bytes(xml)

    assert tasks.open_original(path, OPTIONS).parts == ()


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("07-pdf-with-attached-pdfs", ["PF-1.pdf", "PF-2.pdf"]),
        ("08-xrechnung-supporting-documents", ["Rechnung XR-3.pdf", "Stundenzettel.xlsx"]),
    ],
)
async def test_the_files_within_a_case_are_its_parts(case: str, names: list[str], tmp_path: Path) -> None:
    for path in (CASES / case / "in").iterdir():
        document, parts = await take_out(path, tmp_path / path.stem)

        assert document.parts == tuple(Part(name, "attachment") for name in names)
        assert all(content.startswith((b"%PDF", b"PK")) for content in parts.values())
