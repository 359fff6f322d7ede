"""What failed for good waits for its owner, in one place, and is tried again or forgotten once."""

import asyncio
from uuid import UUID

import psycopg
import pytest

from docmill.errors import CorruptError, EncryptedError, ServerError
from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.dead_letters import RedriveResult, Selection
from docmill.service.intake.accept import Accepted
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.store import claims, dead_letters, ingestions
from docmill.service.store.database import new_id
from docmill.service.store.ingestions import Origin
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload

ALL = Selection()


async def broken(original: Original) -> None:
    if original.name.startswith("locked"):
        raise EncryptedError("it has a password")
    raise CorruptError("it ends too early")


@pytest.fixture
async def failed(script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer) -> Accepted:
    """A document that failed for good."""
    script.convert = broken
    accepted = await upload()
    async with working():
        await observer.until(accepted, "failed")
    return accepted


async def redrive(service: Service, chosen: Selection = ALL, tenant_id: UUID | None = None) -> RedriveResult:
    return await service.dead_letters.redrive(chosen, tenant_id=tenant_id or service.default_tenant_id)


async def purge(service: Service, chosen: Selection = ALL, tenant_id: UUID | None = None) -> int:
    return await service.dead_letters.purge(chosen, tenant_id=tenant_id or service.default_tenant_id)


async def test_a_letter_says_what_failed_and_why(failed: Accepted, observer: Observer) -> None:
    (letter,) = await observer.letters()

    assert (letter.document_id, letter.ingestion_id) == (failed.document_id, failed.ingestion_id)
    assert (letter.file_name, letter.queue, letter.step) == ("bill.pdf", "ingestion", "transcribe")
    assert (letter.error_code, letter.error_message) == ("corrupt", "it ends too early")
    assert (letter.attempts, letter.receive_count) == (1, 1)


async def test_a_failure_without_its_letter_does_not_happen(
    service: Service, upload: Upload, observer: Observer, database_url: str
) -> None:
    accepted = await upload()
    async with service.database.tenant(service.default_tenant_id) as conn:
        (claim,) = await claims.take(
            conn, [accepted.ingestion_id or new_id()], worker_id="w", lease_s=300, max_attempts=3
        )
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("REVOKE INSERT ON dead_letter FROM docmill_app")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with service.database.tenant(service.default_tenant_id) as conn:
            await claims.fail(conn, claim, CorruptError("it ends too early"))

    assert (await observer.document(accepted)).state == "processing"


async def test_a_redriven_document_starts_from_its_first_attempt(
    service: Service, script: ScriptedSteps, working: RunWorker, observer: Observer, failed: Accepted
) -> None:
    script.convert = None

    done = await redrive(service)

    assert done == RedriveResult(redriven=1)
    assert await observer.letters() == []
    async with working():
        await observer.until(failed, "ready")
    assert (await observer.ingestion(failed)).attempt_count == 1


async def test_redriving_ten_times_at_once_is_redriving_once(
    service: Service, observer: Observer, failed: Accepted
) -> None:
    (letter,) = await observer.letters()

    done = await asyncio.gather(*(redrive(service, Selection(ids=[letter.id])) for _ in range(10)))

    assert sum(one.redriven for one in done) == 1
    assert sum(one.unknown for one in done) == 9
    assert (await service.queue.depth()).due == 1
    assert (await observer.document(failed)).state == "processing"


async def test_a_redrive_that_cannot_enqueue_changes_nothing(
    service: Service, observer: Observer, failed: Accepted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_arguments: object, **_options: object) -> None:
        raise ServerError("no")

    monkeypatch.setattr(PostgresQueue, "send_in", down)

    with pytest.raises(ServerError):
        await redrive(service)

    assert len(await observer.letters()) == 1
    assert (await observer.document(failed)).state == "failed"


async def test_a_stranger_redrives_and_purges_nothing(
    service: Service, observer: Observer, failed: Accepted, stranger: UUID
) -> None:
    (letter,) = await observer.letters()
    named = Selection(ids=[letter.id])

    assert await redrive(service, ALL, stranger) == RedriveResult()
    assert await redrive(service, named, stranger) == RedriveResult(unknown=1)
    assert await purge(service, named, stranger) == 0
    assert await service.dead_letters.find(named, tenant_id=stranger) == []
    assert [one.id for one in await observer.letters()] == [letter.id]
    assert failed


async def test_pressing_retry_ends_the_letter(service: Service, observer: Observer, failed: Accepted) -> None:
    (letter,) = await observer.letters()

    await service.intake.reprocess(failed.document_id, tenant_id=service.default_tenant_id)

    assert await observer.letters() == []
    assert await redrive(service, Selection(ids=[letter.id])) == RedriveResult(unknown=1)


async def test_uploading_it_again_ends_the_letter(
    upload: Upload, observer: Observer, failed: Accepted
) -> None:
    again = await upload()

    assert again.ingestion_id not in (None, failed.ingestion_id)
    assert await observer.letters() == []


async def test_a_letter_whose_document_was_processed_anew_is_dropped(
    service: Service, observer: Observer, failed: Accepted
) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await ingestions.begin(
            conn,
            tenant_id=service.default_tenant_id,
            document_id=failed.document_id,
            origin=Origin(),
        )

    assert await redrive(service) == RedriveResult(dropped=1)
    assert await observer.letters() == []
    assert (await service.queue.depth()).due == 0


async def test_a_purged_letters_document_stays_failed_and_its_file_viewable(
    service: Service, observer: Observer, failed: Accepted
) -> None:
    assert await purge(service) == 1
    assert await purge(service) == 0

    document = await observer.document(failed)
    assert (document.state, document.error_code) == ("failed", "corrupt")
    assert await service.blobs.get(document.file_path) == b"%PDF-1.7"


async def test_a_document_takes_its_letter_with_it(
    service: Service, observer: Observer, failed: Accepted
) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document WHERE id = %s", [failed.document_id])

    assert await observer.letters() == []


@pytest.fixture
async def many(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> list[Accepted]:
    """Five documents that failed for good, two of them locked."""
    script.convert = broken
    names = ["a.pdf", "locked b.pdf", "c.pdf", "locked d.pdf", "e.pdf"]
    accepted = [await upload(name.encode(), file_name=name) for name in names]
    async with working():
        for one in accepted:
            await observer.until(one, "failed")
    return accepted


async def test_letters_are_found_by_code_and_step_and_paged(service: Service, many: list[Accepted]) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        every = await dead_letters.page(conn, limit=10)
        first = await dead_letters.page(conn, limit=3)
        rest = await dead_letters.page(conn, after=first[-1].id, limit=3)
        locked = await dead_letters.page(conn, code="encrypted", limit=10)
        elsewhere = await dead_letters.page(conn, step="extract", limit=10)

    assert {one.document_id for one in every} == {one.document_id for one in many}
    assert [*first, *rest] == every
    assert {one.file_name for one in locked} == {"locked b.pdf", "locked d.pdf"}
    assert elsewhere == []


async def test_all_of_one_code_are_redriven_in_batches(
    service: Service, observer: Observer, many: list[Accepted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.service.dead_letters._BATCH", 2)

    done = await redrive(service, Selection(code="corrupt"))

    assert done == RedriveResult(redriven=3)
    assert {one.error_code for one in await observer.letters()} == {"encrypted"}
    assert (await service.queue.depth()).due == 3
    assert many


async def test_some_are_redriven_and_the_others_stay(
    service: Service, observer: Observer, many: list[Accepted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.service.dead_letters._BATCH", 2)
    ids = [letter.id for letter in await observer.letters()]

    done = await redrive(service, Selection(ids=[*ids[:3], ids[0], new_id()]))

    assert done == RedriveResult(redriven=3, unknown=1)
    assert [letter.id for letter in await observer.letters()] == ids[3:]
    assert many


async def test_redrives_and_purges_of_the_same_letters_at_once_do_not_get_stuck(
    service: Service, observer: Observer, many: list[Accepted]
) -> None:
    redriving = asyncio.create_task(redrive(service))
    purging = asyncio.create_task(purge(service))
    async with asyncio.timeout(20):
        for one in many:
            await service.intake.reprocess(one.document_id, tenant_id=service.default_tenant_id)
        done, purged = await redriving, await purging

    assert await observer.letters() == []
    assert done.redriven + purged <= len(many)
