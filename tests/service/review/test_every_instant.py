"""What people said holds at every instant, also between a result and what is settled after it."""

import asyncio
from typing import Any

import psycopg

from docmill.errors import AiContentBlockedError
from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.review.review import FieldReview
from docmill.service.store import document_list, documents
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, is_read

PDF = "application/pdf"


def _is_settled(row: DocumentRow) -> bool:
    """True once reviews have been judged with the newest result."""
    return is_read(row) and row.verdict is not None


async def _noted(database_url: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        cur = await owner.execute("SELECT number, title, day FROM noted ORDER BY id")
        return await cur.fetchall()


async def _note_everything(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute(
            """
            CREATE TABLE noted (id bigserial, number text, title text, day text);
            GRANT INSERT ON noted TO docmill_app;
            GRANT USAGE ON SEQUENCE noted_id_seq TO docmill_app;
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO noted (number, title, day)
                VALUES (NEW.structured_data ->> 'number', NEW.title, NEW.document_date::text);
                RETURN NULL;
            END
            $$;
            CREATE TRIGGER note AFTER UPDATE ON document FOR EACH ROW EXECUTE FUNCTION note();
            """
        )


async def test_a_reviewed_value_and_an_edit_are_in_every_version_of_the_row(
    service: Service,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    database_url: str,
) -> None:
    tenant_id = service.default_tenant_id
    async with working():
        accepted = await upload()
        row = await observer.when(accepted, is_read)
        assert row.ingestion_id
        await service.reviews.add(
            row.id,
            [FieldReview("number", "correct", "4711")],
            tenant_id=tenant_id,
            ingestion_id=row.ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )
        await service.edits.change(
            row.id, {":document_date": "2026-11-05"}, tenant_id=tenant_id, edited_by=DEFAULT_USER_ID
        )
        titled = (await observer.document(accepted)).title
        await _note_everything(database_url)
        again = await service.intake.reprocess(row.id, tenant_id=tenant_id)
        await observer.when(accepted, lambda now: now.ingestion_id == again and _is_settled(now))
        await service.edits.change(row.id, {":title": "Mine"}, tenant_id=tenant_id, edited_by=DEFAULT_USER_ID)
        last = await service.intake.reprocess(row.id, tenant_id=tenant_id)
        await observer.when(accepted, lambda now: now.ingestion_id == last and _is_settled(now))

    seen = await _noted(database_url)
    assert len(seen) >= 4
    assert {number for number, _, _ in seen} == {"4711"}
    assert {day for _, _, day in seen} == {"2026-11-05"}
    assert titled == "Invoice 4711"
    titles = [title for _, title, _ in seen]
    assert set(titles) == {titled, "Mine"}
    assert titles.index("Mine") == titles.count(titled)


async def test_a_document_that_failed_for_good_is_found_and_keeps_what_is_known(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer, service: Service
) -> None:
    script.extract_errors = [AiContentBlockedError("the provider refuses it")]

    async with working():
        accepted = await upload()
        row = await observer.until(accepted, "failed")

    assert (row.title, row.document_type, row.media_type, row.page_count) == ("Invoice 7", "invoice", PDF, 1)
    quality = (await observer.ingestion(accepted)).transcription_quality_score
    assert quality is not None
    async with service.database.tenant(service.default_tenant_id) as conn:
        found = (await document_list.page(conn, DocumentFilters(query="119.00"))).rows
        failed = (await document_list.page(conn, DocumentFilters(query="invoice", state="failed"))).rows
        places = await documents.snippets(conn, [row.id], "119.00")
    assert [each.id for each in found] == [each.id for each in failed] == [row.id]
    assert row.id in places


async def test_text_is_found_while_a_document_is_still_being_read(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    service: Service,
) -> None:
    script.extract_errors = [AiContentBlockedError("refused")]
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(original: Original) -> None:
        del original
        begun.set()
        await may_end.wait()

    async with working():
        accepted = await upload()
        await observer.until(accepted, "failed")
        script.convert = wait
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute("UPDATE ingestion SET transcription_file_path = NULL")
        await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)
        await asyncio.wait_for(begun.wait(), 20)
        row = await observer.document(accepted)
        async with service.database.tenant(service.default_tenant_id) as conn:
            found = (await document_list.page(conn, DocumentFilters(query="119.00"))).rows
        may_end.set()
        await observer.until(accepted, "ready")

    assert (row.state, row.title) == ("processing", "Invoice 7")
    assert [each.id for each in found] == [accepted.document_id]
