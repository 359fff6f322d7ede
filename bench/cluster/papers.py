"""The files to upload: samples, many small invoices, damaged files, and some of them twice."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from reportlab.pdfgen.canvas import Canvas

from docmill.demo import generate

DAMAGED = 4
TWICE_OF = 10
"""One in so many comes a second time, under another name."""

INVOICE = """\
Halden Freight GmbH
Dock Street {number}, 20457 Hamburg

INVOICE

Invoice number      INV-{number:05}
Invoice date        2026-10-{day:02}
Order number        PO-{order}

Transport, {number} pallets      {net}.00 EUR
Net total                        {net}.00 EUR
VAT 19 %                         {tax} EUR
Total due                        {gross} EUR
"""


@dataclass(frozen=True, slots=True)
class Paper:
    """A file to be uploaded."""

    path: Path
    content_hash: str


def write_papers(folder: Path, count: int) -> list[Paper]:
    """`count` files. What comes twice comes one right after the other, so that both are under way at once."""
    originals = count - count // TWICE_OF
    papers: list[Paper] = []
    for number, path in enumerate(_originals(folder, originals)[:originals]):
        content_hash = hashlib.sha256(path.read_bytes()).hexdigest()
        papers.append(Paper(path, content_hash))
        if number % (TWICE_OF - 1) == 0 and len(papers) + originals - number - 1 < count:
            again = Path(shutil.copy(path, folder / f"again-{path.name}"))
            papers.append(Paper(again, content_hash))
    return papers


def _originals(folder: Path, count: int) -> list[Path]:
    damaged = [folder / f"damaged-{number}.pdf" for number in range(DAMAGED)]
    for number, path in enumerate(damaged):
        path.write_bytes(b"%PDF-1.7 this ends too early " + bytes([number]))
    samples = [sample.path for sample in generate(folder / "samples")]
    invoices = [_invoice(folder, number) for number in range(max(0, count - DAMAGED - len(samples)))]
    # Mixed, so that pictures, which take seconds, do not all come at once.
    step = max(1, len(invoices) // max(1, len(samples)))
    mixed = list(damaged)
    for number, invoice in enumerate(invoices):
        mixed.append(invoice)
        if number % step == 0 and samples:
            mixed.append(samples.pop())
    return mixed + samples


def _invoice(folder: Path, number: int) -> Path:
    net = 100 * (number + 1)
    text = INVOICE.format(
        number=number,
        day=number % 28 + 1,
        order=4000 + number,
        net=net,
        tax=f"{net * 0.19:.2f}",
        gross=f"{net * 1.19:.2f}",
    )
    path = folder / f"invoice-{number:04}.pdf"
    canvas = Canvas(str(path), invariant=True)
    lines = canvas.beginText(60, 780)
    lines.setFont("Courier", 11)
    lines.textLines(text, trim=0)
    canvas.drawText(lines)
    canvas.save()
    return path
