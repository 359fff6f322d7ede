from dataclasses import replace

import numpy as np
import pytest

from docmill.reading.ocr.page import RecognisedLines, page_words
from docmill.reading.text.quality import page_quality

Corners = list[tuple[float, float]]


def upright(x0: float, y0: float, x1: float, y1: float) -> Corners:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def recognised(*lines: tuple[str, Corners, float]) -> RecognisedLines:
    return RecognisedLines(
        [text for text, _, _ in lines],
        np.array([corners for _, corners, _ in lines], np.float32).reshape(-1, 4, 2),
        np.array([score for _, _, score in lines], np.float32),
    )


def test_a_line_is_split_into_words_in_proportion() -> None:
    words = page_words(recognised(("ab  cdef", upright(100, 10, 180, 30), 0.9)), width_px=200, height_px=100)

    assert words.texts == ["ab", "cdef"]
    assert words.boxes[0].tolist() == pytest.approx([0.5, 0.1, 0.6, 0.3])
    assert words.boxes[1].tolist() == pytest.approx([0.7, 0.1, 0.9, 0.3])
    assert words.confidences.tolist() == pytest.approx([0.9, 0.9])


def test_a_label_and_its_value_are_one_line_on_a_skewed_page() -> None:
    def slanted(x0: float, x1: float, y: float) -> Corners:
        def point(x: float, y: float) -> tuple[float, float]:
            return (x - 0.1 * y, y + 0.1 * x)

        return [point(x0, y), point(x1, y), point(x1, y + 20), point(x0, y + 20)]

    words = page_words(
        recognised(
            ("Invoice number", slanted(0, 200, 0), 1),
            ("Amount payable", slanted(0, 200, 30), 1),
            ("12345678", slanted(500, 600, 0), 1),
            ("99.00 EUR", slanted(500, 600, 30), 1),
        ),
        width_px=1000,
        height_px=1000,
    )

    assert words.texts == ["Invoice", "number", "12345678", "Amount", "payable", "99.00", "EUR"]
    assert words.lines.tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_lines_far_off_the_horizontal_do_not_skew_the_page() -> None:
    words = page_words(
        recognised(("sideways text", [(50, 0), (50, 200), (30, 200), (30, 0)], 1)),
        width_px=100,
        height_px=200,
    )

    assert words.texts == ["sideways", "text"]


def test_nothing_recognised_is_no_words_of_no_quality() -> None:
    words = page_words(recognised(), width_px=100, height_px=100)

    assert len(words) == 0
    assert page_quality(words) == 0


def test_quality_rises_with_confidence_and_counts_characters() -> None:
    def page(long: float, short: float) -> float:
        lines = (("abc", upright(0, 0, 30, 10), long), ("d", upright(0, 50, 10, 60), short))
        return page_quality(page_words(recognised(*lines), width_px=100, height_px=100))

    assert page(0.5, 0.5) < page(0.5, 0.99) < page(0.99, 0.5) < page(0.99, 0.99) < 1
    assert page(0.99, 0.99) > 0.85
    assert page(0.6, 0.6) < 0.3


def test_words_stand_where_the_engine_says() -> None:
    read = recognised(("ab cd", upright(0, 0, 100, 10), 1.0))
    places = np.array([(0, 0.1), (0.1, 0.2), (0.2, 0.8), (0.8, 0.9), (0.9, 1)], np.float32)

    words = page_words(replace(read, places=[places]), width_px=100, height_px=10)

    assert words.boxes[:, [0, 2]].ravel().tolist() == pytest.approx([0, 0.2, 0.8, 1])
