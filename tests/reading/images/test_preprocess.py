import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.reading.images.preprocess import map_back, paper_corners, preprocess_picture, skew

Picture = NDArray[np.uint8]


def page(width: int = 800, height: int = 1000) -> Picture:
    """Rows of print, black on white."""
    pixels = np.full((height, width, 3), 255, np.uint8)
    for y in range(100, height - 100, 40):
        for x in range(100, width - 100, 25):
            pixels[y : y + 16, x : x + 14] = 0
    return pixels


def turned(pixels: Picture, degrees: float) -> Picture:
    height, width = pixels.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1)
    return np.asarray(cv2.warpAffine(pixels, matrix, (width, height), borderValue=(255, 255, 255)), np.uint8)


def photographed() -> tuple[Picture, NDArray[np.float32]]:
    """A page that lies askew on a dark table, and its corners."""
    corners = np.array([(150, 120), (850, 180), (900, 1150), (100, 1100)], np.float32)
    flat = np.array([(0, 0), (800, 0), (800, 1000), (0, 1000)], np.float32)
    matrix = cv2.getPerspectiveTransform(flat, corners)
    pixels = cv2.warpPerspective(page(), matrix, (1000, 1300), borderValue=(40, 30, 30))
    return np.asarray(pixels, np.uint8), corners


@pytest.mark.parametrize("degrees", [-4.0, 0.0, 3.0])
def test_the_slant_of_lines_is_found(degrees: float) -> None:
    grey = np.ascontiguousarray(turned(page(), -degrees)[:, :, 0])

    assert skew(grey) == pytest.approx(degrees, abs=0.5)


def test_a_sheet_on_a_table_is_found_and_cut_out() -> None:
    pixels, corners = photographed()

    found = paper_corners(np.ascontiguousarray(pixels[:, :, 0]))
    better = preprocess_picture(pixels)

    assert found is not None
    assert found == pytest.approx(corners, abs=15)
    assert better.pixels.shape[1] == pytest.approx(800, abs=40)


def test_a_page_that_fills_its_picture_is_not_cut() -> None:
    assert paper_corners(np.ascontiguousarray(page()[:, :, 0])) is None


def test_corners_are_mapped_back_to_where_they_were_seen() -> None:
    pixels, corners = photographed()
    better = preprocess_picture(pixels)
    height, width = better.pixels.shape[:2]
    sheet = np.array([[(0, 0), (width, 0), (width, height), (0, height)]], np.float32)

    assert map_back(sheet, better.matrix)[0] == pytest.approx(corners, abs=20)
    assert map_back(sheet[:0], better.matrix).shape == (0, 4, 2)


def test_a_shadow_and_weak_contrast_become_black_on_white() -> None:
    shade = np.linspace(0.4, 0.9, 800)[None, :, None]
    pixels = (page() * shade * 0.5 + 60 * shade).astype(np.uint8)

    better = preprocess_picture(pixels).pixels

    print_, paper = page()[:, :, 0] == 0, page()[:, :, 0] == 255
    assert better[print_].mean() < 60
    assert better[paper].mean() > 230


def test_noise_is_smoothed() -> None:
    noise = np.random.default_rng(1).normal(0, 40, page().shape)
    pixels = np.clip(page() * 0.6 + 50 + noise, 0, 255).astype(np.uint8)

    better = preprocess_picture(pixels).pixels

    paper = better[:80, :, 0]
    assert paper.std() < 20


def test_edges_that_are_blurred_are_sharpened() -> None:
    pixels = np.asarray(cv2.GaussianBlur(page(), (0, 0), 6), np.uint8)

    better = preprocess_picture(pixels).pixels

    def steepest(picture: Picture) -> float:
        return float(np.abs(np.diff(picture[:, :, 0].astype(float), axis=1)).max())

    assert steepest(better) > 1.5 * steepest(pixels)


def test_a_slanting_page_is_straightened_and_a_small_one_enlarged() -> None:
    better = preprocess_picture(turned(page(500, 600), 3))

    assert better.pixels.shape[0] > 1200
    assert skew(np.ascontiguousarray(better.pixels[:, :, 0])) == pytest.approx(0, abs=0.5)
