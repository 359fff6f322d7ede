import numpy as np
import pytest

from docmill.reading.ocr.ctc import LineText
from docmill.reading.ocr.spelling import FOLLOWING, KINDS, kind_of, settle_classes


def line(text: str, rivals: dict[str, tuple[str, float]]) -> LineText:
    """A line with a rival of some of its characters, which are themselves as probable as the rest allows."""
    others = [[rivals[character]] if character in rivals else [] for character in text]
    certainties = np.array([1 - sum(odds for _, odds in some) for some in others], np.float32)
    return LineText(text, np.zeros((len(text), 2), np.float32), certainties, 0.9, others)


@pytest.mark.parametrize(
    ("read", "rivals", "meant"),
    [
        ("SPEED MART 5/B", {"5": ("S", 0.4)}, "SPEED MART S/B"),
        ("the lnvoice", {"l": ("I", 0.45)}, "the Invoice"),
        ("Te1efon", {"1": ("l", 0.3)}, "Telefon"),
        ("12S,40 EUR", {"S": ("5", 0.3)}, "125,40 EUR"),
        ("GroBe Straße", {"B": ("ß", 0.4)}, "Große Straße"),
        ("0.0日 EUR", {"日": ("0", 0.2)}, "0.00 EUR"),
    ],
)
def test_a_doubtful_character_is_of_the_kind_that_suits_its_neighbours(
    read: str, rivals: dict[str, tuple[str, float]], meant: str
) -> None:
    assert settle_classes(line(read, rivals)) == meant


def test_what_is_hardly_possible_is_not_taken() -> None:
    assert settle_classes(line("MART 5/B", {"5": ("S", 0.03)})) == "MART 5/B"


def test_marks_are_no_rivals_of_letters_and_digits() -> None:
    assert settle_classes(line("U/P 3.5", {"/": ("I", 0.45), "5": (".", 0.45)})) == "U/P 3.5"


def test_of_two_rivals_of_one_kind_the_more_probable_is_taken() -> None:
    read = line("T0TAL", {})
    others = [[], [("U", 0.1), ("O", 0.3), ("D", 0.2)], [], [], []]

    assert settle_classes(read._replace(certainties=np.full(5, 0.4, np.float32), rivals=others)) == "TOTAL"


def test_lines_of_other_scripts_stay() -> None:
    assert settle_classes(line("発票一", {"一": ("1", 0.4)})) == "発票一"


def test_every_two_kinds_are_followed_by_some() -> None:
    assert sorted(FOLLOWING) == sorted(first + second for first in KINDS for second in KINDS)
    assert {kind_of(character) for character in "Éé7$ \u65e5"} == {*KINDS, ""}
