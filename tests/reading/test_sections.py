"""A file that holds several documents, taken apart by real children."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import ExifTags, Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from docmill.model.document import Part
from docmill.ports import Original
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter, PooledUnpacker
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file
from docmill.reading.pdf import pdf_file
from docmill.workers.pool import Pool

MakePdf = Callable[..., Path]
SPLIT = ReadingOptions(split=True, separator="PART HERE")


def page(*lines: str) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        for row, line in enumerate(lines):
            canvas.drawString(72, 780 - 20 * row, line)

    return draw


@pytest.fixture
def scan(make_pdf: MakePdf) -> Path:
    return make_pdf(
        page("Dear Sirs", "page 1 of 2"),
        page("Yours", "page 2 of 2"),
        page("PART HERE"),
        page("A bill for boards"),
    )


async def test_each_section_becomes_a_pdf_of_its_own(scan: Path, tmp_path: Path) -> None:
    original = Original(scan, "scan.pdf", "0" * 64)
    async with Pool(1) as pool:
        document = await LocalConverter(pool, SPLIT).convert(original)
        folder = tmp_path / "parts"
        folder.mkdir()
        files = await PooledUnpacker(pool, SPLIT).unpack(original, document, folder)

    assert document.is_collection
    assert [file.part for file in files] == list(document.parts)
    assert document.parts == (
        Part("scan, pages 1-2.pdf", "section", 1, 2),
        Part("scan, page 4.pdf", "section", 4, 4),
    )
    texts: list[list[str]] = []
    for file in files:
        assert file.path is not None
        read = tasks.open_original(file.path, ReadingOptions())
        texts.append([one.text for one in read.pages if one is not None])
    assert texts == [["Dear Sirs\npage 1 of 2", "Yours\npage 2 of 2"], ["A bill for boards"]]


def test_the_same_pages_are_the_same_bytes(scan: Path) -> None:
    assert pdf_file.excerpt(scan, (), 1, 2) == pdf_file.excerpt(scan, (), 1, 2)


def test_a_section_that_does_not_fit_says_so(scan: Path) -> None:
    sections = [Part("pages 1-2.pdf", "section", 1, 2)]

    taken = tasks.take_sections(scan, sections, 10, ReadingOptions())

    assert taken.contents == [None]
    assert taken.parts[0].first_page == 1
    assert taken.parts[0].problem


def text_frame(*lines: str) -> Image.Image:
    frame = Image.new("L", (1240, 1754), 255)
    canvas, font = ImageDraw.Draw(frame), ImageFont.load_default(44)
    for row, line in enumerate(lines):
        canvas.text((120, 150 + 90 * row), line, fill=0, font=font)
    return frame


async def test_a_scan_stored_as_a_picture_with_pages_is_taken_apart_too(tmp_path: Path) -> None:
    first, *rest = (
        text_frame("A letter, and no more"),
        text_frame("PART HERE"),
        text_frame("A bill for boards"),
    )
    path = tmp_path / "scan.tif"
    first.save(path, save_all=True, append_images=rest, dpi=(150, 150), compression="tiff_lzw")
    original = Original(path, "scan.tif", "0" * 64)
    async with Pool(1) as pool:
        document = await LocalConverter(pool, SPLIT).convert(original)
        files = await PooledUnpacker(pool, SPLIT).unpack(original, document, tmp_path)

    assert document.parts == (
        Part("scan, page 1.tiff", "section", 1, 1),
        Part("scan, page 3.tiff", "section", 3, 3),
    )
    assert files[1].path is not None
    with Image.open(files[1].path) as taken:
        assert list(taken.get_flattened_data()) == list(rest[1].get_flattened_data())
        assert taken.info["dpi"] == (150, 150)


@pytest.mark.parametrize(
    ("mode", "stored", "kept"),
    [("1", "group3", "group4"), ("L", "tiff_lzw", "tiff_adobe_deflate"), ("RGB", "jpeg", "jpeg")],
)
def test_pages_of_a_picture_are_packed_much_as_they_were(
    tmp_path: Path, mode: str, stored: str, kept: str
) -> None:
    path = tmp_path / "a.tif"
    frames = [Image.new(mode, (100, 60 + number), 1) for number in range(3)]
    frames[0].save(path, save_all=True, append_images=frames[1:], compression=stored)

    content = image_file.excerpt(path, ReadingOptions(), 2, 3)

    with Image.open(io.BytesIO(content)) as taken:
        assert (getattr(taken, "n_frames", 1), taken.size) == (2, (100, 61))
        assert (taken.mode, taken.info["compression"]) == (mode, kept)
    assert content == image_file.excerpt(path, ReadingOptions(), 2, 3)


def test_a_page_stored_turned_stands_upright_when_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    Image.new("L", (100, 60)).save(path, tiffinfo={ExifTags.Base.Orientation: 6})

    with Image.open(io.BytesIO(image_file.excerpt(path, ReadingOptions(), 1, 1))) as taken:
        assert taken.size == (60, 100)
