"""Measure the documents per second of a worker whose steps do nothing, beside two other queues.

A document is received, claimed, completed and deleted. Each queue has one worker process on an embedded
PostgreSQL with its default durability. The peers run a function that does nothing; pgqueuer also one that
writes the rows that docmill writes.
"""

import asyncio
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench.arguments import argument_parser
from bench.data.shared import ROOT
from bench.speed.no_op_service import NoOp, fill, service_on
from docmill.service.app import Service
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.worker import Worker

IN_FLIGHT = 200
if TYPE_CHECKING:
    from collections.abc import Callable

PEERS = ROOT / "bench/peers"
PEERS_PYTHON = ROOT / ".emulators/peers/bin/python"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=10_000, help="documents of a round (10,000)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    documents, rounds = options.documents, options.rounds
    subprocess.run([ROOT / "scripts/emulators", "peers"], check=True)
    runs: dict[str, Callable[[Path], float]] = {
        "docmill": lambda folder: docmill(folder, documents),
        "pgqueuer": lambda folder: peer(folder, "pgqueuer", documents),
        "pgqueuer, same rows": lambda folder: peer(folder, "pgqueuer", documents, "rows"),
        "procrastinate": lambda folder: peer(folder, "procrastinate", documents // 5),
    }
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
                rates[name].append(run(Path(folder)))
            print(f"  {name:20} {rates[name][-1]:6.0f}/s", flush=True)
    ours = statistics.median(rates["docmill"])
    print(f"docmill {ours:.0f} documents/s, median of {rounds} (goal: at least 1500)")
    for name in list(runs)[1:]:
        theirs = statistics.median(rates[name])
        print(f"  {ours / theirs:.2f} x {name} ({theirs:.0f}/s)")


def docmill(folder: Path, count: int) -> float:
    """Return the documents per second of docmill."""
    return asyncio.run(_drained(folder, count))


async def _drained(folder: Path, count: int) -> float:
    async with service_on(folder, concurrency=IN_FLIGHT) as service:
        await fill(service, count)
        stop = asyncio.Event()
        steps = NoOp()
        worker = Worker(service, steps.attempt, "bench")
        before = time.process_time(), _server_seconds(folder)
        started = time.perf_counter()
        running = asyncio.create_task(worker.run(stop, asyncio.Event()))
        while steps.answers < count:  # noqa: ASYNC110  asking the queue all the time would slow it down
            await asyncio.sleep(0.05)
        await _until_empty(service)
        seconds = time.perf_counter() - started
        after = time.process_time(), _server_seconds(folder)
        stop.set()
        await running
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute("SELECT count(*) FROM ingestion WHERE status = 'completed'")
            assert await cur.fetchone() == (count,)
    ours, servers = ((b - a) / count * 1e6 for a, b in zip(before, after, strict=True))
    print(f"  per document: {ours:.0f} us in the worker, {servers:.0f} us in PostgreSQL")
    return count / seconds


async def _until_empty(service: Service) -> None:
    while True:  # the queue tells nobody when it is empty
        depth = await service.queue.depth()
        if not depth.due + depth.in_flight:
            return
        await asyncio.sleep(0.02)


def _server_seconds(folder: Path) -> float:
    """Return the CPU seconds of the server's processes."""
    total = 0.0
    for process in psutil.process_iter():
        try:
            if process.name().startswith("postgres") and Path(process.cwd()).is_relative_to(folder):
                total += sum(process.cpu_times()[:2])
        except (psutil.Error, OSError):
            continue
    return total


def peer(folder: Path, name: str, count: int, *arguments: str) -> float:
    """Return the jobs per second of another queue."""
    if arguments:
        asyncio.run(_filled(folder, count))
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    try:
        url = server.url()
        command = [PEERS_PYTHON, PEERS / f"{name}_drain.py", url, str(count), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(done.stdout)
    finally:
        server.stop()


async def _filled(folder: Path, count: int) -> None:
    async with service_on(folder) as service:
        await fill(service, count)


if __name__ == "__main__":
    main()
