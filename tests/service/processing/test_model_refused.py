"""A model whose key is refused, seen from documents that need it and from others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.model.result import Evidence, Extraction, Failure, Schema, StepTaken, Verdict
from docmill.ports import Original
from docmill.schemas.types import Invoice
from docmill.service.app import Service
from docmill.service.config.settings import ChosenModel, Llm
from docmill.service.config.settings import UnderstandingSettings as Chosen
from docmill.service.steps import models_of
from docmill.service.store import pauses
from docmill.service.worker import run_worker
from support.llm_server import Reply, Server, serving, spoken
from support.scripted_steps import Observer, ScriptedSteps, Upload

PAGE = """
Invoice R-7
Date 05.03.2024
Harbour Ltd
Net           20.00
VAT 20 %       4.00
Total         24.00 EUR
"""
WHOLE = {"number": "R-7", "gross_total": "24.00"}


class Rules:
    """Finds everything by rule in all documents but those of these names."""

    def __init__(self, *unread: str) -> None:
        self._unread = unread

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        assert document.pages
        assert original
        found = {"gross_total": "24.00"} if original.name in self._unread else WHOLE
        return Extraction(
            document_type=schema.name,
            data=Invoice(number=found.get("number"), gross_total=Decimal("24.00")),
            evidence={
                path: Evidence(page=1, box=None, text=text, match="exact", confidence=0.99)
                for path, text in found.items()
            },
            steps=(StepTaken(kind="read", by="rules"),),
        )


class Numbered:
    """A gate that wants a number."""

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert document.pages
        assert schema.fields
        missing = Failure(check="critical", message="no number", fields=("number",))
        return Verdict(failures=() if "number" in extraction.evidence else (missing,))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


async def test_documents_that_need_a_model_whose_key_is_refused_wait_and_others_go_on(
    service: Service,
    server: Server,
    script: ScriptedSteps,
    upload: Upload,
    observer: Observer,
    make_document: Callable[..., Document],
) -> None:
    server.replies = [Reply({"error": {"message": "bad key"}}, 401)]
    script.document = make_document(PAGE)
    settings = service.settings.model_copy(
        update={
            "llm": Llm(base_url=server.url("openai")),
            "understanding": Chosen(small=ChosenModel(model="tiny")),
        }
    )
    router = models_of(settings).router(Numbered())
    steps = replace(script.steps(), extractor=Rules("needy.pdf"), router=router)
    stop = asyncio.Event()
    needy = await upload(b"needy", file_name="needy.pdf")
    worker = asyncio.create_task(run_worker(service, steps, stop))
    try:
        waiting = await observer.when(needy, lambda document: document.error_code is not None)
        others = [await upload(f"{number}".encode()) for number in range(5)]
        for each in others:
            await observer.until(each, "ready")
        async with service.database.tenant(service.default_tenant_id) as conn:
            paused = await pauses.current(conn)
        before = await observer.ingestion(needy)

        server.replies = [spoken("openai", {"number": "R-7"})]
        await observer.until(needy, "ready")
    finally:
        stop.set()
        await worker

    assert (waiting.state, waiting.error_code) == ("processing", "unauthorized")
    assert "refuses the key" in (waiting.error_message or "")
    assert [(row.part, row.step, row.code) for row in paused] == [("small model", "extract", "unauthorized")]
    assert before.structured_data is not None  # what the rules found is shown meanwhile
    assert before.structured_data["gross_total"] == "24.00"
    assert before.attempt_count <= 1
    assert (await observer.ingestion(needy)).attempt_count == 1
