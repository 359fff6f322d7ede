"""Messages that come too often or cannot be deleted, and a queue that is away."""

import asyncio

import pytest

from docmill.errors import NetworkError
from docmill.service.app import Service
from docmill.service.processing import polling
from faults.roles import AllIsWell, Heir, Inherited, Put, Settled, StartWorker, on_both_queues
from faults.steps import paper
from faults.worker_process import around
from support.scripted_steps import Observer


@on_both_queues
async def test_a_message_that_comes_ten_times_gives_one_result(
    service: Service,
    put: Put,
    start_worker: StartWorker,
    inherited: Inherited,
    observer: Observer,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("ten times", work_s=0.2))
    await service.queue.send([str(accepted.ingestion_id)] * 9)

    other = await start_worker()
    await inherited(accepted)

    assert (await observer.ingestion(accepted)).attempt_count == 1
    await other.stop()
    await all_is_well()


@on_both_queues
async def test_a_message_that_comes_after_the_end_changes_nothing(
    service: Service, put: Put, heir: Heir, observer: Observer, settled: Settled, all_is_well: AllIsWell
) -> None:
    accepted = await put(paper("late"))
    async with heir():
        await observer.until(accepted, "ready")
        before = await observer.ingestion(accepted)
        await service.queue.send([str(accepted.ingestion_id)] * 3)
        await settled()

    assert await observer.ingestion(accepted) == before
    await all_is_well()


async def test_a_message_that_names_nothing_is_deleted(
    service: Service, put: Put, inherited: Inherited, all_is_well: AllIsWell
) -> None:
    await service.queue.send(["", "'; DROP TABLE ingestion", "00000000-0000-7000-8000-000000000000"])
    accepted = await put(paper("among them"))

    await inherited(accepted)

    await all_is_well()


class Outage:
    """Of some methods of a queue. met: a call has met it. over: to be set at its end."""

    def __init__(self, service: Service, *methods: str) -> None:
        self.met = asyncio.Event()
        self.over = asyncio.Event()
        for method in methods:
            around(service.queue, method, before=self._fail)

    async def _fail(self) -> None:
        if not self.over.is_set():
            self.met.set()
            raise NetworkError("the queue is away")


@on_both_queues
async def test_a_delete_that_fails_leaves_a_message_that_is_deleted_later(
    service: Service, put: Put, heir: Heir, observer: Observer, settled: Settled, all_is_well: AllIsWell
) -> None:
    outage = Outage(service, "delete")
    accepted = await put(paper("undeleted"))

    async with heir():
        await observer.until(accepted, "ready")
        await asyncio.wait_for(outage.met.wait(), 20)
        outage.over.set()
        await settled()

    assert (await observer.ingestion(accepted)).attempt_count == 1
    await all_is_well()


@on_both_queues
async def test_a_queue_that_is_away_is_waited_for(
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    put: Put,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    monkeypatch.setattr(polling, "_POLL_RETRY_S", 0.05)
    outage = Outage(service, "receive", "extend", "delete", "release")

    accepted = await put(paper("waiting"))  # before: the heir's sweeper takes a running upload for a leftover
    async with heir():
        await asyncio.wait_for(outage.met.wait(), 20)
        outage.over.set()
        await observer.until(accepted, "ready")
        await settled()

    await all_is_well()


@on_both_queues
async def test_a_message_that_was_lost_is_sent_again(
    service: Service,
    put: Put,
    start_worker: StartWorker,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
    orders: dict[str, dict[str, float]],
) -> None:
    accepted = await put(paper("forgotten"))
    (message,) = await service.queue.receive(limit=10, wait_s=5)
    await service.queue.delete([message])

    sweeping = await start_worker(worker={**orders["worker"], "sweep_s": 0.2})
    await observer.until(accepted, "ready")
    await settled()

    await sweeping.stop()
    await all_is_well()
