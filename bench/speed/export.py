"""Measure the export of documents' fields, and of their originals, from a vault with many documents.

Usage: python -m bench export [--documents 10000]

The documents are made up: invoices with four line items each and small originals. Each file is made by the
code behind the API; its bytes are counted and thrown away. Memory is the growth of this process during the
export, beside that for a tenth of the documents.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import psutil
from psycopg.types.json import Jsonb

from bench.arguments import argument_parser
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.exports.archive import Archive
from docmill.service.exports.table_files import TableFormat
from docmill.service.exports.tables import TableName, export_tables
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.service.store.document_list import DocumentFilters

GOAL_S = 60
_MEGABYTE = 1_000_000
_BATCH = 500
_TABLES: tuple[tuple[TableFormat, TableName], ...] = (
    ("csv", "documents"),
    ("csv", "items"),
    ("xlsx", "documents"),
    ("parquet", "items"),
)


def invoice(number: int) -> dict[str, object]:
    """Make the values of an invoice."""
    drawn = random.Random(number)
    lines = [
        {
            "position": str(position),
            "description": f"Article {drawn.randrange(10_000)}",
            "quantity": str(drawn.randrange(1, 20)),
            "unit_price": f"{drawn.randrange(100, 10_000) / 100:.2f}",
            "net_amount": f"{drawn.randrange(100, 100_000) / 100:.2f}",
            "tax_rate": "19",
        }
        for position in range(1, 5)
    ]
    return {
        "number": f"INV-{number}",
        "issue_date": f"2026-{drawn.randrange(1, 13):02}-{drawn.randrange(1, 29):02}",
        "seller": {
            "name": f"Vendor {drawn.randrange(500)} GmbH",
            "address": "12 High Street",
            "vat_id": None,
        },
        "buyer": {"name": "Buyer AG", "address": None, "vat_id": None},
        "currency": "EUR",
        "net_total": "1000.00",
        "tax_total": "190.00",
        "gross_total": "1190.00",
        "lines": lines,
    }


async def fill(service: Service, documents: int) -> None:
    """Store documents with results, as a worker would have left them."""
    tenant_id = service.default_tenant_id
    for first in range(0, documents, _BATCH):
        rows: list[dict[str, object]] = []
        for number in range(first, min(first + _BATCH, documents)):
            key = f"documents/{tenant_id}/{number:064x}"
            path = service.settings.folder / "blobs" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"%PDF-1.7" + number.to_bytes(4, "big") * 500)
            data = invoice(number)
            rows.append(
                {
                    "id": new_id(),
                    "ingestion_id": new_id(),
                    "tenant": tenant_id,
                    "hash": f"{number:064x}",
                    "name": f"invoice {number % 1000}.pdf",
                    "path": key,
                    "data": Jsonb(data),
                    "evidence": Jsonb(
                        {
                            path: {
                                "page": 1,
                                "box": [0.1, 0.1, 0.2, 0.2],
                                "text": str(value),
                                "match": "exact",
                                "confidence": 0.95,
                            }
                            for path, value in data.items()
                        }
                    ),
                    "user": DEFAULT_USER_ID,
                }
            )
        async with service.database.tenant(tenant_id) as conn, conn.cursor() as cur:
            await cur.executemany(
                """
                INSERT INTO document (id, tenant_id, content_hash, media_type, byte_size, file_name,
                                      file_path, page_count)
                VALUES (%(id)s, %(tenant)s, %(hash)s, 'application/pdf', 2008, %(name)s, %(path)s, 1)
                """,
                rows,
            )
            await cur.executemany(
                """
                INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, attempt_count,
                                       classification, structured_data, evidence, valid_structured_data,
                                       completed_at)
                VALUES (%(ingestion_id)s, %(tenant)s, %(id)s, %(user)s, 'completed', 1,
                        '{"document_type": "invoice", "title": "Invoice", "tags": ["invoice"]}', %(data)s,
                        %(evidence)s, true, clock_timestamp())
                """,
                rows,
            )


async def measured(name: str, export: Callable[[], AsyncIterator[bytes]]) -> tuple[float, float]:
    """Run an export; its seconds, and the growth of memory in MB."""
    process = psutil.Process()
    before, size, most = process.memory_info().rss, 0, 0
    start, start_of_work = time.monotonic(), time.process_time()
    async for chunk in export():
        size += len(chunk)
        most = max(most, process.memory_info().rss - before)
    seconds, work = time.monotonic() - start, time.process_time() - start_of_work
    print(
        f"{name:24} {seconds:7.1f} s ({work:.1f} s of work here), {size / _MEGABYTE:8.1f} MB,"
        f" memory + {most / _MEGABYTE:.1f} MB",
        flush=True,
    )
    return seconds, most / _MEGABYTE


async def run(documents: int) -> float:
    """Measure all forms; the slowest export of all documents, in seconds."""
    # Not a folder of root's own: the server runs as another user.
    with tempfile.TemporaryDirectory(prefix="docmill-bench-") as folder:
        async with open_service(Settings(data_dir=Path(folder))) as service:
            start = time.monotonic()
            await fill(service, documents)
            print(f"{documents:,} documents stored in {time.monotonic() - start:.0f} s", flush=True)
            tenant_id, schemas = service.default_tenant_id, service.settings.own.by_choice
            async with service.database.tenant(tenant_id) as conn:
                cur = await conn.execute(
                    "SELECT id FROM document ORDER BY id DESC LIMIT %s", [documents // 10]
                )
                tenth = DocumentFilters(ids=tuple(document_id for (document_id,) in await cur.fetchall()))
            slowest = 0.0
            for some, selection in (("a tenth", tenth), ("all", DocumentFilters())):
                for form, table in _TABLES:
                    seconds, _ = await measured(
                        f"{some}: {form}, {'both' if form == 'xlsx' else table}",
                        partial(
                            export_tables,
                            service.database,
                            schemas,
                            selection,
                            tenant_id=tenant_id,
                            form=form,
                            table=table,
                        ),
                    )
                    slowest = max(slowest, seconds)
                archive = Archive(service.database, service.blobs, service.reviews, tenant_id=tenant_id)
                await measured(f"{some}: zip", partial(archive.stream, selection))
    return slowest


def main() -> None:
    """Print the figures."""
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    slowest = asyncio.run(run(parser.parse_args().documents))
    print(
        f"slowest table {slowest:.1f} s, goal {GOAL_S} s: {'reached' if slowest <= GOAL_S else 'not reached'}"
    )


if __name__ == "__main__":
    main()
