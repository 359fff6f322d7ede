import re
from collections.abc import Callable

import numpy as np
import pytest

from docmill.model.document import Document, Page, Words

Typeset = Callable[..., Document]


def _page(text: str, number: int, source: str) -> Page:
    rows = text.strip("\n").split("\n")
    width, height = max(40, *map(len, rows)), max(30, len(rows))
    words = [(match, row) for row, line in enumerate(rows) for match in re.finditer(r"\S+", line)]
    filled = sorted({row for _, row in words})
    boxes = [
        (match.start() / width, (row + 0.1) / height, match.end() / width, (row + 0.9) / height)
        for match, row in words
    ]
    count = len(words)
    return Page(
        number=number,
        width_pt=595,
        height_pt=842,
        words=Words(
            texts=[match[0] for match, _ in words],
            boxes=np.array(boxes, np.float32).reshape(-1, 4),
            confidences=np.ones(count, np.float32),
            lines=np.array([filled.index(row) for _, row in words], np.int32),
            blocks=np.zeros(count, np.int32),
        ),
        source="ocr" if source == "ocr" else "text",
        quality=1.0,
    )


@pytest.fixture
def typeset() -> Typeset:
    """Monospace text as a document: each character is a cell, two spaces part columns, \\f parts pages."""

    def document(text: str, *, source: str = "text") -> Document:
        pages = [_page(part, number, source) for number, part in enumerate(text.split("\f"), 1)]
        return Document(content_hash="0" * 64, media_type="application/pdf", pages=pages)

    return document
