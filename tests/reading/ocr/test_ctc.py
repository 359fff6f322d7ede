import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.reading.ocr.ctc import MARKS, LineText, RecogniserSteps, decode, summarise_steps

CHARACTERS = ["", *"abt0123456789.:,", " "]
STEP_PX = 10.0


def steps(
    best: str, *, spaces: dict[int, float] | None = None, dots: dict[int, float] | None = None
) -> RecogniserSteps:
    """best: the best character of each step, `_` for none."""
    indices = np.array([CHARACTERS.index(character.replace("_", "")) for character in best])
    likely_spaces = np.zeros(len(best), np.float32)
    marks = np.zeros((len(best), len(MARKS)), np.float32)
    for step, probability in (spaces or {}).items():
        likely_spaces[step] = probability
    for step, probability in (dots or {}).items():
        marks[step, 0] = probability
    certain = np.full(len(best), 0.9, np.float32)
    return RecogniserSteps(indices, certain, likely_spaces, marks, STEP_PX, {})


def line(*ink: tuple[int, int], width: int = 100) -> NDArray[np.uint8]:
    """A line with print between each of those columns."""
    picture = np.full((48, width), 230, np.uint8)
    for start, stop in ink:
        picture[10:40, start:stop] = 20
    return picture


def read(what: RecogniserSteps, picture: NDArray[np.uint8] | None = None) -> LineText:
    return decode(what, CHARACTERS, line((0, 100)) if picture is None else picture)


def test_repetitions_are_one_character_unless_parted_by_none() -> None:
    assert read(steps("aab_bb")).text == "abb"


def test_a_space_need_not_be_the_most_probable_character() -> None:
    assert read(steps("a__b", spaces={2: 0.2})).text == "a b"
    assert read(steps("a__b", spaces={2: 0.05})).text == "ab"


def test_spaces_at_the_ends_are_dropped() -> None:
    assert read(steps(" a_b ", spaces={0: 1.0, 4: 1.0})).text == "ab"


def test_a_mark_between_digits_that_is_not_quite_excluded_is_meant() -> None:
    assert read(steps("2_ _5", spaces={2: 0.8}, dots={2: 0.1})).text == "2.5"
    assert read(steps("2_ _5", spaces={2: 0.8})).text == "2 5"
    assert read(steps("a_ _b", spaces={2: 0.8}, dots={2: 0.1})).text == "a b"


def test_characters_end_where_their_ink_ends() -> None:
    found = read(steps("a_______b_", spaces={4: 1.0}), line((2, 20), (70, 95)))

    assert found.text == "a b"
    assert found.places.ravel().tolist() == pytest.approx([0.02, 0.2, 0.2, 0.7, 0.7, 0.95], abs=0.011)


def test_light_print_on_dark_ground_has_places_too() -> None:
    found = read(steps("a_______b_"), 250 - line((2, 20), (70, 95)))

    assert found.places[:, 1].tolist() == pytest.approx([0.2, 0.95], abs=0.011)


def test_glyphs_that_touch_are_parted_in_the_middle() -> None:
    found = read(steps("aab_bb"), line((0, 60), width=60))

    assert found.places[0, 1] == found.places[1, 0] == pytest.approx(0.29, abs=0.02)


def test_the_score_is_the_mean_of_the_characters() -> None:
    assert read(steps("a_b")).score == pytest.approx(0.9)


def test_nothing_but_space_is_no_text() -> None:
    found = read(steps("__ _", spaces={2: 1.0}))

    assert (found.text, found.score, found.places.shape) == ("", 0.0, (0, 2))


def test_a_character_in_doubt_has_rivals() -> None:
    seen = np.zeros((4, len(CHARACTERS)), np.float32)
    seen[0, CHARACTERS.index("a")] = 0.99
    seen[1, 0] = 1.0
    seen[[2, 3], CHARACTERS.index("1")] = 0.5, 0.6
    seen[[2, 3], CHARACTERS.index("t")] = 0.4, 0.3
    seen[3, CHARACTERS.index("7")] = 0.01

    found = read(summarise_steps(seen, space=len(CHARACTERS) - 1, marks=[13, 14, 15], step_px=STEP_PX))

    assert found.text == "a1"
    assert [[(rival, pytest.approx(0.3)) for rival, _ in rivals] for rivals in found.rivals] == [
        [],
        [("t", pytest.approx(0.3))],
    ]
