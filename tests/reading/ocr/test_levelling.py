from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.reading.layout.reading_order import group_rows
from docmill.reading.ocr.levelling import level_lines

ROWS = 12
Bend = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""How much lower a point of the paper is in the picture."""

tilted: Bend = lambda x, y: x * np.tan(np.radians(30)) + 0 * y  # noqa: E731
fanned: Bend = lambda x, y: 0.25 * (x - 300) * (y - 300) / 600  # noqa: E731
curled: Bend = lambda x, y: 70 * ((x - 100) / 300) ** 2 + 0 * y  # noqa: E731


def receipt(bend: Bend) -> tuple[NDArray[np.float32], list[str]]:
    """Items on the left and their prices on the right, row by row, on a paper that is bent."""
    lines, texts = list[NDArray[np.float64]](), list[str]()
    for row in range(ROWS):
        y = 50.0 * row
        for x0, x1, text in ((0.0, 250.0, "Cappuccino large"), (520.0, 600.0, "12.40")):
            x = np.array([x0, x1, x1, x0])
            height = np.array([y, y, y + 20, y + 20])
            lines.append(np.stack([x, height + bend(x, height)], axis=1))
            texts.append(text)
    return np.array(lines, np.float32), texts


def rows(corners: NDArray[np.float32]) -> list[list[int]]:
    return group_rows(np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1))


@pytest.mark.parametrize("bend", [tilted, fanned, curled], ids=["tilted", "fanned", "curled"])
def test_items_and_prices_of_a_bent_paper_are_in_one_row(bend: Bend) -> None:
    corners, texts = receipt(bend)
    together = [[2 * row, 2 * row + 1] for row in range(ROWS)]

    assert rows(corners) != together
    assert rows(level_lines(corners, texts)) == together


def test_lines_that_are_level_stay_where_they_are() -> None:
    corners, texts = receipt(lambda x, y: 0 * (x + y))

    assert level_lines(corners, texts) == pytest.approx(corners, abs=0.5)


def test_one_line_that_stands_askew_does_not_bend_the_paper() -> None:
    corners, texts = receipt(lambda x, y: 0 * (x + y))
    stamp = np.array([[(100, 100), (400, 250), (390, 270), (90, 120)]], np.float32)

    level = level_lines(np.concatenate([corners, stamp]), [*texts, "PAID IN CASH"])

    assert level[:-1] == pytest.approx(corners, abs=3)


def test_lines_that_disagree_are_not_turned_far() -> None:
    corners, texts = receipt(lambda x, y: 0 * (x + y))
    steep, _ = receipt(tilted)
    mixed = np.concatenate([corners[:10], steep[:14]])

    assert level_lines(mixed, texts) == pytest.approx(mixed)


def test_no_lines_are_level() -> None:
    assert level_lines(np.zeros((0, 4, 2), np.float32), []).shape == (0, 4, 2)
