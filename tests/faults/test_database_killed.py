"""The database killed under load: everybody comes back by themselves, and what was promised is kept."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.errors import ServerError
from docmill.service.stack import Service
from faults.roles import AllIsWell, Heir, Put, Settled, StartWorker
from faults.server import KillableServer
from faults.steps import paper
from scripted import Eyes


@pytest.fixture
def server() -> Iterator[KillableServer]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = KillableServer(Path(folder) / "postgres")
        server.start()
        yield server
        server.stop()


@pytest.fixture
def database_url(server: KillableServer) -> str:
    return server.url


async def test_a_database_killed_under_load_loses_nothing(
    server: KillableServer,
    service: Service,
    put: Put,
    start_worker: StartWorker,
    heir: Heir,
    eyes: Eyes,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    worker = await start_worker()
    early = [await put(paper(f"early {number}", work_s=0.05)) for number in range(20)]
    await eyes.until(early[3], "ready")

    server.kill()
    during = asyncio.create_task(put_until_taken(put, "during"))
    await asyncio.to_thread(server.restart)
    async with heir():
        await during
        await answering(service)
        await put(paper("after"))
        await settled()

    await worker.stop()
    await all_is_well()


async def put_until_taken(put: Put, name: str) -> None:
    """As a person does it: again, until it works."""
    async with asyncio.timeout(30):
        while True:
            try:
                await put(paper(name))
            except ServerError:
                continue
            return


async def answering(service: Service) -> None:
    """Until every connection that died has been found dead."""
    answers = 0
    async with asyncio.timeout(30):
        while answers < 20:
            try:
                await service.queue.depth()
            except ServerError:
                answers = 0
            else:
                answers += 1
