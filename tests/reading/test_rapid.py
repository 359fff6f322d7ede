import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.reading.rapid import RapidEngine, detection_limit, rapid_engine


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
    def run_out(*_: object) -> None:
        raise MemoryError

    detector = engine._read.text_det  # pyright: ignore[reportPrivateUsage] - nothing else makes it fail
    monkeypatch.setattr(detector.session.session, "run", run_out)

    with pytest.raises(MemoryError):
        engine.recognise(np.full((200, 200, 3), 255, np.uint8))


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [
        (800, 600, ("min", 736)),
        (1900, 900, ("min", 736)),
        (1500, 1200, ("min", 736)),
        (2000, 1414, ("max", 1596)),
        (4000, 2828, ("max", 1596)),
    ],
)
def test_lines_of_a_large_picture_are_searched_in_a_smaller_one(
    height: int, width: int, expected: tuple[str, int]
) -> None:
    assert detection_limit(height, width) == expected
