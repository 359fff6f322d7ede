"""A printed receipt, photographed in several ways: its words, their rows and their places."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from docmill.model.document import Page
from docmill.reading.child.tasks import recognise_picture
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.page import recognise_page
from docmill.reading.ocr.rapid import rapid_engine
from docmill.reading.ocr.text_lines import turn_picture

Pixels = NDArray[np.uint8]
Points = NDArray[np.float64]

WIDTH, HEIGHT = 600, 900
ROWS = (
    ("Cappuccino", "3.40"),
    ("Sandwich", "7.95"),
    ("Orange juice", "4.10"),
    ("Apple cake", "5.25"),
    ("Mineral water", "2.80"),
    ("Tomato soup", "6.60"),
    ("Service", "1.50"),
    ("Subtotal", "31.60"),
    ("Total", "33.18"),
)
LEFT, RIGHT, TOP, STEP = 60, 450, 150, 70


def receipt() -> Pixels:
    image = Image.new("RGB", (WIDTH, HEIGHT), (235, 235, 230))
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(34)
    draw.text((160, 50), "Corner House Cafe", "black", font)
    for row, (item, price) in enumerate(ROWS):
        draw.text((LEFT, TOP + STEP * row), item, "black", font)
        draw.text((RIGHT, TOP + STEP * row), price, "black", font)
    return np.asarray(image)


def photograph(corners: list[tuple[int, int]], size: tuple[int, int]) -> tuple[Pixels, Points]:
    """The receipt with its corners at these places of a dark table, and the matrix that brought it there."""
    sheet = np.array([(0, 0), (WIDTH, 0), (WIDTH, HEIGHT), (0, HEIGHT)], np.float32)
    matrix = cv2.getPerspectiveTransform(sheet, np.array(corners, np.float32))
    table = np.random.default_rng(3).normal(60, 6, (size[1], size[0], 3)).clip(0, 255).astype(np.uint8)
    cv2.warpPerspective(
        receipt(), matrix, size, dst=table, flags=cv2.INTER_AREA, borderMode=cv2.BORDER_TRANSPARENT
    )
    return table, np.asarray(matrix, np.float64)


def read(pixels: Pixels) -> Page:
    height, width = pixels.shape[:2]
    return recognise_page(rapid_engine(), Picture(pixels, width, height, 0), ReadingOptions()).page


def rows(page: Page) -> list[tuple[str, ...]]:
    """The lines of the page that hold a price, each item and its price."""
    lines = [" ".join(line.text.split()) for line in page.lines]
    return [tuple(line.rsplit(" ", 1)) for line in lines if line[-1:].isdigit()]


def places(page: Page, pixels: Pixels, matrix: Points) -> float:
    """The share of prices whose middle, as it was photographed, lies in the box where it was read."""
    height, width = pixels.shape[:2]
    middles = np.array([[(RIGHT + 30, TOP + STEP * row + 22)] for row in range(len(ROWS))], np.float64)
    seen = cv2.perspectiveTransform(middles, matrix)[:, 0] / [width, height]
    found = 0
    for (_, price), (x, y) in zip(ROWS, seen, strict=True):
        boxes = [page.words.boxes[index] for index, text in enumerate(page.words.texts) if text == price]
        found += any(x0 < x < x1 and y0 < y < y1 for x0, y0, x1, y1 in boxes)
    return found / len(ROWS)


TAKEN_FROM = {
    "above": [(100, 100), (700, 100), (700, 1000), (100, 1000)],
    "the left": [(100, 200), (620, 80), (640, 1080), (90, 960)],
    "below": [(190, 120), (610, 110), (720, 1050), (80, 1080)],
    "a tilted hand": [(420, 60), (880, 320), (440, 1040), (20, 780)],
}


@pytest.mark.parametrize("side", TAKEN_FROM)
def test_rows_of_a_receipt_on_a_table_are_read_and_placed(side: str) -> None:
    pixels, matrix = photograph(TAKEN_FROM[side], (900, 1200))

    page = read(pixels)

    assert rows(page) == list(ROWS)
    assert places(page, pixels, matrix) == 1


def test_a_shadow_over_half_the_receipt_hides_nothing() -> None:
    pixels, matrix = photograph(TAKEN_FROM["the left"], (900, 1200))
    shade = np.ones((1200, 900), np.float32)
    cv2.fillPoly(shade, [np.array([(0, 500), (500, 0), (900, 700), (300, 1200), (0, 1200)])], (0.35,))
    dark = (pixels * cv2.GaussianBlur(shade, (0, 0), 12)[..., None]).astype(np.uint8)

    page = read(dark)

    assert rows(page) == list(ROWS)
    assert places(page, dark, matrix) == 1


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_photograph_that_is_turned_is_read_upright(turn: int) -> None:
    pixels, matrix = photograph(TAKEN_FROM["the left"], (900, 1200))

    page = read(turn_picture(pixels, -turn))

    assert page.rotation == turn
    assert rows(page) == list(ROWS)
    assert places(page, pixels, matrix) == 1  # where the page is displayed, turned upright


def test_a_small_photograph_is_read() -> None:
    pixels, matrix = photograph(TAKEN_FROM["above"], (900, 1200))
    small = np.asarray(cv2.resize(pixels, (270, 360), interpolation=cv2.INTER_AREA), np.uint8)

    page = read(small)

    assert rows(page) == list(ROWS)
    assert places(page, small, np.diag([0.3, 0.3, 1]) @ matrix) == 1


def test_a_photograph_that_cuts_the_prices_says_so() -> None:
    pixels, _ = photograph(TAKEN_FROM["above"], (900, 1200))

    assert read(pixels).cut_edges == ()
    assert read(pixels[:, :590]).cut_edges == ("right",)
    assert read(pixels[:485]).cut_edges == ("bottom",)
    assert read(turn_picture(pixels[:, :590], 180)).cut_edges == ("right",)


def test_the_print_of_a_long_thin_receipt_is_not_lost(tmp_path: Path) -> None:
    strip = Image.new("RGB", (700, 7000), "white")
    draw, font = ImageDraw.Draw(strip), ImageFont.load_default(16)
    names = [f"{item} {number}" for number, (item, _) in enumerate(ROWS * 16, 101)]
    for row, name in enumerate(names):
        draw.text((40, 30 + 48 * row), name, "black", font)
    strip.save(tmp_path / "strip.png")

    page = recognise_picture(tmp_path / "strip.png", "image/png", 1, ReadingOptions(), "rapidocr").page

    read_names = {" ".join(line.text.split()) for line in page.lines}
    assert len(read_names & set(names)) >= 0.9 * len(names)
