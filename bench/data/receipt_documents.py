"""The receipts of ../shared/data/sroie as documents, from the recognised lines kept there."""

import json
from collections.abc import Iterator

import numpy as np

from bench.data.shared import DATA
from docmill.model.document import Document, Page
from docmill.reading.ocr.page import Recognised, page_words
from docmill.reading.text.quality import page_quality


def documents() -> Iterator[tuple[str, Document]]:
    """Every receipt by its name."""
    for path in sorted((DATA / "sroie/ocr").glob("*.json")):
        yield path.stem, _document(path.stem, json.loads(path.read_text())["lines"])


def _document(name: str, lines: list[tuple[list[list[float]], str, float]]) -> Document:
    corners = np.array([line[0] for line in lines], np.float32).reshape(-1, 4, 2)
    width, height = (corners.reshape(-1, 2).max(axis=0) + 1).tolist() if lines else (1.0, 1.0)
    read = Recognised([line[1] for line in lines], corners, np.array([line[2] for line in lines], np.float32))
    words = page_words(read, width_px=round(width), height_px=round(height))
    page = Page(
        number=1, width_pt=width, height_pt=height, words=words, source="ocr", quality=page_quality(words)
    )
    return Document(content_hash=name.rjust(64, "0"), media_type="image/jpeg", pages=[page])
