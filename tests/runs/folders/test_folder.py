import os
from pathlib import Path

import pytest

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.ports import Ref
from docmill.runs.folder_files import FolderLister, FolderReader


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


def test_links_that_lead_out_of_the_folder_are_named_and_not_followed(tmp_path: Path) -> None:
    inbox, elsewhere = tmp_path / "inbox", tmp_path / "elsewhere"
    (inbox / "sub").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "a.pdf").write_bytes(b"x")
    (inbox / "b.pdf").write_bytes(b"x")
    (inbox / "folder").symlink_to(elsewhere)
    (inbox / "sub" / "file.pdf").symlink_to(elsewhere / "a.pdf")
    (inbox / "gone.pdf").symlink_to(inbox / "nowhere.pdf")
    (inbox / "up").symlink_to("..")
    (inbox / "circle").symlink_to("circle")
    (inbox / ".hidden").symlink_to(elsewhere)
    lister = FolderLister(inbox)

    assert [ref.key for ref in lister.list()] == ["b.pdf"]
    assert sorted(lister.skipped_links) == [
        f"circle -> {inbox}/circle",
        f"folder -> {elsewhere}",
        f"gone.pdf -> {inbox}/nowhere.pdf",
        f"sub/file.pdf -> {elsewhere}/a.pdf",
        f"up -> {tmp_path}",
    ]


def test_links_within_the_folder_double_nothing_and_loops_end(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.pdf").write_bytes(b"x")
    (tmp_path / "another").symlink_to("real")
    (tmp_path / "a.pdf").symlink_to("real/a.pdf")
    (tmp_path / "real" / "loop").symlink_to("..")
    (tmp_path / "again").symlink_to(".")
    lister = FolderLister(tmp_path)

    assert [ref.key for ref in lister.list()] == ["real/a.pdf"]
    assert lister.skipped_links == []


def test_what_only_a_link_shows_is_listed_once(tmp_path: Path) -> None:
    (tmp_path / ".store" / "deep").mkdir(parents=True)
    (tmp_path / ".store" / "1").write_bytes(b"x")
    (tmp_path / ".store" / "deep" / "2.pdf").write_bytes(b"x")
    (tmp_path / "a.pdf").symlink_to(".store/1")
    (tmp_path / "b.pdf").symlink_to(".store/1")
    (tmp_path / "more").symlink_to(".store/deep")
    (tmp_path / "once more").symlink_to(".store/deep")

    assert [ref.key for ref in FolderLister(tmp_path).list()] == ["a.pdf", "more/2.pdf"]


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.pdf").write_bytes(b"x")
    (tmp_path / "real" / "b.pdf").symlink_to("a.pdf")
    (tmp_path / "inbox").symlink_to("real")
    lister = FolderLister(tmp_path / "inbox")

    assert [ref.key for ref in lister.list()] == ["a.pdf"]
    assert lister.skipped_links == []


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

    (tmp_path / "a.txt").write_bytes(b"abc")
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
    assert lister.junk_count == 5
