from pathlib import Path

import numpy as np
import pytest
import zxingcpp
from PIL import Image

from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.codes import LONGEST, MOST, read_codes
from support.codes import QR, draw_code, put_codes

FORMAT = zxingcpp.BarcodeFormat


@pytest.mark.parametrize(("scale", "turn"), [(4, 0), (8, 1), (12, 2), (3, 3)])
def test_a_code_is_read_whatever_its_size_and_turn(scale: int, turn: int) -> None:
    codes = read_codes(put_codes(draw_code("DOCMILL-SPLIT", scale=scale, turn=turn)))

    assert [code.text for code in codes] == ["DOCMILL-SPLIT"]


@pytest.mark.parametrize(
    ("symbology", "identifier"),
    [
        (FORMAT.QRCode, "]Q1"),
        (FORMAT.DataMatrix, "]d1"),
        (FORMAT.PDF417, "]L2"),
        (FORMAT.Code128, "]C0"),
        (FORMAT.Code39, "]A0"),
    ],
)
def test_every_symbology_of_papers_is_read_with_its_place(symbology: FORMAT, identifier: str) -> None:
    (code,) = read_codes(put_codes(draw_code("PATCHT", symbology)))

    assert (code.symbology, code.text) == (identifier, "PATCHT")
    assert not code.is_gs1
    assert 0.1 < code.box.x0 < 0.15 < code.box.x1 < 0.6
    assert 0.05 < code.box.y0 < code.box.y1 < 0.25


@pytest.mark.parametrize("symbology", [FORMAT.Code128, FORMAT.DataMatrix, FORMAT.QRCode])
def test_a_code_of_gs1_is_known_as_one(symbology: FORMAT) -> None:
    (code,) = read_codes(put_codes(draw_code("(400)PO-77(10)AB", symbology, gs1=True)))

    assert code.is_gs1
    assert code.text == "400PO-77\x1d10AB"


def test_codes_come_from_top_to_bottom() -> None:
    drawn = [draw_code(text) for text in ("first", "second", "third")]

    assert [code.text for code in read_codes(put_codes(*drawn))] == ["first", "second", "third"]


def test_a_page_without_codes_has_none() -> None:
    assert read_codes(np.full((900, 700, 3), 255, np.uint8)) == ()


def test_a_page_full_of_codes_gives_a_bounded_number() -> None:
    code = draw_code("A", scale=2)
    rows = np.tile(code, (2339 // code.shape[0], 1654 // code.shape[1]))

    assert len(read_codes(put_codes(rows, size=(2600, 1900)))) <= MOST


@pytest.mark.parametrize(
    "content", [bytes([0xFF, 0xFE, 0x00, 0xD8]) * 20, b"\xed\xa0\x80" * 10, bytes(range(256)) * 4]
)
def test_a_code_of_bytes_that_are_no_text_is_left_out(content: bytes) -> None:
    assert read_codes(put_codes(draw_code(content))) == ()


def test_a_long_code_is_read_and_a_damaged_one_is_not() -> None:
    drawn = draw_code("x" * 2900, scale=3)
    damaged = drawn.copy()
    damaged[drawn.shape[0] // 3 : -drawn.shape[0] // 3] = 255

    (code,) = read_codes(put_codes(drawn))
    assert 2900 == len(code.text) < LONGEST
    assert read_codes(put_codes(damaged)) == ()


def test_a_page_of_noise_is_no_code() -> None:
    noise = np.random.default_rng(7).integers(0, 256, (1600, 1200), np.uint8)

    assert read_codes(put_codes(noise)) == ()


@pytest.mark.parametrize("turn", [0, 90])
def test_the_codes_of_a_picture_stand_where_its_words_do(tmp_path: Path, turn: int) -> None:
    page = put_codes(draw_code("DOCMILL-SPLIT", QR, scale=6))
    Image.fromarray(np.rot90(page, turn // 90)).save(tmp_path / "a.png")

    read = tasks.recognise_picture(tmp_path / "a.png", "image/png", 1, ReadingOptions(), "rapidocr").page

    assert [code.text for code in read.codes] == ["DOCMILL-SPLIT"]
