"""Words of an earlier recognition beside our own: ours count, with the help of the others."""

from collections.abc import Sequence

import numpy as np
import pytest

from docmill.model.document import Page, Words
from docmill.reading.pdf.earlier_recognition import merge_recognitions
from docmill.reading.pdf.text_runs import NO_RUNS, TextRuns, certain_runs

SIZE = np.array([600, 800], np.float32)
Row = Sequence[str]


def placed(rows: Sequence[Row]) -> tuple[list[str], list[tuple[float, float, float, float]], list[int]]:
    """Words set in rows, each character six points wide, one row every twenty points."""
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    lines: list[int] = []
    for line, row in enumerate(rows):
        x = 20.0
        for word in row:
            texts.append(word)
            boxes.append((x, 20.0 + 20 * line, x + 6 * len(word), 32.0 + 20 * line))
            lines.append(line)
            x += 6 * (len(word) + 1)
    return texts, boxes, lines


def seen(*rows: Row, confidence: float = 1.0) -> Page:
    texts, boxes, lines = placed(rows)
    places = np.array(boxes, np.float32).reshape(-1, 4) / np.tile(SIZE, 2)
    confidences = np.full(len(texts), confidence, np.float32)
    numbers = np.array(lines, np.int32)
    words = Words(texts, places.astype(np.float32), confidences, numbers, numbers)
    return Page(1, 600, 800, words, source="ocr", quality=0.9, engine="rapidocr")


def earlier(*rows: Row, shift: float = 0.0) -> TextRuns:
    texts, boxes, lines = placed(rows)
    places = np.array(boxes, np.float32) + np.float32(shift)
    runs = certain_runs(texts, places, np.array(lines, np.int32))
    return runs._replace(confidences=np.full(len(texts), 0.8, np.float32))


def merged(page: Page, layer: TextRuns) -> list[str]:
    return merge_recognitions(page, layer, SIZE).words.texts


def test_ours_count_where_another_program_read_otherwise() -> None:
    page = seen(["FIVE", "GUYS"], ["Total", "17.36"])

    assert merged(page, earlier(["Five", "GMu｡"], ["Tota!", "17,86"])) == page.words.texts


def test_words_that_only_the_other_program_read_are_left_out() -> None:
    page = seen(["Total", "17.36"])

    assert merged(page, earlier(["Total", "17.36"], ["ЖЖЖЖЖ", "Lassee="])) == page.words.texts


def test_a_doubtful_word_becomes_one_that_both_read_elsewhere() -> None:
    rows = ["Room", "Ballroom"], ["Bal1room", "Bal1room"]
    layer = earlier(["Room", "Ballroom"], ["Ballroom", "Hallroom"])

    assert merged(seen(*rows, confidence=0.95), layer) == ["Room", "Ballroom", "Ballroom", "Bal1room"]
    assert merged(seen(*rows), layer) == ["Room", "Ballroom", "Bal1room", "Bal1room"]


def test_an_amount_read_in_pieces_is_one_as_the_other_program_read_it() -> None:
    page = seen(["Total", "1.249,", "90", "EUR"], ["in", "all"])

    merged_page = merge_recognitions(page, earlier(["Total", "1.249,90_", "EUR"], ["in", "all"]), SIZE)
    whole = merge_recognitions(page, earlier(["Total", "1.249,90", "EUR"], ["in", "all"]), SIZE)

    assert merged_page.words.texts == page.words.texts
    assert whole.words.texts == ["Total", "1.249,90", "EUR", "in", "all"]
    assert whole.words.lines.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["DE89", "3704", "0044", "0532", "0130", "00"], ["DE89", "3704", "0044", "0532", "0130", "0O"]),
        (["DE89", "3704", "0044", "0532", "0180", "00"], ["DE89", "3704", "0044", "0532", "0130", "00"]),
        (["DE136695970"], ["DE136695976"]),
    ],
)
def test_check_digits_decide_between_two_readings_of_a_number(ours: Row, theirs: Row) -> None:
    right = ["DE89", "3704", "0044", "0532", "0130", "00"] if len(ours) > 1 else ["DE136695976"]

    assert merged(seen(["No.", *ours, "x"]), earlier(["No.", *theirs, "x"])) == ["No.", *right, "x"]


def test_a_layer_that_is_shifted_against_the_ink_is_moved_onto_it() -> None:
    page = seen(["Invoice", "number"], ["Thank", "you"], ["Total", "9,", "90"])

    layer = earlier(["Invoice", "number"], ["Thank", "you"], ["Total", "9,90"], shift=14)

    assert merged(page, layer)[-2:] == ["Total", "9,90"]


RUSSIAN = (
    ["Накладная", "на", "товары", "4711"],
    ["Покупатель", "обязуется", "оплатить", "товар"],
    ["Итого", "двести", "рублей", "2OO,OO"],
)


def test_words_in_a_script_that_the_recogniser_does_not_know_are_those_of_the_layer() -> None:
    page = seen(
        ["HakaagHag", "Ha", "ToBapb", "4711"],
        ["NokynaTeab", "o6a3yetca", "onaatatb", "toBap"],
        ["Nrora", "aBectu", "py6aei", "200,00"],
    )

    whole = merge_recognitions(page, earlier(*RUSSIAN), SIZE)

    assert " ".join(whole.words.texts) == (
        "Накладная на товары 4711 Покупатель o6a3yetca оплатить товар Итого двести py6aei 200,00"
    )
    assert whole.words.lines.tolist() == page.words.lines.tolist()


def test_a_layer_in_such_a_script_is_completed_where_the_recogniser_found_few_words() -> None:
    page = seen(["", "", "", "4711"], ["NokynaTeab"])

    whole = merge_recognitions(page, earlier(*RUSSIAN), SIZE)

    assert "рублей" in whole.words.texts
    assert "NokynaTeab" not in whole.words.texts
    assert (whole.source, whole.quality) == ("ocr", pytest.approx(0.8, abs=0.05))


def test_a_layer_in_another_script_is_not_taken_for_a_page_that_is_in_a_language() -> None:
    page = seen(
        ["Thank", "you", "very", "much"], ["Total", "amount", "due", "now", "and", "paid", "in", "full"]
    )

    assert merged(page, earlier(*RUSSIAN)) == page.words.texts


def test_where_nothing_was_read_the_layer_is_all_there_is() -> None:
    assert merged(seen(), earlier(["Total", "17.36"])) == ["Total", "17.36"]
    assert merged(seen(), NO_RUNS) == []
