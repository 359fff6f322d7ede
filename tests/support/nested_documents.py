"""A pipeline for documents that hold documents."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from docmill.model.document import Document, Part, PartKind
from docmill.model.result import Classification, Extraction, Schema, Verdict
from docmill.pipeline import Steps
from docmill.ports import Original, PageJournal, PartFile, Understood
from docmill.schemas.types import Receipt
from docmill.understanding.router import GateRouter

Content = str | dict[str, Any]


class NestedDocuments:
    """A pipeline for files that are JSON: a text is a page, an object holds files by name.

    An object with a file of no name is a mail: it has a page as well. errors: by name, raised by the
    converter. whole_errors: raised when a mail has been unpacked.
    """

    def __init__(self, blank: Document) -> None:
        self.converted: list[str] = []
        self.unpacked: list[Path] = []
        self.errors: dict[str, list[Exception]] = {}
        self.whole_errors: list[Exception] = []
        self.running = self.most_running = 0
        self._blank = blank

    def steps(self) -> Steps:
        return Steps(
            converter=self, understander=self, extractor=self, router=GateRouter(self), unpacker=self
        )

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        del pages
        self.converted.append(original.name)
        content: Content = json.loads(await asyncio.to_thread(original.path.read_text))
        if errors := self.errors.get(original.name):
            raise errors.pop()
        if isinstance(content, str):
            return replace(self._blank, content_hash=original.content_hash)
        problems = {"bad": "broken"}
        kind: PartKind = "attachment" if "" in content else "member"
        parts = tuple(Part(name, kind, problem=problems.get(name)) for name in content if name)
        if "" in content:
            return replace(self._blank, content_hash=original.content_hash, parts=parts)
        return Document(original.content_hash, "application/zip", [], parts=parts)

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        content: dict[str, Content] = json.loads(await asyncio.to_thread(original.path.read_text))
        self.unpacked.append(folder)
        there = [part for part in document.parts if part.name in content]
        return [await asyncio.to_thread(_file, folder, part, content[part.name]) for part in there]

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        return Understood(Classification(title=document.text))

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        del original
        assert document.pages
        if document.parts and self.whole_errors:
            raise self.whole_errors.pop()
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.to_thread(len, "")  # let the others run
        self.running -= 1
        return Extraction(document_type=schema.name, data=Receipt(), evidence={})

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert document
        assert extraction
        assert schema
        return Verdict()


def _file(folder: Path, part: Part, content: Content) -> PartFile:
    if part.problem:
        return PartFile(part, None)
    path = folder / str(len(list(folder.iterdir())))
    path.write_text(json.dumps(content))
    return PartFile(part, path)
