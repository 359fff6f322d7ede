"""Measure the cost of corrections for a document in a vault with 1,000 reviewed documents.

Usage: python -m bench review_lookup [--documents 1000] [--vendors 40]

The lessons are made up (marks of made-up vendors, words of made-up layouts); the documents looked up are
typeset receipts. Times are of the wall, on a machine that does nothing else.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
from psycopg.types.json import Jsonb

from bench.arguments import argument_parser
from docmill.model import codec
from docmill.model.codec import loads
from docmill.model.corrections import CorrectedValue, Correction, LayoutWeights, ReviewedValues
from docmill.model.document import Document, Page, Words
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.review.corrections import CorrectionFinder
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.fields.features import layout_words
from docmill.understanding.pooled import PooledCorrectionMaker, PooledUnderstanding
from docmill.workers.pool import Pool

SCHEMA = REGISTRY["receipt"]
LOOKUPS = 200
MADE = 20
"""Lessons that are made as the service makes them."""
ROWS = 40


def document(vendor: int, number: int) -> Document:
    """Make a receipt of a vendor."""
    words = random.Random(vendor)
    goods = [f"{''.join(words.choices('abcdefghiklmnorstu', k=7))}" for _ in range(4 * ROWS)]
    rows = [f"Vendor {goods[0]} Limited", f"({100000 + vendor}-X)", "12 High Street", f"Receipt {number:06}"]
    rows += [
        f"{' '.join(goods[4 * line : 4 * line + 3])}  {line}.50  {goods[4 * line + 3]}"
        for line in range(ROWS)
    ]
    texts = [(word, line, at) for line, row in enumerate(rows) for at, word in enumerate(row.split())]
    boxes = [(at / 12, line / 50, (at + 0.9) / 12, (line + 0.8) / 50) for _, line, at in texts]
    columns = Words(
        [word for word, _, _ in texts],
        np.array(boxes, np.float32),
        np.full(len(texts), 0.95, np.float32),
        np.array([line for _, line, _ in texts], np.int32),
        np.zeros(len(texts), np.int32),
    )
    page = Page(1, 595, 842, columns, source="ocr", quality=0.9)
    return Document(f"{vendor:032}{number:032}", "text/plain", [page])


async def review(service: Service, vendor: int, number: int) -> UUID:
    """Store a document that a person has reviewed, with four values."""
    tenant_id, document_id, ingestion_id = service.default_tenant_id, new_id(), new_id()
    path = f"transcriptions/{document_id}"
    read = document(vendor, number)
    await service.blobs.put_once(path, codec.dumps(read))
    data = {"seller": {"name": f"Vendor {vendor} Ltd"}, "number": f"{number:06}", "currency": "EUR"}
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute(
            """
            INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
            VALUES (%(id)s, %(tenant)s, %(hash)s, 1, %(name)s, 'there')
            """,
            {"id": document_id, "tenant": tenant_id, "hash": read.content_hash, "name": f"{number}.pdf"},
        )
        await conn.execute(
            """
            INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by)
            VALUES (%(id)s, %(tenant)s, %(document)s, %(user)s)
            """,
            {"id": ingestion_id, "tenant": tenant_id, "document": document_id, "user": DEFAULT_USER_ID},
        )
        await conn.execute(
            """
            UPDATE ingestion
               SET status = 'completed', completed_at = clock_timestamp(), structured_data = %(data)s,
                   classification = '{"document_type": "receipt", "title": "A receipt"}', evidence = '{}',
                   verdict = '{"failures": []}', valid_structured_data = true,
                   transcription_file_path = %(path)s
             WHERE id = %(id)s
            """,
            {"id": ingestion_id, "data": Jsonb(data), "path": path},
        )
        for field in ("seller.name", "number", "currency", "gross_total"):
            await conn.execute(
                """
                INSERT INTO review
                    (id, tenant_id, document_id, ingestion_id, path, action, value, before, machine,
                     reviewed_by)
                VALUES (%(id)s, %(tenant)s, %(document)s, %(ingestion)s, %(path)s, 'confirm', 'null', 'null',
                        'null', %(user)s)
                """,
                {
                    "user": DEFAULT_USER_ID,
                    "id": new_id(),
                    "tenant": tenant_id,
                    "document": document_id,
                    "ingestion": ingestion_id,
                    "path": field,
                },
            )
    return document_id


class Made:
    """`CorrectionMaker` that takes reviewed values for true, so that only the lookup takes time."""

    def __init__(self, maker: PooledCorrectionMaker) -> None:
        self._maker = maker
        self.correction_s: list[float] = []
        self.layout_s: list[float] = []

    async def correction(self, transcription: bytes, schema: Schema, reviewed: ReviewedValues) -> Correction:
        started = time.perf_counter()
        if len(self.correction_s) < MADE:
            await self._maker.correction(transcription, schema, reviewed)
            self.correction_s.append(time.perf_counter() - started)
        read = loads(transcription)
        values = {
            path: CorrectedValue(str(value), is_corrected=path == "number")
            for path, value in reviewed.values.items()
        }
        return Correction(reviewed.name, identifiers(read), layout_words(read), values)

    async def layout(self, schema: Schema, documents: Sequence[tuple[bytes, Correction]]) -> LayoutWeights:
        started = time.perf_counter()
        made = await self._maker.layout(schema, documents)
        self.layout_s.append(time.perf_counter() - started)
        return made


def told(what: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    print(
        f"{what}: median {1000 * statistics.median(ordered):.1f} ms,"
        f" 95 % within {1000 * ordered[int(0.95 * (len(ordered) - 1))]:.1f} ms (n={len(ordered)})",
        flush=True,
    )


async def lookups(finder: CorrectionFinder, service: Service, vendors: int) -> list[float]:
    seconds: list[float] = []
    for number in range(LOOKUPS):
        read = document(number % vendors, 10_000_000 + number)
        teacher = finder.of(service.default_tenant_id, new_id())
        started = time.perf_counter()
        corrections = await teacher.find(read, SCHEMA)
        seconds.append(time.perf_counter() - started)
        assert corrections
    return seconds


async def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--vendors", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(Settings(data_dir=Path(folder))) as service, Pool(1) as pool:
            maker = Made(PooledCorrectionMaker(pool))
            finder = CorrectionFinder(service.database, service.blobs, maker)
            nobody = finder.of(service.default_tenant_id, new_id())
            seconds: list[float] = []
            for number in range(LOOKUPS):
                started = time.perf_counter()
                await nobody.find(document(number, number), SCHEMA)
                seconds.append(time.perf_counter() - started)
            told("a vault without reviews", seconds)
            for number in range(arguments.documents):
                await review(service, number % arguments.vendors, number)
            for _ in range(arguments.documents // 20 + 1):
                await nobody.find(document(0, 0), SCHEMA)
            told("a correction made, once for each reviewed document", maker.correction_s)
            first = await lookups(finder, service, arguments.vendors)
            told("places of a layout fitted, once for its documents", maker.layout_s)
            told(f"a lookup among {arguments.documents}, with that", first)
            told(f"a lookup among {arguments.documents}", await lookups(finder, service, arguments.vendors))
            cold: list[float] = []
            for _ in range(5):
                started = time.perf_counter()
                fresh = CorrectionFinder(service.database, service.blobs, maker)
                await fresh.of(service.default_tenant_id, new_id()).find(document(0, 1), SCHEMA)
                cold.append(time.perf_counter() - started)
            told("the first document of a worker", cold)
            again: list[float] = []
            for number in range(20):
                await review(service, number, 20_000_000 + number)
                started = time.perf_counter()
                await finder.of(service.default_tenant_id, new_id()).find(document(0, 1), SCHEMA)
                again.append(time.perf_counter() - started)
            told("the first document after a review, but for the making of its correction", again)
            extractor = PooledUnderstanding(pool)
            plain: list[float] = []
            heard: list[float] = []
            for number in range(40):
                read = document(number, 30_000_000 + number)
                corrections = await finder.of(service.default_tenant_id, new_id()).find(read, SCHEMA)
                started = time.perf_counter()
                found = await extractor.extract(read, SCHEMA)
                plain.append(time.perf_counter() - started)
                await extractor.correct(read, SCHEMA, found, corrections)
                heard.append(time.perf_counter() - started)
            told("fields read with nothing learned", plain[5:])
            told("fields read with what was looked up", heard[5:])


if __name__ == "__main__":
    asyncio.run(main())
