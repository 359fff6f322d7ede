"""Pages of 400 by 400 points, words ten points high."""

from collections.abc import Sequence

import numpy as np
import pytest

from docmill.model.document import Page, Words
from docmill.reading.layout.tables import RulingLines, add_tables, find_ruled_tables

SIZE = (400.0, 400.0)
Line = tuple[float, float, float]


def words(*given: tuple[float, float, str]) -> Words:
    boxes = [[x, y, x + 5 * len(text), y + 10] for x, y, text in given]
    tops = sorted({y for _, y, _ in given})
    return Words(
        [text for _, _, text in given],
        np.array(boxes, np.float32).reshape(-1, 4) / np.float32(400),
        np.ones(len(given), np.float32),
        np.array([tops.index(y) for _, y, _ in given], np.int32),
        np.zeros(len(given), np.int32),
    )


def lines(*given: Line) -> RulingLines:
    return np.array(given, np.float64).reshape(-1, 3)


def grid(ys: Sequence[float], xs: Sequence[float]) -> tuple[RulingLines, RulingLines]:
    across = lines(*((y, xs[0], xs[-1]) for y in ys))
    return across, lines(*((x, ys[0], ys[-1]) for x in xs))


NAMES = words(
    (12, 13, "Who"), (112, 13, "Where"), (212, 13, "What"),
    (12, 33, "Berg"), (112, 33, "Hamburg"), (212, 33, "Buyer"),
    (12, 53, "Holm"), (112, 53, "Malmö"), (212, 53, "Seller"),
)  # fmt: skip


def test_words_in_a_drawn_grid_are_its_cells_without_any_number() -> None:
    (table,) = find_ruled_tables(NAMES, *grid([10, 30, 50, 70], [10, 110, 210, 310]), SIZE)

    assert table.texts(NAMES) == [
        ["Who", "Where", "What"],
        ["Berg", "Hamburg", "Buyer"],
        ["Holm", "Malmö", "Seller"],
    ]
    assert table.box == pytest.approx((0.025, 0.025, 0.775, 0.175))


def test_lines_in_short_strokes_and_drawn_twice_are_lines() -> None:
    across, down = grid([10, 30, 50, 70], [10, 110, 210, 310])
    halves = [(y, x0 + shift, x0 + shift + 150) for y, x0, _ in across.tolist() for shift in (0, 150)]
    twice = np.concatenate([down, down + np.array([0.5, 0, 0])])

    (table,) = find_ruled_tables(NAMES, lines(*halves), twice, SIZE)

    assert (table.row_count, table.column_count) == (3, 3)


def test_a_cell_goes_over_the_places_between_which_no_line_stands() -> None:
    across, _ = grid([10, 30, 50, 70], [10, 110, 210, 310])
    down = lines((10, 10, 70), (110, 30, 70), (210, 30, 70), (310, 10, 70))
    given = words(
        (12, 13, "Title"), (12, 33, "a"), (112, 33, "b"), (212, 33, "c"), (12, 53, "d"), (212, 53, "f")
    )

    (table,) = find_ruled_tables(given, across, down, SIZE)

    assert (table.cells[0].column_span, table.cells[0].row_span) == (3, 1)
    assert table.texts(given) == [["Title", "", ""], ["a", "b", "c"], ["d", "", "f"]]


def test_a_cell_goes_over_rows() -> None:
    _, down = grid([10, 30, 50, 70], [10, 110, 210, 310])
    across = lines((10, 10, 310), (30, 10, 310), (50, 110, 310), (70, 10, 310))
    given = words(
        (12, 13, "x"), (112, 13, "y"), (212, 13, "z"), (12, 43, "tall"), (112, 33, "b"), (212, 53, "c")
    )

    (table,) = find_ruled_tables(given, across, down, SIZE)

    tall = next(cell for cell in table.cells if cell.words == (3,))
    assert (tall.row, tall.row_span) == (1, 2)


@pytest.mark.parametrize(
    ("across", "down"),
    [
        (lines(), lines()),
        grid([10, 70], [10, 310]),
        (
            lines((10, 0, 400), (30, 0, 400), (50, 0, 400)),
            lines((390, 200, 300), (395, 200, 300), (399, 200, 300)),
        ),
        grid([200, 220, 240, 260], [10, 110, 210, 310]),
        grid([10, 30, 50, 70], [10, 160, 310]),
    ],
)
def test_frames_rules_and_empty_grids_are_no_tables(across: RulingLines, down: RulingLines) -> None:
    assert find_ruled_tables(NAMES, across, down, SIZE) == []


def test_columns_drawn_around_many_lines_are_no_rows() -> None:
    body = [(x, 33 + 12 * row, "word") for row in range(3) for x in (12, 112, 212)]
    given = words((12, 13, "Who"), (112, 13, "Where"), (212, 13, "What"), *body)

    assert find_ruled_tables(given, *grid([10, 30, 80], [10, 110, 210, 310]), SIZE) == []


def test_two_grids_on_a_page_are_two_tables_and_pages_without_rows_do_not_ask_for_lines() -> None:
    lower = [(x, y + 200, text) for x, y, text in ((12, 13, "a"), (112, 13, "b"), (212, 13, "c"))]
    lower += [(12, 233, "d"), (112, 233, "e"), (212, 233, "f")]
    upper = zip(NAMES.boxes.tolist(), NAMES.texts, strict=True)
    given = words(*((box[0] * 400, box[1] * 400, text) for box, text in upper), *lower)
    first, second = grid([10, 30, 50, 70], [10, 110, 210, 310]), grid([210, 230, 250], [10, 110, 210, 310])
    page = Page(1, *SIZE, given, source="text", quality=1)

    found = add_tables(
        page, lambda: (np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]]))
    )

    assert [table.row_count for table in found.tables] == [3, 2]

    def never() -> tuple[RulingLines, RulingLines]:
        raise AssertionError

    plain = Page(1, *SIZE, words((12, 13, "Dear"), (12, 33, "Sirs")), source="text", quality=1)
    assert add_tables(plain, never).tables == ()
