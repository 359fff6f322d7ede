import random

import numpy as np
import pytest

from docmill.reading.ocr.ctc import LineText
from docmill.reading.ocr.spelling import correct_spelling, restore_signs


def line(text: str, *, certainty: float = 0.8) -> LineText:
    count = len(text)
    certainties = np.full(count, certainty, np.float32)
    return LineText(text, np.zeros((count, 2), np.float32), certainties, certainty, [()] * count)


ENGLISH = line("the quick brown fox jumps over the lazy dog " * 5)


def test_doubtful_accents_go_where_the_page_has_hardly_any() -> None:
    assert correct_spelling([ENGLISH, line("SETIA ÁLAM")])[1] == "SETIA ALAM"
    assert correct_spelling([ENGLISH, line("Café", certainty=0.99)])[1] == "Café"


def test_accents_stay_where_the_language_has_them() -> None:
    assert correct_spelling([line("Größe für Mädchen")]) == ["Größe für Mädchen"]


def test_full_width_marks_and_strokes_become_latin_in_latin_lines() -> None:
    read = line("TEL\uff1a03 \uff08Sun\uff09 3\xd74 *\u4e00 RECEIPT\u3002")

    assert correct_spelling([read]) == ["TEL:03 (Sun) 3x4 *- RECEIPT."]


def test_lines_with_ideographs_keep_their_marks() -> None:
    assert correct_spelling([line("発票\uff1a一千")]) == ["発票\uff1a一千"]


def test_an_o_among_digits_is_a_zero_and_a_zero_among_capitals_an_o() -> None:
    assert correct_spelling([line("4330O 29O, 8O.5O INV0ICE T0TAL")]) == ["43300 290, 80.50 INVOICE TOTAL"]


def test_letters_and_zeros_of_codes_stay() -> None:
    assert correct_spelling([line("O2 SH01 A0 ZO 31G O KPB0")]) == ["O2 SH01 A0 ZO 31G O KPB0"]


def test_a_currency_sign_read_as_letters_and_digits_is_told_by_all_amounts_of_the_page() -> None:
    read = ["Fee x 2 8200.00", "Total ex tax: B200.00", "Tax free: 80.00", "Total B200.00", "Cash 6200.00"]

    assert restore_signs(read) == [
        "Fee x 2 ฿200.00",
        "Total ex tax: ฿200.00",
        "Tax free: ฿0.00",
        "Total ฿200.00",
        "Cash ฿200.00",
    ]
    assert restore_signs(["Kape P1,250.00", "Tax 2150.00", "Total P1,400.00"])[1] == "Tax ₱150.00"


@pytest.mark.parametrize(
    "read",
    [
        ["Coffee 8.50", "Cake 6.40", "Total 14.90"],  # an amount begins otherwise
        ["Coffee 8.50", "Cake 8.40", "Soup 8.20"],  # no letter
        ["Coffee 8.50", "Cake B.40", "Soup 8.20"],  # nothing would be left of an amount
        ["Coffee B80.50", "Total 880.50"],  # too few
        ["Case B82.00", "Pump B64.00", "Hose B81.50"],  # all with the same letter: a code
    ],
)
def test_amounts_that_need_not_have_a_sign_stay(read: list[str]) -> None:
    assert restore_signs(read) == read


def test_signs_of_made_up_papers_are_restored_and_papers_without_stay() -> None:
    draw = random.Random(5)  # noqa: S311 - a paper, not a secret
    kept = restored = 0
    for _ in range(300):
        amounts = [f"{draw.randint(1, 900)}.{draw.choice(['00', '50', '95'])}" for _ in range(6)]
        with_sign = [f"Item {draw.choice('B86')}{amount}" for amount in amounts]
        kept += restore_signs([f"Item {amount}" for amount in amounts]) == [
            f"Item {amount}" for amount in amounts
        ]
        restored += restore_signs(with_sign) == [f"Item ฿{amount}" for amount in amounts]

    assert kept == 300
    assert restored > 250  # the others show the letter nowhere, or nothing else
