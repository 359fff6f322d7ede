"""A PDF that holds several documents, taken apart by real children."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from docmill.model import Part
from docmill.ports import Original
from docmill.reading import pdf, tasks
from docmill.reading.converter import LocalConverter
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool
from docmill.reading.unpacker import PooledUnpacker

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
        Part("pages 1-2.pdf", "section", 1, 2),
        Part("pages 4-4.pdf", "section", 4, 4),
    )
    texts: list[list[str]] = []
    for file in files:
        assert file.path is not None
        read = tasks.open_original(file.path, ReadingOptions())
        texts.append([one.text for one in read.pages if one is not None])
    assert texts == [["Dear Sirs\npage 1 of 2", "Yours\npage 2 of 2"], ["A bill for boards"]]


def test_the_same_pages_are_the_same_bytes(scan: Path) -> None:
    assert pdf.excerpt(scan, 1, 2, ()) == pdf.excerpt(scan, 1, 2, ())


def test_a_section_that_does_not_fit_says_so(scan: Path) -> None:
    sections = [Part("pages 1-2.pdf", "section", 1, 2)]

    taken = tasks.take_sections(scan, sections, 10, ReadingOptions())

    assert taken.contents == [None]
    assert taken.parts[0].first_page == 1
    assert taken.parts[0].problem
