from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import read_qr_codes


@pytest.fixture
def sheet() -> Callable[..., NDArray[np.uint8]]:
    """A page of 200 dots per inch with a QR code, so many dots wide."""

    def make(text: str, *, width_px: int = 300, turn: int = 0) -> NDArray[np.uint8]:
        code = cv2.QRCodeEncoder.create().encode(text)
        code = cv2.copyMakeBorder(code, 4, 4, 4, 4, cv2.BORDER_CONSTANT, value=(255,))
        code = cv2.resize(code, (width_px, width_px), interpolation=cv2.INTER_NEAREST)
        page = np.full((2339, 1654, 3), 255, np.uint8)
        page[200 : 200 + width_px, 900 : 900 + width_px] = np.rot90(code, turn)[:, :, None]
        return page

    return make


@pytest.mark.parametrize(("width_px", "turn"), [(300, 0), (300, 1), (600, 2), (120, 0)])
def test_a_code_is_read_whatever_its_size_and_turn(
    sheet: Callable[..., NDArray[np.uint8]], width_px: int, turn: int
) -> None:
    assert read_qr_codes(sheet("DOCMILL-SPLIT", width_px=width_px, turn=turn)) == ("DOCMILL-SPLIT",)


def test_a_page_without_codes_has_none() -> None:
    assert read_qr_codes(np.full((900, 700, 3), 255, np.uint8)) == ()


@pytest.mark.parametrize("split", [True, False])
def test_codes_are_looked_for_where_documents_are_split(
    tmp_path: Path,
    sheet: Callable[..., NDArray[np.uint8]],
    split: bool,  # noqa: FBT001
) -> None:
    Image.fromarray(sheet("DOCMILL-SPLIT")).save(tmp_path / "a.png")

    page = tasks.recognise_picture(
        tmp_path / "a.png", "image/png", 1, ReadingOptions(split=split), "rapidocr"
    ).page

    assert page.codes == (("DOCMILL-SPLIT",) if split else ())
