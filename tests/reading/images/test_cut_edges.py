import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.model.document import Edge
from docmill.reading.images.cut_edges import find_cut_edges

Pixels = NDArray[np.uint8]
WIDTH, HEIGHT = 400, 300
ROW, LETTER = 40, 18


def printed() -> tuple[Pixels, NDArray[np.float32]]:
    """A white page with rows of words, and their boxes in pixels."""
    pixels = np.full((HEIGHT, WIDTH, 3), 235, np.uint8)
    boxes: list[tuple[int, int, int, int]] = []
    for y in range(30, HEIGHT - 30, ROW):
        for x in range(30, WIDTH - 100, 110):
            for letter in range(6):
                left = x + 15 * letter
                cv2.rectangle(pixels, (left, y), (left + 9, y + LETTER), (40, 40, 40), 3)
            boxes.append((x - 4, y - 4, x + 90, y + LETTER + 4))
    return pixels, np.array(boxes, np.float32)


def cut(left: int = 0, top: int = 0, right: int = WIDTH, bottom: int = HEIGHT) -> tuple[Edge, ...]:
    """The edges found on that part of the page, with the words that stand on it."""
    pixels, boxes = printed()
    part = pixels[top:bottom, left:right]
    moved = np.clip(boxes - [left, top, left, top], 0, [right - left, bottom - top] * 2)
    shown = moved[(moved[:, 2] - moved[:, 0] > 8) & (moved[:, 3] - moved[:, 1] > 8)]
    return find_cut_edges(part, (shown / ([right - left, bottom - top] * 2)).astype(np.float32))


def test_a_page_with_margins_is_whole() -> None:
    assert cut() == ()


@pytest.mark.parametrize(
    ("edge", "side"),
    [("left", {"left": 52}), ("top", {"top": 40}), ("right", {"right": 310}), ("bottom", {"bottom": 200})],
)
def test_an_edge_that_cuts_through_print_is_found(edge: Edge, side: dict[str, int]) -> None:
    assert cut(**side) == (edge,)


def test_an_edge_between_two_lines_cuts_nothing() -> None:
    assert cut(top=60, bottom=224) == ()


def test_a_dark_ground_beside_the_words_is_no_print() -> None:
    pixels, boxes = printed()
    pixels[:, :26] = 30

    found = find_cut_edges(
        pixels[:, 20:], ((boxes - [20, 0, 20, 0]) / ([WIDTH - 20, HEIGHT] * 2)).astype(np.float32)
    )

    assert found == ()


def test_one_word_at_the_side_is_no_cut_page() -> None:
    pixels, boxes = printed()
    part = pixels[:, 52:]
    moved = (boxes[:1] - [52, 0, 52, 0]).clip(0) / ([WIDTH - 52, HEIGHT] * 2)

    assert find_cut_edges(part, moved.astype(np.float32)) == ()


def test_a_page_without_words_is_not_cut() -> None:
    assert find_cut_edges(printed()[0], np.zeros((0, 4), np.float32)) == ()
