"""What is known of a document before its end is kept, however it ends."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

import httpx
import psycopg
import pytest
import zstandard

from docmill.errors import ContextTooLongError, EncryptedError, ServerError
from docmill.model import codec
from docmill.model.result import Classification
from docmill.ports import Findings, Original
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.ports import Message
from docmill.service.processing import lease as leases
from docmill.service.processing.claim_writer import PROGRESS_S, ClaimWriter
from docmill.service.processing.lease import Lease
from docmill.service.processing.process import LeaseObserver
from docmill.service.store import document_list
from docmill.service.store.claims import Claim
from docmill.service.store.database import Conn, Database
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.result_columns import StoredFindings
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app
from support.scripted_steps import NO_RESULT, Observer, RunWorker, ScriptedSteps, Upload

READ = StoredFindings(
    media_type="application/pdf", page_count=3, text="Total 119.00", transcription_quality_score=0.8
)


class Counting(Database):
    """Counts transactions, and fails while it is told to."""

    transactions = 0
    is_away = False

    @asynccontextmanager
    async def tenant(self, tenant_id: UUID) -> AsyncGenerator[Conn]:
        self.transactions += 1
        if self.is_away:
            raise ServerError("the database is away")
        async with super().tenant(tenant_id) as conn:
            yield conn


async def _claimed(service: Service, upload: Upload, database: Database) -> tuple[ClaimWriter, Claim]:
    accepted = await upload()
    assert accepted.ingestion_id
    claim_writer = ClaimWriter(database, "me", lease_s=300, max_attempts=3)
    claim = await claim_writer.claim(accepted.ingestion_id)
    assert isinstance(claim, Claim)
    assert claim.tenant_id == service.default_tenant_id
    return claim_writer, claim


async def test_a_document_whose_extraction_fails_keeps_text_type_and_title(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.extract_errors = [ContextTooLongError("too long for every model")]
    script.document = replace(script.document, language="de")
    accepted = await upload()

    async with working():
        failed = await observer.until(accepted, "failed")

    assert (failed.title, failed.document_type, failed.language) == ("Invoice 7", "invoice", "de")
    assert (failed.media_type, failed.page_count) == ("application/pdf", 1)
    assert failed.needs_human_review
    ingestion = await observer.ingestion(accepted)
    assert ingestion.transcription_quality_score == pytest.approx(script.document.quality)
    assert ingestion.classification is not None
    stored = await service.blobs.get(ingestion.transcription_file_path or "")
    assert codec.loads(stored).text.startswith("Invoice 7")
    async with service.database.tenant(service.default_tenant_id) as conn:
        found = (await document_list.page(conn, DocumentFilters(query="119.00"))).rows
    assert [row.id for row in found] == [accepted.document_id]


async def test_while_a_document_waits_for_its_next_try_its_text_is_there(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.extract_errors = [ServerError("away", retry_after_s=3000)]
    accepted = await upload()

    async with working():
        waiting = await observer.when(accepted, lambda row: row.error_code == "server_error")

    assert (waiting.state, waiting.page_count, waiting.title) == ("processing", 1, "Invoice 7")
    assert (await observer.ingestion(accepted)).transcription_file_path


async def test_what_took_long_is_stored_before_the_next_step_begins(
    service: Service,
    upload: Upload,
    observer: Observer,
    script: ScriptedSteps,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leases, "LONG_WORK_S", 0.0)
    claim_writer, claim = await _claimed(service, upload, service.database)
    lease_observer = LeaseObserver(_lease(service, claim_writer, claim))

    await lease_observer.record(Findings("application/pdf", document=script.document))
    await lease_observer.record(
        Findings(classification=Classification(title="Bill", document_type="invoice"))
    )

    accepted = await upload()  # the same content: the same document
    row, ingestion = await observer.document(accepted), await observer.ingestion(accepted)
    assert (row.title, row.page_count, row.document_type) == ("Bill", 1, "invoice")
    assert ingestion.transcription_file_path == f"ingestions/{claim.ingestion_id}/transcription.json.zst"


async def test_a_database_that_is_away_does_not_stop_a_document_and_gets_the_findings_in_the_end(
    service: Service, upload: Upload, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LONG_WORK_S", 0.0)
    async with Counting(service.database.url) as database:
        claim_writer, claim = await _claimed(service, upload, database)
        database.is_away = True
        await _lease(service, claim_writer, claim).record(READ)
        database.is_away = False

        assert await claim_writer.set_back(claim, error=None, delay_s=0, counts=False)

        before = database.transactions
        await claim_writer.store_findings()
        assert database.transactions == before
    assert (await observer.document(await upload())).page_count == 3


async def test_a_document_that_is_over_in_a_moment_costs_no_write_of_its_findings(
    service: Service, upload: Upload
) -> None:
    async with Counting(service.database.url) as database:
        claim_writer, claim = await _claimed(service, upload, database)
        before = database.transactions

        await _lease(service, claim_writer, claim).record(READ)
        await claim_writer.finish(claim, NO_RESULT)
        await claim_writer.store_findings()

        assert database.transactions == before + 1


async def test_findings_of_a_step_that_lasts_are_written_with_its_progress(
    service: Service, upload: Upload, observer: Observer
) -> None:
    claim_writer, claim = await _claimed(service, upload, service.database)
    accepted = await upload()

    async with claim_writer, asyncio.timeout(20):
        claim_writer.record(claim, READ)
        claim_writer.step_started(claim, "classify")
        async for _ in service.feed.follow(service.default_tenant_id, 0):
            if (await observer.document(accepted)).page_count == 3:
                break

    assert (await observer.ingestion(accepted)).transcription_quality_score == pytest.approx(0.8)


async def test_a_finding_that_cannot_be_stored_does_not_end_the_writing_of_progress(
    service: Service, upload: Upload, observer: Observer
) -> None:
    claim_writer, claim = await _claimed(service, upload, service.database)
    accepted = await upload()
    impossible = StoredFindings(transcription_quality_score=2.0)

    async with claim_writer, asyncio.timeout(20):
        claim_writer.record(claim, impossible)
        with pytest.raises(psycopg.errors.CheckViolation):
            await claim_writer.store_findings()
        step = "classify"
        while (await observer.ingestion(accepted)).step != step:  # the first are lost with the impossible one
            claim_writer.step_started(claim, step)
            await asyncio.sleep(PROGRESS_S)


async def test_a_finding_that_cannot_be_stored_does_not_keep_an_attempt_from_ending(
    service: Service, upload: Upload, observer: Observer
) -> None:
    claim_writer, claim = await _claimed(service, upload, service.database)
    accepted = await upload()
    claim_writer.record(claim, StoredFindings(transcription_quality_score=2.0))

    held = await claim_writer.fail(claim, ContextTooLongError("too long for every model"), receive_count=1)

    assert held
    assert (await observer.ingestion(accepted)).error_code == "context_too_long"


async def test_who_lost_the_claim_stores_no_findings(
    service: Service, upload: Upload, observer: Observer
) -> None:
    claim_writer, claim = await _claimed(service, upload, service.database)
    provisional = READ.updated(StoredFindings(structured_data={"number": "7"}, extraction_reason="rules"))
    claim_writer.record(replace(claim, fence=claim.fence - 1), provisional)

    await claim_writer.store_findings()

    accepted = await upload()
    row, ingestion = await observer.document(accepted), await observer.ingestion(accepted)
    assert (row.page_count, row.media_type) == (None, "application/octet-stream")
    assert (row.structured_data, ingestion.structured_data, ingestion.extraction_reason) == (None, None, None)


async def test_a_later_failure_changes_nothing_of_a_result_that_was_read(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    async with working():
        await observer.until(accepted, "ready")
        script.document = replace(script.document, pages=[*script.document.pages, *script.document.pages])
        script.classification = Classification(title="Another title", confidence=1)
        script.extract_errors = [ContextTooLongError("too long for every model")]
        await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)
        failed = await observer.until(accepted, "failed")

    assert (failed.title, failed.page_count) == ("Invoice 7", 1)
    assert ((await observer.ingestion(accepted)).classification or {})["title"] == "Another title"


async def test_a_protected_file_is_known_to_be_a_pdf(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async def refuse(_original: Original) -> None:
        error = EncryptedError("it has a password")
        error.media_type = "application/pdf"
        raise error

    script.convert = refuse
    accepted = await upload()

    async with working():
        failed = await observer.until(accepted, "failed")

    assert (failed.media_type, failed.page_count) == ("application/pdf", None)


def _lease(service: Service, claim_writer: ClaimWriter, claim: Claim) -> Lease:
    message = Message("1", str(claim.ingestion_id), "1", 1)
    return Lease(
        claim_writer, service.queue, message, claim, since=time.monotonic(), lease_s=300, heartbeat_s=60
    )


async def test_an_unreadable_transcription_is_made_anew_in_a_file_of_its_own(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    torn = f"ingestions/{accepted.ingestion_id}/transcription.json.zst"
    await service.blobs.put_once(torn, b"torn")
    script.extract_errors = [ServerError("away", retry_after_s=0)]

    async with working():
        await observer.until(accepted, "ready")

    ingestion = await observer.ingestion(accepted)
    assert ingestion.attempt_count == 2
    assert len(script.converted) == 1  # the second attempt found what the first had made
    assert ingestion.transcription_file_path == f"ingestions/{accepted.ingestion_id}/transcription-1.json.zst"
    stored = await service.blobs.get(ingestion.transcription_file_path or "")
    assert codec.loads(stored).text.startswith("Invoice 7")
    assert await service.blobs.get(torn) == b"torn"


async def test_a_transcription_of_a_newer_release_costs_no_attempt(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    newer = zstandard.compress(b'{"format": 99}')
    await service.blobs.put_once(f"ingestions/{accepted.ingestion_id}/transcription.json.zst", newer)

    async with working():
        waiting = await observer.when(accepted, lambda row: row.error_code == "server_error")

    assert "newer release" in (waiting.error_message or "")
    assert (waiting.state, (await observer.ingestion(accepted)).attempt_count) == ("processing", 0)
    assert script.converted == []


async def test_a_failed_document_shows_its_text_its_pages_and_its_file(
    service: Service,
    settings: Settings,
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
) -> None:
    script.extract_errors = [ContextTooLongError("too long for every model")]
    accepted = await upload()
    async with working():
        await observer.until(accepted, "failed")

    transport = httpx.ASGITransport(create_app(service, PaintedPages(), settings))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        page = (await client.get(f"/docs/{accepted.document_id}?tab=text")).text
        fields = (await client.get(f"/docs/{accepted.document_id}")).text
        picture = await client.get(f"/api/v1/documents/{accepted.document_id}/pages/1.webp")
        file = await client.get(f"/api/v1/documents/{accepted.document_id}/file?disposition=inline")
        found = (await client.get("/api/v1/documents?q=119.00")).json()["documents"]

    assert "Invoice 7</h1>" in page
    assert "No values were read in this document." in fields
    assert "Not found" not in fields
    assert "Total   119.00" in page
    assert "Page 1 of 1" in page
    assert "Too long for every model" in page
    assert picture.headers["content-type"] == "image/webp"
    assert file.headers["content-disposition"].startswith("inline")
    assert [one["id"] for one in found] == [str(accepted.document_id)]
