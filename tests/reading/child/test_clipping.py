import io
from pathlib import Path

import numpy as np
from PIL import Image

from docmill.model.document import Box
from docmill.reading.child.render import LocalClipper, draw_clip
from docmill.reading.files.options import ReadingOptions
from docmill.workers.pool import Pool


def _page(folder: Path) -> Path:
    """White, with a black square from a half to six tenths of its width and height."""
    pixels = np.full((1000, 1000, 3), 255, np.uint8)
    pixels[500:600, 500:600] = 0
    path = folder / "page.png"
    Image.fromarray(pixels).save(path)
    return path


def test_a_place_is_cut_out_with_what_is_around_it(tmp_path: Path) -> None:
    content = draw_clip(_page(tmp_path), 1, Box(0.5, 0.5, 0.6, 0.6), ReadingOptions())

    clip = np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)
    assert clip.shape == (220, 420, 3)
    assert clip[110, 210].max() < 60
    assert clip[5, 5].min() > 200
    red = (clip[:, :, 0] > 140) & (clip[:, :, 1] < 130)
    assert red[:, 150:165].any()


def test_a_place_at_the_edge_has_nothing_beyond_it(tmp_path: Path) -> None:
    content = draw_clip(_page(tmp_path), 1, Box(0, 0, 1, 0.1), ReadingOptions())

    assert Image.open(io.BytesIO(content)).size == (1000, 160)


async def test_a_child_draws_it(tmp_path: Path) -> None:
    async with Pool(1) as pool:
        content = await LocalClipper(pool, ReadingOptions()).clip(_page(tmp_path), 1, Box(0, 0, 0.1, 0.1))

    assert Image.open(io.BytesIO(content)).format == "WEBP"
