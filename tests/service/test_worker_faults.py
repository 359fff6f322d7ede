"""What the worker does when it, or another, loses its hold."""

import asyncio
from typing import LiteralString

import pytest

from docmill.errors import ServerError
from docmill.ports import Original
from docmill.resilience.concurrency import BrokenWorkerError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import Accepted
from docmill.service.ports import Message
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.store import claims
from docmill.service.store.claims import Claim
from docmill.service.worker import run_worker
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload


class Gate:
    """A converter that waits: `reached` when a document is in it, until it is `open`."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, _original: Original) -> None:
        self.reached.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def until_reached(self) -> None:
        await asyncio.wait_for(self.reached.wait(), 20)


@pytest.fixture
def gate(script: ScriptedSteps) -> Gate:
    script.convert = gate = Gate()
    return gate


async def change(service: Service, statement: LiteralString) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(statement)


async def claim_as_another(service: Service, accepted: Accepted, *, whoever_holds_it: bool = False) -> Claim:
    assert accepted.ingestion_id
    async with service.database.tenant(service.default_tenant_id) as conn:
        if (
            whoever_holds_it
        ):  # in one transaction with the claim, or its worker may extend the lease in between
            await conn.execute("UPDATE ingestion SET lease_until = now()")
        (claim,) = await claims.take(
            conn, [accepted.ingestion_id], worker_id="another", lease_s=300, max_attempts=3, alone=True
        )
    return claim


async def messages(service: Service) -> int:
    depth = await service.queue.depth()
    return depth.due + depth.delayed + depth.in_flight


async def until_turned_away(service: Service) -> None:
    """Until the message was received and put back."""
    async with asyncio.timeout(20):
        while True:
            async with service.database.connection() as conn:
                cur = await conn.execute(
                    "SELECT FROM message WHERE receiver <> '' AND receipt IS NULL AND visible_at > now()"
                )
                if cur.rowcount:
                    return


async def test_the_attempt_is_counted_when_it_begins(
    upload: Upload, working: RunWorker, observer: Observer, gate: Gate
) -> None:
    accepted = await upload()

    async with working():
        await gate.until_reached()
        await observer.when(accepted, lambda document: document.step == "transcribe")
        ingestion = await observer.ingestion(accepted)
        gate.open.set()

    assert (ingestion.attempt_count, ingestion.fence, ingestion.step) == (1, 1, "transcribe")
    assert ingestion.worker_id
    assert ingestion.lease_until


async def test_a_message_of_a_living_workers_document_waits_for_its_lease(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    await claim_as_another(service, accepted)

    async with working():
        await until_turned_away(service)
        held = await observer.ingestion(accepted)
        assert held.worker_id == "another"
        await change(service, "UPDATE ingestion SET lease_until = now()")
        await change(service, "UPDATE message SET visible_at = now()")
        await observer.until(accepted, "ready")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.deaths) == (1, 1)


async def test_a_message_that_cannot_be_released_is_released_as_soon_as_it_can(
    service: Service, upload: Upload, working: RunWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = await upload()
    await claim_as_another(service, accepted)
    release, failures = PostgresQueue.release, 3

    async def fail_at_first(
        queue: PostgresQueue, message: Message, *, delay_s: float = 0, counts: bool = True
    ) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise ServerError("the queue is gone")
        await release(queue, message, delay_s=delay_s, counts=counts)

    monkeypatch.setattr(PostgresQueue, "release", fail_at_first)

    async with working():
        await until_turned_away(service)


async def test_a_fault_in_the_heartbeats_ends_the_worker_which_gives_everything_back(
    settings: Settings,
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    gate: Gate,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    papers = [await upload(b"%PDF first"), await upload(b"%PDF second")]
    hasty = settings.worker.model_copy(update={"heartbeat_s": 0.05})
    object.__setattr__(service, "settings", settings.model_copy(update={"worker": hasty}))

    async def extend(_queue: PostgresQueue, _message: Message, *, visibility_s: float) -> bool:
        await gate.until_reached()  # else there is nothing to be cancelled yet
        raise ZeroDivisionError(visibility_s)

    monkeypatch.setattr(PostgresQueue, "extend", extend)
    async with asyncio.timeout(20):
        with pytest.raises(BaseExceptionGroup) as broken:
            await run_worker(service, script.steps(), asyncio.Event())

    assert broken.value.subgroup(BrokenWorkerError)
    assert gate.cancelled.is_set()
    assert [(await observer.ingestion(one)).lease_until for one in papers] == [None, None]
    assert await messages(service) == 2


async def test_a_document_that_kills_every_worker_is_given_up(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    for _ in range(4):  # beside other work, and as often as there are attempts alone
        await claim_as_another(service, accepted)
        await change(service, "UPDATE ingestion SET lease_until = now()")

    async with working():
        document = await observer.until(accepted, "failed")

    assert (document.error_code, document.needs_human_review) == ("crashed", True)
    assert "may be harmful" in (document.error_message or "")
    assert script.converted == []
    assert await messages(service) == 0


async def test_a_document_whose_attempts_are_used_up_is_not_called_harmful(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    await change(service, "UPDATE ingestion SET attempt_count = 3")

    async with working():
        document = await observer.until(accepted, "failed")

    assert document.error_message == "it was begun 3 times or more and never finished; Retry begins anew"


async def test_who_lost_the_fence_writes_and_deletes_nothing(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, gate: Gate
) -> None:
    accepted = await upload()

    async with working():
        await gate.until_reached()
        taken = await claim_as_another(service, accepted, whoever_holds_it=True)
        gate.open.set()

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.status, ingestion.fence, ingestion.worker_id) == ("in-progress", taken.fence, "another")
    assert (await observer.document(accepted)).title is None
    assert await messages(service) == 1


async def test_a_lost_message_cancels_the_job(
    settings: Settings,
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    gate: Gate,
    observer: Observer,
) -> None:
    accepted = await upload()
    hasty = settings.worker.model_copy(update={"heartbeat_s": 0.05})
    object.__setattr__(service, "settings", settings.model_copy(update={"worker": hasty}))
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop))
    await gate.until_reached()

    await change(service, "DELETE FROM message")

    await asyncio.wait_for(gate.cancelled.wait(), 20)
    stop.set()
    await worker
    assert (await observer.ingestion(accepted)).status == "in-progress"


async def test_the_heartbeat_extends_message_and_lease(
    settings: Settings,
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    gate: Gate,
    observer: Observer,
) -> None:
    accepted = await upload()
    hasty = settings.worker.model_copy(update={"heartbeat_s": 0.05})
    object.__setattr__(service, "settings", settings.model_copy(update={"worker": hasty}))
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop))
    await gate.until_reached()

    await change(service, "UPDATE ingestion SET lease_until = now() + interval '30 s'")
    await change(service, "UPDATE message SET visible_at = now() + interval '30 s'")
    async with asyncio.timeout(20):
        while True:
            async with service.database.tenant(service.default_tenant_id) as conn:
                cur = await conn.execute(
                    """
                    SELECT FROM ingestion, message
                     WHERE lease_until > now() + interval '60 s' AND visible_at > now() + interval '60 s'
                    """
                )
                if cur.rowcount:
                    break
    gate.open.set()
    await observer.until(accepted, "ready")
    stop.set()
    await worker


async def test_a_heartbeat_names_the_step_and_is_a_sign_of_progress(
    settings: Settings,
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    gate: Gate,
    observer: Observer,
) -> None:
    accepted = await upload()
    hasty = settings.worker.model_copy(update={"heartbeat_s": 0.05})
    object.__setattr__(service, "settings", settings.model_copy(update={"worker": hasty}))
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop))
    await gate.until_reached()
    await observer.when(accepted, lambda document: document.step == "transcribe")

    await change(service, "UPDATE ingestion SET step = 'read', progress_at = now() - interval '1 hour'")

    document = await observer.when(accepted, lambda document: document.step == "transcribe")
    assert document.state == "processing"
    gate.open.set()
    await observer.until(accepted, "ready")
    stop.set()
    await worker


async def test_a_second_signal_gives_documents_back_at_once(
    service: Service, script: ScriptedSteps, upload: Upload, gate: Gate, observer: Observer
) -> None:
    accepted = await upload()
    stop, abort = asyncio.Event(), asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop, abort))
    await gate.until_reached()
    before = await observer.ingestion(accepted)

    stop.set()
    abort.set()
    await asyncio.wait_for(worker, 20)

    after = await observer.ingestion(accepted)
    assert (after.status, after.attempt_count, after.lease_until) == ("in-progress", 0, None)
    assert after.fence > before.fence
    assert (await service.queue.depth()).due == 1


async def test_a_deleted_document_ends_its_work(
    service: Service, upload: Upload, working: RunWorker, gate: Gate
) -> None:
    await upload()

    async with working():
        await gate.until_reached()
        await change(service, "DELETE FROM document")
        gate.open.set()

    assert await messages(service) == 1
