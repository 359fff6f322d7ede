"""Fixtures that more than one folder of tests needs."""

from collections.abc import Callable

import numpy as np
import pytest

from docmill.model import Document, Page, Words

MakeDocument = Callable[..., Document]


@pytest.fixture
def make_document() -> MakeDocument:
    """Documents from monospaced text: one argument per page, columns and lines as they stand."""

    def make(*pages: str, media_type: str = "application/pdf") -> Document:
        return Document(
            content_hash="0" * 64,
            media_type=media_type,
            pages=[_page(number, text) for number, text in enumerate(pages, 1)],
        )

    return make


def _page(number: int, text: str) -> Page:
    rows = [row for row in text.splitlines() if row.strip()]
    height = 1 / (len(rows) + 2)
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    lines: list[int] = []
    for line, row in enumerate(rows):
        at = 0
        for word in row.split():
            at = row.index(word, at)
            top = (line + 1) * height
            texts.append(word)
            boxes.append((at / 100 + 0.05, top, (at + len(word)) / 100 + 0.05, top + 0.8 * height))
            lines.append(line)
            at += len(word)
    words = Words(
        texts=texts,
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        confidences=np.ones(len(texts), np.float32),
        lines=np.array(lines, np.int32),
        blocks=np.zeros(len(texts), np.int32),
    )
    return Page(number=number, width_pt=595, height_pt=842, words=words, source="text", quality=1.0)
