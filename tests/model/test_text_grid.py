import numpy as np
from numpy.typing import NDArray

from docmill.model.document import MAX_COLUMNS, set_lines


def _boxes(*spans: tuple[float, float]) -> NDArray[np.float32]:
    return np.array([(x0, 0, x1, 1) for x0, x1 in spans], np.float32).reshape(-1, 4)


def test_a_column_starts_at_the_same_offset_on_every_line() -> None:
    lines = set_lines(
        ["Net", "90.00", "Value", "added", "tax", "17.10"],
        _boxes((0, 15), (100, 125), (0, 25), (30, 55), (60, 75), (100, 125)),
        np.array([0, 0, 1, 1, 1, 1], np.int32),
    )

    assert lines == ["Net                 90.00", "Value added tax     17.10"]


def test_columns_stay_apart_when_the_left_one_is_longer_than_its_width_suggests() -> None:
    (line,) = set_lines(
        ["narrow" * 4, "x", "yyy"], _boxes((0, 24), (60, 65), (100, 115)), np.zeros(3, np.int32)
    )

    assert line == "narrow" * 4 + "  x  yyy"


def test_words_of_one_phrase_are_one_space_apart() -> None:
    (line,) = set_lines(["Net", "total"], _boxes((0, 15), (20, 45)), np.zeros(2, np.int32))

    assert line == "Net total"


def test_a_stray_coordinate_does_not_make_an_endless_line() -> None:
    (line,) = set_lines(["a", "b"], _boxes((0, 1), (1e9, 1e9 + 1)), np.zeros(2, np.int32))

    assert len(line) == MAX_COLUMNS + 1


def test_boxes_without_width_still_give_text() -> None:
    assert set_lines(["a", "b"], _boxes((0, 0), (0, 0)), np.zeros(2, np.int32)) == ["a b"]


def test_no_words_are_no_lines() -> None:
    assert set_lines([], _boxes(), np.zeros(0, np.int32)) == []
