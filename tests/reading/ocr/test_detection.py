import numpy as np
import pytest

from docmill.reading.ocr.detection import line_corners


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
