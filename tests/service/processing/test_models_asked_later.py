"""A model that fails for now: what the rules found is shown meanwhile, and the model is asked again."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import httpx

from docmill.errors import RateLimitedError, ServerError
from docmill.model.document import Document
from docmill.model.result import Extraction, Failure, StepTaken
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.service.app import Service
from docmill.service.config.settings import ChosenModel, Llm, Settings
from docmill.service.config.settings import UnderstandingSettings as Chosen
from docmill.service.intake.accept import Accepted
from docmill.service.review.review import FieldReview
from docmill.service.steps import models_of
from docmill.service.store import reviews
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.worker import run_worker
from docmill.testing.steps import FakeExtractor, PaintedPages
from docmill.understanding.gate import RuleGate
from docmill.understanding.locate.evidence import located
from docmill.web.app import create_app
from support.llm_server import serving, spoken
from support.scripted_steps import INVOICE, Observer, RunWorker, ScriptedSteps, Upload


def slow(*, wait_s: float = 0) -> RateLimitedError:
    return RateLimitedError("the provider of 'gpt-4o' asks to slow down", retry_after_s=wait_s)


async def test_what_rules_found_is_shown_while_a_document_waits_for_a_model(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [slow(wait_s=3000)]
    script.failures = (Failure(check="critical", message="no total", fields=("gross_total",)),)
    accepted = await upload()

    async with working():
        waiting = await observer.when(accepted, lambda row: row.error_code == "rate_limited")

    assert (waiting.state, waiting.title, waiting.document_type) == ("processing", "Invoice 7", "invoice")
    assert waiting.structured_data is not None
    assert waiting.structured_data["number"] == "7"
    ingestion = await observer.ingestion(accepted)
    assert (ingestion.status, ingestion.attempt_count, ingestion.failed_step) == ("in-progress", 1, "extract")
    assert ingestion.extraction_reason == "rules; asked small model for number: it failed (rate_limited)"
    assert ingestion.evidence is not None
    async with service.database.tenant(service.default_tenant_id) as conn:
        standing = await reviews.reviewable_result(conn, accepted.document_id)
    assert standing is not None
    assert (standing.ingestion_id, standing.evidence) == (accepted.ingestion_id, ingestion.evidence)


async def test_the_page_of_a_document_that_waits_for_a_model_shows_its_values_and_why_it_waits(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [slow(wait_s=3000)]
    accepted = await upload()
    async with working():
        await observer.when(accepted, lambda row: row.error_code == "rate_limited")

    app = create_app(service, PaintedPages(), service.settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        page = (await client.get(f"/docs/{accepted.document_id}")).text
        values = (await client.get(f"/api/v1/documents/{accepted.document_id}")).json()

    assert "Waiting to be tried again" in page
    assert "asks to slow down" in page
    assert 'value="7"' in page
    assert values["data"]["number"] == "7"


async def test_the_card_of_a_document_that_waits_for_a_model_shows_its_page_and_what_it_is(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [slow(wait_s=3000)]
    accepted = await upload()
    async with working():
        await observer.when(accepted, lambda row: row.error_code == "rate_limited")

    app = create_app(service, PaintedPages(), service.settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        cards = (await client.get("/")).text

    assert "Waiting to be tried again" in cards
    assert "<span>Invoice</span>" in cards
    assert f"/api/v1/documents/{accepted.document_id}/pages/1.webp" in cards
    assert "skeleton" not in cards


async def test_a_model_is_asked_again_and_its_values_take_the_place_of_those_of_the_rules(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [slow(), slow()]
    accepted = await upload()

    async with working():
        ready = await observer.until(accepted, "ready")

    assert ready.structured_data is not None
    assert ready.structured_data["gross_total"] == "119.00"
    assert len(script.converted) == 1
    ingestion = await observer.ingestion(accepted)
    assert (ingestion.status, ingestion.attempt_count, ingestion.error_code) == ("completed", 3, None)


async def test_after_the_last_attempt_what_rules_found_counts_and_the_reason_names_the_model(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [slow() for _ in range(4)]
    accepted = await upload()

    async with working():
        ready = await observer.until(accepted, "ready")

    assert len(script.model_errors) == 1
    assert ready.structured_data is not None
    assert ready.structured_data["number"] == "7"
    ingestion = await observer.ingestion(accepted)
    assert (ingestion.status, ingestion.attempt_count) == ("completed", 3)
    assert ingestion.extraction_reason == "rules; asked small model for number: it failed (rate_limited)"


async def test_a_title_of_the_rules_stays_while_the_model_that_classifies_is_waited_for(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    error = ServerError("the provider of 'gpt-4o' failed", retry_after_s=3000)
    script.classification = INVOICE.model_copy(update={"model_error": error})
    accepted = await upload()

    async with working():
        waiting = await observer.when(accepted, lambda row: row.error_code == "server_error")

    assert (waiting.state, waiting.title) == ("processing", "Invoice 7")
    ingestion = await observer.ingestion(accepted)
    assert ingestion.failed_step == "classify"
    assert "no model said what it is: it failed (server_error)" in (ingestion.extraction_reason or "")


async def test_an_earlier_result_stays_until_the_new_one_is_whole(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    async with working():
        await observer.until(accepted, "ready")
        script.model_errors = [slow(wait_s=3000)]
        again = await upload(force=True)
        waiting = await observer.when(again, lambda row: row.error_code == "rate_limited")

    assert again.ingestion_id != accepted.ingestion_id
    assert waiting.structured_data is not None
    assert waiting.structured_data["gross_total"] == "119.00"


async def test_what_a_person_says_of_the_rules_values_stays_when_the_model_has_answered(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [slow(wait_s=3000)]
    accepted = await upload()
    tenant_id, ingestion_id = service.default_tenant_id, accepted.ingestion_id
    assert ingestion_id

    async with working():
        await observer.when(accepted, lambda row: row.error_code == "rate_limited")
        field_review = FieldReview("number", "correct", "8")
        await service.reviews.add(
            accepted.document_id,
            [field_review],
            tenant_id=tenant_id,
            ingestion_id=ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )
        meanwhile = await observer.document(accepted)
        await _at_once(service, accepted)
        ended = await observer.when(accepted, lambda row: row.state != "processing")

    assert meanwhile.structured_data is not None
    assert ended.structured_data is not None
    assert (meanwhile.state, meanwhile.structured_data["number"]) == ("processing", "8")
    assert (ended.structured_data["number"], ended.structured_data["gross_total"]) == ("8", "119.00")


PAGE = """
Harbour Ltd                       Invoice R-1
12 Quay Street                    Date 05.03.2024
                     Net           20.00
                     VAT 20 %       4.00
                     Total         24.00 EUR
"""
RULES = StepTaken(kind="read", by="rules")
READ = Invoice.model_validate(
    {
        "number": None,
        "issue_date": "2024-03-05",
        "seller": {"name": "Harbour Ltd"},
        "net_total": "20.00",
        "tax_total": "4.00",
        "gross_total": "24.00",
    }
)


async def test_a_provider_that_answers_badly_is_asked_again_over_http_and_every_answer_is_paid(
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    observer: Observer,
    make_document: Callable[..., Document],
) -> None:
    script.document = make_document(PAGE)
    schema = REGISTRY["invoice"]
    evidence = located(script.document, READ, schema)
    rules = Extraction(document_type="invoice", data=READ, evidence=evidence, steps=(RULES,))
    accepted, stop = await upload(), asyncio.Event()
    async with serving() as server:
        server.replies = [*[spoken("openai", "no JSON")] * 2, spoken("openai", {"number": "R-1"})]
        chosen = Chosen(small=ChosenModel(model="s", input_usd=Decimal(3), output_usd=Decimal(10)))
        models = models_of(Settings(llm=Llm(base_url=server.url("openai")), understanding=chosen))
        steps = replace(
            script.steps(),
            extractor=FakeExtractor(rules),
            router=models.router(RuleGate()),
        )
        working = asyncio.create_task(run_worker(service, steps, stop))
        try:
            waiting = await observer.when(accepted, lambda row: row.error_code == "bad_model_output")
            paid = (await observer.ingestion(accepted)).cost
            await _at_once(service, accepted)
            ended = await observer.when(accepted, lambda row: row.state != "processing")
        finally:
            stop.set()
            await working

    assert waiting.structured_data is not None
    assert ended.structured_data is not None
    assert (waiting.structured_data["number"], waiting.structured_data["gross_total"]) == (None, "24.00")
    assert (ended.structured_data["number"], ended.state) == ("R-1", "ready")
    ingestion = await observer.ingestion(accepted)
    assert ingestion.attempt_count == 2
    assert (paid, ingestion.cost) == (Decimal("0.008"), Decimal("0.012"))
    assert ingestion.extraction_reason == "rules; asked small model: s for number: number mended"


async def _at_once(service: Service, accepted: Accepted) -> None:
    """Have the document tried again without its delay."""
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET next_attempt_at = NULL")
    await service.queue.send([str(accepted.ingestion_id)])
