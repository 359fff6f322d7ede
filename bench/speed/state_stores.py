"""Measure what state stores of runs cost: checkpoints of documents, and runners that share a run.

Usage: python -m bench state_stores [--documents 10000] [--guide 1000] [--shared 2000] [--store redis://…]

Checkpoints: each document is claimed and kept as completed, durably, in batches of 100 and one by one. Beside
them stands the pattern of a JSON file that is written anew for each change, twice a document, without waiting
for the disk. It is measured with a quarter of its documents, with half and with all, because its cost grows.
Shared: one and two runners, each a process of its own, on one run in PostgreSQL. A document waits for 20 ms,
as for a model, or computes for 20 ms in a process. SQLite and PostgreSQL have their default durability.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pydantic import BaseModel

from bench.arguments import argument_parser
from docmill.model.document import Document, Page, Words
from docmill.ports import Ref
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import ExtractionResult
from docmill.runs.running import Pipeline
from docmill.runs.states import NewDocument, Run, Settlement, StateStore
from docmill.runs.stores.opening import open_store
from docmill.service.storage.postgres_server import EmbeddedPostgres

BATCH = 100
ONE_BY_ONE = 10
"""One document of so many is enough to tell what one costs alone."""
WORK_S = 0.02
CONCURRENCY = 5
START_S = 5.0
"""All runners have started after so long, and begin."""
KINDS = ("waits", "computes")


class Letter(BaseModel):
    sender: str | None = None


class TextReader:
    async def read(self, ref: Ref, context: Context[Any]) -> bytes:
        return ref.key.encode()


class TextConverter:
    def __init__(self, work_s: float) -> None:
        self.work_s = work_s

    def convert(self, document_bytes: DocumentBytes, context: Context[Any]) -> Document:
        ends = time.process_time() + self.work_s
        while time.process_time() < ends:
            pass
        words = Words(
            [document_bytes.read().decode()],
            np.array([[0, 0, 1, 1]], np.float32),
            np.ones(1, np.float32),
            np.zeros(1, np.int32),
            np.zeros(1, np.int32),
        )
        return Document("0" * 64, "text/plain", (Page(1, 100, 100, words, "text", 1.0),))


class WaitingExtractor:
    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s

    async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        await asyncio.sleep(self.wait_s)
        return schema(sender=document.text)


class NullExporter:
    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        pass


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--guide", type=int, default=1_000, help="most documents of the JSON file")
    parser.add_argument("--shared", type=int, default=2_000, help="documents of a shared run; 0 for none")
    parser.add_argument("--store", action="append", default=[], help="the address of another store")
    parser.add_argument(
        "--runner", nargs=3, metavar=("ADDRESS", "KIND", "AT"), help="of a shared run, by itself"
    )
    options = parser.parse_args()
    if options.runner:
        run_one(*options.runner)
        return
    with database() as url, tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        print("| store | documents | added a second | batches of 100 a second | one by one a second |")
        print("|---|---|---|---|---|")
        for name, address in [
            ("SQLite", str(Path(folder) / "runs.sqlite")),
            ("PostgreSQL", url),
            *((address.partition(":")[0], address) for address in options.store),
        ]:
            asyncio.run(measure_store(name, address, options.documents))
        measure_guide(Path(folder), options.guide)
        if options.shared:
            measure_shared(url, options.shared)


@contextmanager
def database() -> Generator[str]:
    """The address of an empty database on a server of ours."""
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()
        try:
            yield server.url()
        finally:
            server.stop()


async def measure_store(name: str, address: str, count: int) -> None:
    store = open_store(address)
    run_id = f"checkpoints {datetime.now(UTC)}"
    await store.create_run(Run(run_id, datetime.now(UTC)))
    listing = await store.begin_listing(run_id)
    documents = [NewDocument(f"folder/document {number}.pdf", f"{number}.pdf") for number in range(count)]
    started = time.perf_counter()
    for first in range(0, count, 1000):
        await store.add(run_id, documents[first : first + 1000], listing=listing)
    added_s = time.perf_counter() - started
    alone = max(1, count // ONE_BY_ONE)
    alone_s = await settle(store, run_id, alone, batch=1)
    batched_s = await settle(store, run_id, count - alone, batch=BATCH)
    await store.remove_run(run_id)
    await store.close()
    rates = (count / added_s, (count - alone) / batched_s, alone / alone_s)
    print(f"| {name} | {count:,} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |", flush=True)


async def settle(store: StateStore, run_id: str, count: int, *, batch: int) -> float:
    """Seconds to claim so many documents and keep them as completed."""
    started = time.perf_counter()
    for _ in range(0, count, batch):
        claimed = await store.claim(run_id, owner="bench", limit=batch, lease_s=60)
        ends = [
            Settlement(state.path, "completed", 1, datetime.now(UTC), content_hash="0" * 64)
            for state in claimed
        ]
        await store.settle(run_id, ends, owner="bench")
    return time.perf_counter() - started


def measure_guide(folder: Path, most: int) -> None:
    """The pattern of a JSON file of all documents, written whole for each change of one."""
    print("\n| JSON file: documents | a second | ms a document | of it written, MB |")
    print("|---|---|---|---|")
    for count in (most // 4, most // 2, most):
        seconds, written = write_guide(folder / "checkpoint.json", count)
        megabytes = written / 1e6
        print(
            f"| {count:,} | {count / seconds:,.0f} | {seconds / count * 1000:.2f} | {megabytes:,.0f} |",
            flush=True,
        )


def write_guide(path: Path, count: int) -> tuple[float, int]:
    """Seconds, and bytes that were written."""
    states = {
        f"folder/document {number}.pdf": {
            "path": f"folder/document {number}.pdf",
            "status": "pending",
            "error": None,
            "attempts": 0,
            "last_attempt": None,
            "completed_at": None,
        }
        for number in range(count)
    }
    started, written = time.perf_counter(), 0
    for state in states.values():
        changes: tuple[dict[str, Any], ...] = (
            {"status": "in_progress", "attempts": 1, "last_attempt": datetime.now(UTC).isoformat()},
            {"status": "completed", "completed_at": datetime.now(UTC).isoformat()},
        )
        for change in changes:
            state.update(change)
            text = json.dumps({"run_id": "run", "documents": states}, indent=2)
            temporary = path.with_suffix(".tmp")
            written += temporary.write_text(text)
            temporary.rename(path)
    return time.perf_counter() - started, written


def measure_shared(url: str, count: int) -> None:
    print("\n| a document | documents | one runner, a second | two runners | ratio |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        one, two = (share(url, kind, count, runners) for runners in (1, 2))
        print(f"| {kind} 20 ms | {count:,} | {one:,.0f} | {two:,.0f} | {two / one:.2f} |", flush=True)


def share(url: str, kind: str, count: int, runners: int) -> float:
    """Documents a second of a run that so many processes share, from the first end to the last."""
    asyncio.run(list_documents(url, count))
    begins_at = str(time.time() + START_S)
    command = [sys.executable, "-m", "bench.speed.state_stores", "--runner", url, kind, begins_at]
    processes = [subprocess.Popen(command) for _ in range(runners)]
    codes = [process.wait() for process in processes]
    with psycopg.connect(url) as conn:
        ((done, seconds),) = conn.execute(
            """
            SELECT count(*), extract(epoch FROM max(completed_at) - min(completed_at))::float8
              FROM docmill_runs.document_states WHERE run_id = 'shared' AND status = 'completed'
            """
        ).fetchall()
    if any(codes) or done != count:
        sys.exit(f"{done} of {count} documents were done")
    return float(count / seconds)


async def list_documents(url: str, count: int) -> None:
    store = open_store(url)
    if "shared" in [run.run_id for run in await store.list_runs()]:
        await store.remove_run("shared")
    await store.create_run(Run("shared", datetime.now(UTC)))
    documents = [NewDocument(str(number), str(number)) for number in range(count)]
    await store.add("shared", documents, listing=await store.begin_listing("shared"))
    await store.close()


def run_one(address: str, kind: str, begins_at: str) -> None:
    time.sleep(max(0.0, float(begins_at) - time.time()))
    computes = kind == "computes"
    pipeline = Pipeline(
        schema=Letter,
        reader=TextReader(),
        converter=TextConverter(WORK_S if computes else 0),
        extractor=WaitingExtractor(0 if computes else WORK_S),
        exporter=NullExporter(),
        policy=RunPolicy(concurrency=CONCURRENCY),
        processes=1 if computes else 0,
    )
    pipeline.resume("shared", lists=False, store=address)


if __name__ == "__main__":
    main()
