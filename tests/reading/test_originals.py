"""Pages drawn once more, while their file is at hand."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from docmill.batch.folder import FolderReader
from docmill.model import Box, Document, Page, Words
from docmill.ports import Original, Ref
from docmill.reading import originals as module
from docmill.reading.options import ReadingOptions
from docmill.reading.originals import Originals
from docmill.reading.pool import Pool


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(1) as pool:
        yield pool


async def test_a_page_of_a_file_that_was_read_has_a_picture(pool: Pool, tmp_path: Path) -> None:
    Image.new("RGB", (40, 20), "white").save(tmp_path / "scan.png")
    originals = Originals(pool, ReadingOptions())

    original = await originals.noting(FolderReader(tmp_path)).read(Ref("scan.png", "scan.png"))
    document = Document(original.content_hash, "image/png", ())

    assert (await originals.picture(document, 1) or b"").startswith(b"\xff\xd8")
    assert await originals.picture(Document("0" * 64, "image/png", ()), 1) is None
    (tmp_path / "scan.png").write_bytes(b"gone")
    assert await originals.picture(document, 1) is None


async def test_a_part_of_a_page_is_read_again(pool: Pool, tmp_path: Path) -> None:
    sheet = Image.new("RGB", (600, 300), "white")
    ImageDraw.Draw(sheet).text((40, 40), "TOTAL 12.50", "black", font=ImageFont.load_default(48))
    ImageDraw.Draw(sheet).text((40, 200), "THANK YOU", "black", font=ImageFont.load_default(48))
    sheet.save(tmp_path / "scan.png")
    originals = Originals(pool, ReadingOptions())
    original = await originals.noting(FolderReader(tmp_path)).read(Ref("scan.png", "scan.png"))
    page = Page(1, 600, 300, Words.none(), "ocr", 1.0)
    document = Document(original.content_hash, "image/png", [page])

    words = await originals.reread(document, 1, Box(0, 0.1, 1, 0.4))

    assert words is not None
    assert "".join(words.texts) == "TOTAL12.50"
    assert await originals.reread(document, 2, Box(0, 0, 1, 1)) is None
    assert await originals.reread(replace(document, media_type="text/html"), 1, Box(0, 0, 1, 1)) is None
    (tmp_path / "scan.png").unlink()
    assert await originals.reread(document, 1, Box(0, 0, 1, 1)) is None


def test_no_more_files_are_noted_than_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    originals = Originals(Pool(1), ReadingOptions())

    for number in range(4):
        originals.note(Original(Path(str(number)), "x", str(number)))

    assert list(originals.paths) == ["2", "3"]
