import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.reading.ocr.line_geometry import SAMPLE, is_sideways, longest_lines, turn_corners, turn_picture


def boxes(*sizes: tuple[float, float]) -> NDArray[np.float32]:
    return np.array([[(0, 0), (w, 0), (w, h), (0, h)] for w, h in sizes], np.float32).reshape(-1, 4, 2)


def test_a_page_stands_when_most_of_its_text_runs_up_or_down() -> None:
    assert is_sideways(boxes((10, 100), (12, 80), (60, 10)))
    assert not is_sideways(boxes((100, 10), (10, 40)))
    assert not is_sideways(boxes((10, 12)))
    assert not is_sideways(boxes())


def test_the_longest_lines_are_asked() -> None:
    asked = longest_lines(boxes(*[(10 + width, 10) for width in range(20)]))

    assert asked == list(range(19, 19 - SAMPLE, -1))


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_corners_are_where_the_turned_picture_has_them(turn: int) -> None:
    pixels = np.zeros((60, 100, 3), np.uint8)
    pixels[10:20, 30:70] = 255
    corners = np.array([[(30, 10), (70, 10), (70, 20), (30, 20)]], np.float32)

    seen = turn_picture(pixels, turn)
    moved = turn_corners(corners, turn, width_px=100, height_px=60)

    (x0, y0), (x1, y1) = moved[0, 0].astype(int), moved[0, 2].astype(int)
    assert seen[y0:y1, x0:x1].min() == 255
    assert (seen > 0).sum() == (y1 - y0) * (x1 - x0) * 3
