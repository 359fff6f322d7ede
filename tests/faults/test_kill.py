"""A worker that is killed at any point of its work costs time and nothing else."""

import asyncio
import os
import signal

import pytest

from docmill.service.app import Service
from docmill.service.review.review import FieldReview
from docmill.service.store import ingestions, parts
from docmill.service.store.database import DEFAULT_USER_ID
from faults.control import Control
from faults.roles import AllIsWell, Heir, Inherited, Put, Settled, StartWorker, on_both_queues
from faults.steps import STOPPING_PAGE, paper, recognised_by, scan
from support.scripted_steps import Observer

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


@on_both_queues
@pytest.mark.parametrize("point", POINTS)
async def test_a_document_survives_the_kill_of_its_worker(
    point: str,
    put: Put,
    start_worker: StartWorker,
    control: Control,
    inherited: Inherited,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("kept"))
    victim = await start_worker(point)

    await control.reached(point)
    await victim.kill()
    await inherited(accepted)

    await all_is_well()


async def test_a_long_scan_is_read_on_from_the_pages_that_were_recognised_before_the_kill(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
    service: Service,
) -> None:
    point = f"at page {STOPPING_PAGE}"
    accepted = await put(scan(40))
    victim = await start_worker()

    first = await control.reached(point)
    async with asyncio.timeout(20):
        while (between := await observer.document(accepted)).page_count is None:
            pass  # it is written while the worker stands still, and no event tells of it
    await victim.kill()
    async with heir():
        (await control.reached(point)).go()
        read = await observer.until(accepted, "ready")
        await settled()

    notes = [line.split() for line in recognised_by(control.path).read_text().splitlines()]
    pages = {pid: [int(number) for other, number in notes if other == pid] for pid, _ in notes}
    assert pages.pop(str(first.pid)) == list(range(1, STOPPING_PAGE))
    assert list(pages.values()) == [list(range(25, 41))]
    assert (between.media_type, between.page_count) == ("image/tiff", 40)
    assert read.page_count == 40
    assert await service.blobs.keys(f"ingestions/{accepted.ingestion_id}/pages") == []
    await all_is_well()


async def test_what_a_person_said_wins_though_the_worker_dies_before_it_is_judged(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
    service: Service,
) -> None:
    tenant_id, point = service.default_tenant_id, "after the commit"
    accepted = await put(paper("reviewed"))
    first = await start_worker()
    read = await observer.until(accepted, "ready")
    await first.stop()
    assert read.ingestion_id
    said = [FieldReview("number", "correct", "R-7"), FieldReview("issue_date", "correct", "2026-02-03")]
    await service.reviews.add(
        read.id, said, tenant_id=tenant_id, ingestion_id=read.ingestion_id, reviewed_by=DEFAULT_USER_ID
    )
    await service.intake.reprocess(read.id, tenant_id=tenant_id)
    victim = await start_worker(point)

    await control.reached(point)
    await victim.kill()
    between = await observer.document(accepted)
    async with heir():
        judged = await observer.when(accepted, lambda row: row.verdict is not None)
        await settled()

    assert between.ingestion_id != read.ingestion_id
    assert (between.state, between.verdict) == ("needs_review", None)
    for row in (between, judged):
        assert (row.structured_data or {})["number"] == "R-7"
        assert str(row.document_date) == "2026-02-03"
    await all_is_well()


async def test_a_worker_killed_while_it_takes_parts_in_loses_and_doubles_none(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    inherited: Inherited,
    all_is_well: AllIsWell,
    service: Service,
) -> None:
    names = ["one", "two", "three"]
    point = "after a part was taken in"
    accepted = await put(paper("whole", holds=names))
    victim = await start_worker(point)

    (await control.reached(point)).go()
    await control.reached(point)
    await victim.kill()
    await inherited(accepted)

    await all_is_well()
    async with service.database.tenant(service.default_tenant_id) as conn:
        held = await parts.of_document(conn, accepted.document_id)
        histories = [
            await ingestions.of_document(conn, part.child_id) for part in held if part.child_id is not None
        ]
    assert [(part.name, part.state) for part in held] == [(name, "ready") for name in names]
    assert [len(history) for history in histories] == [1, 1, 1]


async def test_a_child_of_the_pool_that_dies_costs_one_attempt(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("child", in_child=True))
    worker = await start_worker()

    first = await control.reached("in the pool's child")
    os.kill(first.pid, signal.SIGKILL)
    second = await control.reached("in the pool's child")
    second.go()
    await observer.until(accepted, "ready")
    await settled()

    assert second.pid != first.pid
    assert (await observer.ingestion(accepted)).attempt_count == 2
    await worker.stop()
    await all_is_well()


async def test_the_child_of_a_killed_worker_ends_and_its_document_is_read_by_another(
    put: Put,
    start_worker: StartWorker,
    control: Control,
    heir: Heir,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("child", in_child=True))
    victim = await start_worker()

    orphan = await control.reached("in the pool's child")
    await victim.kill()
    await orphan.ended()
    async with heir():
        (await control.reached("in the pool's child")).go()
        await observer.until(accepted, "ready")
        await settled()

    await all_is_well()
