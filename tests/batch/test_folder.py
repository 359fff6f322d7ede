import os
from pathlib import Path

import pytest

from docmill.batch.folder import FolderLister, FolderReader
from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.ports import Ref


def test_a_folder_is_listed_in_order_without_hidden_files(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b/2.pdf", "a.pdf", ".DS_Store", ".git/x"):
        (tmp_path / name).write_bytes(b"x")

    assert [ref.key for ref in FolderLister(tmp_path).list()] == ["a.pdf", "b/2.pdf"]


def test_a_folder_that_cannot_be_looked_into_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(
        os, "scandir", scandir
    )  # root may look anywhere, so the system cannot be made to refuse

    with pytest.raises(MisconfiguredError, match="closed': Permission denied"):
        list(FolderLister(tmp_path).list())


def test_a_linked_folder_is_followed_once(tmp_path: Path) -> None:
    inbox, elsewhere = tmp_path / "inbox", tmp_path / "elsewhere"
    inbox.mkdir()
    elsewhere.mkdir()
    (elsewhere / "a.pdf").write_bytes(b"x")
    (inbox / "linked").symlink_to(elsewhere)
    (elsewhere / "loop").symlink_to(inbox)

    assert [ref.key for ref in FolderLister(inbox).list()] == ["linked/a.pdf"]


def test_a_single_file_is_a_folder_of_one(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(b"x")

    assert list(FolderLister(file).list()) == [Ref("a.pdf", "a.pdf")]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="no folder"):
        list(FolderLister(tmp_path / "nowhere").list())


async def test_an_original_is_known_by_the_hash_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc")

    original = await FolderReader(tmp_path).read(Ref("a.txt", "a.txt"))

    assert original.content_hash == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert original.path == tmp_path / "a.txt"


async def test_a_file_above_the_limit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc" * 1000)

    with pytest.raises(TooLargeError, match="--max-mb"):
        await FolderReader(tmp_path, max_bytes=2999).read(Ref("a.txt", "a.txt"))


async def test_a_file_that_went_away_is_gone(tmp_path: Path) -> None:
    with pytest.raises(CorruptError, match="gone"):
        await FolderReader(tmp_path).read(Ref("a.txt", "a.txt"))


@pytest.mark.parametrize(
    ("raised", "expected"), [(PermissionError, CorruptError), (IsADirectoryError, ServerError)]
)
async def test_the_systems_errors_become_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: type[OSError], expected: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise raised(1, "no")

    monkeypatch.setattr(
        Path, "open", fail
    )  # root may read everything, so the system cannot be made to refuse

    with pytest.raises(expected):
        await FolderReader(tmp_path).read(Ref("a.txt", "a.txt"))


def test_what_programs_leave_behind_is_passed_by_and_counted(tmp_path: Path) -> None:
    for name in ("a.docx", "~$a.docx", ".~lock.a.odt#", "Thumbs.db", "desktop.ini", ".DS_Store", ".hidden"):
        (tmp_path / name).write_bytes(b"x")
    lister = FolderLister(tmp_path)

    assert [ref.key for ref in lister.list()] == ["a.docx"]
    assert lister.passed_by == 5
