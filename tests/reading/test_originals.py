"""Pages drawn once more, while their file is at hand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from docmill.batch.folder import FolderReader
from docmill.model import Document
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


def test_no_more_files_are_noted_than_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    originals = Originals(Pool(1), ReadingOptions())

    for number in range(4):
        originals.note(Original(Path(str(number)), "x", str(number)))

    assert list(originals.paths) == ["2", "3"]
