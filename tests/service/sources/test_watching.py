import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue, SecretStr

from docmill.errors import CorruptError, MisconfiguredError, ServerError, ValidationError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.sources.watching import SourceWatching
from docmill.service.store import arrivals, doc_sources, document_list, ingestions
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.mailbox_sources import wait_for, wait_for_items
from support.scripted_steps import once


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(settings: Settings, inbox: Path) -> Settings:
    sources = settings.sources.model_copy(update={"folders": (inbox,), "lease_s": 2.0})
    secrets = Secrets(key=SecretStr("k" * 32))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


async def add_folder(service: Service, inbox: Path, name: str = "Scans") -> SourceRow:
    return await service.sources.add(
        "folder",
        name,
        {"path": str(inbox), "poll_s": 0.1, "stable_s": 0},
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


@asynccontextmanager
async def watching(service: Service, worker_id: str = "a") -> AsyncGenerator[asyncio.Task[None]]:
    watch = SourceWatching(service.sources, service.database, worker_id, lease_s=2.0, concurrency=5)
    task = asyncio.create_task(watch.work_for_ever())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_file_becomes_a_document_of_its_source(service: Service, inbox: Path) -> None:
    row = await add_folder(service, inbox)
    (inbox / "bill.pdf").write_bytes(b"%PDF-1.7 bill")

    async with watching(service):
        await wait_for_items(service, row, 1)
        await wait_for(service, row, lambda now: now.last_success_at is not None)  # after a whole look

    async with service.database.tenant(row.tenant_id) as conn:
        (document,) = (await document_list.page(conn)).rows
        (ingestion,) = await ingestions.of_document(conn, document.id)
        (arrival,) = await arrivals.of_document(conn, document.id)
    assert (ingestion.doc_source_id, ingestion.uploaded_by) == (row.id, None)
    assert ingestion.source_metadata == arrival.metadata == {"path": "bill.pdf"}
    assert arrival.source_name == "Scans"
    assert (await service.queue.depth()).due == 1


async def test_each_file_is_taken_once_by_several_workers_and_after_a_restart(
    service: Service, inbox: Path
) -> None:
    row = await add_folder(service, inbox)
    for number in range(30):
        (inbox / f"{number}.pdf").write_bytes(b"%%PDF-1.7 %d" % number)

    async with watching(service, "a"), watching(service, "b"):
        await wait_for_items(service, row, 30)
    async with watching(service, "c"):
        (inbox / "late.pdf").write_bytes(b"%PDF-1.7 late")
        current = await wait_for_items(service, row, 31)

    assert (current.arrivals, current.refusals) == (31, 0)
    assert (await service.queue.depth()).due == 31


async def test_more_sources_than_are_watched_at_once_take_turns(
    service: Service, inbox: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows: list[SourceRow] = []
    for number in range(5):
        folder = inbox / str(number)
        folder.mkdir()
        (folder / "bill.pdf").write_bytes(b"%%PDF-1.7 %d" % number)
        rows.append(await add_folder(service, folder, f"Scans {number}"))
    watch = SourceWatching(service.sources, service.database, "a", lease_s=2.0, concurrency=2, turn_s=0.5)

    task = asyncio.create_task(watch.work_for_ever())
    try:
        for row in rows:
            await wait_for_items(service, row, 1)
        (inbox / "0" / "late.pdf").write_bytes(b"%PDF-1.7 late")  # whose turn was first
        await wait_for_items(service, rows[0], 2)
        async with service.database.connection() as conn:
            (count,) = await doc_sources.count_by_kind(conn)
    finally:
        await cancel_and_wait([task])

    assert (count.active, count.failing) == (5, 0)
    assert count.waiting >= 1
    assert caplog.text.count("they take turns") == 1


async def test_a_source_alone_is_watched_without_turns(service: Service, inbox: Path) -> None:
    row = await add_folder(service, inbox)
    watch = SourceWatching(service.sources, service.database, "a", lease_s=2.0, concurrency=1, turn_s=0)

    task = asyncio.create_task(watch.work_for_ever())
    try:
        for number in range(2):
            (inbox / f"{number}.pdf").write_bytes(b"%%PDF-1.7 %d" % number)
            await wait_for_items(service, row, number + 1)
        async with service.database.tenant(row.tenant_id) as conn:
            cur = await conn.execute("SELECT claimed_at FROM doc_source")
            first = await cur.fetchone()
        (inbox / "2.pdf").write_bytes(b"%PDF-1.7 2")
        await wait_for_items(service, row, 3)
        async with service.database.tenant(row.tenant_id) as conn:
            cur = await conn.execute("SELECT claimed_at FROM doc_source")
            assert await cur.fetchone() == first
    finally:
        await cancel_and_wait([task])


async def test_an_empty_file_is_refused_and_stops_no_other(service: Service, inbox: Path) -> None:
    row = await add_folder(service, inbox)
    (inbox / "a.pdf").write_bytes(b"")
    (inbox / "b.pdf").write_bytes(b"%PDF-1.7 b")

    async with watching(service):
        current = await wait_for_items(service, row, 2)

    assert (current.arrivals, current.refusals) == (1, 1)
    async with service.database.tenant(row.tenant_id) as conn:
        (refused,) = await arrivals.of_source(conn, row.id, refused_only=True, limit=5)
    assert (refused.error_code, refused.error_message) == ("corrupt", "the file is empty")


async def test_a_source_that_fails_says_why_and_goes_on_later(service: Service, inbox: Path) -> None:
    row = await add_folder(service, inbox)
    await asyncio.to_thread(inbox.rmdir)

    async with watching(service), asyncio.timeout(20):
        while True:
            current = await service.sources.get(row.id, tenant_id=row.tenant_id)
            assert current is not None
            if current.failures:
                break
            await asyncio.sleep(0.05)
        assert current.last_error_code == "network"
        assert current.next_attempt_at is not None
        await asyncio.to_thread(inbox.mkdir)
        (inbox / "bill.pdf").write_bytes(b"%PDF-1.7 bill")
        # As a person does who does not want to wait.
        await service.sources.set_state(row.id, "active", tenant_id=row.tenant_id)
        current = await wait_for_items(service, row, 1)
    assert current.failures == 0


async def test_a_paused_or_removed_source_takes_nothing(service: Service, inbox: Path) -> None:
    row = await add_folder(service, inbox)
    async with watching(service):
        (inbox / "a.pdf").write_bytes(b"%PDF-1.7 a")
        await wait_for_items(service, row, 1)
        await service.sources.set_state(row.id, "paused", tenant_id=row.tenant_id)
        await asyncio.sleep(2.5)
        (inbox / "b.pdf").write_bytes(b"%PDF-1.7 b")
        await asyncio.sleep(1)
        paused = await service.sources.get(row.id, tenant_id=row.tenant_id)
        assert paused is not None
        assert paused.arrivals == 1
        await service.sources.set_state(row.id, "active", tenant_id=row.tenant_id)
        await wait_for_items(service, row, 2)
    assert await service.sources.remove(row.id, tenant_id=row.tenant_id)
    assert await service.sources.get(row.id, tenant_id=row.tenant_id) is None


async def test_a_folder_that_nobody_allowed_is_not_watched(service: Service, tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match=r"sources\.folders"):
        await add_folder(service, tmp_path)


async def test_faults_of_settings_are_told_without_their_values(service: Service, inbox: Path) -> None:
    tenant_id = service.default_tenant_id
    with pytest.raises(ValidationError, match="poll_s") as told:
        await service.sources.add(
            "folder",
            "Scans",
            {"path": str(inbox), "poll_s": "s3cret"},
            {},
            tenant_id=tenant_id,
            created_by=DEFAULT_USER_ID,
        )
    assert "s3cret" not in str(told.value)
    with pytest.raises(ValidationError, match="no kind"):
        await service.sources.add("fax", "Fax", {}, {}, tenant_id=tenant_id, created_by=DEFAULT_USER_ID)


async def test_two_sources_of_one_name_are_not_made(service: Service, inbox: Path) -> None:
    await add_folder(service, inbox)

    with pytest.raises(ValidationError, match="another name"):
        await add_folder(service, inbox, "SCANS")


async def test_an_item_that_was_refused_is_refused_again_and_never_known(
    service: Service, inbox: Path
) -> None:
    row = await add_folder(service, inbox)
    intake = service.sources.item_intake(row)

    taken = [
        await intake.take(name, once(content), file_name="a.pdf", metadata={})
        for name, content in (("a", b""), ("a", b""), ("b", b"%PDF-1.7"), ("b", b"%PDF-1.7"))
    ]

    assert [one.status for one in taken] == ["refused", "refused", "accepted", "known"]
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert (current.arrivals, current.refusals) == (1, 1)


async def test_a_watch_of_before_does_not_undo_a_new_beginning(service: Service, inbox: Path) -> None:
    row = await add_folder(service, inbox)
    before = service.sources.item_intake(row)
    await before.keep_position({"at": 1})

    async with service.database.tenant(row.tenant_id) as conn:
        await doc_sources.begin_again(conn, row.id, from_start=True)
    await before.keep_position({"at": 2})

    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert current.position is None


@pytest.mark.parametrize("is_removed", [False, True])
async def test_what_was_under_way_when_a_source_was_paused_or_removed_is_not_taken(
    service: Service, inbox: Path, *, is_removed: bool
) -> None:
    row = await add_folder(service, inbox)
    intake = service.sources.item_intake(row)
    if is_removed:
        await service.sources.remove(row.id, tenant_id=row.tenant_id)
    else:
        await service.sources.set_state(row.id, "paused", tenant_id=row.tenant_id)

    with pytest.raises(ServerError):
        await intake.take("a", once(b"%PDF-1.7 bill"), file_name="a.pdf", metadata={})
    with pytest.raises(ServerError):
        await intake.refuse("b", CorruptError("it is damaged"), metadata={})

    async with service.database.tenant(row.tenant_id) as conn:
        assert (await document_list.page(conn)).rows == []
        assert await arrivals.of_source(conn, row.id, limit=9) == []


async def test_secrets_that_are_kept_are_not_sent_to_another_place(service: Service) -> None:
    tenant_id = service.default_tenant_id
    row = await service.sources.add(
        "imap",
        "Mail",
        {"host": "imap.example.com", "user": "anna"},
        {"password": "hunter2"},
        tenant_id=tenant_id,
        created_by=DEFAULT_USER_ID,
    )
    elsewhere: dict[str, JsonValue] = {**row.settings, "host": "imap.evil.example"}

    with pytest.raises(ValidationError, match="host: enter the secrets again"):
        await service.sources.change(row, settings=elsewhere)
    with pytest.raises(ValidationError, match="host: enter the secrets again"):
        await service.sources.test_change(row, elsewhere, {})
    with pytest.raises(ValidationError, match="security"):
        await service.sources.change(row, settings={**row.settings, "security": "starttls"}, secrets={})

    assert (
        await service.sources.change(row, settings={**row.settings, "folders": ["Invoices"]})
    ).version == 2
    changed = await service.sources.change(row, settings=elsewhere, secrets={"password": "new"})
    assert changed.settings["host"] == "imap.evil.example"
