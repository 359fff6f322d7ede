import numpy as np

from docmill.reading.ocr.ctc import LineText
from docmill.reading.ocr.spelling import correct_spelling


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
