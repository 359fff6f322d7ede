import stat
from pathlib import Path

import pytest

from docmill.service.storage.private_files import (
    close_content,
    close_to_others,
    open_content,
    private_file,
    private_folder,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """A data folder as a start without a umask left it, with something that is not docmill's."""
    for name in ("blobs/documents/ab", "work/lock", "addresses/1", "postgres/start.lock", "own/notes"):
        path = tmp_path / name
        path.parent.mkdir(mode=0o755, parents=True)
        path.touch(mode=0o644)
    (tmp_path / "postgres" / "data").mkdir(mode=0o755)
    (tmp_path / "postgres" / "data" / "server.log").touch(mode=0o644)
    (tmp_path / "secrets.key").touch(mode=0o644)
    return tmp_path


def test_a_folder_that_is_made_is_private_with_those_above_it(tmp_path: Path) -> None:
    made = private_folder(tmp_path / "a" / "b")

    assert (mode(made.parent), mode(made)) == (0o700, 0o700)


def test_a_file_that_is_made_is_private_whatever_was_there(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "a", tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    path.symlink_to(elsewhere)

    with private_file(path) as file:
        file.write(b"secret")

    assert (path.read_text(), mode(path), elsewhere.read_text()) == ("secret", 0o600, "kept")


def test_what_is_open_to_others_is_found_and_closed(opened: Path) -> None:
    found = {path.relative_to(opened).as_posix() for path in open_content(opened)}

    closed = [close_to_others(path) for path in open_content(opened)]

    assert found == {
        *("blobs", "blobs/documents", "blobs/documents/ab", "work", "work/lock", "addresses", "addresses/1"),
        *("postgres", "postgres/start.lock", "secrets.key"),
    }
    assert all(closed)
    assert list(open_content(opened)) == []
    assert mode(opened / "blobs" / "documents" / "ab") == 0o600
    assert mode(opened / "own" / "notes") == 0o644


def test_a_start_closes_the_folders_and_leaves_what_others_cannot_reach(opened: Path) -> None:
    assert close_content(opened) == ["addresses", "blobs", "secrets.key", "work"]
    assert close_content(opened) == []

    assert mode(opened / "blobs") == 0o700
    assert mode(opened / "secrets.key") == 0o600


def test_a_link_is_not_followed_to_what_it_names(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (tmp_path / "work").symlink_to(elsewhere)

    assert not close_to_others(tmp_path / "work")

    assert mode(elsewhere) == 0o755
