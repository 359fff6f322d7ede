from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.model.document import Page
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.line_geometry import likely_turns
from docmill.reading.ocr.page import RecognisedLines, recognise_page

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
