"""A worker that reads uploads as the text that they are, and learns from what people say of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from docmill.model.document import Document, Page, Words
from docmill.model.result import Classification, Schema
from docmill.pipeline import Steps
from docmill.ports import Original, PageJournal, Understood
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate
from docmill.understanding.pooled import PooledUnderstanding
from docmill.understanding.router import GateRouter
from docmill.workers.pool import Pool

_WIDTH, _HEIGHT = 60, 40


class TextPages:
    """`Converter` of texts, as if recognised on a picture: each character is a cell, and none is sure."""

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        del pages
        rows = original.path.read_text().splitlines()
        return Document(original.content_hash, "text/plain", [typed_page(rows)], language="en")


def typed_page(rows: list[str]) -> Page:
    """The rows as a recognised page."""
    words: list[tuple[str, int, int]] = []
    for line, row in enumerate(rows):
        at = 0
        for word in row.split():
            at = row.index(word, at)
            words.append((word, line, at))
            at += len(word)
    boxes = [
        (at / _WIDTH, (line + 0.1) / _HEIGHT, (at + len(word)) / _WIDTH, (line + 0.9) / _HEIGHT)
        for word, line, at in words
    ]
    lines = sorted({line for _, line, _ in words})
    count = len(words)
    columns = Words(
        texts=[word for word, _, _ in words],
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        confidences=np.full(count, 0.99, np.float32),
        lines=np.array([lines.index(line) for _, line, _ in words], np.int32),
        blocks=np.zeros(count, np.int32),
    )
    return Page(1, 595, 842, columns, source="ocr", quality=0.9)


class Types:
    """`Classifier` that takes every document for one of a type."""

    def __init__(self, document_type: str) -> None:
        self._type = document_type

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        assert document.pages
        return Understood(Classification(document_type=self._type, title="A paper", confidence=1))


def steps(
    pool: Pool,
    document_type: str,
    schemas: Mapping[str, Schema] = REGISTRY,
    models: Mapping[str, str] | None = None,
) -> Steps:
    """What such a worker does."""
    offline = PooledUnderstanding(pool, models)
    return Steps(
        TextPages(),
        Types(document_type),
        offline,
        GateRouter(RuleGate()),
        corrector=offline,
        schemas=schemas,
    )
