import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from docmill.errors import MisconfiguredError, ValidationError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.sources.folder.watcher import FolderWatcher
from docmill.service.store import arrivals, document_list, tags
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow

Add = Callable[..., Awaitable["Source"]]


class Source:
    """A folder, looked at when a test says so."""

    def __init__(self, service: Service, row: SourceRow) -> None:
        self._service = service
        self.row = row
        connection = service.sources.open(row)
        assert isinstance(connection, FolderWatcher)
        self.watcher = connection
        self.intake = service.sources.item_intake(row)

    async def sweep(self) -> None:
        await self.watcher.sweep(self.intake)

    async def current(self) -> SourceRow:
        row = await self._service.sources.get(self.row.id, tenant_id=self.row.tenant_id)
        assert row is not None
        return row

    async def items(self) -> list[ArrivalRow]:
        async with self._service.database.tenant(self.row.tenant_id) as conn:
            return await arrivals.of_source(conn, self.row.id, limit=100)

    async def documents(self) -> dict[str, list[str]]:
        """The tags of each document by its name."""
        async with self._service.database.tenant(self.row.tenant_id) as conn:
            rows = (await document_list.page(conn)).rows
            return {
                row.file_name: sorted(tag.name for tag in await tags.of_document(conn, row.id))
                for row in rows
            }


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed" / "inbox"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def settings(settings: Settings, inbox: Path) -> Settings:
    sources = settings.sources.model_copy(update={"folders": (inbox.parent,)})
    return settings.model_copy(update={"sources": sources})


@pytest.fixture
def add(service: Service, inbox: Path) -> Add:
    async def add(**settings: JsonValue) -> Source:
        row = await service.sources.add(
            "folder",
            "Scans",
            {"path": str(inbox), "stable_s": 0, **settings},
            {},
            tenant_id=service.default_tenant_id,
            created_by=DEFAULT_USER_ID,
        )
        return Source(service, row)

    return add


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.pdf")}


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def test_the_names_of_folders_become_tags(add: Add, inbox: Path) -> None:
    source = await add(subfolders=True, folder_names_as_tags=True)
    write(inbox / "a.pdf", b"a")
    write(inbox / "Bills" / "2024" / "b.pdf", b"b")
    write(inbox / ("x" * 200) / "c.pdf", b"c")  # too long for a tag

    await source.sweep()

    assert await source.documents() == {"a.pdf": [], "b.pdf": ["2024", "Bills"], "c.pdf": []}
    assert {item.metadata["path"] for item in await source.items()} >= {"Bills/2024/b.pdf"}


async def test_what_was_moved_or_deleted_was_taken_and_the_refused_stays(add: Add, inbox: Path) -> None:
    done = inbox / "done"
    done.mkdir()
    source = await add(after="move", move_to=str(done), subfolders=True)
    write(inbox / "a.pdf", b"a")
    write(inbox / "sub" / "b.pdf", b"b")
    write(inbox / "empty.pdf", b"")

    for _ in range(2):  # the folder within the watched one is not watched
        await source.sweep()

    assert names_in(inbox) == {"done/a.pdf", "done/sub/b.pdf", "empty.pdf"}
    current = await source.current()
    assert (current.arrivals, current.refusals) == (2, 1)


async def test_a_file_whose_worker_died_before_it_was_deleted_is_deleted_later(
    add: Add, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await add(after="delete")
    path = write(inbox / "a.pdf", b"a")

    def die(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr("docmill.service.sources.folder.watcher.delete_file", die)
        with pytest.raises(asyncio.CancelledError):
            await source.sweep()
    assert path.exists()
    await source.sweep()

    assert not path.exists()
    assert (await source.current()).arrivals == 1


async def test_a_replaced_file_is_a_new_item_and_a_renamed_one_is_already_here(add: Add, inbox: Path) -> None:
    source = await add()
    path = write(inbox / "a.pdf", b"first")
    await source.sweep()
    path.unlink()
    write(path, b"other")
    await source.sweep()
    path.rename(inbox / "b.pdf")
    await source.sweep()

    assert (await source.current()).arrivals == 3
    assert set(await source.documents()) == {"a.pdf"}
    assert len({item.document_id for item in await source.items()}) == 2


async def test_a_file_that_grows_is_taken_when_it_is_whole(add: Add, inbox: Path) -> None:
    source = await add(stable_s=0.4)
    growing = write(inbox / "growing.pdf", b"begin")
    write(inbox / "whole.pdf", b"whole")
    sweep = asyncio.create_task(source.sweep())
    for _ in range(6):
        await asyncio.sleep(0.1)
        with growing.open("ab") as file:
            file.write(b"more")
    await sweep
    assert set(await source.documents()) == {"whole.pdf"}

    await source.sweep()

    assert set(await source.documents()) == {"whole.pdf", "growing.pdf"}
    assert (await source.current()).refusals == 0


async def test_what_cannot_be_put_away_is_told_and_stops_no_other(add: Add, inbox: Path) -> None:
    done = inbox.parent / "done"
    done.mkdir()
    source = await add(after="move", move_to=str(done), subfolders=True)
    write(inbox / "sub" / "a.pdf", b"a")
    write(inbox / "b.pdf", b"b")
    write(done / "sub", b"a file where a folder should be")

    await source.sweep()

    current = await source.current()
    assert current.arrivals == 2
    assert (done / "b.pdf").exists()
    assert "'sub/a.pdf' (Not a directory)" in (current.last_error_message or "")


async def test_settings_that_cannot_work_are_refused(add: Add, inbox: Path, tmp_path: Path) -> None:
    for settings, reason in (
        ({"after": "move"}, "move_to"),
        ({"move_to": str(inbox)}, "move_to"),
        ({"after": "move", "move_to": str(inbox)}, "another folder"),
        ({"folder_names_as_tags": True}, "subfolders"),
    ):
        with pytest.raises(ValidationError, match=reason):
            await add(**settings)
    with pytest.raises(MisconfiguredError, match=r"sources\.folders"):
        await add(after="move", move_to=str(tmp_path))
    with pytest.raises(MisconfiguredError, match="begin with '/'"):
        await add(path="inbox")


async def test_a_test_says_what_is_there_and_what_is_missing(add: Add, inbox: Path) -> None:
    write(inbox / "a.pdf", b"a")
    source = await add(after="move", move_to=str(inbox.parent / "done"))
    with pytest.raises(Exception, match="cannot be opened: No such file"):
        await source.watcher.test()

    await asyncio.to_thread((inbox.parent / "done").mkdir)
    assert "files in it: 1" in await source.watcher.test()
