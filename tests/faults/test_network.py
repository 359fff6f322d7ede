"""A network between worker and database that loses what is sent, late or for ever."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from faults.control import Control
from faults.proxy import Loss, PostgresProxy
from faults.roles import AllIsWell, Heir, Put, Settled, StartWorker
from faults.steps import paper
from support.scripted_steps import Observer


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[PostgresProxy]:
    # Not pytest's folder: the path of a socket must be short.
    with TemporaryDirectory(prefix="docmill-") as folder:
        async with PostgresProxy(Path(folder), database_url) as proxy:
            yield proxy


LOSSES: list[Loss] = ["request", "reply"]
OF = {"claim": "SET started_at", "result": "SET status = 'completed'", "progress": "SET step"}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("of", OF.values(), ids=OF)
async def test_a_commit_whose_request_or_reply_is_lost_gives_one_result(
    of: str,
    loss: Loss,
    proxy: PostgresProxy,
    start_worker: StartWorker,
    put: Put,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    worker = await start_worker(database_url=proxy.url)
    await worker.logged("worker started")
    proxy.lose(loss, of=of)
    accepted = await put(paper("half said", work_s=0.3))

    await asyncio.wait_for(proxy.sprung.wait(), 20)
    await observer.until(accepted, "ready")
    await settled()

    await worker.stop()
    await all_is_well()


async def test_a_worker_cut_off_for_longer_than_its_lease_stops_and_comes_back(
    proxy: PostgresProxy,
    start_worker: StartWorker,
    control: Control,
    put: Put,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    worker = await start_worker("after read", database_url=proxy.url)
    first = await put(paper("cut off"))

    await control.reached("after read")
    proxy.refuse()
    await worker.logged("claim lost: nothing is written or deleted")
    async with heir():
        await observer.until(first, "ready")
    proxy.heal()
    second = await put(paper("after the silence"))
    (await control.reached("after read")).go()
    await observer.until(second, "ready")
    await settled()

    ingestion = await observer.ingestion(first)
    assert (ingestion.attempt_count, ingestion.deaths) == (1, 1)
    await worker.stop()
    await all_is_well()


async def test_a_connection_that_breaks_during_a_job_costs_at_most_the_attempt(
    proxy: PostgresProxy,
    start_worker: StartWorker,
    control: Control,
    put: Put,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    worker = await start_worker("after read", database_url=proxy.url)
    accepted = await put(paper("reset"))

    stop = await control.reached("after read")
    proxy.reset()
    stop.go()
    again = asyncio.create_task(control.reached("after read"))
    again.add_done_callback(lambda task: task.result().go())
    await observer.until(accepted, "ready")
    await settled()

    again.cancel()
    assert (await observer.ingestion(accepted)).attempt_count <= 2
    await worker.stop()
    await all_is_well()


async def test_connections_that_are_dead_without_a_word_are_given_up(
    proxy: PostgresProxy,
    start_worker: StartWorker,
    put: Put,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    worker = await start_worker(database_url=proxy.url)
    first = await put(paper("before"))
    await observer.until(first, "ready")

    proxy.strand()  # nothing but our own patience ends these: the kernel sees a peer that is well
    second = await put(paper("after"))
    await observer.until(second, "ready")
    await settled()

    await worker.stop()
    await all_is_well()


async def test_a_slow_network_loses_nothing(
    proxy: PostgresProxy,
    start_worker: StartWorker,
    put: Put,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    proxy.delay_s = 0.01
    worker = await start_worker(database_url=proxy.url)

    papers = [await put(paper(f"slow {number}")) for number in range(3)]
    for one in papers:
        await observer.until(one, "ready")
    await settled()

    await worker.stop()
    await all_is_well()
