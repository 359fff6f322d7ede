"""A worker that is killed at any point of its work costs time and nothing else."""

import pytest

from faults.control import Control
from faults.roles import AllIsWell, Heir, Put, StartWorker
from faults.steps import paper
from scripted import Eyes

POINTS = [
    "after receive",
    "after the claim",
    "after read",
    "after the transcription",
    "before the commit",
    "after the commit",
    "before the delete",
    "after the delete",
]


@pytest.mark.parametrize("point", POINTS)
async def test_a_document_survives_the_kill_of_its_worker(
    point: str,
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    eyes: Eyes,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("kept"))
    victim = await start_worker(point)

    await control.reached(point)
    await victim.kill()
    async with heir():
        await eyes.until(accepted, "ready")
        await until_quiet(eyes)

    await all_is_well()


async def until_quiet(eyes: Eyes) -> None:
    """Until the heir has deleted what is left of the message."""
    while True:
        heard = eyes.service.notices.next("queue:ingestion")
        depth = await eyes.service.queue.depth()
        if depth.due + depth.delayed + depth.in_flight == 0:
            return
        await eyes.service.notices.wait(heard)
