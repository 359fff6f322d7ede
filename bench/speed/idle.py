"""Measure the CPU of an idle web server and worker, and how fast the worker takes an upload; on PostgreSQL.

Both run as processes, as a user starts them. Documents are uploaded through the API; the time between the
insert of an ingestion and its claim is read from the database.
"""

import asyncio
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from bench.arguments import argument_parser
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings

DOCMILL = Path(sys.executable).with_name("docmill")
UPLOADS = 100


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="seconds of doing nothing (60)")
    asyncio.run(measure(parser.parse_args().seconds))


async def measure(quiet_s: int) -> None:
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_service(settings) as service:
            with _process("web", settings, "--port", "8097") as web, _process("worker", settings) as worker:
                await _until_ready("http://127.0.0.1:8097/readyz")
                await asyncio.sleep(5)
                busy = [_seconds(process) for process in (web, worker)]
                await asyncio.sleep(quiet_s)
                shares = [
                    (_seconds(process) - before) / quiet_s
                    for process, before in zip((web, worker), busy, strict=True)
                ]
                waits = await _waits(service, "http://127.0.0.1:8097")
    print(f"idle: web {shares[0]:.2%}, worker {shares[1]:.2%} of one core over {quiet_s} s (goal: under 1 %)")
    p95 = statistics.quantiles(waits, n=20)[-1]
    print(
        f"wake: {statistics.median(waits) * 1000:.0f} ms median, {p95 * 1000:.0f} ms p95 of {UPLOADS} "
        "(goal: at most 50)"
    )


@contextmanager
def _process(command: str, settings: Settings, *arguments: str) -> Generator[psutil.Process]:
    running = subprocess.Popen(
        [DOCMILL, command, "--data-dir", settings.folder, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield psutil.Process(running.pid)
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait()


def _seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children."""
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


async def _until_ready(url: str) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(300):
            try:
                if (await client.get(url)).is_success:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.1)
    raise SystemExit("the web server does not answer")


async def _waits(service: Service, address: str) -> list[float]:
    """Upload documents one by one; return the seconds from each ingestion's creation to its claim."""
    async with httpx.AsyncClient(base_url=address) as client:
        for number in range(UPLOADS):
            # Of no known type: it is done at once, and the worker is idle again when the next one comes.
            files = {"file": (f"{number}.bin", f"\0{number}".encode())}
            answer = await client.post("/api/v1/documents", files=files)
            answer.raise_for_status()
            await asyncio.sleep(0.3)
    await asyncio.sleep(2)
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT extract(epoch FROM started_at - created_at)::float8 FROM ingestion")
        waits = [row[0] for row in await cur.fetchall()]
    assert len(waits) == UPLOADS
    return waits


if __name__ == "__main__":
    main()
