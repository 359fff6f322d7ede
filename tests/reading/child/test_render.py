import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from docmill.errors import ValidationError
from docmill.model.document import Box
from docmill.reading.child.render import LocalRenderer, draw_clip, draw_page
from docmill.reading.files.options import ReadingOptions
from docmill.workers.pool import Pool

MakePdf = Callable[..., Path]
OPTIONS = ReadingOptions()


def typed(canvas: Canvas) -> None:
    canvas.drawString(50, 700, "Total amount due")


def typed_sideways(canvas: Canvas) -> None:
    canvas.translate(300, 400)
    canvas.rotate(90)
    canvas.drawString(0, 0, "Total amount due")


def a_box(canvas: Canvas) -> None:
    canvas.rect(50, 50, 100, 100)


def size(webp: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(webp)) as image:
        assert image.format == "WEBP"
        return image.size


@pytest.fixture
async def renderer() -> AsyncIterator[LocalRenderer]:
    async with Pool(1) as pool:
        yield LocalRenderer(pool)


async def test_a_page_is_drawn_in_a_child(renderer: LocalRenderer, make_pdf: MakePdf) -> None:
    webp = await renderer.render(make_pdf(typed), page_number=1, width_px=119)

    assert size(webp) == (119, 168)
    assert len(webp) < 20_000


def test_a_page_is_drawn_as_it_was_read(make_pdf: MakePdf) -> None:
    path = make_pdf(typed_sideways)

    assert size(draw_page(path, 1, 168, None, OPTIONS)) == (168, 119)
    assert size(draw_page(path, 1, 119, 0, OPTIONS)) == (119, 168)


def test_a_page_to_be_recognised_is_drawn_as_it_is_stored(make_pdf: MakePdf) -> None:
    path = make_pdf(a_box)

    assert size(draw_page(path, 1, 119, None, OPTIONS)) == (119, 168)


def test_a_picture_is_never_blown_up(tmp_path: Path) -> None:
    Image.new("RGB", (60, 40)).save(tmp_path / "a.png")

    assert size(draw_page(tmp_path / "a.png", 1, 500, None, OPTIONS)) == (60, 40)


@pytest.mark.parametrize("page_number", [0, 2])
def test_a_page_that_is_not_there_cannot_be_drawn(
    make_pdf: MakePdf, tmp_path: Path, page_number: int
) -> None:
    Image.new("RGB", (60, 40)).save(tmp_path / "a.png")

    with pytest.raises(ValidationError, match="the document has 1"):
        draw_page(make_pdf(typed), page_number, 100, None, OPTIONS)
    with pytest.raises(ValidationError, match="the document has 1"):
        draw_page(tmp_path / "a.png", page_number, 100, None, OPTIONS)


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
        content = await LocalRenderer(pool).clip(_page(tmp_path), 1, Box(0, 0, 0.1, 0.1))

    assert Image.open(io.BytesIO(content)).format == "WEBP"
