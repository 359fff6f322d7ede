"""Small components for tests of runs."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel

from docmill.model.document import Document, Page, Words
from docmill.ports import Ref
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import ExtractionResult
from docmill.runs.running import Pipeline

QUICK = RunPolicy(backoff_base=0.01, breaker_failures=1000)


class Letter(BaseModel):
    """The schema of the tests."""

    sender: str | None = None


def text_document(text: str) -> Document:
    words = text.split()
    count = len(words)
    page = Page(
        1,
        100,
        100,
        Words(
            words,
            np.tile(np.array([[0, 0, 1, 1]], np.float32), (count, 1)),
            np.ones(count, np.float32),
            np.zeros(count, np.int32),
            np.zeros(count, np.int32),
        ),
        "text",
        1.0,
    )
    return Document("0" * 64, "text/plain", (page,))


class TextReader:
    """Reads from a dictionary; calls are counted."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = texts
        self.calls: Counter[str] = Counter()

    async def read(self, ref: Ref, context: Context[Any]) -> bytes:
        del context
        self.calls[ref.key] += 1
        return (ref.key if self.texts is None else self.texts[ref.key]).encode()


class TextConverter:
    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def convert(self, document_bytes: DocumentBytes, context: Context[Any]) -> Document:
        self.calls[context.document.ref.key] += 1
        return text_document(document_bytes.read().decode())


class FirstWordExtractor:
    """The first word is the sender. before: called with the key and the number of this call."""

    def __init__(self, before: Callable[[str, int], None] = lambda _key, _call: None) -> None:
        self.calls: Counter[str] = Counter()
        self.before = before

    async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        key = context.document.ref.key
        self.calls[key] += 1
        self.before(key, self.calls[key])
        await asyncio.sleep(0)
        return schema(sender=document.text.split()[0])


class MemoryExporter:
    """Keeps what is exported; before: called as by the extractor."""

    def __init__(self, before: Callable[[str, int], None] = lambda _key, _call: None) -> None:
        self.calls: Counter[str] = Counter()
        self.exported: dict[str, Any] = {}
        self.keys: dict[str, str] = {}
        self.before = before

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        del document
        key = context.document.ref.key
        self.calls[key] += 1
        self.before(key, self.calls[key])
        self.exported[key] = data.data.model_dump()
        self.keys[key] = context.document.key


def text_pipeline(
    reader: TextReader | None = None,
    *,
    extractor: FirstWordExtractor | None = None,
    exporter: MemoryExporter | None = None,
    policy: RunPolicy = QUICK,
    **parts: Any,
) -> Pipeline[Letter]:
    return Pipeline(
        schema=Letter,
        reader=reader or TextReader(),
        converter=parts.pop("converter", None) or TextConverter(),
        extractor=extractor or FirstWordExtractor(),
        exporter=exporter or MemoryExporter(),
        policy=policy,
        **parts,
    )
