import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.reading.ocr.detection import detection_size, find_spots, letter_height


def page(size: int) -> NDArray[np.uint8]:
    image = Image.new("RGB", (900, 600), "white")
    for row in range(5):
        text = "Invoice number payable"
        ImageDraw.Draw(image).text((20, 20 + 100 * row), text, "black", ImageFont.load_default(size))
    return np.asarray(image)


@pytest.mark.parametrize("size", [20, 40])
def test_the_height_of_letters_is_seen(size: int) -> None:
    assert letter_height(find_spots(page(size))) == pytest.approx(0.53 * size, abs=2)


def test_an_empty_page_tells_no_height_of_letters() -> None:
    assert letter_height(find_spots(np.full((300, 300, 3), 255, np.uint8))) is None


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (800, 600, (992, 736)),
        (1900, 900, (1888, 896)),
        (1500, 1200, (1504, 1216)),
        (2000, 1414, (1600, 1120)),
        (4000, 2828, (1600, 1120)),
    ],
)
def test_without_letters_in_sight_lines_are_searched_among_so_many_pixels(
    height: int, width: int, expected: tuple[int, int]
) -> None:
    assert detection_size(height, width) == expected


@pytest.mark.parametrize(
    ("letter", "expected"),
    [
        pytest.param(30, (1024, 704), id="large ones are searched in a smaller picture"),
        pytest.param(200, (928, 640), id="which is not all too small"),
        pytest.param(15, (1600, 1120), id="others in the picture as it is, if it is not too large"),
        pytest.param(6, (1600, 1120), id="and small ones in no larger one"),
    ],
)
def test_the_height_of_letters_decides_in_how_large_a_picture_lines_are_searched(
    letter: float, expected: tuple[int, int]
) -> None:
    assert detection_size(2048, 1414, letter) == expected


def test_a_small_picture_of_small_letters_is_enlarged() -> None:
    assert detection_size(640, 480, 5) == (1280, 960)
