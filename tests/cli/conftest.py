from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

WritePdf = Callable[..., Path]

INVOICE = """\
Halden Freight GmbH
Dock Street 4, 20457 Hamburg

INVOICE

Invoice number      INV-104
Invoice date        2026-10-14

Net total           100.00 EUR
VAT 19 %             19.00 EUR
Total due           119.00 EUR
"""


@pytest.fixture
def write_pdf() -> WritePdf:
    """Writes monospaced text as a PDF with a text layer."""

    def write(path: Path, text: str = INVOICE, *, pages: int = 1) -> Path:
        canvas = Canvas(str(path), invariant=True)
        for _ in range(pages):
            lines = canvas.beginText(60, 780)
            lines.setFont("Courier", 11)
            lines.textLines(text, trim=0)
            canvas.drawText(lines)
            canvas.showPage()
        canvas.save()
        return path

    return write
