"""Documents whose password comes after them: they are read from a copy that lies beside the original."""

import asyncio
from dataclasses import dataclass, field

import pytest

from docmill.errors import EncryptedError
from docmill.ports import Original, PageJournal
from docmill.service.app import Service
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload


async def opened(_: str) -> bytes:
    return b"readable"


@dataclass
class Lock:
    """Refuses what is no readable copy, in its own time. reached: an attempt is on its way to be refused."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def convert(self, original: Original, pages: PageJournal | None = None) -> None:
        del pages
        if await asyncio.to_thread(original.path.read_bytes) != b"readable":
            self.reached.set()
            await self.go_on.wait()
            raise EncryptedError("the file has a password")


@pytest.mark.parametrize("refused_first", [True, False])
async def test_a_password_given_while_the_document_is_read_has_it_read_anew(
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    *,
    refused_first: bool,
) -> None:
    lock = Lock()
    script.convert = lock.convert
    accepted = await upload(b"%PDF secret")
    async with working():
        await asyncio.wait_for(lock.reached.wait(), 10)

        ingestion_id = await service.intake.unlock(
            accepted.document_id, opened, tenant_id=service.default_tenant_id
        )
        if refused_first:
            lock.go_on.set()
        document = await observer.when(
            accepted, lambda document: document.state not in ("processing", "stale")
        )
        lock.go_on.set()

    ingestion = await observer.ingestion(accepted)
    assert ingestion_id == accepted.ingestion_id == ingestion.id
    assert (document.state, document.error_code, ingestion.attempt_count) == ("ready", None, 1)
    assert (await observer.document(accepted)).state == "ready"
    assert await observer.letters() == []


async def test_the_same_password_again_disturbs_nobody(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload(b"%PDF secret")
    await service.intake.unlock(accepted.document_id, opened, tenant_id=service.default_tenant_id)
    fence = (await observer.ingestion(accepted)).fence

    again = await service.intake.unlock(accepted.document_id, opened, tenant_id=service.default_tenant_id)

    assert again == accepted.ingestion_id
    assert (await observer.ingestion(accepted)).fence == fence
