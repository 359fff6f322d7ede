"""Pages of an original that are drawn or recognised once more."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from docmill.model.document import Box, Document, Page, Words
from docmill.ports import Original
from docmill.reading.files.options import ReadingOptions
from docmill.reading.page_source import PageSource
from docmill.workers.pool import Pool

HASH = "0" * 64


@pytest.fixture
async def pages() -> AsyncIterator[PageSource]:
    async with Pool(1) as pool:
        yield PageSource(pool, ReadingOptions())


async def test_a_page_of_an_original_has_a_picture_while_the_file_is_there(
    pages: PageSource, tmp_path: Path
) -> None:
    original = Original(tmp_path / "scan.png", "scan.png", HASH)
    Image.new("RGB", (40, 20), "white").save(original.path)
    document = Document(HASH, "image/png", ())

    assert (await pages.picture(original, document, 1) or b"").startswith(b"\xff\xd8")
    original.path.write_bytes(b"gone")
    assert await pages.picture(original, document, 1) is None


async def test_a_part_of_a_page_is_read_again(pages: PageSource, tmp_path: Path) -> None:
    original = Original(tmp_path / "scan.png", "scan.png", HASH)
    sheet = Image.new("RGB", (600, 300), "white")
    ImageDraw.Draw(sheet).text((40, 40), "TOTAL 12.50", "black", font=ImageFont.load_default(48))
    ImageDraw.Draw(sheet).text((40, 200), "THANK YOU", "black", font=ImageFont.load_default(48))
    sheet.save(original.path)
    document = Document(HASH, "image/png", [Page(1, 600, 300, Words.none(), "ocr", 1.0)])
    html = replace(document, media_type="text/html")

    words = await pages.reread(original, document, 1, region=Box(0, 0.1, 1, 0.4))

    assert words is not None
    assert "".join(words.texts) == "TOTAL12.50"
    assert await pages.reread(original, document, 2, region=Box(0, 0, 1, 1)) is None
    assert await pages.reread(original, html, 1, region=Box(0, 0, 1, 1)) is None
    original.path.unlink()
    assert await pages.reread(original, document, 1, region=Box(0, 0, 1, 1)) is None
