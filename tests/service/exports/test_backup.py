"""Backups of an embedded vault: made while it works, restored, and the same."""

import asyncio
import hashlib
import os
import tarfile
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from docmill.errors import CorruptError, MisconfiguredError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.exports.archive_files import ArchiveWriter
from docmill.service.exports.backup import back_up, restore
from docmill.service.store import events
from docmill.service.worker import run_worker
from support.databases import fast_server
from support.scripted_steps import ScriptedSteps, once
from support.vault_contents import files_in, rows_of_folder

MakeFolder = Callable[[], Path]
COUNT = 16


def nothing(count: int) -> None:
    del count


def settings_of(folder: Path) -> Settings:
    settings = Settings(data_dir=folder)
    # What was claimed when the backup was made is claimed again when that lease is over.
    changes = {
        "wait_s": 1.0,
        "pause_s": 0.05,
        "concurrency": 4,
        "heartbeat_s": 2.0,
        "lease_s": 10.0,
        "sweep_s": 2.0,
    }
    worker = settings.worker.model_copy(update=changes)
    return settings.model_copy(update={"worker": worker})


async def fill(
    folder: Path, script: ScriptedSteps, target: Path | None = None, *, count: int = COUNT
) -> set[str]:
    """Upload and process documents; back the vault up in the middle. The hashes of those before that."""
    async with AsyncExitStack() as stack:
        stack.enter_context(fast_server(folder))
        service = await stack.enter_async_context(open_service(settings_of(folder)))
        stop = asyncio.Event()
        worker = asyncio.create_task(run_worker(service, script.steps(), stop))
        before: set[str] = set()
        backing_up: asyncio.Task[object] | None = None
        for number in range(count):
            data = b"%PDF-1.7 " + str(number).encode() + os.urandom(50_000)
            await service.intake.accept(
                once(data), tenant_id=service.default_tenant_id, file_name=f"{number}.pdf"
            )
            if number == count // 2 and target is not None:
                backing_up = asyncio.create_task(asyncio.to_thread(back_up, folder, target, nothing))
            if number <= count // 2:
                before.add(hashlib.sha256(data).hexdigest())
        if backing_up is not None:
            await backing_up
        await settled(service)
        stop.set()
        await worker
    return before


async def settled(service: Service) -> None:
    """Wait until nothing is under way."""
    tenant_id = service.default_tenant_id
    async with asyncio.timeout(120), aclosing(service.feed.follow(tenant_id, 0)) as batches:
        async for _ in batches:
            async with service.database.tenant(tenant_id) as conn:
                cur = await conn.execute("SELECT FROM ingestion WHERE status = 'in-progress' LIMIT 1")
            if not cur.rowcount:
                return


async def test_a_backup_of_a_vault_at_work_is_whole(make_folder: MakeFolder, script: ScriptedSteps) -> None:
    folder, copy = make_folder(), make_folder()
    target = make_folder() / "vault.backup"

    before = await fill(folder, script, target)
    await asyncio.to_thread(restore, target, copy, nothing)

    async with open_service(settings_of(copy)) as service:
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute("SELECT content_hash, file_path FROM document")
            rows = await cur.fetchall()
        for content_hash, path in rows:
            assert hashlib.sha256(await service.blobs.get(path)).hexdigest() == content_hash
        assert before <= {content_hash for content_hash, _ in rows}
        stop = asyncio.Event()
        worker = asyncio.create_task(run_worker(service, script.steps(), stop))
        async with service.database.tenant(service.default_tenant_id) as conn:
            assert await events.since(conn, 0, limit=1000), "events of before are told"
        await settled(service)
        stop.set()
        await worker


async def test_a_restored_vault_is_the_same_byte_by_byte(
    make_folder: MakeFolder, script: ScriptedSteps
) -> None:
    folder, copy = make_folder(), make_folder()
    target = make_folder() / "vault.backup"
    await fill(folder, script)
    rows, files = rows_of_folder(folder), files_in(folder)

    report = await asyncio.to_thread(back_up, folder, target, nothing)
    await asyncio.to_thread(restore, target, copy, nothing)

    restored = rows_of_folder(copy)
    assert restored.keys() == rows.keys()
    assert [table for table in rows if rows[table] != restored[table]] == []
    assert rows["document"].count(b"\n") == COUNT
    assert files_in(copy) == files
    assert len(files) >= 2 * COUNT
    assert report.file_count == len(files) + 2
    assert report.missing == ()


async def test_what_is_damaged_refused_or_in_the_way(make_folder: MakeFolder, script: ScriptedSteps) -> None:
    folder, place = make_folder(), make_folder()
    target = place / "vault.backup"
    with pytest.raises(MisconfiguredError, match="there is no vault"):
        back_up(folder, target, nothing)
    await fill(folder, script, count=2)
    lost = next((folder / "blobs" / "documents").rglob("*/" + "?" * 64))
    key, content = lost.relative_to(folder / "blobs").as_posix(), lost.read_bytes()
    lost.unlink()

    report = await asyncio.to_thread(back_up, folder, target, nothing)

    assert report.missing == (key,)
    with pytest.raises(MisconfiguredError, match="there is a vault"):
        restore(target, folder, nothing)
    whole = target.read_bytes()
    other = next(path for path in (folder / "blobs" / "documents").rglob("*/" + "?" * 64))
    sample = other.read_bytes()[:50]
    damaged = {
        "changed": whole.replace(sample, b"x" * 50),
        "cut off": whole[: len(whole) // 2],
        "other": content,
        "empty": b"",
    }
    for name, data in damaged.items():
        copy = make_folder()
        (place / name).write_bytes(data)
        with pytest.raises(CorruptError):
            restore(place / name, copy, nothing)
        assert list(copy.iterdir()) == []
    with pytest.raises(MisconfiguredError, match="no file"):
        restore(place / "absent", make_folder(), nothing)


async def test_a_restoration_that_was_killed_is_begun_again(
    make_folder: MakeFolder, script: ScriptedSteps
) -> None:
    folder, copy = make_folder(), make_folder()
    target = make_folder() / "vault.backup"
    await fill(folder, script, count=2)
    await asyncio.to_thread(back_up, folder, target, nothing)
    (copy / ".restoring" / "postgres").mkdir(parents=True)
    (copy / "blobs" / "documents").mkdir(parents=True)
    (copy / "blobs" / "documents" / "half").write_bytes(b"half")

    await asyncio.to_thread(restore, target, copy, nothing)

    assert files_in(copy) == files_in(folder)
    assert not (copy / ".restoring").exists()


def test_names_that_lead_out_of_the_vault_are_refused(make_folder: MakeFolder) -> None:
    place = make_folder()
    with (place / "evil.backup").open("wb") as file:
        archive = ArchiveWriter(file)
        archive.add_json(
            "backup.json",
            {"format": "docmill backup", "version": 1, "schema": "0001", "roles": [], "docmill": "1"},
        )
        archive.add_json("blobs/../../evil", "evil")
        archive.end()
    with tarfile.open(place / "link.backup", "w") as tar:
        link = tarfile.TarInfo("blobs/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)

    for name in ("evil.backup", "link.backup"):
        copy = make_folder()
        with pytest.raises(CorruptError):
            restore(place / name, copy, nothing)
        assert list(copy.iterdir()) == []
