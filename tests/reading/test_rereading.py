import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.errors import ValidationError
from docmill.model import Box
from docmill.reading import rereading
from docmill.reading.images import Picture
from docmill.reading.ocr import Recognised
from docmill.reading.options import ReadingOptions
from docmill.reading.rereading import words_in

OPTIONS = ReadingOptions()
PAGE = Picture(np.full((1000, 500, 3), 255, np.uint8), 500, 1000, 0)


class WholeEngine:
    """Reads one word that fills the picture it is shown."""

    def __init__(self) -> None:
        self.seen: tuple[int, int] = (0, 0)

    def recognise(self, pixels: NDArray[np.uint8]) -> Recognised:
        height, width = pixels.shape[:2]
        self.seen = (width, height)
        corners = np.array([[(0, 0), (width, 0), (width, height), (0, height)]], np.float32)
        return Recognised(["word"], corners, np.ones(1, np.float32))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> WholeEngine:
    engine = WholeEngine()

    def chosen(name: str, options: ReadingOptions) -> WholeEngine:
        del name, options
        return engine

    monkeypatch.setattr(rereading, "local_engine", chosen)
    return engine


def test_a_region_is_read_at_another_scale_with_a_margin(engine: WholeEngine) -> None:
    words = words_in(PAGE, Box(0.2, 0.4, 0.6, 0.5), 2, OPTIONS)

    assert engine.seen == pytest.approx((2 * 210, 2 * 120), abs=4)
    assert words.texts == ["word"]
    assert words.box(0, 1) == pytest.approx((0.19, 0.39, 0.61, 0.51), abs=0.005)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("region", "scale"),
    [(Box(0.2, 0.4, 0.6, 0.5), 9), (Box(0.2, 0.4, 0.6, 0.5), 0.1), (Box(2, 2, 3, 3), 1)],
)
def test_what_makes_no_picture_is_refused(region: Box, scale: float) -> None:
    with pytest.raises(ValidationError):
        words_in(PAGE, region, scale, OPTIONS)
