import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.model.document import Words
from docmill.reading.layout.reading_order import arrange_words, group_rows

Box = tuple[float, float, float, float]


def boxes(*given: Box) -> NDArray[np.float32]:
    return np.array(given, np.float32)


def words(*given: tuple[str, Box]) -> Words:
    pieces = boxes(*(box for _, box in given)).reshape(-1, 4)
    count = len(given)
    return arrange_words(
        pieces,
        np.arange(count, dtype=np.int32),
        [text for text, _ in given],
        pieces / np.float32(100),
        confidences=np.ones(count, np.float32),
    )


def test_a_label_and_its_value_are_one_row() -> None:
    assert group_rows(boxes((60, 11, 90, 21), (0, 10, 20, 20))) == [[1, 0]]


def test_a_slightly_lower_line_is_a_row_of_its_own() -> None:
    assert group_rows(boxes((0, 0, 20, 10), (50, 8, 70, 18))) == [[0], [1]]


def test_pieces_that_cover_each_other_are_not_side_by_side() -> None:
    assert group_rows(boxes((0, 0, 50, 10), (10, 2, 40, 12))) == [[0], [1]]


def test_small_print_beside_large_belongs_to_the_row_at_its_height() -> None:
    assert group_rows(boxes((0, 0, 30, 20), (40, 7, 60, 13), (40, 20, 60, 26))) == [[0, 1], [2]]


def test_words_come_line_by_line_whatever_the_order_given() -> None:
    found = words(("below", (0, 20, 10, 30)), ("right", (50, 0, 60, 10)), ("left", (0, 0, 10, 10)))

    assert found.texts == ["left", "right", "below"]
    assert found.lines.tolist() == [0, 0, 1]


def test_a_wide_gap_starts_a_block() -> None:
    found = words(("a", (0, 0, 9, 10)), ("b", (0, 12, 9, 22)), ("c", (0, 60, 9, 70)))

    assert found.blocks.tolist() == [0, 0, 1]


def test_boxes_stay_on_the_page() -> None:
    found = words(("edge", (-20, -5, 150, 10)))

    assert found.boxes[0].tolist() == pytest.approx([0, 0, 1, 0.1])


def test_nothing_gives_no_words() -> None:
    assert len(words()) == 0
