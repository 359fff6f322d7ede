import base64
import io
import tracemalloc
import zlib
from pathlib import Path

import pikepdf
import pytest

from docmill.model.document import Document, Embedded
from docmill.ports import Original
from docmill.reading.convert import LocalConverter
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import attached_files, attachments, pdf_file
from docmill.understanding.einvoice.reading import einvoice
from docmill.workers.pool import Pool

CASES = Path(__file__).parents[3].parent / "shared" / "cases"
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
        return [(one.name, one.content) for one in attachments.in_pdf(document, path).einvoices]


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


@pytest.mark.parametrize("name", ["ZUGFeRD-invoice", "data.bin", "Beleg.pdf", "x"])
def test_the_name_of_an_einvoice_does_not_matter(tmp_path: Path, name: str) -> None:
    path = _pdf(tmp_path / "a.pdf", {"plan.pdf": b"%PDF-1.7", name: CII})

    assert _attached(path) == [(name, CII)]


def test_one_pinned_to_a_page_is_found_beside_files_of_the_document(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"plan.pdf": b"%PDF-1.7"})
    content = io.BytesIO()
    with pikepdf.open(path) as document:
        file = pikepdf.AttachedFileSpec(document, UBL, filename="paper clip").obj  # pyright: ignore[reportCallIssue] - as above
        note = {"/Type": pikepdf.Name.Annot, "/Subtype": pikepdf.Name.FileAttachment, "/Rect": [0, 0, 9, 9]}
        document.pages[0].obj["/Annots"] = pikepdf.Array([pikepdf.Dictionary({**note, "/FS": file})])
        document.save(content, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    path.write_bytes(content.getvalue())

    assert _attached(path) == [("paper clip", UBL)]


def test_a_name_tree_with_branches_and_a_circle_is_walked_once(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"a": CII, "b": UBL})
    content = io.BytesIO()
    with pikepdf.open(path) as document:
        first, second = (one.obj for one in document.attachments.values())
        leaf = document.make_indirect(
            pikepdf.Dictionary({"/Names": pikepdf.Array(["b", second, "a", first])})
        )
        tree = document.make_indirect(pikepdf.Dictionary({"/Names": pikepdf.Array(["a", first])}))
        tree["/Kids"] = pikepdf.Array([leaf, tree])
        document.Root["/Names"]["/EmbeddedFiles"] = tree
        document.save(content)
    path.write_bytes(content.getvalue())

    assert _attached(path) == [("a", CII), ("b", UBL)]


def _with_stream(path: Path, stored: bytes, filters: list[str], predictor: int = 0) -> Path:
    """A PDF with one attached file in this stored form."""
    _pdf(path, {"a": b"-"})
    content = io.BytesIO()
    with pikepdf.open(path) as document:
        stream = next(iter(document.attachments.values())).obj["/EF"]["/F"]
        names = pikepdf.Array([pikepdf.Name(name) for name in filters])
        stream.write(stored, filter=names)
        if predictor:
            stream["/DecodeParms"] = pikepdf.Array([pikepdf.Dictionary({"/Predictor": predictor})])
        document.save(content)
    path.write_bytes(content.getvalue())
    return path


@pytest.mark.parametrize(
    ("stored", "filters"),
    [
        (UBL, []),
        (zlib.compress(UBL), ["/FlateDecode"]),
        (UBL.hex().encode() + b">", ["/ASCIIHexDecode"]),
        (base64.a85encode(zlib.compress(UBL), adobe=True), ["/ASCII85Decode", "/FlateDecode"]),
    ],
)
def test_an_attached_file_is_decoded_by_its_filters(
    tmp_path: Path, stored: bytes, filters: list[str]
) -> None:
    assert _attached(_with_stream(tmp_path / "a.pdf", stored, filters)) == [("a", UBL)]


@pytest.mark.parametrize(
    ("stored", "filters", "predictor"),
    [
        (b"no zlib", ["/FlateDecode"], 0),
        (zlib.compress(UBL), ["/FlateDecode"], 12),
        (UBL, ["/LZWDecode"], 0),
        (b"zz", ["/ASCIIHexDecode"], 0),
    ],
)
def test_a_file_that_cannot_be_decoded_is_none(
    tmp_path: Path, stored: bytes, filters: list[str], predictor: int
) -> None:
    assert _attached(_with_stream(tmp_path / "a.pdf", stored, filters, predictor)) == []


def test_a_file_of_an_encrypted_pdf_has_no_encryption_left_to_undo() -> None:
    assert attached_files.AttachedFile("a", UBL, ("/Crypt",)).read(9) == UBL[:9]


def test_a_pdf_that_only_pdfium_can_open_has_no_files(tmp_path: Path) -> None:
    path = _pdf(tmp_path / "a.pdf", {"a": UBL})
    with pdf_file.open_document(path) as document:
        path.write_bytes(b"/EmbeddedFile")

        assert attachments.in_pdf(document, path) == ((), (), ())


def test_a_file_that_unpacks_to_gigabytes_is_decoded_no_further_than_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_BYTES", 1_000_000)
    monkeypatch.setattr(attachments, "MAX_BYTES_WITH_FILES", 2_000_000)
    bomb = zlib.compress(zlib.compress(UBL + bytes(40_000_000)))
    path = _with_stream(tmp_path / "a.pdf", bomb, ["/FlateDecode", "/FlateDecode"])

    tracemalloc.start()
    try:
        assert _attached(path) == []
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_as_many_files_as_the_limit_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached_files, "MAX_FILES", 2)

    assert _attached(_pdf(tmp_path / "a.pdf", {"a": b"1", "b": UBL, "c": CII})) == [("b", UBL)]


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_an_einvoice_attached_without_an_ending_is_read() -> None:
    (path,) = (CASES / "16-facturx-without-extension" / "in").iterdir()

    ((name, content),) = _attached(path)

    invoice = einvoice(content)
    assert name == "ZUGFeRD-invoice"
    assert invoice.kind.syntax == "cii"
    assert invoice.data.model_dump()["payment"]["method"] == "58"


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
