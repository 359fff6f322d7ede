"""Components that do next to nothing, for benchmarks of runs. The peer's pipeline takes the same ones."""

import asyncio
from typing import Any

import numpy as np
from pydantic import BaseModel

from docmill.model.document import Document, Page, Words
from docmill.ports import Ref
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.roles import ExtractionResult


class Letter(BaseModel):
    """The schema."""

    sender: str = ""


def text_document(text: str) -> Document:
    """A document of one page with the words of a text."""
    words = text.split()
    count = len(words)
    boxes = np.tile(np.array([[0, 0, 1, 1]], np.float32), (count, 1))
    certainties, lines = np.ones(count, np.float32), np.zeros(count, np.int32)
    page = Page(1, 100, 100, Words(words, boxes, certainties, lines, lines), "text", 1.0)
    return Document("0" * 64, "text/plain", (page,))


class KeyReader:
    """The content of a document is its key. Called in a thread."""

    def read(self, ref: Ref, context: Any) -> bytes:
        return ref.key.encode()


class AsyncKeyReader:
    """`KeyReader` on the event loop."""

    async def read(self, ref: Ref, context: Any) -> bytes:
        return ref.key.encode()


class FixedConverter:
    """Returns the same document every time. Called in a thread."""

    def __init__(self) -> None:
        self._document = text_document("a letter")

    def convert(self, document_bytes: DocumentBytes, context: Any) -> Document:
        return self._document


class AsyncFixedConverter:
    """`FixedConverter` on the event loop."""

    def __init__(self) -> None:
        self._document = text_document("a letter")

    async def convert(self, document_bytes: DocumentBytes, context: Any) -> Document:
        return self._document


class TextConverter:
    """The content is the text. Called in a thread."""

    def convert(self, document_bytes: DocumentBytes, context: Any) -> Document:
        return text_document(document_bytes.read().decode())


class TextExtractor:
    """The sender is the whole text. takes_s: how long it takes to answer, as a model does."""

    def __init__(self, takes_s: float = 0.0) -> None:
        self._takes_s = takes_s

    async def extract(self, document: Document, schema: type[Letter], context: Any) -> Letter:
        if self._takes_s:
            await asyncio.sleep(self._takes_s)
        return schema(sender=document.text)


class CountingExporter:
    """Drops the results."""

    def __init__(self) -> None:
        self.count = 0

    async def export(self, document: Document, data: ExtractionResult[Any] | Letter, context: Any) -> None:
        self.count += 1
