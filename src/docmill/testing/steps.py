"""Fakes of the steps of a document, for tests and for trying out a pipeline: each gives what it was given."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

from PIL import Image

from docmill.errors import CorruptError, DocmillError
from docmill.model.document import Document
from docmill.model.result import Classification, Extraction, Schema, StepTaken, Verdict
from docmill.ports import Original, PageJournal, Ref, Understood
from docmill.schemas.filling import filled


class MemoryReader:
    """`Reader` of given bytes, by key. They are laid down in `folder`, since parsers want files."""

    def __init__(self, contents: Mapping[str, bytes], folder: Path) -> None:
        self._contents = contents
        self._folder = folder

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        if ref.key not in self._contents:
            raise CorruptError(f"{ref.key!r} is gone")
        content = self._contents[ref.key]
        content_hash = hashlib.sha256(content).hexdigest()
        path = self._folder / content_hash
        await asyncio.to_thread(path.write_bytes, content)
        return Original(path=path, name=ref.name, content_hash=content_hash)


class FakeConverter:
    """`Converter` that gives the same outcome for every original. originals: those that it was given."""

    def __init__(self, outcome: Document | DocmillError) -> None:
        self.outcome = outcome
        self.originals: list[Original] = []

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        """See `Converter.convert`."""
        del pages
        self.originals.append(original)
        if isinstance(self.outcome, DocmillError):
            raise self.outcome
        return replace(self.outcome, content_hash=original.content_hash)


@dataclass(frozen=True, slots=True)
class FakeUnderstander:
    """`Understander` that always gives the same type, and no fields."""

    classification: Classification = field(default_factory=Classification)

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        """See `Understander.understand`."""
        del document, original, schemas, tags
        return Understood(self.classification)


@dataclass(frozen=True, slots=True)
class FakeExtractor:
    """`Extractor` that always gives the same extraction, or an empty one."""

    extraction: Extraction | None = None

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`."""
        del document, original
        if self.extraction is not None:
            return self.extraction
        return Extraction(
            document_type=schema.name,
            data=filled(schema.fields, {}),
            evidence={},
            steps=(StepTaken(kind="read", by="fake"),),
        )


@dataclass(frozen=True, slots=True)
class FakeGate:
    """`Gate` that always gives the same verdict."""

    verdict: Verdict = field(default_factory=Verdict)

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        """See `Gate.judge`."""
        del document, extraction, schema
        return self.verdict


@dataclass
class PaintedPages:
    """`PageRenderer` whose pictures are sentences. asked: its calls; error: raised instead of an answer."""

    asked: list[tuple[bytes, int, int]] = field(default_factory=list[tuple[bytes, int, int]])
    error: Exception | None = None

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """See `PageRenderer.render`."""
        if self.error:
            raise self.error
        content = await asyncio.to_thread(original.read_bytes)
        self.asked.append((content, page_number, width_px))
        turned = f" turned by {rotation}" if rotation else ""
        return f"picture of page {page_number}, {width_px} px{turned}".encode()


class EmptyPages(PaintedPages):
    """`PageRenderer` of empty pages that a browser can show."""

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """See `PageRenderer.render`."""
        await super().render(original, page_number=page_number, width_px=width_px, rotation=rotation)
        buffer = BytesIO()
        Image.new("RGB", (width_px, round(width_px * 1.414)), "white").save(buffer, "WEBP")
        return buffer.getvalue()
