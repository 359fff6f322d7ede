"""What only SQS does: it falls silent, and takes a deletion from who no longer holds the message."""

import pytest

from docmill.service.app import Service
from faults.control import Control
from faults.roles import Come, Finished, Put, StartWorker
from faults.steps import paper
from support.aws_emulators import Emulator
from support.scripted_steps import Observer

LOST = "claim lost: nothing is written or deleted"
SENT_AGAIN = "message lost: the document is given back and sent again"


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
    await robbed.logged(SENT_AGAIN)
    (await control.reached("after read")).go()
    await observer.until(accepted, "ready")
    await finished(robbed)

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.deaths) == (1, 0)
