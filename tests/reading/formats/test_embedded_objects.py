import base64
import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docx
import pytest
import xlwt
from tests.support.compound_files import Tree, compound

from docmill.reading.child import tasks
from docmill.reading.child.holders import HOLDERS
from docmill.reading.files.containers import TOO_MUCH
from docmill.reading.files.file_types import OPEN_DOCUMENT
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import embedded_objects, supporting_documents
from docmill.reading.formats.ole_objects import DAMAGED, OBJECT

OPTIONS = ReadingOptions()
BILL = b"%PDF-1.7 a bill"


def native(name: str, content: bytes) -> bytes:
    """What the packager of Windows writes."""
    path = f"C:\\{name}".encode("cp1252") + b"\0"
    head = b"\2\0" + name.encode("cp1252") + b"\0" + path + b"\0\0\3\0" + struct.pack("<I", len(path)) + path
    body = head + struct.pack("<I", len(content)) + content
    return struct.pack("<I", len(body)) + body


def document(path: Path, parts: Mapping[str, bytes], text: str = "Two files are enclosed.") -> Path:
    """A Word document with more parts in its package."""
    file = io.BytesIO()
    written = docx.Document()
    written.add_paragraph(text)
    written.save(file)
    with zipfile.ZipFile(file, "a") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    path.write_bytes(file.getvalue())
    return path


def held(path: Path) -> dict[str, bytes | str]:
    """The files that come out, by name; the problem of those that do not."""
    opened = tasks.open_original(path, OPTIONS)
    parts = opened.parts
    batch = tasks.take_parts(path, opened.media_type, 0, 10**9, OPTIONS)
    assert [part.name for part in batch.parts] == [part.name for part in parts]
    return {
        part.name: str(part.problem) if content is None else content
        for part, content in zip(batch.parts, batch.contents, strict=True)
    }


def test_files_and_objects_in_a_document_become_parts(tmp_path: Path) -> None:
    old = compound({"WordDocument": b"an old document"})
    path = document(
        tmp_path / "a.docx",
        {
            "word/embeddings/Hours.xlsx": b"PK hours",
            "word/embeddings/oleObject1.bin": compound({"\x01Ole10Native": native("Bill ü.pdf", BILL)}),
            "word/embeddings/oleObject2.bin": compound({"CONTENTS": BILL}),
            "word/embeddings/oleObject3.bin": compound({"Package": b"PK"}),
            "word/embeddings/oleObject4.bin": old,
            "word/embeddings/oleObject5.bin": compound({"Equation Native": b"x"}),
            "word/embeddings/oleObject6.bin": compound({"\x01Ole10Native": native("", BILL)}),
        },
    )

    assert held(path) == {
        "Hours.xlsx": b"PK hours",
        "Bill ü.pdf": BILL,
        "oleObject2.pdf": BILL,
        "oleObject3": b"PK",
        "oleObject4.doc": old,
        "oleObject6.bin": BILL,
    }


def test_the_numbers_of_a_chart_are_no_document(tmp_path: Path) -> None:
    relations = """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
    <Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/package"
    Target="../embeddings/Sheet1.xlsx"/></Relationships>"""
    path = document(
        tmp_path / "a.docx",
        {
            "word/charts/chart1.xml": b"<c/>",
            "word/charts/_rels/chart1.xml.rels": relations.encode(),
            "word/embeddings/Sheet1.xlsx": b"PK",
        },
    )

    assert tasks.open_original(path, OPTIONS).parts == ()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"no compound file", OBJECT),
        (compound({"Drawing": b"x"}), OBJECT),
        (compound({"\x01Ole10Native": native("a.pdf", BILL)[:-4]}), DAMAGED),
        (compound({"\x01Ole10Native": b"short"}), DAMAGED),
        (compound({"CONTENTS": BILL})[:700], DAMAGED),
    ],
)
def test_an_object_without_a_file_is_named_with_the_reason(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = document(tmp_path / "a.docx", {"word/embeddings/oleObject1.bin": content})

    assert held(path) == {"oleObject1.bin": problem}


def test_so_many_objects_are_opened_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_objects, "MOST_BYTES", 1)
    objects = {f"word/embeddings/oleObject{number}.bin": compound({"CONTENTS": BILL}) for number in (1, 2)}

    assert held(document(tmp_path / "a.docx", objects)) == {
        "oleObject1.pdf": BILL,
        "oleObject2.bin": TOO_MUCH,
    }


def test_a_document_without_words_that_holds_files_has_them_as_parts(tmp_path: Path) -> None:
    path = document(tmp_path / "a.docx", {"word/embeddings/Hours.xlsx": b"PK hours"}, text="")

    assert [part.name for part in tasks.open_original(path, OPTIONS).parts] == ["Hours.xlsx"]


def test_a_document_without_embedded_files_has_no_parts(tmp_path: Path) -> None:
    assert tasks.open_original(document(tmp_path / "a.docx", {}), OPTIONS).parts == ()


def test_every_format_with_embedded_files_has_an_opener() -> None:
    assert HOLDERS.keys() >= embedded_objects.FINDERS.keys()


def test_objects_in_an_opendocument_become_parts(tmp_path: Path) -> None:
    kinds = {
        "/": f"{OPEN_DOCUMENT}.text",
        "content.xml": "text/xml",
        "Object 1": "application/vnd.sun.star.oleobject",
        "Object 2": "application/vnd.sun.star.oleobject",
        "Hours.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "Object 3/": f"{OPEN_DOCUMENT}.chart",
        "Object 4/": f"{OPEN_DOCUMENT}.spreadsheet",
        "Object 4/content.xml": "text/xml",
        "Pictures/a.png": "image/png",
        "gone": "application/pdf",
    }
    entries = "".join(f'<m:file-entry m:full-path="{n}" m:media-type="{kind}"/>' for n, kind in kinds.items())
    manifest = (
        f'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">{entries}</m:manifest>'
    )
    text = (
        '<o:document-content xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><o:body><o:text><t:p>Two files</t:p>'
        "</o:text></o:body></o:document-content>"
    )
    path = tmp_path / "a.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"{OPEN_DOCUMENT}.text")
        archive.writestr("content.xml", text)
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("Object 1", compound({"\x01Ole10Native": native("Bill.pdf", BILL)}))
        archive.writestr("Object 2", compound({"Drawing": b"x"}))
        archive.writestr("Hours.xlsx", b"PK hours")
        archive.writestr("Object 4/content.xml", text)

    assert held(path) == {"Bill.pdf": BILL, "Object 2": OBJECT, "Hours.xlsx": b"PK hours", "Object 4": OBJECT}


def old_object(kind: bytes, content: bytes, form: int = 2) -> bytes:
    """What RTF stores in hexadecimal digits."""
    names = b"".join(struct.pack("<I", len(name)) + name for name in (kind + b"\0", b"", b""))
    return struct.pack("<II", 0x501, form) + names + struct.pack("<I", len(content)) + content


def test_objects_in_rich_text_become_parts(tmp_path: Path) -> None:
    word = compound({"WordDocument": b"an old document"})
    objects = [
        old_object(b"Package", native("Bill.pdf", BILL)[4:]),
        old_object(b"AcroExch.Document", compound({"CONTENTS": BILL})),
        old_object(b"Word.Document.8", word),
        old_object(b"Equation.3", compound({"Equation Native": b"x"})),
        old_object(b"PBrush", b"BM a drawing"),
        old_object(b"Word.Document.8", b"", form=1),
        old_object(b"Package", native("a.pdf", BILL)[4:])[:-4],
        b"",
    ]
    groups = "".join(
        f"{{\\object\\objemb{{\\*\\objclass X}}{{\\*\\objdata {data.hex(chr(10), 32)}}}}}" for data in objects
    )
    path = tmp_path / "a.rtf"
    path.write_text(f"{{\\rtf1 Files are enclosed, and \\\\objdata is a word.{groups}}}")

    assert held(path) == {
        "Bill.pdf": BILL,
        "object2.pdf": BILL,
        "object3.doc": word,
        "object5": OBJECT,
        "object6": OBJECT,
        "object7": DAMAGED,
        "object8": DAMAGED,
    }


def test_objects_in_an_old_workbook_become_parts(tmp_path: Path) -> None:
    workbook: Any = xlwt.Workbook()  # untyped
    workbook.add_sheet("Hours").write(0, 0, "Two files are enclosed")
    path = tmp_path / "a.xls"
    objects: dict[str, Tree] = {
        "MBD00000001": {"\x01Ole10Native": native("Bill.pdf", BILL)},
        "MBD00000002": {"CONTENTS": BILL},
        "MBD00000003": {"WordDocument": b"in pieces"},
        "Other": {"CONTENTS": BILL},
    }
    path.write_bytes(compound({"Workbook": workbook.get_biff_data(), **objects}))

    assert held(path) == {"Bill.pdf": BILL, "object2.pdf": BILL, "object3": OBJECT}


def test_attachments_of_a_fatturapa_become_parts_and_are_no_text(tmp_path: Path) -> None:
    file = base64.b64encode(BILL).decode()
    path = tmp_path / "IT01234567890_FPA01.xml"
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><p:FatturaElettronica versione="FPR12"'
        ' xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2"><FatturaElettronicaBody>'
        "<DatiGenerali><Causale>Lavori</Causale></DatiGenerali>"
        "<Allegati><NomeAttachment>Fattura</NomeAttachment><FormatoAttachment>PDF</FormatoAttachment>"
        f"<Attachment>{file}</Attachment></Allegati>"
        "<Allegati><NomeAttachment>ore.xml</NomeAttachment><AlgoritmoCompressione>ZIP</AlgoritmoCompressione>"
        f"<FormatoAttachment>XML</FormatoAttachment><Attachment>{file}</Attachment></Allegati>"
        "<Allegati><NomeAttachment>b.pdf</NomeAttachment><Attachment>%%%</Attachment></Allegati>"
        "</FatturaElettronicaBody></p:FatturaElettronica>"
    )

    assert held(path) == {
        "Fattura.pdf": BILL,
        "ore.xml.zip": BILL,
        "b.pdf": supporting_documents.DAMAGED,
    }
    text = "".join(page.text for page in tasks.read_flow(path, "application/xml", OPTIONS).pages)
    assert "Lavori" in text
    assert file not in "".join(text.split())
