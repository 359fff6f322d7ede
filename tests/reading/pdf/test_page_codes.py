import io
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import zxingcpp
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from docmill.model.document import Code
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import pdf_file
from docmill.reading.pdf.page_codes import CodeSearch, find_region
from support.codes import draw_code

WORDS = "Invoice 2026-17 of 3 May 2026, payable within 14 days without deduction"


def write_page(
    path: Path,
    text: str = "",
    symbology: zxingcpp.BarcodeFormat = zxingcpp.BarcodeFormat.QRCode,
    *,
    form: Literal["picture", "squares", "path", "form"] = "picture",
    rotation: int = 0,
) -> Path:
    """A PDF with lines of text, a table, and a code at the lower left."""
    canvas: Any = Canvas(str(path), pagesize=(595, 842))
    canvas.setPageRotation(rotation)
    for line in range(12):
        canvas.drawString(60, 760 - 20 * line, WORDS)
    for row in range(8):
        canvas.rect(60, 300 + 20 * row, 120, 20)
    if text and form == "picture":
        canvas.drawImage(ImageReader(_png(draw_code(text, symbology))), 60, 60, 100, 100)
    elif text:
        _draw_squares(canvas, draw_code(text, symbology, scale=1), form)
    canvas.save()
    return path


def _png(pixels: np.ndarray) -> io.BytesIO:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file


def _draw_squares(canvas: Any, modules: np.ndarray, form: str) -> None:  # noqa: ANN401 - partly untyped
    if form == "form":
        canvas.beginForm("code")
    path = canvas.beginPath()
    for y, x in np.argwhere(modules == 0).tolist():
        place = (60 + 2 * x, 160 - 2 * y, 2, 2)
        if form == "path":
            path.rect(*place)
        else:
            canvas.rect(*place, stroke=0, fill=1)
    if form == "path":
        canvas.drawPath(path, stroke=0, fill=1)
    if form == "form":
        canvas.endForm()
        canvas.doForm("code")


def read(path: Path) -> tuple[Code, ...]:
    page = tasks.open_original(path, ReadingOptions()).pages[0]
    assert page is not None
    return page.codes


@pytest.mark.parametrize("form", ["picture", "squares", "path", "form"])
def test_a_code_is_read_however_it_is_drawn(
    tmp_path: Path, form: Literal["picture", "squares", "path", "form"]
) -> None:
    (code,) = read(write_page(tmp_path / "a.pdf", "DOCMILL-SPLIT", form=form))

    assert code.text == "DOCMILL-SPLIT"
    assert 0.1 < code.box.x0 < 0.13 < code.box.x1 < 0.3
    assert 0.75 < code.box.y0 < code.box.y1 < 0.95


def test_bars_are_read(tmp_path: Path) -> None:
    path = write_page(tmp_path / "a.pdf", "PATCHT", zxingcpp.BarcodeFormat.Code128, form="squares")

    assert [code.text for code in read(path)] == ["PATCHT"]


def test_a_code_on_a_turned_page_stands_where_its_words_do(tmp_path: Path) -> None:
    (code,) = read(write_page(tmp_path / "a.pdf", "DOCMILL-SPLIT", rotation=90))

    assert code.text == "DOCMILL-SPLIT"
    assert code.box.x1 < 0.3  # the page is displayed so that its text is upright
    assert code.box.y0 > 0.7


def test_nothing_is_drawn_of_a_page_of_text_with_a_table(tmp_path: Path) -> None:
    path = write_page(tmp_path / "a.pdf")

    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        assert find_region(page) is None
    assert read(path) == ()


def test_codes_beyond_the_limit_of_time_are_not_read(tmp_path: Path) -> None:
    path = write_page(tmp_path / "a.pdf", "DOCMILL-SPLIT")
    search = CodeSearch(limit_s=1e-9)

    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        first, second = search.read(page, 0), search.read(page, 0)

    assert len(first) == 1
    assert second == ()
