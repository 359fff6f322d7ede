"""The labelled documents of `classification_types.csv`, read by docmill once and kept.

A row names files of ../shared/data by a pattern; the first row that fits a file counts. type: `label` for
adbuy's own, in labels.json, and `-` for a file that is left out. source: documents of one are never in
training and test; empty for a file of its own, `vendor` for that of the receipt's label. Files that cannot be
read are no part of it.
"""

import asyncio
import csv
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.data import orders, receipts
from bench.data.shared import DATA
from docmill.demo import generate
from docmill.errors import CorruptError, DocmillError
from docmill.model import codec
from docmill.model.document import Document
from docmill.ports import Original
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter
from docmill.reading.files.options import ReadingOptions
from docmill.wiring import reading_pool
from docmill.workers.pool import Pool

TYPES = Path(__file__).with_name("classification_types.csv")
MOST_PAGES = 40
"""Of longer documents as many are kept: a type shows at the beginning."""
PICTURES = (".png", ".jpg", ".tif", ".tiff", ".webp", ".heic")
"""Read last: recognition takes long."""
MOST_S = 600
"""A document that takes longer to read is left out."""


class Labelled(NamedTuple):
    """A document with its type. path: below ../shared/data. collection: its folder there, or `samples`."""

    path: str
    document: Document
    document_type: str
    source: str
    collection: str


class _Row(NamedTuple):
    path: str
    document_type: str
    source: str


def load(cache: Path, *, kept_only: bool = False) -> list[Labelled]:
    """Load all documents. Those not in `cache` are left out, or read first, which takes an hour for all."""
    cache.mkdir(parents=True, exist_ok=True)
    rows = [row for row in _rows() if not kept_only or _place(DATA / row.path, cache).exists()]
    found = [*_receipts(), *asyncio.run(_read(rows, cache)), *samples(cache)]
    return [item for item in found if item.document_type != "-"]


def _receipts() -> Iterator[Labelled]:
    labels = receipts.keys()
    vendor = receipts.vendor_groups(labels)
    for name, document in receipts.documents():
        if name in labels:
            yield Labelled(f"sroie/ocr/{name}.json", document, "receipt", f"vendor {vendor[name]}", "sroie")


def _rows() -> list[_Row]:
    """List a row for each file but the receipts."""
    types = {f"adbuy/pdf/{item['id']}.pdf": item["doc_class"] for item in orders.labels()}
    of_class = {"order": "purchase_order", "invoice": "invoice"}
    rows: dict[str, _Row] = {}
    with TYPES.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            for found in sorted(DATA.glob(line["path"])):
                path = found.relative_to(DATA).as_posix()
                if found.is_dir() or path in rows or path.startswith("sroie/"):
                    continue
                kind = line["type"]
                if kind == "label":
                    kind = of_class.get(types.get(path) or "", "-")
                rows[path] = _Row(path, kind, line["source"] or path)
    return list(rows.values())


async def _read(rows: Sequence[_Row], cache: Path) -> list[Labelled]:
    found: list[Labelled] = []
    async with reading_pool(1) as pool:
        for row in sorted(rows, key=lambda row: row.path.endswith(PICTURES)):
            if row.document_type != "-":
                document = await _kept(DATA / row.path, cache, pool)
                if document is not None:
                    collection = row.path.partition("/")[0]
                    found.append(Labelled(row.path, document, row.document_type, row.source, collection))
    return found


def _place(path: Path, cache: Path) -> Path:
    return cache / f"{hashlib.sha256(path.read_bytes()).hexdigest()}.transcription"


async def _kept(path: Path, cache: Path, pool: Pool) -> Document | None:
    """Return the kept reading, or read the file now; None for a file that cannot be read."""
    kept = _place(path, cache)
    if not kept.exists():
        try:
            async with asyncio.timeout(MOST_S):
                document = await _converted(path, kept.stem, pool)
        except (DocmillError, TimeoutError) as error:
            kept.write_bytes(b"")
            print(f"{path.name}: {error}", flush=True)
            return None
        kept.write_bytes(codec.dumps(document))
    content = kept.read_bytes()
    return codec.loads(content) if content else None


async def _converted(path: Path, content_hash: str, pool: Pool) -> Document:
    options = ReadingOptions(max_flow_pages=MOST_PAGES)
    if "hostile" in path.parts:
        return await asyncio.to_thread(text_layers, path, content_hash, options)
    document = await LocalConverter(pool, options).convert(Original(path, path.name, content_hash))
    return replace(document, pages=document.pages[:MOST_PAGES])


def text_layers(path: Path, content_hash: str, options: ReadingOptions) -> Document:
    """Read the text layers only: recognition takes long on pictures of hundreds of pages."""
    opened = tasks.open_original(path, options)
    pages = [page for page in opened.pages[:MOST_PAGES] if page is not None and len(page.words)]
    if not pages:
        raise CorruptError("no page has text")
    return Document(content_hash, opened.media_type, pages)


def samples(cache: Path) -> list[Labelled]:
    """Load the samples of `docmill.demo`; their source is their layout."""
    folder = cache / "samples"
    made = generate(folder)
    rows = {sample.path: _Row("", sample.document_type, f"samples {sample.layout}") for sample in made}

    async def read() -> list[Labelled]:
        async with reading_pool(1) as pool:
            return [
                Labelled(path.name, document, row.document_type, row.source, "samples")
                for path, row in rows.items()
                if (document := await _kept(path, cache, pool)) is not None
            ]

    return asyncio.run(read())
