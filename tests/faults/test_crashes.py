"""Only a document that kills its worker is blamed for it, and not those that were in work beside it."""

from typing import Any

import pytest

from faults.conftest import WORKER
from faults.control import Control
from faults.roles import AllIsWell, Finished, Heir, Inherited, Put, Settled, StartWorker, on_both_queues
from faults.steps import paper
from support.scripted_steps import Observer

MAX_ATTEMPTS = 3


@pytest.fixture
def worker_settings() -> dict[str, Any]:
    return WORKER | {"max_attempts": MAX_ATTEMPTS, "concurrency": 8}


@pytest.mark.parametrize("point", ["after receive", "after the claim"])
async def test_what_a_killed_worker_received_is_taken_at_once_and_not_when_its_time_is_over(
    point: str,
    orders: dict[str, Any],
    put: Put,
    start_worker: StartWorker,
    control: Control,
    inherited: Inherited,
    all_is_well: AllIsWell,
) -> None:
    await put(paper("received first"))
    accepted = await put(paper("received last"))
    victim = await start_worker(point, worker=orders["worker"] | {"lease_s": 3600.0})

    await control.reached(point)
    await victim.kill()
    await inherited(accepted)

    await all_is_well()


async def test_workers_killed_under_documents_cost_none_of_them_an_attempt(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    papers = [await put(paper(f"innocent {number}")) for number in range(8)]

    for _ in range(5):
        victim = await start_worker("after read")
        await control.reached("after read")
        await victim.kill()
    async with heir():
        await settled()

    assert [(await observer.document(one)).state for one in papers] == ["ready"] * 8
    assert [(await observer.ingestion(one)).attempt_count for one in papers] == [1] * 8
    await all_is_well()


@on_both_queues
async def test_a_document_that_kills_its_worker_is_found_among_the_others(
    put: Put, start_worker: StartWorker, observer: Observer, finished: Finished
) -> None:
    others = [await put(paper(f"innocent {number}", work_s=0.05)) for number in range(3)]
    fatal = await put(paper("fatal", work_s=0.05, fatal=True))
    others += [await put(paper(f"innocent {number}", work_s=0.05)) for number in range(3, 6)]

    for _ in range(1 + MAX_ATTEMPTS):
        await (await start_worker()).ended()
    last = await start_worker()
    document = await observer.until(fatal, "failed")
    await finished(last)

    assert document.error_code == "crashed"
    assert [(await observer.document(one)).state for one in others] == ["ready"] * 6
    assert [letter.ingestion_id for letter in await observer.letters()] == [fatal.ingestion_id]
