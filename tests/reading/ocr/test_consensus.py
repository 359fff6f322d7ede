import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.reading.ocr.ctc import (
    LineReading,
    decode,
    embolden,
    likelihood,
    most_likely_reading,
    summarise_steps,
)

CHARACTERS = ["", "a", "b", "c", " "]
INDICES = {character: index for index, character in enumerate(CHARACTERS)}
SPACE = 4
EMPTY = np.full((48, 80), 255, np.uint8)


def answer(*steps: dict[str, float]) -> NDArray[np.float32]:
    """steps: the probability of each character; that of none is the rest."""
    seen = np.zeros((len(steps), len(CHARACTERS)), np.float32)
    for step, odds in zip(seen, steps, strict=True):
        for character, probability in odds.items():
            step[INDICES[character]] = probability
        step[0] = 1 - sum(odds.values())
    return seen


def look(*steps: dict[str, float]) -> LineReading:
    seen = answer(*steps)
    read = summarise_steps(seen, space=SPACE, marks=[0, 0, 0], step_px=EMPTY.shape[1] / len(seen))
    return LineReading(seen, decode(read, CHARACTERS, EMPTY))


def by_hand(seen: NDArray[np.float32], text: str) -> float:
    """The sum over every path that gives the text."""
    total = 0.0
    for path in product(range(len(CHARACTERS)), repeat=len(seen)):
        blank = [0 if index == SPACE else index for index in path]
        kept = [
            index for index, before in zip(blank, [0, *blank[:-1]], strict=True) if index not in (0, before)
        ]
        if "".join(CHARACTERS[index] for index in kept) == text:
            total += math.prod(float(step[index]) for step, index in zip(seen, path, strict=True))
    return total


@pytest.mark.parametrize("text", ["a", "ab", "aa", "ba"])
def test_a_text_is_as_probable_as_all_its_paths_together(text: str) -> None:
    seen = answer({"a": 0.5, "b": 0.2}, {"a": 0.3, "b": 0.3, " ": 0.1}, {"b": 0.5}, {"a": 0.4, "b": 0.3})

    found = likelihood(seen, [INDICES[character] for character in text], space=SPACE)

    assert math.exp(found) == pytest.approx(by_hand(seen, text), rel=1e-4)


def test_a_text_longer_than_its_steps_is_hardly_possible() -> None:
    assert likelihood(answer({"a": 0.9}), [1, 2, 3], space=SPACE) < -10


def test_the_text_that_all_looks_allow_is_taken_though_none_sees_a_letter_at_the_same_step() -> None:
    looks = [
        look({"a": 0.9}, {}, {"b": 0.5, "c": 0.4}, {}),
        look({"a": 0.9}, {}, {}, {"c": 0.8, "b": 0.1}),
        look({"a": 0.9}, {"c": 0.7, "b": 0.2}, {}, {}),
    ]

    assert [one.line.text for one in looks] == ["ab", "ac", "ac"]
    assert most_likely_reading(looks, INDICES, space=SPACE).text == "ac"


def test_a_look_that_sees_nothing_gives_no_text() -> None:
    looks = [look({}, {}), look({"a": 0.6}, {}), look({}, {})]

    assert most_likely_reading(looks, INDICES, space=SPACE).text == "a"


def test_bolder_print_is_darker_and_paper_stays_white() -> None:
    line = np.full((48, 20, 3), 255, np.uint8)
    line[10:40, 10] = 55

    found = embolden(line)

    assert found[20, 10:12, 0].tolist() == [55, 155]
    assert found[20, :9].min() == 255
