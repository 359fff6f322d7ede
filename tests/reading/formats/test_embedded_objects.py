import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import docx
import pytest
from tests.support.compound_files import compound

from docmill.reading.child import tasks
from docmill.reading.child.holders import HOLDERS
from docmill.reading.files.containers import TOO_MUCH
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import embedded_objects
from docmill.reading.formats.embedded_objects import DAMAGED, OBJECT

OPTIONS = ReadingOptions()
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
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
    parts = tasks.open_original(path, OPTIONS).parts
    batch = tasks.take_parts(path, WORD, 0, 10**9, OPTIONS)
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
    assert HOLDERS.keys() >= set(embedded_objects.MEDIA_TYPES)
