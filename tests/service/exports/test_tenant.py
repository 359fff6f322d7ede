"""A whole tenant taken out of one installation and brought into another."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from docmill.errors import CorruptError, MisconfiguredError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.exports.catalogue import file_keys
from docmill.service.exports.tenant_export import export_tenant
from docmill.service.exports.tenant_folder import TenantDescription, TenantFolder
from docmill.service.exports.tenant_import import import_tenant
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.review.review import FieldReview
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import documents, reviews
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.worker import run_worker
from support.databases import fresh_database, login_url
from support.people import PASSWORD
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, is_read, once
from support.vault_contents import Rows, files_in, rows_in

DOCUMENTS = 6


class Killed(BaseException):
    """What stands for a kill."""


def nothing(count: int) -> None:
    del count


def killed_after(count: int) -> Callable[[int], None]:
    left = count

    def progress(done: int) -> None:
        nonlocal left
        left -= done
        if left < 0:
            raise Killed

    return progress


async def export(
    service: Service, folder: TenantFolder, progress: Callable[[int], None] = nothing
) -> TenantDescription:
    return await export_tenant(
        service.owner_url,
        service.blobs,
        folder,
        tenant_id=service.default_tenant_id,
        vault_id=service.vault_id,
        progress=progress,
    )


@pytest.fixture
async def other(postgres: EmbeddedPostgres, settings: Settings, tmp_path: Path) -> AsyncIterator[Service]:
    """Another installation, with nothing in it."""
    with fresh_database(postgres) as url:
        changes = {
            "data_dir": tmp_path / "other",
            "database_url": SecretStr(login_url(url)),
            "database_owner_url": SecretStr(url),
        }
        async with open_service(settings.model_copy(update=changes)) as other:
            yield other


@pytest.fixture
async def document_id(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, stranger: UUID
) -> UUID:
    """A tenant with documents, one of them reviewed and processed twice, beside another tenant."""
    await service.intake.accept(once(b"theirs"), tenant_id=stranger, file_name="theirs.pdf")
    async with working():
        accepted = [
            await upload(f"%PDF-1.7 {number}".encode(), file_name=f"{number}.pdf")
            for number in range(DOCUMENTS)
        ]
        for document in accepted:
            await observer.when(document, is_read)
        document_id = accepted[0].document_id
        tenant_id = service.default_tenant_id
        seen = await service.reviews.of(document_id, tenant_id=tenant_id)
        assert seen is not None
        await service.reviews.add(
            document_id,
            [FieldReview("number", "correct", "8")],
            tenant_id=tenant_id,
            ingestion_id=seen.result.ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )
    return document_id


def contents(service: Service) -> tuple[Rows, dict[str, str]]:
    tenant_id = service.default_tenant_id
    files = files_in(service.settings.folder)
    ours = {key: value for key, value in files.items() if key.split("/")[0] != "vault"}
    return rows_in(service.owner_url, tenant_id=tenant_id), ours


async def test_a_tenant_is_the_same_in_another_installation(
    service: Service, other: Service, document_id: UUID, stranger: UUID, tmp_path: Path
) -> None:
    folder = TenantFolder(tmp_path / "tenant")
    rows, files = contents(service)

    description = await export(service, folder)
    await import_tenant(other.owner_url, other.blobs, folder, nothing)

    imported_rows, imported_files = contents(other)
    assert [name for name in rows if rows[name] != imported_rows[name]] == []
    assert rows["document"].count(b"\n") == DOCUMENTS
    assert rows["review"].count(b"\n") == 1
    assert description.missing == ()
    assert imported_files == {key: value for key, value in files.items() if key in description.keys}
    with psycopg.connect(service.owner_url) as conn:
        theirs = set(file_keys(conn, stranger))
    assert files.keys() - imported_files.keys() == theirs, "all files of the tenant are among them"
    assert not any(rows_in(other.owner_url, tenant_id=stranger).values())
    async with other.database.tenant(other.default_tenant_id) as conn:
        (review,) = await reviews.history(conn, document_id)
    assert (review.path, review.value) == ("number", "8")


async def test_people_move_with_their_tenant_but_for_their_passwords(
    service: Service, other: Service, tmp_path: Path
) -> None:
    folder = TenantFolder(tmp_path / "tenant")
    anna = NewPerson("anna@example.org", "Anna", PASSWORD)
    anna_id = await service.accounts.create_first(anna, "Acme")
    await service.sign_in.begin_session(anna_id, Visitor())
    ben_id, _ = await service.accounts.add(
        "ben@example.org", "Ben", "viewer", tenant_id=service.default_tenant_id
    )
    local_id = await other.accounts.create_first(NewPerson("ben@example.org", "Local", PASSWORD), "Other")

    description = await export(service, folder)
    await import_tenant(other.owner_url, other.blobs, folder, nothing)

    with psycopg.connect(other.owner_url) as conn:
        found = {row[0]: row[1:] for row in conn.execute("SELECT id, email, name, password_hash FROM users")}
        members = conn.execute("SELECT user_id FROM memberships").fetchall()
    assert found[anna_id] == ("anna@example.org", "Anna", None)
    assert found[ben_id] == (None, "Ben", None), "somebody else has the address here"
    assert found[local_id][0] == "ben@example.org"
    assert {anna_id, ben_id} <= {user_id for (user_id,) in members}
    assert not {"sessions", "one_time_links", "signing_key", "idempotency_key"} & description.tables.keys()


async def test_sources_come_along_paused_and_without_secrets(
    service: Service, other: Service, tmp_path: Path
) -> None:
    tenant_id = service.default_tenant_id
    row = await service.sources.add(
        "webhook", "Shop", {}, {}, tenant_id=tenant_id, created_by=DEFAULT_USER_ID
    )
    with psycopg.connect(service.owner_url) as conn:
        conn.execute("UPDATE doc_source SET secrets = 'sealed', lease_until = now(), worker_id = 'w'")
    folder = TenantFolder(tmp_path / "tenant")

    await export(service, folder)
    await import_tenant(other.owner_url, other.blobs, folder, nothing)

    imported = await other.sources.get(row.id, tenant_id=tenant_id)
    assert imported is not None
    assert (imported.name, imported.state, imported.secrets) == ("Shop", "paused", None)


async def test_an_imported_tenant_lives_on(
    service: Service, other: Service, document_id: UUID, script: ScriptedSteps, tmp_path: Path
) -> None:
    folder = TenantFolder(tmp_path / "tenant")
    await export(service, folder)
    await import_tenant(other.owner_url, other.blobs, folder, nothing)
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(other, script.steps(), stop))

    accepted = await other.intake.accept(
        once(b"%PDF-1.7 new"), tenant_id=other.default_tenant_id, file_name="new.pdf"
    )
    await other.intake.reprocess(document_id, tenant_id=other.default_tenant_id)

    observer = Observer(other)
    await observer.when(accepted, is_read)
    await observer.when(replace(accepted, document_id=document_id), is_read)
    stop.set()
    await worker
    seen = await other.reviews.of(document_id, tenant_id=other.default_tenant_id)
    assert seen is not None
    assert seen.result.data is not None
    assert seen.result.data["number"] == "8"


async def test_export_and_import_go_on_after_a_kill(
    service: Service, other: Service, document_id: UUID, tmp_path: Path
) -> None:
    del document_id
    folder = TenantFolder(tmp_path / "tenant")
    folder.unfinished_tables.mkdir(parents=True)
    (folder.unfinished_tables / "document.copy").write_text("half a ro")
    (folder.root / "tenant.json.unfinished").write_text('{"half": ')

    with pytest.raises(Killed):
        await export(service, folder, killed_after(4))
    with pytest.raises(MisconfiguredError, match="not complete"):
        await import_tenant(other.owner_url, other.blobs, folder, nothing)
    complete = folder.complete_files()
    written = {key: folder.file(key).stat().st_mtime_ns for key in complete}
    with (folder.root / "files.sha256").open("a") as journal:
        journal.write("0123 half a li")
    await export(service, folder)
    with pytest.raises(Killed):
        await import_tenant(other.owner_url, other.blobs, folder, killed_after(4))
    assert contents(other)[0]["document"] == b""
    await import_tenant(other.owner_url, other.blobs, folder, nothing)

    assert len(written) == 5
    assert {key: folder.file(key).stat().st_mtime_ns for key in complete} == written
    assert contents(other)[0] == contents(service)[0]


async def test_numbers_are_moved_behind_those_that_were_given(
    service: Service, other: Service, document_id: UUID, tmp_path: Path
) -> None:
    del document_id
    folder = TenantFolder(tmp_path / "tenant")
    async with await psycopg.AsyncConnection.connect(other.owner_url) as conn:
        await conn.execute("SELECT setval(pg_get_serial_sequence('event', 'id')::regclass, 100000)")
    await export(service, folder)

    await import_tenant(other.owner_url, other.blobs, folder, nothing)

    async def told(vault: Service) -> list[tuple[int, str]]:
        async with vault.database.tenant(vault.default_tenant_id) as conn:
            cur = await conn.execute("SELECT id, kind FROM event ORDER BY id")
            return await cur.fetchall()

    before, after = await told(service), await told(other)
    assert [(number + 100_000, kind) for number, kind in before] == after


async def test_what_does_not_fit_is_refused(
    service: Service, other: Service, document_id: UUID, stranger: UUID, tmp_path: Path
) -> None:
    del document_id
    folder = TenantFolder(tmp_path / "tenant")
    await export(service, folder)

    with pytest.raises(MisconfiguredError, match="no export"):
        await import_tenant(other.owner_url, other.blobs, TenantFolder(tmp_path / "absent"), nothing)
    with pytest.raises(MisconfiguredError, match="documents in this installation"):
        await import_tenant(service.owner_url, service.blobs, folder, nothing)
    with pytest.raises(MisconfiguredError, match="another tenant"):
        await export_tenant(
            service.owner_url,
            service.blobs,
            folder,
            tenant_id=stranger,
            vault_id=service.vault_id,
            progress=nothing,
        )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(MisconfiguredError, match="something else"):
        await export(service, TenantFolder(tmp_path / "full"))
    table = folder.table("document")
    whole = table.read_bytes()
    table.write_bytes(whole.replace(b"1.pdf", b"2.pdf"))
    with pytest.raises(CorruptError, match="damaged"):
        await import_tenant(other.owner_url, other.blobs, folder, nothing)
    table.write_bytes(whole)
    key = next(iter(folder.complete_files()))
    folder.file(key).write_bytes(b"other")
    with pytest.raises(CorruptError, match="damaged"):
        await import_tenant(other.owner_url, other.blobs, folder, nothing)
    description = json.loads((folder.root / "tenant.json").read_text())
    (folder.root / "tenant.json").write_text(json.dumps({**description, "schema": "0001"}))
    with pytest.raises(MisconfiguredError, match="same release"):
        await import_tenant(other.owner_url, other.blobs, folder, nothing)
    (folder.root / "tenant.json").write_text(json.dumps({**description, "keys": ["../../evil"]}))
    with pytest.raises(CorruptError, match="cannot have written"):
        await import_tenant(other.owner_url, other.blobs, folder, nothing)
    assert contents(other)[0]["document"] == b""


def forge(folder: TenantFolder, table: str, old: str, new: str) -> None:
    """Change the rows of an export, with their checksum, as somebody does who wants more than their own."""
    path = folder.table(table)
    rows = path.read_bytes().replace(old.encode(), new.encode())
    assert rows != path.read_bytes()
    path.write_bytes(rows)
    text = (folder.root / "tenant.json").read_text()
    description = json.loads(text)
    description["tables"][table] |= {"byte_size": len(rows), "content_hash": sha256(rows).hexdigest()}
    (folder.root / "tenant.json").write_text(json.dumps(description))


async def test_an_import_reaches_no_other_tenant(
    service: Service, other: Service, document_id: UUID, stranger: UUID, tmp_path: Path
) -> None:
    tenant_id = service.default_tenant_id
    folder = TenantFolder(tmp_path / "tenant")
    await export(service, folder)
    untouched = tmp_path / "untouched"
    shutil.copytree(folder.root, untouched)
    async with await psycopg.AsyncConnection.connect(other.owner_url) as conn:
        await conn.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Victim')", [stranger])
    hidden = await other.intake.accept(once(b"hidden"), tenant_id=stranger, file_name="hidden.pdf")
    async with other.database.tenant(stranger) as conn:
        row = await documents.get(conn, hidden.document_id)
    assert row is not None
    before = rows_in(other.owner_url, tenant_id=stranger), files_in(other.settings.folder)

    for table, old, new in (
        ("event", str(tenant_id), str(stranger)),
        ("document", str(tenant_id), str(stranger)),
        ("document", f"documents/{tenant_id}", f"documents/{stranger}"),
        ("document", (await _path_of(service, document_id)), row.file_path),
        ("document", str(document_id), "no id"),
    ):
        shutil.rmtree(folder.root)
        shutil.copytree(untouched, folder.root)
        forge(folder, table, old, new)
        with pytest.raises(CorruptError):
            await import_tenant(other.owner_url, other.blobs, folder, nothing)
    _replace_file(folder, untouched, row.file_path)
    with pytest.raises(CorruptError, match="must not replace"):
        await import_tenant(other.owner_url, other.blobs, folder, nothing)

    assert rows_in(other.owner_url, tenant_id=stranger) == before[0]
    assert before[1].items() <= files_in(other.settings.folder).items()


async def _path_of(service: Service, document_id: UUID) -> str:
    async with service.database.tenant(service.default_tenant_id) as conn:
        row = await documents.get(conn, document_id)
    assert row is not None
    return row.file_path


def _replace_file(folder: TenantFolder, untouched: Path, key: str) -> None:
    """Add a file under the key of somebody else."""
    shutil.rmtree(folder.root)
    shutil.copytree(untouched, folder.root)
    folder.file(key).parent.mkdir(parents=True)
    folder.file(key).write_bytes(b"forged")
    folder.note_complete(key, sha256(b"forged").hexdigest())
    description = json.loads((folder.root / "tenant.json").read_text())
    description["keys"].append(key)
    (folder.root / "tenant.json").write_text(json.dumps(description))


async def test_a_file_that_was_lost_is_named(
    service: Service, other: Service, document_id: UUID, tmp_path: Path
) -> None:
    folder = TenantFolder(tmp_path / "tenant")
    async with service.database.tenant(service.default_tenant_id) as conn:
        document = await documents.get(conn, document_id)
    assert document is not None
    key = document.file_path
    await service.blobs.delete(key)

    description = await export(service, folder)
    await import_tenant(other.owner_url, other.blobs, folder, nothing)

    assert description.missing == (key,)
