"""Lost connections, lost commits and servers that start anew under the state store in PostgreSQL."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.runs.components import MemoryExporter, text_pipeline
from tests.runs.stores import NOW, end, new

from docmill.errors import ServerError
from docmill.ports import Ref
from docmill.runs.policy import RunPolicy
from docmill.runs.states import Run
from docmill.runs.stores import postgres_transactions
from docmill.runs.stores.postgres import PostgresStore
from faults.proxy import Loss, PostgresProxy
from faults.server import KillableServer

COUNT = 300


@pytest.fixture
async def proxy(database_url: str) -> AsyncGenerator[PostgresProxy]:
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        async with PostgresProxy(Path(folder), database_url) as proxy:
            yield proxy


@pytest.fixture
async def store(proxy: PostgresProxy) -> AsyncGenerator[PostgresStore]:
    store = PostgresStore(proxy.url)
    await store.create_run(Run("run", NOW))
    await store.add("run", new("a", "b", "c", "d"), listing=await store.begin_listing("run"))
    yield store
    proxy.heal()
    await store.close()


def terminate_all(url: str) -> int:
    with psycopg.connect(url) as connection:
        cursor = connection.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'docmill'
            """
        )
        return cursor.rowcount


async def until(event: asyncio.Event, running: "asyncio.Task[Any]") -> None:
    """Wait for the event, or for the run to end before it."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait([waiting, running], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


async def test_a_terminated_connection_is_made_anew(store: PostgresStore, database_url: str) -> None:
    for number in range(3):
        assert await asyncio.to_thread(terminate_all, database_url) == 1
        assert [state.path for state in await store.claim("run", owner="me", limit=1, lease_s=60)] == [
            "abc"[number]
        ]


LOST: tuple[Loss, ...] = ("request", "reply")


@pytest.mark.parametrize("loss", LOST)
async def test_a_claim_whose_commit_is_lost_takes_place_once(
    store: PostgresStore, proxy: PostgresProxy, loss: Loss
) -> None:
    proxy.lose(loss, of="SET status = 'in_progress'")

    claimed = await store.claim("run", owner="me", limit=2, lease_s=60)

    assert proxy.sprung.is_set()
    assert [state.path for state in claimed] == ["a", "b"]
    assert dict(await store.count("run")) == {"in_progress": 2, "pending": 2}


@pytest.mark.parametrize("loss", LOST)
async def test_an_end_whose_commit_is_lost_is_kept_once(
    store: PostgresStore, proxy: PostgresProxy, loss: Loss
) -> None:
    await store.claim("run", owner="me", limit=2, lease_s=60)
    proxy.lose(loss, of="SET status = ended.status")

    lost = await store.settle("run", [end("a", tokens=5), end("b", "pending", tokens=7)], owner="me")

    assert proxy.sprung.is_set()
    assert not lost
    states = [await store.find_document("run", path) for path in "ab"]
    assert [(state.status, state.tokens) for state in states if state] == [("completed", 5), ("pending", 7)]


@pytest.mark.parametrize("loss", LOST)
async def test_a_run_and_a_listing_whose_commit_is_lost_are_begun_once(
    store: PostgresStore, proxy: PostgresProxy, loss: Loss
) -> None:
    proxy.lose(loss, of="INSERT INTO docmill_runs.pipeline_runs")
    await store.create_run(Run("other", NOW))
    proxy.lose(loss, of="SET listing = listing + 1")
    assert await store.begin_listing("other") == 1
    assert proxy.sprung.is_set()


async def test_a_commit_that_arrives_late_is_refused(
    store: PostgresStore, proxy: PostgresProxy, database_url: str
) -> None:
    proxy.lose("request", of="SET status = 'in_progress'")
    await store.claim("run", owner="me", limit=2, lease_s=60)

    with psycopg.connect(database_url) as late:
        void = late.execute("SELECT token FROM docmill_runs.transactions WHERE is_void").fetchall()
        with pytest.raises(psycopg.errors.UniqueViolation):
            late.execute("INSERT INTO docmill_runs.transactions (token) VALUES (%s)", *void)


async def test_a_server_that_stays_away_is_an_error_and_comes_back(
    store: PostgresStore, proxy: PostgresProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_transactions, "PATIENCE_S", 0.3)
    proxy.refuse()
    with pytest.raises(ServerError, match="cannot be used now"):
        await store.claim("run", owner="me", limit=2, lease_s=60)
    proxy.heal()
    assert len(await store.claim("run", owner="me", limit=9, lease_s=60)) == 4


async def test_a_commit_that_cannot_be_asked_after_is_an_error(
    store: PostgresStore, proxy: PostgresProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_transactions, "PATIENCE_S", 0.1)
    connect = psycopg.connect

    def refuse(*_args: object, **_more: object) -> None:
        raise psycopg.OperationalError("gone")

    proxy.lose("reply", of="SET status = 'in_progress'")
    monkeypatch.setattr(psycopg, "connect", refuse)
    with pytest.raises(ServerError, match="may have been kept"):
        await store.claim("run", owner="me", limit=2, lease_s=60)
    monkeypatch.setattr(psycopg, "connect", connect)
    assert dict(await store.count("run")) == {"in_progress": 2, "pending": 2}


async def test_a_server_that_became_a_standby_is_left_for_one_that_can_be_written(
    store: PostgresStore, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def set_read_only(value: str) -> None:
        writable = "-c default_transaction_read_only=off"
        with psycopg.connect(database_url, options=writable, autocommit=True) as connection:
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}").format(
                    sql.Identifier(connection.info.dbname), sql.Literal(value)
                )
            )

    monkeypatch.setattr(postgres_transactions, "PATIENCE_S", 0.3)
    set_read_only("on")
    terminate_all(database_url)
    with pytest.raises(ServerError, match="read-only"):
        await store.claim("run", owner="me", limit=2, lease_s=60)
    set_read_only("off")
    assert len(await store.claim("run", owner="me", limit=9, lease_s=60)) == 4


async def test_two_that_wait_for_each_other_both_come_through(
    store: PostgresStore, database_url: str
) -> None:
    await store.claim("run", owner="me", limit=2, lease_s=60)
    select = "SELECT FROM docmill_runs.document_states WHERE path = %s FOR UPDATE"
    async with await psycopg.AsyncConnection.connect(database_url) as other:
        await other.execute(select, ["b"])
        settling = asyncio.create_task(store.settle("run", [end("a"), end("b")], owner="me"))
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as watcher:
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while await (await watcher.execute(waiting)).fetchone() == (0,):  # noqa: ASYNC110  another process
                await asyncio.sleep(0.01)
        await other.execute("SET deadlock_timeout = '1h'")  # so that the store is the victim
        await other.execute(select, ["a"])
    assert not await settling
    assert dict(await store.count("run")) == {"completed": 2, "pending": 2}


@pytest.fixture
def server() -> Iterator[KillableServer]:
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = KillableServer(Path(folder) / "postgres")
        server.start()
        try:
            yield server
        finally:
            server.stop()


async def test_a_run_goes_on_when_its_server_is_killed_and_starts_again(server: KillableServer) -> None:
    are_done = asyncio.Event()

    def before(_key: str, _call: int) -> None:
        if len(exporter.exported) > COUNT // 10:
            are_done.set()

    exporter = MemoryExporter(before)
    pipeline = text_pipeline(exporter=exporter, policy=RunPolicy(concurrency=4))
    inputs = [Ref(f"document {number}", f"{number}", version="1") for number in range(COUNT)]
    running = asyncio.create_task(pipeline.arun(inputs, run_id="run", store=server.url))
    await until(are_done, running)
    await asyncio.to_thread(server.end)
    await asyncio.to_thread(server.restart)

    report = await running

    assert report.completed == COUNT
    assert set(exporter.calls.values()) == {1}
    assert len(exporter.exported) == COUNT


async def test_a_run_goes_on_however_often_its_connection_is_terminated(database_url: str) -> None:
    has_begun = asyncio.Event()
    exporter = MemoryExporter(lambda _key, _call: has_begun.set())
    pipeline = text_pipeline(exporter=exporter, policy=RunPolicy(concurrency=1))
    inputs = [Ref(f"document {number}", f"{number}", version="1") for number in range(COUNT)]
    running = asyncio.create_task(pipeline.arun(inputs, run_id="run", store=database_url))
    await until(has_begun, running)
    terminated = 0
    while not running.done():
        terminated += await asyncio.to_thread(terminate_all, database_url)
        await asyncio.sleep(0.2)

    assert terminated
    assert (await running).completed == COUNT
    assert set(exporter.calls.values()) == {1}
