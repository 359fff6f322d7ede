"""A provider that is down for a while, seen from the documents that need it."""

import asyncio
from dataclasses import dataclass, replace

from docmill.errors import ServerError
from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.ports import Extractor, Original
from docmill.resilience.breaker import Breaker, guarded
from docmill.service.app import Service
from docmill.service.worker import run_worker
from support.scripted_steps import Observer, ScriptedSteps, Upload

DOCUMENTS = 12
PROBES = 4


class DownError(ServerError):
    """As a server's error, with little patience for a test's sake."""

    delays_s = (0.05, 0.1)


@dataclass
class Flaky:
    """An extractor whose provider answers nothing until it was asked `failures` times."""

    extractor: Extractor
    failures: int
    calls: int = 0

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        self.calls += 1
        if self.calls <= self.failures:
            raise DownError("the provider is down")
        return await self.extractor.extract(document, schema, original)


@dataclass
class Guarded:
    """`Extractor` whose calls go through a breaker."""

    extractor: Extractor
    breaker: Breaker

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        async with guarded(self.breaker):
            return await self.extractor.extract(document, schema, original)


async def test_documents_wait_for_a_provider_that_is_down_and_none_fails(
    service: Service, script: ScriptedSteps, upload: Upload, observer: Observer
) -> None:
    accepted = [await upload(f"{number}".encode()) for number in range(DOCUMENTS)]
    steps = script.steps()
    provider = Flaky(steps.extractor, failures=service.settings.worker.concurrency + PROBES)
    breaker = Breaker("provider", threshold=2, recovery_s=0.02, longest_s=0.1)
    stop = asyncio.Event()

    working = asyncio.create_task(
        run_worker(service, replace(steps, extractor=Guarded(provider, breaker)), stop)
    )
    try:
        for each in accepted:
            await observer.until(each, "ready")
    finally:
        stop.set()
        await working

    ingestions = [await observer.ingestion(each) for each in accepted]
    assert max(ingestion.attempt_count for ingestion in ingestions) <= 2
    assert provider.calls == provider.failures + DOCUMENTS
    assert breaker.state == "closed"
