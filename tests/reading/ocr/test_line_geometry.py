import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.reading.ocr.text_lines import (
    SAMPLE,
    crop_line,
    is_sideways,
    lines_outside,
    longest_lines,
    scale_line,
    start_at_text,
    turn_corners,
    turn_picture,
    with_margin,
)

LINE = np.array([(20, 10), (60, 10), (60, 20), (20, 20)], np.float32)


def test_a_line_is_cut_out_with_what_is_around_it() -> None:
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[10:20, 20:60] = 255

    assert crop_line(pixels, LINE).shape == (10, 40, 3)
    assert crop_line(pixels, LINE).min() == 255
    assert crop_line(pixels, with_margin(LINE, 0.2)).shape == (14, 40, 3)


def test_a_standing_line_is_laid_down_and_its_corners_begin_where_its_text_does() -> None:
    corners = np.array([(10, 10), (20, 10), (20, 60), (10, 60)], np.float32)

    assert crop_line(np.zeros((80, 40, 3), np.uint8), corners).shape == (10, 50, 3)
    assert start_at_text(np.stack([corners, LINE]))[:, 0].tolist() == [[20, 10], [20, 10]]
    assert crop_line(np.zeros((80, 40, 3), np.uint8), with_margin(corners, 0.2)).shape == (14, 50, 3)


def test_a_taller_line_keeps_its_slant() -> None:
    slanted = LINE @ np.array([[0.8, 0.6], [-0.6, 0.8]], np.float32)

    assert with_margin(slanted, 0.1) @ np.array([[0.8, -0.6], [0.6, 0.8]]) == pytest.approx(
        np.array([(20, 9), (60, 9), (60, 21), (20, 21)]), abs=1e-3
    )


def test_a_line_is_scaled_to_a_height_and_maybe_a_width() -> None:
    line = np.zeros((24, 100, 3), np.uint8)

    assert scale_line(line, height=48).shape == (48, 200, 3)
    assert scale_line(line, height=48, width=170).shape == (48, 170, 3)


def test_lines_within_others_are_left_out() -> None:
    def box(left: int, top: int) -> NDArray[np.float32]:
        return np.array([[left, top], [left + 40, top], [left + 40, top + 10], [left, top + 10]], np.float32)

    kept = lines_outside(np.stack([box(10, 10), box(10, 60)]), np.stack([box(12, 12)]), (100, 100))

    assert kept.tolist() == [box(10, 60).tolist()]
    assert len(lines_outside(np.zeros((0, 4, 2), np.float32), np.stack([box(12, 12)]), (100, 100))) == 0


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
