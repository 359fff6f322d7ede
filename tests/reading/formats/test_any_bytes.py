"""Whatever is in a file, reading it gives pages or one of our errors."""

import io
import zipfile
from pathlib import Path

import docx
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docmill.errors import DocmillError
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import READERS

OPTIONS = ReadingOptions()
MARKUP = [
    "<table>",
    "<td rowspan=9>",
    "</td>",
    "<tr>",
    "<p>",
    "&#x110000;",
    "<pre>",
    "\0",
    "<select>",
    "ß",
    "<li>",
    "<br>",
]


def made(kind: str) -> bytes:
    file = io.BytesIO()
    if kind == "docx":
        document = docx.Document()
        document.add_table(2, 2).cell(0, 0).text = "text"
        document.save(file)
    else:
        workbook = openpyxl.Workbook()
        workbook.create_sheet("a")["B2"] = 5
        workbook.save(file)
    return file.getvalue()


SEEDS = {kind: made(kind) for kind in ("docx", "xlsx")}


def read(path: Path, media_type: str) -> None:
    try:
        pages = tasks.read_flow(path, media_type, OPTIONS).pages
    except DocmillError:
        return
    assert pages
    for page in pages:
        assert not len(page.words) or 0 <= page.words.boxes.min() <= page.words.boxes.max() <= 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.binary(max_size=300) | st.lists(st.sampled_from(MARKUP)).map(lambda parts: "".join(parts).encode()))
def test_any_bytes_by_every_reader(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    for media_type in READERS:
        read(path, media_type)


@pytest.mark.parametrize("kind", SEEDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(at=st.floats(0, 1), damage=st.binary(min_size=1, max_size=20))
def test_a_damaged_office_file(tmp_path: Path, kind: str, at: float, damage: bytes) -> None:
    data = bytearray(SEEDS[kind])
    start = int(at * len(data))
    data[start : start + len(damage)] = damage
    path = tmp_path / "a"
    path.write_bytes(data)
    try:
        media_type = tasks.open_original(path, OPTIONS).media_type
    except DocmillError:
        return
    if media_type in READERS:
        read(path, media_type)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(at=st.floats(0, 1), damage=st.binary(max_size=20))
def test_a_document_with_damaged_xml(tmp_path: Path, at: float, damage: bytes) -> None:
    path = tmp_path / "a"
    with zipfile.ZipFile(io.BytesIO(SEEDS["docx"])) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = bytearray(source.read(name))
            start = int(at * len(content))
            content[start : start + len(damage)] = damage
            target.writestr(name, bytes(content))
    read(path, next(name for name in READERS if name.endswith("wordprocessingml.document")))
