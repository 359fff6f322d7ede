"""Lines of a page's picture, read in several preparations."""

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.model.document import Document, Page, Words
from docmill.ports import Original
from docmill.reading.digit_looks import lines_in
from docmill.reading.files.options import ReadingOptions
from docmill.reading.page_source import PageSource
from docmill.workers.pool import Pool

DATE, TOTAL = (0.05, 0.10, 0.60, 0.30), (0.05, 0.60, 0.50, 0.80)


def _corners(*boxes: tuple[float, float, float, float]) -> NDArray[np.float32]:
    return np.array([[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in boxes], np.float32)


@pytest.fixture
def sheet() -> Image.Image:
    sheet = Image.new("RGB", (600, 300), "white")
    draw = ImageDraw.Draw(sheet)
    draw.text((40, 35), "07-27-2009", "black", font=ImageFont.load_default(48))
    draw.text((40, 185), "1,342.50", "black", font=ImageFont.load_default(48))
    return sheet


def test_clear_print_is_read_alike_in_every_preparation(sheet: Image.Image) -> None:
    dates, totals = lines_in(np.asarray(sheet), _corners(DATE, TOTAL))

    assert set(dates) == {"07-27-2009"}
    assert set(totals) == {"1,342.50"}


def test_print_of_a_few_pixels_is_not_read_alike(sheet: Image.Image) -> None:
    blurred = sheet.resize((66, 33)).resize((600, 300))

    (looks,) = lines_in(np.asarray(blurred), _corners(DATE))

    assert len(set(looks)) > 1


async def test_places_of_a_picture_are_looked_at_while_the_file_is_there(
    sheet: Image.Image, tmp_path_factory: pytest.TempPathFactory
) -> None:
    original = Original(tmp_path_factory.mktemp("photo") / "photo.png", "photo.png", "0" * 64)
    sheet.save(original.path)
    document = Document("0" * 64, "image/png", [Page(1, 600, 300, Words.none(), "ocr", 0.9)])
    async with Pool(1) as pool:
        pages = PageSource(pool, ReadingOptions())

        looks = await pages.look_at_digits(original, document, 1, corners=_corners(DATE))
        original.path.unlink()
        gone = await pages.look_at_digits(original, document, 1, corners=_corners(DATE))

    assert looks is not None
    assert set(looks[0]) == {"07-27-2009"}
    assert gone is None
