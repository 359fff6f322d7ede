"""Pictures in old workbooks, whose records are put together here as Excel writes them."""

import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import xlwt
from PIL import Image, ImageDraw

from docmill.reading.formats import xls
from docmill.reading.formats.pictures import BROKEN
from docmill.reading.layout.typeset import FigureBlock, HeadingBlock, UnreadNote
from support.compound_files import compound


def letters(seed: int, kind: str = "PNG") -> bytes:
    """A picture with enough spots of a letter's size."""
    image = Image.new("RGB", (600, 400), "white")
    draw = ImageDraw.Draw(image)
    for index in range(60):
        x, y = 20 + 50 * (index % 10), 20 + 60 * (index // 10)
        draw.rectangle((x, y, x + 8 + seed, y + 14), fill="black")
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def part(kind: int, content: bytes, *, version: int = 0, instance: int = 0) -> bytes:
    return struct.pack("<HHL", version | instance << 4, kind, len(content)) + content


def container(kind: int, *parts: bytes) -> bytes:
    return part(kind, b"".join(parts), version=0xF)


def blip(kind: int, content: bytes, *, instance: int, uses: int = 1) -> bytes:
    checksums = bytes(16) * (1 + (instance & 1))
    stored = part(kind, checksums + b"\xff" + content, instance=instance)
    head = bytes(20) + struct.pack("<LLL", len(stored), uses, 0) + bytes(4)
    return part(0xF007, head + stored, version=2)


def shape(number: int) -> bytes:
    options = struct.pack("<HL", 0x007F, 0x01FF01FF) + struct.pack("<HL", 0x4104, number)
    return container(0xF004, part(0xF00A, bytes(8)), part(0xF00B, options, version=3, instance=2))


def record(kind: int, content: bytes = b"", *, most: int = 8224) -> bytes:
    """A record, and as many that continue it as are needed."""
    pieces = [content[at : at + most] for at in range(0, len(content), most)] or [b""]
    kinds = [kind, *[0x3C] * (len(pieces) - 1)]
    return b"".join(
        struct.pack("<HH", one, len(piece)) + piece for one, piece in zip(kinds, pieces, strict=True)
    )


def begin(kind: int) -> bytes:
    return record(0x0809, struct.pack("<HHHHLL", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))


def workbook(stored: Sequence[bytes], sheets: dict[str, bytes]) -> bytes:
    """A compound file of a workbook. sheets: by name, the records of each."""
    group = record(0xEB, container(0xF000, part(0xF006, bytes(16)), container(0xF001, *stored)))
    bodies = [begin(0x10) + body + record(0x0A) for body in sheets.values()]
    names = [name.encode("utf-16-le") for name in sheets]
    listing = sum(len(name) + 12 for name in names)
    at = len(begin(5)) + listing + len(group) + len(record(0x0A))
    listed = b""
    for name, body in zip(names, bodies, strict=True):
        listed += record(0x85, struct.pack("<LHBB", at, 0, len(name) // 2, 1) + name)
        at += len(body)
    return compound({"Workbook": begin(5) + listed + group + record(0x0A) + b"".join(bodies)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.xls"


def drawing(*numbers: int) -> bytes:
    return record(0xEC, container(0xF002, container(0xF003, *map(shape, numbers))))


def test_each_sheet_has_the_pictures_that_it_shows(path: Path) -> None:
    stored = [
        blip(0xF01E, letters(1), instance=0x6E0),
        blip(0xF01D, letters(2, "JPEG"), instance=0x46B),
        blip(0xF01E, letters(3), instance=0x6E1),
    ]
    path.write_bytes(workbook(stored, {"Früh": drawing(3), "Leer": b"", "Spät": drawing(1, 2)}))

    found = xls.read(path)

    assert [block.text for block in found if isinstance(block, HeadingBlock)] == ["Früh", "Spät"]
    assert [block.content for block in found if isinstance(block, FigureBlock)] == [
        letters(3),
        letters(1),
        letters(2, "JPEG"),
    ]


def test_a_picture_that_no_sheet_is_known_to_show_is_on_the_last_unless_nothing_uses_it(path: Path) -> None:
    stored = [
        blip(0xF01E, letters(1), instance=0x6E0, uses=0),
        blip(0xF01E, letters(2), instance=0x6E0),
    ]
    path.write_bytes(workbook(stored, {"A": b"", "B": drawing(99)}))

    assert xls.by_sheet(path) == {"": [letters(2)]}
    assert [block.content for block in xls.read(path) if isinstance(block, FigureBlock)] == [letters(2)]


@pytest.mark.parametrize(
    ("kind", "counts"), [("RGB", True), ("P", True), ("1", True), ("L", False), ("1", False)]
)
def test_a_bitmap_without_the_head_of_a_file_gets_one(path: Path, kind: str, *, counts: bool) -> None:
    file = io.BytesIO()
    Image.open(io.BytesIO(letters(1))).convert(kind).save(file, "BMP")
    bitmap = bytearray(file.getvalue()[14:])
    if not counts:  # how many colours there are: as many as there can be
        bitmap[32:36] = bytes(4)
    path.write_bytes(workbook([blip(0xF01F, bytes(bitmap), instance=0x7A8)], {"A": drawing(1)}))

    (figure,) = [block for block in xls.read(path) if isinstance(block, FigureBlock)]

    assert Image.open(io.BytesIO(figure.content)).convert("L").getcolors() == [(9000, 0), (231000, 255)]


def test_a_bitmap_with_masks_for_its_colours_is_understood(path: Path) -> None:
    head = struct.pack("<LllHHLLllLL", 40, 600, 400, 1, 32, 3, 0, 0, 0, 0, 0)
    masks = struct.pack("<LLL", 0xFF0000, 0xFF00, 0xFF)
    pixels = Image.open(io.BytesIO(letters(1))).convert("RGB").tobytes("raw", "BGRX", 0, -1)
    path.write_bytes(workbook([blip(0xF01F, head + masks + pixels, instance=0x7A8)], {"A": drawing(1)}))

    (figure,) = [block for block in xls.read(path) if isinstance(block, FigureBlock)]

    assert Image.open(io.BytesIO(figure.content)).convert("L").getcolors() == [(9000, 0), (231000, 255)]


@pytest.mark.parametrize(("kind", "name"), [(0xF01A, "EMF"), (0xF01B, "WMF"), (0xF01C, "something unknown")])
def test_a_drawing_that_cannot_be_read_is_named(path: Path, kind: int, name: str) -> None:
    stored = [blip(kind, zlib.compress(b"drawn"), instance=0x3D4)]
    path.write_bytes(workbook(stored, {"A": drawing(1)}))

    (unread,) = [block for block in xls.read(path) if isinstance(block, UnreadNote)]

    assert f"stored as {name} and was not read" in unread.problem


@pytest.mark.parametrize("old", [True, False])
def test_a_picture_of_old_workbooks_is_read(path: Path, *, old: bool) -> None:
    file = io.BytesIO()
    Image.open(io.BytesIO(letters(1))).save(file, "BMP")
    library: Any = xlwt
    book = library.Workbook()
    sheet = book.add_sheet("A")
    sheet.write(0, 0, "cell")
    if old:
        sheet.insert_bitmap_data(file.getvalue(), 2, 2)
    book.save(str(path))

    figures = [block for block in xls.read(path) if isinstance(block, FigureBlock)]

    assert len(figures) == old


def test_a_metafile_behind_the_cells_is_named(path: Path) -> None:
    path.write_bytes(workbook([], {"A": record(0xE9, struct.pack("<HHL", 2, 1, 4) + b"drwn")}))

    (unread,) = [block for block in xls.read(path) if isinstance(block, UnreadNote)]

    assert "stored as WMF" in unread.problem


def test_a_workbook_without_sheets_has_no_place_for_pictures(path: Path) -> None:
    path.write_bytes(workbook([blip(0xF01E, letters(1), instance=0x6E0)], {}))

    assert xls.read(path) == []


def test_damaged_drawings_are_said_to_be_unread(path: Path) -> None:
    path.write_bytes(workbook([part(0xF007, b"short", version=2)], {"A": b""}))

    assert UnreadNote(BROKEN) in xls.read(path)


def test_a_workbook_without_a_compound_file_around_it_has_none(path: Path) -> None:
    path.write_bytes(begin(5) + record(0x0A))

    assert xls.by_sheet(path) == {}


def test_a_compound_file_without_a_workbook_has_none(path: Path) -> None:
    path.write_bytes(compound({"Other": b"x" * 5000}))

    assert xls.by_sheet(path) == {"": []}


def test_a_sheet_of_an_old_workbook_has_a_plain_name(path: Path) -> None:
    image = b"\x0c\0\0\0" + struct.pack("<HHHH", 2, 1, 1, 24) + bytes(8)
    body = begin(0x10) + record(0x7F, struct.pack("<HHL", 9, 1, len(image)) + image) + record(0x0A)
    listed = record(0x85, struct.pack("<LHB", 0, 0, 1) + b"A")
    at = len(begin(5) + listed + record(0x0A))
    listed = record(0x85, struct.pack("<LHB", at, 0, 1) + b"A")
    path.write_bytes(compound({"Book": begin(5) + listed + record(0x0A) + body}))

    found = xls.by_sheet(path)

    assert [Image.open(io.BytesIO(one)).size for one in found["A"]] == [(2, 1)]
