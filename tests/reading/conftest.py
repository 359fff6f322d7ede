"""Originals made on the spot."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

MakePdf = Callable[..., Path]


@pytest.fixture
def make_pdf(tmp_path: Path) -> MakePdf:
    """PDFs of A4 pages, each drawn by a function."""

    def make(*draw: Callable[[Canvas], None], name: str = "made.pdf") -> Path:
        path = tmp_path / name
        canvas = Canvas(str(path), pagesize=(595, 842))
        for page in draw:
            page(canvas)
            canvas.showPage()
        canvas.save()
        return path

    return make


@pytest.fixture
def picture_of_text(tmp_path: Path) -> Path:
    """A picture of an invoice, 1200 x 700 pixels."""
    image = Image.new("RGB", (1200, 700), "white")
    canvas, font = ImageDraw.Draw(image), ImageFont.load_default(40)
    lines = (
        "Musterfirma GmbH, Hauptstr. 5, 10115 Berlin",
        "Rechnung Nr. 2024-4711",
        "Gesamtbetrag EUR 357,00",
    )
    for index, line in enumerate(lines):
        canvas.text((50, 60 + index * 150), line, fill="black", font=font)
    path = tmp_path / "scan.png"
    image.save(path)
    return path
