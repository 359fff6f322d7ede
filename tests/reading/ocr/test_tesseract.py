"""Tesseract itself where a test needs its observer, and programs that fail as it may."""

import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.errors import (
    BadModelOutputError,
    CrashedError,
    DocmillError,
    MisconfiguredError,
    TimeLimitError,
)
from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr import tesseract
from docmill.reading.ocr.page import local_engine, page_words
from docmill.reading.ocr.tesseract import TesseractEngine, parse_table

Program = Callable[[str], Path]
HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
WHITE = np.full((20, 40, 3), 255, np.uint8)


def printed(*lines: str) -> NDArray[np.uint8]:
    image = Image.new("RGB", (700, 60 + 70 * len(lines)), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((50, 30 + 70 * number), line, "black", ImageFont.load_default(40))
    return np.asarray(image)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A shell script in Tesseract's place that knows English and German."""

    def make(reading: str) -> Path:
        path = tmp_path / "tesseract"
        listing = 'if [ "$1" = --list-langs ]; then printf "Languages:\\ndeu\\neng\\nosd\\n"; exit; fi'
        path.write_text(f"#!/bin/sh\n{listing}\n{reading}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def table(*words: str) -> str:
    return "\n".join((HEAD, *(word.replace(" ", "\t") for word in words)))


def test_words_are_read_with_their_places_and_how_sure_it_is() -> None:
    pixels = printed("Invoice 4711", "Total 12.50")

    found = local_engine("tesseract", ReadingOptions()).recognise(pixels)

    words = page_words(found, width_px=700, height_px=200)
    assert words.texts == ["Invoice", "4711", "Total", "12.50"]
    assert words.lines.tolist() == [0, 0, 1, 1]
    assert (words.confidences > 0.7).all()
    x0, y0, x1, y1 = words.box(0, 1)
    assert (x0 * 700, x1 * 700) == pytest.approx((50, 185), abs=10)
    assert 30 < y0 * 200 < y1 * 200 < 85


def test_an_empty_page_has_no_words() -> None:
    found = local_engine("tesseract", ReadingOptions()).recognise(np.full((200, 200, 3), 255, np.uint8))

    assert (list(found.texts), found.corners.shape, found.scores.shape) == ([], (0, 4, 2), (0,))


def test_without_the_program_a_person_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tesseract, "PLACES", "/nowhere")

    with pytest.raises(MisconfiguredError, match="apt-get install tesseract-ocr"):
        TesseractEngine()


def test_a_language_that_is_not_installed_is_named_with_its_package(program: Program) -> None:
    with pytest.raises(MisconfiguredError, match=r"tesseract-ocr-chi-sim tesseract-ocr-fra$"):
        TesseractEngine(["de", "zh", "fr"], tesseract=program(""))


@pytest.mark.parametrize(
    ("languages", "models"), [((), "eng+deu"), (("de",), "deu"), (("eng", "de"), "eng+deu")]
)
def test_it_is_told_the_languages(languages: tuple[str, ...], models: str, program: Program) -> None:
    row = "5 1 1 1 1 1 0 0 10 10 90 ".replace(" ", "\\t")
    echo = f'cat >/dev/null; printf "{HEAD}\\n{row}$4\\n"'.replace("\t", "\\t")

    found = TesseractEngine(languages, tesseract=program(echo)).recognise(WHITE)

    assert found.texts == [models]


def test_a_program_without_languages_is_not_set_up(tmp_path: Path) -> None:
    bare = tmp_path / "tesseract"
    bare.write_text("#!/bin/sh\necho none\n")
    bare.chmod(0o700)

    with pytest.raises(MisconfiguredError, match="has no languages"):
        TesseractEngine(tesseract=bare)


@pytest.mark.parametrize(
    ("reading", "error"),
    [
        ("exit 1", CrashedError),
        ("kill -9 $$", CrashedError),
        ("exec sleep 60", TimeLimitError),
        (
            "cat >/dev/null; printf 'a\\nnonsense\\t1\\t1\\t1\\t1\\t1\\tx\\t0\\t9\\t9\\t9\\tword'",
            BadModelOutputError,
        ),
    ],
)
def test_each_way_to_fail_has_its_error(reading: str, error: type[DocmillError], program: Program) -> None:
    engine = TesseractEngine(tesseract=program(reading), limit_s=0.3)

    with pytest.raises(error):
        engine.recognise(WHITE)


def test_a_program_that_cannot_be_run_is_not_set_up(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="does not run: FileNotFoundError"):
        TesseractEngine(tesseract=tmp_path / "gone")


def test_what_it_does_not_believe_itself_or_cannot_name_is_no_word() -> None:
    found = parse_table(
        table(
            "1 1 0 0 0 0 0 0 100 50 -1 ", "5 1 1 1 1 1 10 10 20 10 95.5 Total", "5 1 1 1 1 2 40 10 20 10 -1 x"
        )
    )

    assert found.texts == ["Total"]
    assert found.scores.tolist() == pytest.approx([0.955])


def test_boxes_stay_upright_and_their_edges_take_the_slant_of_the_line() -> None:
    found = parse_table(table("5 1 1 1 1 1 0 0 20 12 90 a", "5 1 1 1 1 2 80 8 20 12 90 b"))

    assert found.corners[0].tolist() == [[0, 0], [20, 2], [20, 12], [0, 10]]
    rising = parse_table(table("5 1 1 1 1 1 0 8 20 12 90 a", "5 1 1 1 1 2 80 0 20 12 90 b"))
    assert rising.corners[0].tolist() == [[0, 10], [20, 8], [20, 18], [0, 20]]


def test_words_that_stand_on_each_other_have_no_slant() -> None:
    found = parse_table(table("5 1 1 1 1 1 0 0 20 10 90 a", "5 1 1 1 1 2 0 8 20 10 90 b"))

    assert found.corners[1].tolist() == [[0, 8], [20, 8], [20, 18], [0, 18]]
