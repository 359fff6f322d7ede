"""Files to damage: some of every kind, made here, and real ones where the shared data is."""

import io
import pickle
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import docx
import numpy as np
import openpyxl
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from docmill import transcription
from docmill.model import Document, Page, Words

DATA = Path(__file__).parents[3] / "shared" / "data"
REAL = ("formats", "mail", "office", "einvoice", "hostile/images")
LARGEST_BYTES = 300_000
MOST_OF_A_KIND = 8
heif: Any = import_module("pillow_heif")  # its types are partly unknown

PICTURES = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "HEIF")

HTML = b"""<!doctype html><html lang="de"><head><meta charset="utf-8"><title>Rechnung</title></head>
<body><h1>Rechnung 7</h1><p>Summe &euro; 12&nbsp;&#x20AC;</p><ul><li>eins</li></ul>
<table><tr><th colspan=2>Posten</th></tr><tr><td>Brot</td>
<td>4,50</td></tr></table><script>1</script></body>"""
MAIL = b"""From: a@example.org\r\nTo: b@example.org\r\nSubject: =?utf-8?q?Rechnung_7?=\r\nMIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/html; charset=iso-8859-1\r\n
<p>Anbei</p>\r\n--x\r\nContent-Type: text/csv; name="a.csv"\r\nContent-Transfer-Encoding: base64
Content-Disposition: attachment; filename="a.csv"\r\n\r\nYTtiCjE7Mgo=\r\n--x--\r\n"""
TEXTS = {
    "html": HTML,
    "eml": MAIL,
    "csv": b'Posten;Netto\r\nBrot;"4,50"\r\n' * 5,
    "txt": "Rechnung 7\nSumme 12,90 €\n".encode("utf-16"),
    "md": b"# Rechnung\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n* eins\n",
    "rtf": rb"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 Rechnung \'e4\u8364?\par{\*\x y}\trowd\cell}",
    "xml": b"<?xml version='1.0'?><a><b c='d'>e</b></a>",
    "tsv": b"Posten\tNetto\r\nBrot\t4,50\r\n" * 5,
    "json": b'{"a": [1, 2, {"b": null}]}',
}


def seeds() -> dict[str, list[bytes]]:
    """Files by their kind."""
    made = {kind: [text] for kind, text in TEXTS.items()}
    made |= {"pdf": [_pdf()], "docx": [_docx()], "xlsx": [_xlsx()], "zip": [_zip()]}
    made |= {kind.lower(): [_picture(kind)] for kind in PICTURES}
    for kind, content in _real():
        made.setdefault(kind, []).append(content)
    return made


def transcriptions() -> list[bytes]:
    """As they are stored."""
    words = Words(
        texts=["Rechnung", "7"],
        boxes=np.array([[0.1, 0.1, 0.2, 0.2], [0.3, 0.1, 0.4, 0.2]], np.float32),
        confidences=np.ones(2, np.float32),
        lines=np.zeros(2, np.int32),
        blocks=np.zeros(2, np.int32),
    )
    page = Page(number=1, width_pt=595, height_pt=842, words=words, source="text", quality=1.0)
    return [transcription.dumps(Document("0" * 64, "application/pdf", [page]))]


def replies() -> list[bytes]:
    """As children send them."""
    page = Page(number=1, width_pt=595, height_pt=842, words=Words.none(), source="text", quality=1.0)
    return [pickle.dumps(("result", content), protocol=5) for content in (page, [page], "text", {"a": 1})]


def _real() -> Iterator[tuple[str, bytes]]:
    counts: dict[str, int] = {}
    for path in sorted(path for folder in REAL for path in (DATA / folder).rglob("*") if path.is_file()):
        kind = path.suffix.lower().lstrip(".")
        small = path.stat().st_size <= LARGEST_BYTES
        if kind and small and counts.setdefault(kind, 0) < MOST_OF_A_KIND:
            counts[kind] += 1
            yield kind, path.read_bytes()


def _pdf() -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, invariant=True)
    canvas.drawString(60, 780, "Invoice 7, total 119.00 EUR")
    forms: Any = canvas.acroForm
    forms.textfield(name="number", x=60, y=700, value="7")
    canvas.showPage()
    canvas.line(0, 0, 100, 100)
    canvas.save()
    return file.getvalue()


def _docx() -> bytes:
    file, document = io.BytesIO(), docx.Document()
    document.add_heading("Invoice 7")
    document.add_paragraph("Total 119.00 EUR", style="List Bullet")
    document.add_table(2, 2).cell(0, 0).text = "Net"
    document.save(file)
    return file.getvalue()


def _xlsx() -> bytes:
    file, workbook = io.BytesIO(), openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.append(["Net", 100.5])
    sheet.append(["Date", "=A1"])
    sheet.merge_cells("A1:B1")
    workbook.save(file)
    return file.getvalue()


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/invoice.txt", "Invoice 7")
        archive.writestr("b.zip", b"PK")
    return file.getvalue()


def _picture(kind: str) -> bytes:
    heif.register_heif_opener()
    file = io.BytesIO()
    image = Image.linear_gradient("L").resize((64, 48)).convert("RGB")
    more = {"save_all": True, "append_images": [image]} if kind in ("GIF", "TIFF", "WEBP") else {}
    image.save(file, kind, **more)
    return file.getvalue()
