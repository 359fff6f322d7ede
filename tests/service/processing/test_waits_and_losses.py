"""Waiting uses up nothing, and a message that is lost is no death of its worker."""

import asyncio
from uuid import UUID

import pytest

from docmill.errors import MisconfiguredError
from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import Accepted
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload


@pytest.fixture
def settings(settings: Settings) -> Settings:
    worker = settings.worker.model_copy(update={"heartbeat_s": 0.5, "pause_s": 0.01})
    return settings.model_copy(update={"worker": worker})


async def receive_counts(service: Service) -> list[int]:
    async with service.database.connection() as conn:
        cur = await conn.execute("SELECT receive_count FROM message WHERE receipt IS NULL")
        return [count for (count,) in await cur.fetchall()]


async def deaths(service: Service, ingestion_id: UUID | None) -> int:
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT deaths FROM ingestion WHERE id = %s", [ingestion_id])
        (number,) = await cur.fetchone() or (-1,)
    return number


async def test_waits_for_a_setting_use_up_no_receives(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tried, is_set = asyncio.Semaphore(0), False

    async def convert(_original: Original) -> None:
        tried.release()
        if not is_set:
            raise MisconfiguredError("no key")

    script.convert = convert
    accepted = [await upload(b"%d" % number) for number in range(2)]

    async with working():
        for _ in range(6):
            await asyncio.wait_for(tried.acquire(), 20)
    counts = await receive_counts(service)
    is_set = True
    async with working():
        for each in accepted:
            await observer.until(each, "ready")

    assert counts == [0, 0]


async def lose_message(service: Service, accepted: Accepted) -> None:
    async with service.database.connection() as conn:
        await conn.execute("DELETE FROM message WHERE body = %s", [str(accepted.ingestion_id)])


async def test_a_document_whose_message_is_lost_is_processed_again_at_once_and_uncounted(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    cancelled = asyncio.Event()

    async def convert(_original: Original) -> None:
        if not cancelled.is_set():
            await lose_message(service, accepted)
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    script.convert = convert
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    assert cancelled.is_set()
    assert (await observer.ingestion(accepted)).attempt_count == 1
    assert await deaths(service, accepted.ingestion_id) == 0
    assert await receive_counts(service) == []
