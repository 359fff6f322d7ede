import asyncio
import time

import pytest

from docmill.errors import DocmillError, ServerError, UnauthorizedError
from docmill.resilience.concurrency import BrokenWorkerError
from docmill.service.app import Service
from docmill.service.ports import Message
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.processing.lease import Lease
from docmill.service.protocol.claim_rules import ClaimLostError, MessageLostError
from docmill.service.store.claims import Claim
from docmill.testing.queue import MemoryQueue
from support.scripted_steps import Upload


class FailingQueue(MemoryQueue):
    """Fails on the first extensions."""

    failures = 2
    asked = 0

    def __init__(self, error: DocmillError | None = None) -> None:
        super().__init__()
        self.error = error or ServerError("gone for a moment")
        self.reached_again = asyncio.Event()

    async def extend(self, message: Message, *, visibility_s: float) -> bool:
        self.asked += 1
        if self.asked <= self.failures:
            raise self.error
        self.reached_again.set()
        return await super().extend(message, visibility_s=visibility_s)


async def lease_on(service: Service, upload: Upload, queue: MemoryQueue, *, lease_s: float) -> Lease:
    accepted = await upload()
    assert accepted.ingestion_id
    claim_writer = ClaimWriter(service.database, "me", lease_s=lease_s, max_attempts=3)
    since = time.monotonic()
    claim = await claim_writer.claim(accepted.ingestion_id)
    assert isinstance(claim, Claim)
    await queue.send([str(accepted.ingestion_id)])
    (message,) = await queue.receive(limit=1, wait_s=0)
    return Lease(claim_writer, queue, message, claim, since, lease_s=lease_s, heartbeat_s=0.01)


@pytest.mark.parametrize("error", [ServerError("gone"), UnauthorizedError("the credentials have expired")])
async def test_a_moments_trouble_does_not_lose_the_lease(
    service: Service, upload: Upload, error: DocmillError
) -> None:
    queue = FailingQueue(error)
    lease = await lease_on(service, upload, queue, lease_s=300)

    async def work() -> str:
        await queue.reached_again.wait()
        return "done"

    async with asyncio.timeout(20):
        assert await lease.hold_during(work()) == "done"


async def test_trouble_until_the_lease_ends_loses_it(service: Service, upload: Upload) -> None:
    queue = FailingQueue()
    queue.failures = 1_000_000
    lease = await lease_on(service, upload, queue, lease_s=0.1)
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with asyncio.timeout(20):
        try:
            await lease.hold_during(work())
        except ClaimLostError:
            assert cancelled.is_set()
        else:
            raise AssertionError


async def test_a_lost_lease_ends_the_work_though_the_message_is_kept(
    service: Service, upload: Upload
) -> None:
    queue = FailingQueue()
    queue.failures = 0
    lease = await lease_on(service, upload, queue, lease_s=300)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET fence = fence + 1")

    async with asyncio.timeout(20):
        with pytest.raises(ClaimLostError):
            await lease.hold_during(asyncio.Event().wait())

    assert queue.reached_again.is_set()


async def test_a_lost_message_ends_the_work_and_is_told_from_a_lost_claim(
    service: Service, upload: Upload
) -> None:
    queue = MemoryQueue()
    lease = await lease_on(service, upload, queue, lease_s=300)
    await queue.delete([lease.message])

    async with asyncio.timeout(20):
        with pytest.raises(MessageLostError):
            await lease.hold_during(asyncio.Event().wait())


class BrokenQueue(MemoryQueue):
    """Fails in a way that nobody has foreseen."""

    async def extend(self, message: Message, *, visibility_s: float) -> bool:
        raise ZeroDivisionError(message.id, visibility_s)


async def test_heartbeats_that_end_by_a_fault_end_the_work_and_its_worker(
    service: Service, upload: Upload, caplog: pytest.LogCaptureFixture
) -> None:
    lease = await lease_on(service, upload, BrokenQueue(), lease_s=300)

    async with asyncio.timeout(20):
        with pytest.raises(BrokenWorkerError) as broken:
            await lease.hold_during(asyncio.Event().wait())

    assert isinstance(broken.value.__cause__, ZeroDivisionError)
    assert "heartbeats" in caplog.text
