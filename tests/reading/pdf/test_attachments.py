import io
from pathlib import Path

import pikepdf
import pytest

from docmill.model.document import Document, Embedded
from docmill.ports import Original
from docmill.reading.convert import LocalConverter
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import attachments, pdf_file
from docmill.workers.pool import Pool

CII = b"<a:CrossIndustryInvoice xmlns:a='urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100'/>"
UBL = b"<Invoice xmlns='urn:oasis:names:specification:ubl:schema:xsd:Invoice-2'><ID>1</ID></Invoice>"

NAME = "{http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader}StandardBusinessDocument"
ENVELOPE = (
    b"<s:StandardBusinessDocument xmlns:s='http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader'>"
    b"<s:StandardBusinessDocumentHeader/>%b</s:StandardBusinessDocument>"
)


def _pdf(path: Path, attached: dict[str, bytes]) -> Path:
    with pikepdf.new() as document:
        document.add_blank_page()
        for name, content in attached.items():
            document.attachments[name] = pikepdf.AttachedFileSpec(document, content, filename=name)  # pyright: ignore[reportCallIssue] - its stub forgets the defaults
        document.save(path)
    return path


def _attached(path: Path) -> list[tuple[str, bytes]]:
    with pdf_file.open_document(path) as document:
        return [(one.name, one.content) for one in attachments.in_pdf(document, path)]


def test_of_the_attachments_those_are_taken_whose_root_is_known(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"any.xml": CII, "other.xml": b"<note/>", "plan.pdf": b"%PDF-1.7"})

    assert _attached(path) == [("any.xml", CII)]


def test_one_of_a_known_name_is_taken_even_if_it_cannot_be_read(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"ZUGFeRD-invoice.xml": b"no XML at all"})

    assert _attached(path) == [("ZUGFeRD-invoice.xml", b"no XML at all")]


def test_xml_that_is_too_large_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MAX_BYTES", len(CII) - 1)
    bare = tmp_path / "a.xml"
    bare.write_bytes(CII)

    assert _attached(_pdf(tmp_path / "a.pdf", {"factur-x.xml": CII})) == []
    assert attachments.in_file(bare) == ()


def test_an_attachment_that_cannot_be_taken_out_does_not_stop_the_others(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"a.xml": CII, "b.xml": UBL})
    broken = io.BytesIO()
    with pikepdf.open(path) as document:
        del document.attachments["a.xml"].obj["/EF"]
        document.save(broken)
    path.write_bytes(broken.getvalue())

    assert _attached(path) == [("b.xml", UBL)]


def test_a_file_that_the_pdf_is_only_associated_with_is_found(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"factur-x.xml": CII, "plan.pdf": b"%PDF-1.7"})
    unlisted = io.BytesIO()
    with pikepdf.open(path) as document:
        document.Root["/AF"] = pikepdf.Array([one.obj for one in document.attachments.values()])
        del document.Root["/Names"]
        document.save(unlisted)
    path.write_bytes(unlisted.getvalue())

    assert _attached(path) == [("factur-x.xml", CII)]


def test_a_file_that_is_pinned_to_a_page_is_found(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"a.xml": UBL})
    pinned = io.BytesIO()
    with pikepdf.open(path) as document:
        note = {"/Type": pikepdf.Name.Annot, "/Subtype": pikepdf.Name.FileAttachment, "/Rect": [0, 0, 9, 9]}
        file = document.attachments["a.xml"].obj
        document.pages[0].obj["/Annots"] = pikepdf.Array([pikepdf.Dictionary({**note, "/FS": file})])
        del document.Root["/Names"]
        document.save(pinned)
    path.write_bytes(pinned.getvalue())

    assert _attached(path) == [("a.xml", UBL)]


def test_a_file_that_leads_nowhere_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pikepdf.new() as document:
        document.add_blank_page()
        document.Root["/AF"] = pikepdf.Array([pikepdf.Dictionary({"/F": "a.xml", "/Was": "/EmbeddedFile"})])
        document.save(path)

    assert _attached(path) == []


@pytest.mark.parametrize(
    ("content", "root"),
    [
        (b"\xef\xbb\xbf \n<?xml version='1.0'?><!-- ours --><a/>", "a"),
        (UBL.decode().encode("utf-16"), "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice"),
        (b"<?xml version='1.0' encoding='of ours'?><a/>", None),
        (b"Dear all", None),
        (ENVELOPE % UBL, "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice"),
        (ENVELOPE % b"<note/>", NAME),
        (b"", None),
    ],
)
def test_the_root_is_found_without_reading_the_rest(content: bytes, root: str | None) -> None:
    assert attachments.root(content) == root


async def _read(path: Path) -> Document:
    async with Pool(1) as pool:
        return await LocalConverter(pool).convert(Original(path, path.name, "0" * 64))


async def test_a_bare_invoice_is_text_for_people_and_xml_for_programs(tmp_path: Path) -> None:
    path = tmp_path / "invoice.xml"
    path.write_bytes(UBL)

    document = await _read(path)

    assert document.media_type == "application/xml"
    assert document.text == "Invoice\nID   1"
    assert [one.content for one in document.embedded] == [UBL]


async def test_other_xml_is_text_alone(tmp_path: Path) -> None:
    path = tmp_path / "note.xml"
    path.write_bytes(b"<?xml version='1.0'?><note>Hello</note>")

    assert (await _read(path)).embedded == ()


async def test_a_pdf_brings_its_xml_along(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"factur-x.xml": CII})

    assert (await _read(path)).embedded == (Embedded("factur-x.xml", "application/xml", CII),)


async def test_a_pdf_that_brings_its_data_along_is_one_document(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pikepdf.new() as document:
        for _ in range(3):
            document.add_blank_page()
        document.save(path)
    options = ReadingOptions(split=True)
    with pikepdf.open(path, allow_overwriting_input=True) as document:
        document.attachments["factur-x.xml"] = pikepdf.AttachedFileSpec(document, CII)  # pyright: ignore[reportCallIssue] - its stub forgets the defaults
        document.save(path)

    async with Pool(1) as pool:
        read = await LocalConverter(pool, options).convert(Original(path, path.name, "0" * 64))

    assert read.embedded
    assert read.parts == ()
