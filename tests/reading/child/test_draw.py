import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docmill.errors import ValidationError
from docmill.reading.child.render import draw_page, draw_words
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import (
    FigureBlock,
    HeadingBlock,
    Paragraph,
    TableBlock,
    set_on_pages,
    typeset,
)

OPTIONS = ReadingOptions()


def test_words_are_drawn_inside_their_boxes() -> None:
    (page,) = typeset([HeadingBlock("Invoice"), Paragraph("GMMMMMMMBH iiiii Größe счет 請求")])

    dark = draw_words(page, (1000, 8000)).pixels.min(axis=2) < 128

    height, width = dark.shape
    for x0, y0, x1, y1 in (page.words.boxes * [width, height, width, height]).round().astype(int).tolist():
        assert dark[y0:y1, x0:x1].any()
        dark[y0 - 2 : y1 + 2, x0 - 2 : x1 + 4] = False
    assert not dark.any()


def test_cells_of_tables_have_lines_around_them() -> None:
    (page,) = typeset([TableBlock([["a", "b"], ["c", "d"]])])

    pixels = draw_words(page, (600, 8000)).pixels

    lines = (pixels.min(axis=2) > 150) & (pixels.max(axis=2) < 245)
    assert lines.sum() > 100


def test_the_picture_fits() -> None:
    (page,) = typeset([TableBlock([["wide" * 20] * 6])])

    assert draw_words(page, (200, 8000)).pixels.shape[1] == 200
    assert draw_words(page, (200, 10)).pixels.shape[0] == 10


def test_a_page_of_a_text_is_drawn_as_it_was_set(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("first\fsecond")

    drawn = draw_page(path, 2, 300, None, OPTIONS)

    assert Image.open(io.BytesIO(drawn)).size == (300, 425)
    with pytest.raises(ValidationError, match="no page 3"):
        draw_page(path, 3, 300, None, OPTIONS)


def test_what_could_not_be_read_is_written_on_its_page(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("line\n" * 200)

    drawn = draw_page(path, 2, 300, None, ReadingOptions(max_flow_pages=1))

    assert np.asarray(Image.open(io.BytesIO(drawn)).convert("L")).min() < 128


def test_a_picture_is_drawn_where_it_stands_and_one_that_is_broken_leaves_its_place_empty() -> None:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "PNG")
    pages, figures = set_on_pages([FigureBlock(file.getvalue(), 200, 100), FigureBlock(b"broken", 200, 100)])

    pixels = draw_words(pages[0], (595, 842), figures).pixels

    assert pixels[60, 60].tolist() == [255, 0, 0]
    assert (pixels[165:250] == 255).all()


def test_letters_of_a_small_picture_are_dark() -> None:
    (page,) = typeset([Paragraph("Invoice")])

    assert draw_words(page, (320, 8000)).pixels.min() < 60
