"""Files to damage: some of every kind, made here, and real ones where the shared data is."""

import io
import pickle
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from docmill.model import codec
from docmill.model.document import Document, Page, Words
from fuzz.holders import holders
from fuzz.offices import offices
from fuzz.pdfs import pdfs
from support.bank_statements import CAMT_ENTRY, MT940, OFX_1, OFX_2, camt

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
TEXTS = {
    "html": HTML,
    "csv": b'Posten;Netto\r\nBrot;"4,50"\r\n' * 5,
    "tsv": b"Posten\tNetto\r\nBrot\t4,50\r\n" * 5,
    "txt": "Rechnung 7\nSumme 12,90 €\n".encode("utf-16"),
    "md": b"# Rechnung\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n* eins\n",
    "rtf": rb"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 Rechnung \'e4\u8364?\par{\*\x y}\trowd\cell}",
    "xml": b"<?xml version='1.0'?><a><b c='d'>e</b></a>",
    "camt": camt(
        CAMT_ENTRY.format(amount="2.00", side="CRDT", more="", status="BOOK", details=""), closing="102.00"
    ),
    "sta": MT940.encode(),
    "ofx": OFX_1.encode("cp1252"),
    "ofx2": OFX_2.encode(),
    "bank": "Buchungstag;Valuta;Zweck;Betrag\n13.11.26;;a;1,50\n14.11.26;;ä;-2,50\n".encode(),
    "json": b'{"a": [1, 2, {"b": null}]}',
}


def made() -> dict[str, list[bytes]]:
    """Files by their kind, the same on every machine."""
    texts = {kind: [text] for kind, text in TEXTS.items()}
    pictures = {kind.lower(): [_picture(kind)] for kind in PICTURES}
    return {**texts, **pictures, **holders(), **offices(), "pdf": pdfs()}


def seeds() -> dict[str, list[bytes]]:
    """Those, and real ones."""
    kinds = made()
    for kind, content in _real():
        kinds.setdefault(kind, []).append(content)
    return kinds


def coded() -> list[bytes]:
    """Pictures with a QR code."""
    code = cv2.copyMakeBorder(
        cv2.QRCodeEncoder.create().encode("DOCMILL-SPLIT"), 4, 4, 4, 4, cv2.BORDER_CONSTANT, value=(255,)
    )
    large = cv2.resize(code, (264, 264), interpolation=cv2.INTER_NEAREST)
    file = io.BytesIO()
    Image.fromarray(large).save(file, "BMP")
    return [file.getvalue()]


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
    return [codec.dumps(Document("0" * 64, "application/pdf", [page]))]


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


def _picture(kind: str) -> bytes:
    heif.register_heif_opener()
    file = io.BytesIO()
    image = Image.linear_gradient("L").resize((64, 48)).convert("RGB")
    more = {"save_all": True, "append_images": [image]} if kind in ("GIF", "TIFF", "WEBP") else {}
    image.save(file, kind, **more)
    return file.getvalue()
