"""`docmill dead` on a vault whose documents failed for good."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from docmill.errors import CorruptError, EncryptedError
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import claims
from docmill.service.store.database import new_id
from support.commands import run_docmill
from support.scripted_steps import once

DOCMILL = Path(sys.executable).with_name("docmill")


class Dead:
    """The commands on one data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_docmill("dead", *arguments, "--data-dir", self.folder)

    def letters(self) -> list[dict[str, str]]:
        return json.loads(self("list", "--json").stdout)


async def _fill(folder: Path) -> None:
    async with open_service(Settings(data_dir=folder)) as service:
        for name, error in [
            ("a.pdf", CorruptError("it ends too early")),
            ("b.pdf", EncryptedError("it has a password")),
        ]:
            accepted = await service.intake.accept(
                once(name.encode()), tenant_id=service.default_tenant_id, file_name=name
            )
            error.step = "transcribe"
            async with service.database.tenant(service.default_tenant_id) as conn:
                (claim,) = await claims.take(
                    conn, [accepted.ingestion_id or new_id()], worker_id="w", lease_s=300, max_attempts=3
                )
                await claims.fail(conn, claim, error)


@pytest.fixture
def dead() -> Iterator[Dead]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()  # once, and not for every command
        try:
            asyncio.run(_fill(Path(folder)))
            yield Dead(Path(folder))
        finally:
            server.stop()


def test_letters_are_listed_redriven_and_forgotten(dead: Dead) -> None:
    shown = dead("list")
    locked = dead("list", "--code", "encrypted", "--step", "transcribe", "--limit", "1")
    letters = dead.letters()
    meant = dead("redrive", "--all", "--dry-run")
    redriven = dead("redrive", letters[0]["id"])
    again = dead("redrive", letters[0]["id"], "--json")
    unasked = dead("purge", "--all")
    purged = dead("purge", "--code", "corrupt", "--yes", "--json")
    empty = dead("list")
    none_such = dead("list", "--code", "timeout")
    no_step = dead("list", "--step", "\udcff")

    assert "a.pdf" in shown.stdout
    assert "it ends too early" in shown.stdout
    assert "b.pdf" in locked.stdout
    assert "a.pdf" not in locked.stdout
    assert [letter["file_name"] for letter in letters] == ["b.pdf", "a.pdf"]
    assert all(letter["id"] in meant.stdout for letter in letters)
    assert "2 dead letters selected; nothing was changed" in meant.stdout
    assert datetime.fromisoformat(letters[0]["died_at"]).isoformat() == letters[0]["died_at"]
    assert (redriven.returncode, redriven.stdout) == (0, "1 tried again\n")
    assert again.returncode == 1
    assert json.loads(again.stdout) == {"redriven": 0, "dropped": 0, "unknown": 1}
    assert unasked.returncode == 2
    assert "--yes" in unasked.stderr
    assert (purged.returncode, json.loads(purged.stdout)) == (0, {"purged": 1, "unknown": 0})
    assert empty.stdout == "no dead letters\n"
    assert none_such.stdout == "no such dead letters\n"
    assert (no_step.returncode, no_step.stdout) == (2, "")


def test_dead_messages_of_matching_are_listed_sent_again_and_removed(dead: Dead) -> None:
    asyncio.run(_kill_messages(dead.folder, "a", "b"))

    shown = dead("messages", "list", "matching")
    messages = json.loads(dead("messages", "list", "matching", "--json").stdout)
    first = messages[0]["id"]
    meant = dead("messages", "redrive", "matching", "--all", "--dry-run")
    redriven = dead("messages", "redrive", "matching", first)
    again = dead("messages", "redrive", "matching", first, "--json")
    unasked = dead("messages", "purge", "matching", "--all")
    purged = dead("messages", "purge", "matching", "--all", "--yes")
    empty = dead("messages", "list", "matching")
    unclear = dead("messages", "purge", "matching", "--yes")
    elsewhere = dead("messages", "list", "acquisition")

    assert "document a" in shown.stdout
    assert {message["about"] for message in messages} == {"document a", "document b"}
    assert "2 dead messages selected; nothing was changed" in meant.stdout
    assert (redriven.returncode, redriven.stdout) == (0, "1 sent again\n")
    assert (again.returncode, json.loads(again.stdout)) == (1, {"ids": [], "unknown": 1, "dry_run": False})
    assert unasked.returncode == 2
    assert "--yes" in unasked.stderr
    assert (purged.returncode, purged.stdout) == (0, "1 deleted\n")
    assert empty.stdout == "no dead messages\n"
    assert unclear.returncode == 2
    assert "sources.ses_domain" in elsewhere.stderr


async def _kill_messages(folder: Path, *bodies: str) -> None:
    async with open_service(Settings(data_dir=folder)) as service:
        assert service.matching is not None
        queue = service.matching.queue
        await queue.send(bodies)
        for _ in range(4):
            for message in await queue.receive(limit=10, wait_s=0):
                await queue.release(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "select them in one of these ways"),
        (("--all", "--code", "corrupt"), "select them in one of these ways"),
        (("not-an-id",), "'not-an-id' is no id"),
    ],
)
def test_it_must_be_clear_which_letters_are_meant(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = Dead(tmp_path)("redrive", *arguments)

    assert done.returncode == 2
    assert message in done.stderr


def test_more_letters_than_there_can_be_are_refused(tmp_path: Path) -> None:
    done = Dead(tmp_path)("list", "--limit", "99999999999999999999")

    assert done.returncode == 2
    assert "1000000" in done.stderr


@pytest.mark.parametrize("command", [("dead", "list"), ("status",), ("show", "0")], ids=" ".join)
def test_who_only_looks_makes_no_vault(tmp_path: Path, command: tuple[str, ...]) -> None:
    folder = tmp_path / "nothing"

    done = run_docmill(*command, "--data-dir", folder)

    assert done.returncode == 2
    assert "there is no vault in" in done.stderr
    assert not folder.exists()


def test_an_error_code_that_does_not_exist_is_not_searched_for(tmp_path: Path) -> None:
    done = Dead(tmp_path)("list", "--code", "corupt")

    assert done.returncode == 2
    assert "corrupt" in done.stderr
