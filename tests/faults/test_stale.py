"""A worker that was away for longer than its lease does no harm when it comes back."""

import asyncio
import itertools
import signal
from collections.abc import Callable
from typing import Any

import pytest

from docmill.service.app import Service
from faults.control import Control
from faults.processes import WorkerProcess
from faults.roles import AllIsWell, Come, Finished, Heir, Inherited, Put, Settled, StartWorker, on_both_queues
from faults.steps import paper
from support.scripted_steps import Observer

LOST = "claim lost: nothing is written or deleted"


@on_both_queues
@pytest.mark.parametrize("point", ["after the claim", "after read", "after the transcription"])
async def test_a_worker_that_slept_past_its_lease_writes_and_deletes_nothing(
    point: str,
    put: Put,
    start_worker: StartWorker,
    control: Control,
    inherited: Inherited,
    observer: Observer,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("taken over"))
    sleeper = await start_worker(point)

    stop = await control.reached(point)
    sleeper.send(signal.SIGSTOP)
    stop.go()
    await inherited(accepted)
    before = await observer.ingestion(accepted)
    sleeper.send(signal.SIGCONT)
    await sleeper.logged(LOST)
    await sleeper.stop()

    assert await observer.ingestion(accepted) == before
    await all_is_well()


@on_both_queues
async def test_the_fence_alone_keeps_out_a_worker_that_believes_in_its_lease(
    service: Service,
    orders: dict[str, Any],
    put: Put,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    held_come_again: Come,
    finished: Finished,
) -> None:
    accepted = await put(paper("contested"))
    patient = {**orders["worker"], "lease_s": 300, "heartbeat_s": 100, "concurrency": 1}
    believer = await start_worker("after read", worker=patient)
    reading = await control.reached("after read")

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET lease_until = now()")
    await service.queue.send([str(accepted.ingestion_id)])
    owner = await start_worker("after the claim", worker=patient)
    claimed = await control.reached("after the claim")
    reading.go()
    await believer.logged(LOST)
    claimed.go()
    await observer.until(accepted, "ready")

    assert written_by(owner)((await observer.ingestion(accepted)).worker_id or "")
    await held_come_again()  # that of the believer
    await finished(believer, owner)


async def test_a_worker_that_sleeps_within_its_commit_does_not_keep_the_row_locked(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    inherited: Inherited,
    observer: Observer,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("half written"))
    sleeper = await start_worker("before the commit")

    stop = await control.reached("before the commit")
    sleeper.send(signal.SIGSTOP)
    await inherited(accepted)
    stop.go()
    sleeper.send(signal.SIGCONT)
    await sleeper.logged("attempt ended")
    await sleeper.stop()

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.deaths) == (1, 1)
    assert not written_by(sleeper)(ingestion.worker_id or "")
    await all_is_well()


@on_both_queues
async def test_a_worker_that_slept_after_its_commit_finds_its_message_gone(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("committed"))
    sleeper = await start_worker("before the delete")

    stop = await control.reached("before the delete")
    sleeper.send(signal.SIGSTOP)
    stop.go()
    async with heir():
        await settled()
    sleeper.send(signal.SIGCONT)
    await sleeper.logged("attempt ended")
    await sleeper.stop()

    assert written_by(sleeper)((await observer.ingestion(accepted)).worker_id or "")
    await all_is_well()


def written_by(process: WorkerProcess) -> Callable[[str], bool]:
    return lambda worker_id: f"-{process.pid}-" in worker_id


async def let_beat(control: Control, past_a_lease: asyncio.Event) -> None:
    for count in itertools.count(1):
        (await control.reached("before a heartbeat")).go()
        if count == 6:  # by a half, with the settings of these tests
            past_a_lease.set()


@on_both_queues
async def test_a_long_job_keeps_its_message_and_its_claim(
    service: Service,
    orders: dict[str, Any],
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    observer: Observer,
    finished: Finished,
) -> None:
    accepted = await put(paper("long"))
    worker = await start_worker(
        "after read", "before a heartbeat", worker={**orders["worker"], "concurrency": 1}
    )

    reading = await control.reached("after read")
    async with heir():
        pulse = asyncio.create_task(let_beat(control, past_a_lease := asyncio.Event()))
        await asyncio.wait_for(past_a_lease.wait(), 20)
        await service.queue.send([str(accepted.ingestion_id)])
        await observer.until(
            await put(paper("sent after it")), "ready"
        )  # by the heir, who has seen the other
        reading.go()
        await observer.until(accepted, "ready")
    await finished(worker)
    pulse.cancel()

    ingestion = await observer.ingestion(accepted)
    assert ingestion.attempt_count == 1
    assert written_by(worker)(ingestion.worker_id or "")


@on_both_queues
async def test_a_job_whose_heartbeat_is_blocked_is_given_up_and_taken_by_another(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    inherited: Inherited,
    observer: Observer,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("without a pulse"))
    worker = await start_worker("after read", "before a heartbeat")

    await control.reached("after read")
    await control.reached("before a heartbeat")
    await worker.logged(LOST)
    await worker.kill()
    await inherited(accepted)

    assert (await observer.ingestion(accepted)).attempt_count == 1
    await all_is_well()
