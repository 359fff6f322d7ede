import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.errors import MisconfiguredError
from docmill.reading.ocr import rapid
from docmill.reading.ocr.rapid import RapidEngine, rapid_engine
from docmill.reading.ocr.text_lines import turn_picture


def printed(text: str, size: tuple[int, int], at: tuple[int, int]) -> NDArray[np.uint8]:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text(at, text, "black", ImageFont.load_default(40))
    return np.asarray(image)


@pytest.fixture(scope="module")
def engine() -> RapidEngine:
    return rapid_engine()


@pytest.mark.parametrize("size", [(500, 200), (1400, 1500), (1600, 60)])
def test_lines_are_found_where_they_stand_whatever_the_size(
    engine: RapidEngine, size: tuple[int, int]
) -> None:
    found = engine.recognise(printed("Invoice", size, (100, 5)))

    assert list(found.texts) == ["Invoice"]
    assert found.corners.shape == (1, 4, 2)
    assert found.corners[0, 0, 0] == pytest.approx(100, abs=15)
    assert found.corners[0, 2, 0] == pytest.approx(235, abs=15)
    assert found.scores[0] > 0.8


def test_an_empty_picture_has_no_lines(engine: RapidEngine) -> None:
    found = engine.recognise(np.full((200, 200, 3), 255, np.uint8))

    assert (list(found.texts), found.corners.shape, found.scores.shape) == ([], (0, 4, 2), (0,))


def test_a_model_without_memory_is_an_error_of_memory(
    engine: RapidEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = import_module("onnxruntime.capi.onnxruntime_pybind11_state").RuntimeException

    def run_out(*_: object) -> None:
        raise failure

    session = engine._detector._session  # pyright: ignore[reportPrivateUsage] - nothing else makes it fail
    monkeypatch.setattr(session, "run", run_out)

    with pytest.raises(MemoryError):
        engine.recognise(np.full((200, 200, 3), 255, np.uint8))


@pytest.mark.parametrize("stretched", [1, 2])
def test_letters_of_any_width_are_read_in_every_line(engine: RapidEngine, stretched: int) -> None:
    lines = ["Invoice number 4711", "Amount payable 99.00", "Thank you for coming"]
    narrow = np.vstack([printed(line, (500, 80), (50, 10)) for line in lines])

    found = engine.recognise(np.repeat(narrow, stretched, axis=1))

    assert sorted(found.texts) == sorted(lines)


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_is_read_upright(engine: RapidEngine, turn: int) -> None:
    upright = np.vstack(
        [printed("Invoice number", (500, 100), (100, 20)), printed("Amount payable", (500, 200), (100, 20))]
    )

    found = engine.recognise(turn_picture(upright, -turn))

    first = list(found.texts).index("Invoice number")
    assert sorted(found.texts) == ["Amount payable", "Invoice number"]
    assert found.turn == turn
    assert found.corners[first, 0].tolist() == pytest.approx([100, 25], abs=15)


def test_a_line_tells_where_its_words_stand(engine: RapidEngine) -> None:
    found = engine.recognise(printed("Total 99.00", (500, 200), (100, 50)))

    assert list(found.texts) == ["Total 99.00"]
    assert found.places is not None
    left, right = found.corners[0, 0, 0], found.corners[0, 1, 0]
    edges = left + (right - left) * found.places[0][[0, 4, 6, 10]].ravel()[[0, 3, 4, 7]]
    drawn = ImageFont.load_default(40)
    assert edges.tolist() == pytest.approx(
        [
            100,
            100 + drawn.getlength("Total"),
            100 + drawn.getlength("Total "),
            100 + drawn.getlength("Total 99.00"),
        ],
        abs=6,
    )


def test_small_print_below_large_letters_is_found(engine: RapidEngine) -> None:
    image = Image.new("RGB", (1448, 2048), "white")
    draw = ImageDraw.Draw(image)
    for row in range(17):
        draw.text((60, 60 + 100 * row), "Invoice number payable", "black", ImageFont.load_default(70))
    for row in range(3):
        draw.text(
            (60, 1900 + 40 * row), "Bank account of this company " * 2, "black", ImageFont.load_default(12)
        )

    found = engine.recognise(np.asarray(image))

    assert any("account" in text for text in found.texts)
    assert sum("Invoice" in text for text in found.texts) == 17


def faint(text: str, *, seed: int, noise: float) -> NDArray[np.uint8]:
    image = Image.new("RGB", (900, 120), "white")
    ImageDraw.Draw(image).text((60, 30), text, "black", ImageFont.load_default(34))
    grey = 255 - 0.3 * (255 - np.asarray(image).astype(np.float64))
    return np.clip(grey + np.random.default_rng(seed).normal(0, noise, grey.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(("seed", "noise"), [(1, 40), (2, 60)])
def test_faint_print_is_looked_at_until_two_looks_agree_or_three_are_weighed(
    engine: RapidEngine, seed: int, noise: float
) -> None:
    found = engine.recognise(faint("Invoice 2018-05-31 No. 5S8B0O1lI", seed=seed, noise=noise))

    assert "2018-05-31" in "".join(found.texts).replace(" ", "")


def test_a_single_character_is_read(engine: RapidEngine) -> None:
    assert list(engine.recognise(printed("7", (300, 200), (130, 70))).texts) == ["7"]


def test_a_missing_network_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rapid, "PACKAGE", "docmill")

    with pytest.raises(MisconfiguredError, match="pip install --force-reinstall"):
        rapid.model_file("recognition")


def test_the_recogniser_knows_letters_and_blanks() -> None:
    characters = rapid.Network("recognition").characters

    assert characters[0] == ""
    assert characters[-1] == " "
    assert {"a", "Ä", "€", "7"} <= set(characters)


def test_nobody_is_told_what_is_run() -> None:
    """Telemetry has a thread of its own, where it is on."""
    program = (
        "import os\n"
        "from docmill.reading.ocr.rapid import Network\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "network = Network('turning')\n"
        "print(len(os.listdir('/proc/self/task')) - before)\n"
    )

    started = subprocess.run([sys.executable, "-c", program], env={}, capture_output=True, check=True)

    assert started.stdout == b"0\n"
