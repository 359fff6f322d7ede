"""Files that belong to nothing go; a file that was accepted never does."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from psycopg import AsyncConnection

from docmill.service.app import Service
from docmill.service.intake.orphaned_files import remove_orphaned_files
from docmill.service.store import documents
from docmill.service.store.database import Conn, lock_file, new_id
from support.scripted_steps import Observer, RunWorker, Upload

TENANT_ID = "00000000-0000-7000-8000-000000000001"
NOBODY = "00000000-0000-7000-8000-0000000000ff"
ORPHAN = f"documents/{TENANT_ID}/{'a' * 64}"


def make_old(service: Service) -> None:
    """Let all stored files be three days old."""
    for path in (service.settings.folder / "blobs").rglob("*"):
        if path.is_file():
            at = path.stat().st_mtime - timedelta(days=3).total_seconds()
            os.utime(path, (at, at))


def files(service: Service) -> list[str]:
    root = service.settings.folder / "blobs"
    stored = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return sorted(key for key in stored if key != "vault/id")


async def sweep(service: Service) -> None:
    await remove_orphaned_files(service.database, service.blobs)


@pytest.mark.parametrize(
    "key",
    [
        f"incoming/{NOBODY}",
        f"partial/{NOBODY}/0-{NOBODY}",
        ORPHAN,
        f"documents/{NOBODY}/{'a' * 64}",
        f"pages/{TENANT_ID}/{'a' * 64}/1-200.webp",
        f"readable/{TENANT_ID}/{'a' * 64}/{'b' * 64}",
        f"ingestions/{NOBODY}/transcription.json.zst",
        f"ingestions/{NOBODY}/preprocessed.pdf",
    ],
)
async def test_an_old_file_that_nothing_names_is_removed(service: Service, key: str) -> None:
    await service.blobs.put_once(key, b"x")
    make_old(service)
    await service.blobs.put_once(f"{key}-young", b"x")

    await sweep(service)

    assert files(service) == [f"{key}-young"]


async def test_recognised_pages_go_after_a_week_though_their_document_is_there(
    service: Service, upload: Upload
) -> None:
    accepted = await upload()
    kept = f"ingestions/{accepted.ingestion_id}/transcription.json.zst"
    old, young = (
        f"ingestions/{accepted.ingestion_id}/pages/a/{first}.json.zst" for first in ("00001", "00009")
    )
    for key in (kept, old, young):
        await service.blobs.put_once(key, b"x")
    for _ in range(3):
        make_old(service)
    path = service.settings.folder / "blobs" / young
    os.utime(path)
    make_old(service)

    await sweep(service)

    ours = [key for key in files(service) if key.startswith("ingestions/")]
    assert ours == sorted([kept, young])


async def test_nothing_is_removed_from_the_store_of_another_database(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    await service.blobs.put_once("vault/id", b"00000000-0000-0000-0000-0000000000aa")
    await service.blobs.put_once(ORPHAN, b"the only copy")
    make_old(service)

    await sweep(service)

    assert files(service) == [ORPHAN]
    assert "belongs to another database" in caplog.text


async def test_a_store_stays_that_of_the_database_that_swept_it_first(service: Service) -> None:
    await sweep(service)
    first = await service.blobs.get("vault/id")

    await sweep(service)

    assert await service.blobs.get("vault/id") == first


async def test_files_of_others_are_left_alone(service: Service) -> None:
    keys = ["documents/readme.txt", "ingestions/notes", f"pages/{TENANT_ID}/cover", "else/where"]
    for key in keys:
        await service.blobs.put_once(key, b"x")
    make_old(service)

    await sweep(service)

    assert files(service) == sorted(keys)


async def test_what_documents_and_ingestions_name_is_kept_however_old(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    async with working():
        document = await observer.until(accepted, "ready")
    await service.blobs.put_once(f"pages/{TENANT_ID}/{document.content_hash}/1-200.webp", b"x")
    before = files(service)
    make_old(service)

    await sweep(service)

    assert files(service) == before
    assert len(before) >= 3


async def test_a_readable_copy_goes_with_its_document(service: Service, upload: Upload) -> None:
    async def opened(_: str) -> bytes:
        return b"readable"

    tenant = service.default_tenant_id
    kept, deleted = [(await upload(content)).document_id for content in (b"%PDF kept", b"%PDF deleted")]
    for document_id in (kept, deleted):
        await service.intake.unlock(document_id, opened, tenant_id=tenant)
    async with service.database.tenant(tenant) as conn:
        row = await documents.get(conn, kept)
    async with await AsyncConnection.connect(service.owner_url, autocommit=True) as owner:
        await owner.execute("DELETE FROM document WHERE id = %(id)s", {"id": deleted})
    make_old(service)

    await sweep(service)

    assert row is not None
    assert row.readable_file_path is not None
    assert files(service) == sorted([row.file_path, row.readable_file_path])


async def test_many_are_removed_in_batches(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.service.intake.orphaned_files._BATCH", 2)
    for _ in range(5):
        await service.blobs.put_once(f"incoming/{new_id()}", b"x")
    make_old(service)

    await sweep(service)

    assert files(service) == []


async def test_an_upload_that_is_just_accepted_under_an_orphans_name_wins(
    service: Service, upload: Upload, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orphan is found, then the same content is accepted, then the sweeper goes on to remove it."""
    accepted = await upload(b"again")
    path = (await observer.document(accepted)).file_path
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document")
    make_old(service)
    found, may_remove = asyncio.Event(), asyncio.Event()

    async def slow_try_lock(conn: Conn, name: str) -> bool:
        found.set()
        await may_remove.wait()
        await lock_file(conn, name)
        return True

    monkeypatch.setattr("docmill.service.intake.orphaned_files.try_lock", slow_try_lock)
    sweeping = asyncio.create_task(sweep(service))
    await asyncio.wait_for(found.wait(), 10)
    await upload(b"again")
    may_remove.set()
    await sweeping

    assert await service.blobs.get(path) == b"again"


async def test_while_intake_stores_a_file_the_sweeper_passes_over_it(service: Service) -> None:
    await service.blobs.put_once(ORPHAN, b"x")
    make_old(service)

    async with service.database.tenant(service.default_tenant_id) as conn:
        await lock_file(conn, ORPHAN)
        await sweep(service)

    assert files(service) == [ORPHAN]


async def test_uploads_and_sweeps_of_the_same_files_at_once_lose_none(
    service: Service, upload: Upload, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.service.intake.orphaned_files.LEFT_AFTER", timedelta(0))
    contents = [str(number).encode() for number in range(8)]
    for content in contents:  # orphans of every one of them
        await upload(content)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document")

    async def sweep_often() -> None:
        for _ in range(10):
            await sweep(service)

    accepted, _ = await asyncio.gather(
        asyncio.gather(*(upload(content) for content in contents * 3)), sweep_often()
    )

    for one in accepted:
        document = await observer.document(one)
        assert await service.blobs.size(document.file_path) == document.byte_size


async def test_an_incoming_file_is_not_removed_while_its_upload_is_slow(service: Service) -> None:
    going_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"%PDF"
        await going_on.wait()
        yield b"-1.7"

    uploading = asyncio.create_task(
        service.intake.accept(slowly(), tenant_id=service.default_tenant_id, file_name="a.pdf")
    )
    await asyncio.sleep(0)
    await sweep(service)
    going_on.set()

    assert (await uploading).is_new
