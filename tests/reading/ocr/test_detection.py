import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.reading.ocr.text_lines import (
    detection_size,
    enlarged_size,
    find_spots,
    legible_dimension,
    letter_height,
    line_corners,
)


def test_a_line_is_found_around_its_heart() -> None:
    probabilities = np.zeros((100, 200), np.float32)
    probabilities[40:50, 20:120] = 0.9

    (corners,) = line_corners(probabilities, height=200, width=400)

    left, top, right, bottom = corners[0, 0], corners[0, 1], corners[2, 0], corners[2, 1]
    spread = 2 * 1.6 * (100 * 10) / (2 * (100 + 10))  # in the picture, twice as large as the map
    assert [left, top, right, bottom] == pytest.approx(
        [40 - spread, 80 - spread, 240 + spread, 100 + spread], abs=4
    )


def test_corners_go_clockwise_from_the_top_left() -> None:
    probabilities = np.zeros((100, 100), np.float32)
    for column in range(10, 80):
        probabilities[column // 3 + 10 : column // 3 + 18, column] = 0.9  # a line that falls

    (corners,) = line_corners(probabilities, height=100, width=100)

    assert corners[0, 0] < corners[1, 0]
    assert corners[3, 0] < corners[2, 0]
    assert corners[0, 1] < corners[3, 1]
    assert corners[1, 1] < corners[2, 1]


def test_what_is_faint_small_or_beyond_the_picture_is_no_line() -> None:
    probabilities = np.zeros((100, 100), np.float32)
    probabilities[10:20, 10:90] = 0.4  # ink, and not to be believed
    probabilities[50:52, 50:52] = 0.9

    assert line_corners(probabilities, height=100, width=100).shape == (0, 4, 2)


def test_lines_end_at_the_pictures_edge() -> None:
    probabilities = np.full((50, 50), 0.9, np.float32)

    (corners,) = line_corners(probabilities, height=50, width=50)

    assert corners.min() == 0
    assert corners.max() == 49


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


def lines_of(height: float, *, count: int = 5) -> NDArray[np.float32]:
    """Lines of that height one below the other, each twelve times as wide as high."""
    wide = 12 * height
    line = np.array([(0, 0), (wide, 0), (wide, height), (0, height)], np.float32)
    return np.array([line + np.array([10, 2 * height * row]) for row in range(count)], np.float32)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(lines_of(14), (1280, 960), id="small print: letters become 15 pixels high"),
        pytest.param(lines_of(24), (640, 480), id="print that is nearly high enough"),
        pytest.param(lines_of(60), (640, 480), id="large print"),
        pytest.param(lines_of(14, count=2), (640, 480), id="two lines prove nothing"),
        pytest.param(lines_of(14)[:0], (640, 480), id="no lines"),
    ],
)
def test_a_picture_whose_lines_are_small_is_searched_again_enlarged(
    lines: NDArray[np.float32], expected: tuple[int, int]
) -> None:
    assert enlarged_size(640, 480, lines, 640) == expected


def test_a_picture_is_not_enlarged_beyond_what_the_detector_takes() -> None:
    assert enlarged_size(1000, 1000, lines_of(14), 992) == (1344, 1344)


def page_of_letters(letter_px: int, size: tuple[int, int]) -> NDArray[np.uint8]:
    pixels = np.full((*size, 3), 255, np.uint8)
    for y in range(20, size[0] - 40, 40):
        for x in range(20, size[1] - 40, 30):
            pixels[y : y + letter_px, x : x + letter_px // 2] = 0
    return pixels


def test_a_page_whose_letters_became_too_small_is_drawn_larger() -> None:
    assert legible_dimension(page_of_letters(8, (2048, 600)), 2048) == 5120
    assert legible_dimension(page_of_letters(8, (2048, 1448)), 2048) == round(
        2048 * (8e6 / 2048 / 1448) ** 0.5
    )


@pytest.mark.parametrize(
    ("letter_px", "size"),
    [
        pytest.param(16, (2048, 600), id="letters that are high enough"),
        pytest.param(8, (1000, 600), id="a picture that was not reduced"),
    ],
)
def test_other_pages_are_drawn_as_they_are(letter_px: int, size: tuple[int, int]) -> None:
    assert legible_dimension(page_of_letters(letter_px, size), 2048) == 2048
