from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError
from docmill.model.document import Page
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.page import RecognisedLines, local_engine, page_words, recognise_page
from docmill.reading.ocr.text_lines import likely_turns
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


OPTIONS = ReadingOptions()
SENTENCE = "The quick brown fox jumps over the lazy dog"


def striped() -> Picture:
    pixels = np.full((700, 1000, 3), 255, np.uint8)
    for y in range(100, 600, 40):
        pixels[y : y + 16, 100:900] = 0
    return Picture(pixels, 1000, 700, 0)


class ScriptedEngine:
    """`Engine` that reads what it is told, look by look, at one place of the picture."""

    def __init__(self, *scores: float, turn: int | None = 0) -> None:
        self.scores = list(scores)
        self.turn = turn
        self.seen: list[tuple[int, int]] = []

    def recognise(self, pixels: NDArray[np.uint8]) -> RecognisedLines:
        height, width = pixels.shape[:2]
        self.seen.append((width, height))
        score = self.scores[len(self.seen) - 1]
        text = SENTENCE if score > 0.9 else "05t19 tHe xQzRt"
        corners = np.array([[(0, 0), (0.5, 0), (0.5, 0.1), (0, 0.1)]], np.float32) * [width, height]
        return RecognisedLines(
            [text], corners.astype(np.float32), np.array([score], np.float32), turn=self.turn
        )


def read(engine: ScriptedEngine, picture: Picture | None = None) -> Page:
    return recognise_page(engine, picture or striped(), OPTIONS, number=3).page


def test_a_page_that_reads_well_is_read_once() -> None:
    engine = ScriptedEngine(0.99)

    page = read(engine)

    assert (page.number, page.source, len(engine.seen)) == (3, "ocr", 1)
    assert page.quality >= OPTIONS.quality_threshold


def test_a_page_that_reads_badly_is_preprocessed_and_read_once_more() -> None:
    engine = ScriptedEngine(0.55, 0.99)

    page = read(engine)

    assert len(engine.seen) == 2
    assert " ".join(page.words.texts) == SENTENCE


def test_the_picture_that_was_read_better_is_handed_over_upright() -> None:
    upright = recognise_page(ScriptedEngine(0.55, 0.99), striped(), OPTIONS).preprocessed
    turned = recognise_page(ScriptedEngine(0.55, 0.99, turn=90), striped(), OPTIONS).preprocessed

    assert upright is not None
    assert turned is not None
    assert turned.shape[:2] == upright.shape[1::-1]


@pytest.mark.parametrize("scores", [(0.99,), (0.6, 0.5)])
def test_a_page_that_is_read_as_it_stands_has_no_other_picture(scores: tuple[float, ...]) -> None:
    assert recognise_page(ScriptedEngine(*scores), striped(), OPTIONS).preprocessed is None


def test_the_better_of_two_bad_readings_is_kept() -> None:
    page = read(ScriptedEngine(0.6, 0.5))

    assert page.words.confidences.max() == pytest.approx(0.6)


def test_what_is_read_in_the_preprocessed_picture_stands_where_the_page_shows_it() -> None:
    page = read(ScriptedEngine(0.55, 0.99))

    assert page.words.box(0, len(page.words)) == pytest.approx((0, 0, 0.5, 0.1), abs=0.02)


def test_an_engine_that_does_not_look_which_way_up_a_page_stands_is_shown_it_turned() -> None:
    engine = ScriptedEngine(0.55, 0.55, 0.99, turn=None)

    page = read(engine)

    assert page.rotation == 180
    assert " ".join(page.words.texts) == SENTENCE


def test_a_page_turned_by_the_engine_is_displayed_turned() -> None:
    page = recognise_page(ScriptedEngine(0.99, turn=90), striped()._replace(rotation=270), OPTIONS).page

    assert (page.width_pt, page.height_pt, page.rotation) == (700, 1000, 0)


@pytest.mark.parametrize("turn", [90, 270])
def test_a_page_turned_in_its_preprocessed_picture_keeps_its_places(turn: int) -> None:
    page = read(ScriptedEngine(0.55, 0.99, turn=turn))

    assert page.rotation == turn
    assert page.words.boxes.min() >= 0
    assert page.words.boxes.max() <= 1


def test_print_shows_whether_a_page_lies_on_its_side() -> None:
    assert likely_turns(striped().pixels) == (180,)
    assert likely_turns(np.ascontiguousarray(np.rot90(striped().pixels))) == (90, 270)


def test_a_part_that_reads_well_is_not_the_better_page() -> None:
    class Cutting(ScriptedEngine):
        def recognise(self, pixels: NDArray[np.uint8]) -> RecognisedLines:
            read = super().recognise(pixels)
            return replace(read, texts=["The"] if len(self.seen) == 2 else [SENTENCE])

    assert len(read(Cutting(0.75, 0.99)).words) == len(SENTENCE.split())


def test_a_name_that_no_engine_has_is_an_error_that_lists_them() -> None:
    with pytest.raises(MisconfiguredError, match=r"no engine 'abby' .* rapidocr"):
        local_engine("abby", ReadingOptions())
