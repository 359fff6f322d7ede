import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.errors import MisconfiguredError, NetworkError
from docmill.service.sources.folder.folder_files import FileChangedError, FolderTree, FoundFile
from docmill.service.sources.folder.put_away import delete_file, move_file

OTHER_FILE_SYSTEM = Path("/dev/shm")


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def tree(inbox: Path) -> FolderTree:
    return FolderTree(inbox, (inbox.parent,), with_subfolders=True)


def found(tree: FolderTree) -> dict[str, FoundFile]:
    return {file.path: file for file in tree.files()}


def write(path: Path, content: bytes = b"%PDF-1.7") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def read(tree: FolderTree, file: FoundFile) -> bytes:
    return b"".join([chunk async for chunk in tree.chunks(file)])


def test_only_whole_files_are_found(inbox: Path, tree: FolderTree) -> None:
    for name in (
        "a.pdf",
        "2024/b.pdf",
        "c.pdf.part",
        "d.TMP",
        "e.crdownload",
        "~$f.docx",
        ".g.pdf",
        ".hidden/h.pdf",
        "@eaDir/i.pdf",
        "$RECYCLE.BIN/j.pdf",
        "Thumbs.db",
    ):
        write(inbox / name)
    os.mkfifo(inbox / "fifo.pdf")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(inbox / "socket.pdf"))

    assert set(found(tree)) == {"a.pdf", "2024/b.pdf"}
    assert {file.path for file in FolderTree(inbox, (inbox,)).files()} == {"a.pdf"}


async def test_no_link_leads_out_of_the_folder(inbox: Path, tree: FolderTree, tmp_path: Path) -> None:
    secret = write(tmp_path / "secret" / "a.pdf", b"secret")
    (inbox / "file.pdf").symlink_to(secret)
    (inbox / "folder").symlink_to(secret.parent)
    write(inbox / "sub" / "a.pdf", b"mine")
    assert set(found(tree)) == {"sub/a.pdf"}

    file = found(tree)["sub/a.pdf"]
    (inbox / "sub").rename(inbox / "gone")
    (inbox / "sub").symlink_to(secret.parent)  # between two looks
    with pytest.raises(OSError, match="sub"):
        await read(tree, file)
    (inbox / "gone" / "a.pdf").unlink()
    (inbox / "gone" / "a.pdf").symlink_to(secret)
    with pytest.raises(OSError, match=r"a\.pdf"):
        await read(tree, FoundFile(("gone",), "a.pdf", file.identity))


def test_a_link_within_the_way_to_the_folder_is_no_way_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "inbox").symlink_to(outside)

    with pytest.raises(MisconfiguredError, match=r"sources\.folders"):
        list(FolderTree(allowed / "inbox", (allowed,)).files())
    assert list(FolderTree(allowed / "inbox", (allowed, outside)).files()) == []


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="No such file"):
        list(FolderTree(tmp_path / "gone", (tmp_path,)).files())


async def test_a_file_that_is_written_to_or_replaced_is_not_read(inbox: Path, tree: FolderTree) -> None:
    path = write(inbox / "a.pdf", b"x" * 3_000_000)
    file = found(tree)["a.pdf"]

    async def read_while_it_grows() -> None:
        async for _ in tree.chunks(file):
            with path.open("ab") as more:
                more.write(b"more")

    with pytest.raises(FileChangedError):
        await read_while_it_grows()
    assert not tree.is_unchanged(file)
    with pytest.raises(FileChangedError):  # before
        await read(tree, file)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(FileChangedError):
        await read(tree, file)
    path.unlink()
    with pytest.raises(FileChangedError):
        await read(tree, file)


async def test_names_of_any_bytes_are_read(inbox: Path, tree: FolderTree) -> None:
    latin = os.fsdecode(b"r\xe4chnung.pdf")
    write(inbox / latin, b"latin")
    (file,) = found(tree).values()

    assert file.path == "r\\xe4chnung.pdf"
    assert file.shown_name == "r\N{REPLACEMENT CHARACTER}chnung.pdf"
    assert await read(tree, file) == b"latin"


@pytest.mark.skipif(os.geteuid() != 0, reason="root becomes somebody else here")
def test_what_may_not_be_read_is_told_and_the_rest_is_found(inbox: Path, tree: FolderTree) -> None:
    write(inbox / "a.pdf")
    write(inbox / "closed" / "b.pdf")
    (inbox / "closed").chmod(0)
    unreadable: list[str] = []
    for folder in (inbox, *inbox.parents):
        if folder.stat().st_mode & 0o055 != 0o055:
            folder.chmod(folder.stat().st_mode | 0o055)
    os.seteuid(65534)
    try:
        files = [file.path for file in tree.files(unreadable=lambda name, _: unreadable.append(name))]
    finally:
        os.seteuid(0)

    assert (files, unreadable) == (["a.pdf"], ["closed"])


@pytest.fixture(params=["same", "other"])
def done(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FolderTree]:
    """A folder for what was taken, on the same file system and on another."""
    if request.param == "same":
        folder = tmp_path / "done"
        folder.mkdir()
        yield FolderTree(folder, (folder,))
        return
    if not OTHER_FILE_SYSTEM.is_dir() or OTHER_FILE_SYSTEM.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system")
    folder = Path(tempfile.mkdtemp(dir=OTHER_FILE_SYSTEM))
    yield FolderTree(folder, (folder,))
    shutil.rmtree(folder)


def test_a_file_is_moved_to_the_same_place_below_the_other_folder(
    inbox: Path, tree: FolderTree, done: FolderTree
) -> None:
    write(inbox / "2024" / "a.pdf", b"first")
    os.utime(inbox / "2024" / "a.pdf", (1e9, 1e9))

    assert move_file(tree, found(tree)["2024/a.pdf"], done)

    assert list(found(tree)) == []
    assert (done.root / "2024" / "a.pdf").read_bytes() == b"first"
    assert (done.root / "2024" / "a.pdf").stat().st_mtime == 1e9
    assert len(list((done.root / "2024").iterdir())) == 1


def test_a_folder_made_for_a_file_is_open_to_those_who_may_use_the_watched_one(
    inbox: Path, tree: FolderTree, done: FolderTree
) -> None:
    write(inbox / "2024" / "a.pdf")
    done.root.chmod(0o2775)
    before = os.umask(0o077)

    try:
        assert move_file(tree, found(tree)["2024/a.pdf"], done)
    finally:
        os.umask(before)

    assert (done.root / "2024").stat().st_mode & 0o7777 == 0o2775


def test_names_that_are_taken_get_a_number(inbox: Path, tree: FolderTree, done: FolderTree) -> None:
    for content in (b"one", b"two", b"three"):
        write(inbox / "a.pdf", content)
        assert move_file(tree, found(tree)["a.pdf"], done)
    write(inbox / "a.pdf", b"two")  # as after a move that was cut off behind the copy
    assert move_file(tree, found(tree)["a.pdf"], done)

    contents = {path.name: path.read_bytes() for path in done.root.iterdir()}
    assert contents == {"a.pdf": b"one", "a (2).pdf": b"two", "a (3).pdf": b"three"}


def test_a_file_that_was_replaced_is_neither_moved_nor_deleted(
    inbox: Path, tree: FolderTree, done: FolderTree
) -> None:
    path = write(inbox / "a.pdf", b"old")
    os.utime(path, (1e9, 1e9))
    file = found(tree)["a.pdf"]
    path.unlink()
    write(path, b"new")
    os.utime(path, (1e9, 1e9))

    assert not move_file(tree, file, done)
    assert not delete_file(tree, file)
    assert path.read_bytes() == b"new"
    assert list(done.root.iterdir()) == []
    assert delete_file(tree, found(tree)["a.pdf"])
    assert not path.exists()


async def test_a_reader_that_stops_early_closes_the_file(inbox: Path, tree: FolderTree) -> None:
    write(inbox / "a.pdf", b"x" * 3_000_000)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    chunks = tree.chunks(found(tree)["a.pdf"])

    await anext(chunks)
    await chunks.aclose()
    await asyncio.sleep(0.01)

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
