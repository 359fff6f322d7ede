from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tools.page_model.photographs import keep_photographed, photograph
from tools.page_model.readings import kept_readings


def scan() -> Image.Image:
    image = Image.new("RGB", (700, 1000), (250, 250, 250))
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(48)
    for row, text in enumerate(("Harbour Bakery", "Quay Street", "Croissant 2.40", "Total 2.40")):
        draw.text((90, 120 + 160 * row), text, "black", font)
    return image


def test_the_same_draw_takes_the_same_photograph_and_another_one_a_different_one() -> None:
    page = np.asarray(scan())
    first, again, other = (photograph(page, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_paper_lies_on_a_darker_table() -> None:
    taken = np.asarray(
        Image.open(BytesIO(photograph(np.asarray(scan()), np.random.default_rng(3)))).convert("L")
    )
    height, width = taken.shape
    middle = taken[height // 3 : height // 2, width // 3 : width // 2]
    corners = np.concatenate([taken[:20, :20].ravel(), taken[-20:, -20:].ravel()])
    assert np.median(middle) > np.median(corners) + 40


def test_a_photograph_is_read_once_and_kept(tmp_path: Path) -> None:
    picture, kept = tmp_path / "bakery.png", tmp_path / "kept"
    scan().save(picture)
    keep_photographed([picture], kept)
    [(name, document)] = kept_readings(kept)
    assert name == "bakery"
    assert "Bakery" in document.pages[0].words.texts
    read_at = (kept / "bakery.json.zst").stat().st_mtime_ns
    keep_photographed([picture], kept)
    assert (kept / "bakery.json.zst").stat().st_mtime_ns == read_at
