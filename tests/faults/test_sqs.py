"""What only SQS does: it falls silent, and takes a deletion from who no longer holds the message."""

from typing import Any

import pytest

from docmill.service.app import Service
from faults.control import Control
from faults.roles import Come, Finished, Put, StartWorker
from faults.steps import paper
from support.aws_emulators import Emulator
from support.scripted_steps import Observer

LOST = "claim lost: nothing is written or deleted"


@pytest.mark.parametrize("emulator", ["ministack"], indirect=True)
async def test_a_silence_of_aws_for_longer_than_a_lease_costs_its_work(
    emulator: Emulator,
    put: Put,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    finished: Finished,
) -> None:
    accepted = await put(paper("in silence"))
    worker = await start_worker("after read")

    await control.reached("after read")
    emulator.pause()
    await worker.logged(LOST)
    emulator.resume()
    (await control.reached("after read")).go()
    await observer.until(accepted, "ready")
    await finished(worker)

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.deaths) == (1, 1)


@pytest.mark.parametrize("emulator", ["moto"], indirect=True)
async def test_a_message_that_a_former_holder_deletes_is_sent_again(
    service: Service,
    orders: dict[str, Any],
    put: Put,
    held_come_again: Come,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    finished: Finished,
) -> None:
    accepted = await put(paper("deleted under the worker"))
    (former,) = await service.queue.receive(limit=1, wait_s=20)
    await held_come_again()
    robbed = await start_worker("after read")

    await control.reached("after read")
    await service.queue.delete([former])
    assert (await service.queue.depth()).in_flight == 0
    await robbed.logged(LOST)
    await robbed.stop()
    async with service.database.connection() as conn:
        await conn.execute("UPDATE chore SET due_at = now()")
    sweeping = await start_worker(worker={**orders["worker"], "sweep_s": 0.2})
    await observer.until(accepted, "ready")
    await finished(sweeping)

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.deaths) == (1, 1)
