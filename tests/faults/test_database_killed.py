"""The database killed under load: everybody comes back by themselves, and what was promised is kept."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool

from docmill.errors import ServerError
from docmill.service.store import database
from docmill.service.store.database import Database
from faults.roles import AllIsWell, Heir, Put, Settled, StartWorker
from faults.server import KillableServer
from faults.steps import paper
from support.scripted_steps import Observer


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
    put: Put,
    start_worker: StartWorker,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    worker = await start_worker()
    early = [await put(paper(f"early {number}", work_s=0.05)) for number in range(20)]
    await observer.until(early[3], "ready")

    server.kill()
    during = asyncio.create_task(put_until_taken(put, "during"))
    await asyncio.to_thread(server.restart)
    async with heir():
        await during
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


async def test_every_request_after_a_restart_is_answered(server: KillableServer) -> None:
    async with Database(server.url) as pool:
        await take_at_once(pool, 10)

        await asyncio.to_thread(server.end)
        await asyncio.to_thread(server.restart)
        answers = [await answer(pool) for _ in range(15)]

    assert answers == [42] * 15


async def test_who_waits_is_answered_after_an_outage_longer_than_one_series_of_tries(
    server: KillableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = asyncio.Event()
    reconnect_waiting = database.reconnect_waiting

    async def note(pool: AsyncConnectionPool[Any]) -> None:
        given_up.set()
        await reconnect_waiting(pool)

    monkeypatch.setattr(database, "RECONNECT_S", 0.5)
    monkeypatch.setattr(database, "reconnect_waiting", note)

    async with Database(server.url) as pool:
        await take_at_once(pool, 3)
        await asyncio.to_thread(server.end)
        waiting = asyncio.create_task(answer(pool))
        await asyncio.wait_for(given_up.wait(), 30)
        await asyncio.to_thread(server.restart)

        assert await waiting == 42


async def take_at_once(pool: Database, count: int) -> None:
    """So that there are so many."""
    async with AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(pool.connection())


async def answer(pool: Database) -> int:
    async with pool.connection() as conn:
        (number,) = await (await conn.execute("SELECT 42")).fetchone() or (0,)
    return number
