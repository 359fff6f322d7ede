"""Folders on the way of the database server's user, where docmill runs as root."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from docmill.errors import MisconfiguredError
from docmill.service.storage.postgres_server import EmbeddedPostgres, programs
from docmill.service.storage.server_user import (
    add_server_user,
    let_server_pass,
    server_group,
    user_name,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")


@pytest.fixture
def above() -> Iterator[Path]:
    """A folder that every user may pass through."""
    add_server_user()
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def mode_and_group(path: Path) -> tuple[int, int]:
    status = path.stat()
    return stat.S_IMODE(status.st_mode), status.st_gid


def test_a_user_without_a_name_is_told_what_to_do() -> None:
    assert user_name(0) == "root"
    with pytest.raises(MisconfiguredError, match=r"the user 2000000001, .* has no name .*database_url"):
        user_name(2_000_000_001)


def test_the_server_alone_is_let_through_the_data_folder(above: Path) -> None:
    folder = above / "data" / "postgres"
    folder.mkdir(parents=True)
    for private in (folder.parent, folder):
        private.chmod(0o700)

    let_server_pass(folder, data_dir=folder.parent)
    let_server_pass(folder, data_dir=folder.parent)

    assert {mode_and_group(path) for path in (folder.parent, folder)} == {(0o710, server_group())}
    assert mode_and_group(above) == (0o755, 0)


def test_a_folder_above_the_data_folder_stays_locked(above: Path) -> None:
    folder = above / "locked" / "data" / "postgres"
    folder.mkdir(parents=True)
    folder.parent.parent.chmod(0o700)

    with pytest.raises(MisconfiguredError, match=r"pass through '\S+/locked': .*--data-dir a folder"):
        let_server_pass(folder, data_dir=folder.parent)

    assert mode_and_group(folder.parent.parent) == (0o700, 0)


def test_a_data_folder_whose_group_is_in_use_is_not_given_another(above: Path) -> None:
    folder = above / "data" / "postgres"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o750)

    with pytest.raises(MisconfiguredError, match=r"pass through '.*/data':"):
        let_server_pass(folder, data_dir=folder.parent)

    assert mode_and_group(folder.parent) == (0o750, 0)


def test_a_server_runs_whose_programs_lie_in_a_locked_folder(
    above: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = above / "root" / "site-packages"
    package = programs().parent.parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, installed / part.name, symlinks=True)
    installed.parent.chmod(0o700)
    locked = installed / package.name / programs().relative_to(package)
    monkeypatch.setattr("docmill.service.storage.postgres_server.programs", lambda: locked)
    folder = above / "data" / "postgres"

    for _ in range(2):
        server = EmbeddedPostgres(folder)
        server.start()
        try:
            with psycopg.connect(server.url()) as conn:
                conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        finally:
            server.stop()

    copies = list(folder.glob("programs*"))
    assert len(copies) == 1
    assert mode_and_group(copies[0]) == (0o700, server_group())
    assert mode_and_group(installed.parent) == (0o700, 0)
