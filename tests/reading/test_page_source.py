from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.errors import ValidationError
from docmill.model.document import Box, Document, Page, Words
from docmill.ports import Original
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr import rapid
from docmill.reading.ocr.page import RecognisedLines
from docmill.reading.page_source import PageSource, read_region, words_in
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


async def test_a_part_of_a_page_is_read_again(
    pages: PageSource, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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
    assert "a page could not be read again" not in caplog.text
    original.path.unlink()
    assert await pages.reread(original, document, 1, region=Box(0, 0, 1, 1)) is None
    assert "a page could not be read again" in caplog.text


OPTIONS = ReadingOptions()
PAGE = Picture(np.full((1000, 500, 3), 255, np.uint8), 500, 1000, 0)


class WholeEngine:
    """Reads one word that fills the picture it is shown."""

    def __init__(self) -> None:
        self.seen: tuple[int, int] = (0, 0)
        self.letter_px: float | None = None

    def recognise(self, pixels: NDArray[np.uint8], *, letter_px: float | None) -> RecognisedLines:
        self.letter_px = letter_px
        height, width = pixels.shape[:2]
        self.seen = (width, height)
        corners = np.array([[(0, 0), (width, 0), (width, height), (0, height)]], np.float32)
        return RecognisedLines(["word"], corners, np.ones(1, np.float32))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> WholeEngine:
    engine = WholeEngine()

    monkeypatch.setattr(rapid, "rapid_engine", lambda: engine)
    return engine


def test_a_region_is_read_at_another_scale_with_a_margin(engine: WholeEngine) -> None:
    words = words_in(PAGE, Box(0.2, 0.4, 0.6, 0.5), 2)

    assert engine.seen == pytest.approx((2 * 210, 2 * 120), abs=4)
    assert words.texts == ["word"]
    assert words.box(0, 1) == pytest.approx((0.19, 0.39, 0.61, 0.51), abs=0.005)


def test_a_line_alone_is_told_how_high_the_letters_of_its_page_are(engine: WholeEngine) -> None:
    pixels = PAGE.pixels.copy()
    for top in range(100, 900, 40):
        for left in range(50, 450, 20):
            pixels[top : top + 20, left : left + 4] = 0

    words_in(PAGE._replace(pixels=pixels), Box(0.1, 0.1, 0.9, 0.12), 0.5)

    assert engine.letter_px == 10


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("region", "scale"),
    [(Box(0.2, 0.4, 0.6, 0.5), 9), (Box(0.2, 0.4, 0.6, 0.5), 0.1), (Box(2, 2, 3, 3), 1)],
)
def test_what_makes_no_picture_is_refused(region: Box, scale: float) -> None:
    with pytest.raises(ValidationError):
        words_in(PAGE, region, scale)


class TurningEngine:
    """Reads one word at the top left of the picture once it has turned it clockwise."""

    def __init__(self, turn: int) -> None:
        self._turn = turn

    def recognise(self, pixels: NDArray[np.uint8], *, letter_px: float | None) -> RecognisedLines:
        del letter_px
        height, width = np.rot90(pixels, -self._turn // 90).shape[:2]
        right, bottom = width * 0.5, height * 0.25
        corners = np.array([[(0, 0), (right, 0), (right, bottom), (0, bottom)]], np.float32)
        return RecognisedLines(["word"], corners, np.ones(1, np.float32), turn=self._turn)


@pytest.mark.parametrize(
    ("turn", "box"),
    [
        (90, (0, 0.5, 0.25, 1)),
        (180, (0.5, 0.75, 1, 1)),
        (270, (0.75, 0, 1, 0.5)),
    ],
)
def test_words_of_a_region_that_had_to_be_turned_lie_where_the_page_shows_them(
    turn: int, box: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rapid, "rapid_engine", lambda: TurningEngine(turn))

    assert words_in(PAGE, Box(0, 0, 1, 1), 1).box(0, 1) == pytest.approx(box, abs=0.005)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_region_of_a_page_that_is_displayed_turned_is_cut_out_as_displayed(
    rotation: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = np.zeros((100, 200, 3), np.uint8)
    shown[:50, :50] = 255
    path = tmp_path / "a.png"
    Image.fromarray(np.rot90(shown, rotation // 90)).save(path)
    seen: list[float] = []

    class Looking(WholeEngine):
        def recognise(self, pixels: NDArray[np.uint8], *, letter_px: float | None) -> RecognisedLines:
            seen.append(float(pixels.mean()))
            return super().recognise(pixels, letter_px=letter_px)

    monkeypatch.setattr(rapid, "rapid_engine", Looking)

    words = read_region(path, 1, Box(0, 0, 0.24, 0.49), 1, rotation, OPTIONS)

    assert seen == [255]
    assert words.box(0, 1) == pytest.approx((0, 0, 0.25, 0.5), abs=0.01)
