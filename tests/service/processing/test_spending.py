"""What a document costs is stored over all of its attempts, also those that failed."""

from dataclasses import replace
from decimal import Decimal

import pytest

from docmill.errors import ContextTooLongError, ServerError
from docmill.model.document import Document, Usage
from docmill.model.result import Extraction, Schema
from docmill.pipeline import Steps
from docmill.ports import Original
from docmill.resilience.spending import Meter
from docmill.service.app import Service
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.store.claims import Claim
from support.scripted_steps import NO_RESULT, Observer, RunWorker, ScriptedSteps, Upload

CALL = Usage(input_tokens=100, output_tokens=10, model="small", cost=Decimal("0.01"))
BUDGET = Decimal("0.03")


class Paying:
    """Pays for a call in each attempt, as long as the budget lasts, and then raises what it is told."""

    def __init__(self, script: ScriptedSteps) -> None:
        self.calls = 0
        self._script = script
        self._extractor = script.steps().extractor

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        meter = Meter(BUDGET, document.usage)
        if not meter.is_spent:
            self.calls += 1
            meter.add(CALL)
        found = await self._extractor.extract(document, schema, original)
        return found.model_copy(update={"usage": meter.usage})


@pytest.fixture
def paying(script: ScriptedSteps) -> Paying:
    return Paying(script)


@pytest.fixture
def steps(script: ScriptedSteps, paying: Paying) -> Steps:
    return replace(script.steps(), extractor=paying)


def down() -> ServerError:
    return ServerError("the provider failed", retry_after_s=0)


async def test_what_failed_attempts_have_cost_is_part_of_what_the_document_costs(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.extract_errors = [down(), down()]
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.cost) == (3, 3 * CALL.cost)
    assert (ingestion.extraction_input_tokens, ingestion.extraction_output_tokens) == (300, 30)
    assert ingestion.extraction_model == "small"


async def test_a_document_that_failed_says_what_it_has_cost(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.extract_errors = [ContextTooLongError("too long for every model"), down()]
    accepted = await upload()

    async with working():
        await observer.until(accepted, "failed")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.cost, ingestion.extraction_input_tokens) == (2 * CALL.cost, 200)


async def test_while_a_document_waits_what_it_has_cost_is_known(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [ServerError("the provider failed", retry_after_s=3000)]
    accepted = await upload()

    async with working():
        await observer.when(accepted, lambda row: row.error_code == "server_error")

    assert (await observer.ingestion(accepted)).cost == CALL.cost


async def test_the_budget_is_that_of_the_document_and_not_of_the_attempt(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    paying: Paying,
    service: Service,
) -> None:
    script.extract_errors = [down(), down()]
    accepted = await upload()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET cost = %s", [BUDGET - 2 * CALL.cost])

    async with working():
        await observer.until(accepted, "ready")

    assert paying.calls == 2
    assert (await observer.ingestion(accepted)).cost == BUDGET


async def test_a_worker_that_dies_loses_nothing_of_what_was_paid_before(
    service: Service, upload: Upload
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    claim_writer = ClaimWriter(service.database, "me", lease_s=300, max_attempts=3)
    claim = await claim_writer.claim(accepted.ingestion_id)
    assert isinstance(claim, Claim)

    claim_writer.spent(claim, CALL)
    await claim_writer.store_findings()  # as it is done all the time; no end of the attempt is ever told
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET lease_until = now()")
    again = await claim_writer.claim(accepted.ingestion_id, alone=True)

    assert isinstance(again, Claim)
    assert again.spent == CALL


async def test_who_lost_the_claim_counts_nothing(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    claim_writer = ClaimWriter(service.database, "me", lease_s=300, max_attempts=3)
    claim = await claim_writer.claim(accepted.ingestion_id)
    assert isinstance(claim, Claim)

    claim_writer.spent(replace(claim, fence=claim.fence - 1), CALL)
    await claim_writer.store_findings()

    assert (await observer.ingestion(accepted)).cost is None
    assert await claim_writer.finish(claim, NO_RESULT)
