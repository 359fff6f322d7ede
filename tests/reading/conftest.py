"""Originals made on the spot."""

from collections.abc import Callable
from pathlib import Path

import pytest
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
