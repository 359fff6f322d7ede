"""`docmill users`, `docmill tenants` and `--tenant`, without a running vault."""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.people.sign_in import Visitor
from support.commands import run_docmill

DOCMILL = Path(sys.executable).with_name("docmill")


class Commands:
    """A data folder and the commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        done = run_docmill(*arguments, "--data-dir", self.folder)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def docmill() -> Iterator[Commands]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        yield Commands(Path(folder))


def test_arguments_that_are_no_text_are_refused(docmill: Commands) -> None:
    for command in (["users", "add", "a\udcff@example.org"], ["tenants", "add", "\udcff"]):
        assert "a character that cannot be stored" in docmill(*command, code=2)


def test_people_and_organisations_are_managed_from_the_machine(docmill: Commands, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("Invoice 17")
    docmill("add", paper)
    added = docmill("tenants", "add", "Other Ltd")
    tenant_id = added.split()[0]

    made = docmill(
        "users", "add", "ben@example.org", "--name", "Ben", "--role", "owner", "--tenant", "other ltd"
    )
    assert re.search(r"http://localhost:8080/password\?token=[\w-]{43}\n", made)
    assert "already" in docmill("users", "add", "ben@example.org", "--tenant", tenant_id, code=2)
    (ben,) = json.loads(docmill("users", "list", "--tenant", "Other Ltd", "--json"))
    assert (ben["email"], ben["has_password"]) == ("ben@example.org", False)
    assert [row["tenant_name"] for row in ben["memberships"]] == ["Other Ltd"]
    assert "documents: 1" in docmill("status")
    assert "documents: 0" in docmill("status", "--tenant", tenant_id)
    assert "no document" in docmill("show", "paper.txt", "--tenant", "Other Ltd", code=2)
    assert "there is no organisation" in docmill("status", "--tenant", "Nobody", code=2)
    offered = docmill("users", "add", "ben@example.org", "--role", "owner")
    assert re.search(r"http://localhost:8080/join\?token=[\w-]{43}\n", offered)
    (ben,) = json.loads(docmill("users", "list", "--json"))
    assert ([row["tenant_name"] for row in ben["memberships"]], ben["is_verified"]) == (["Other Ltd"], True)
    assert "password?token=" in docmill("users", "reset", "BEN@example.org")
    assert "give --yes" in docmill("users", "remove", "ben@example.org", "--tenant", "Other Ltd", code=2)
    refused = docmill("users", "remove", "ben@example.org", "--tenant", "Other Ltd", "--yes", code=2)
    assert "needs an owner" in refused
    docmill("tenants", "rename", "Other Ltd", "Another")
    assert [row["name"] for row in json.loads(docmill("tenants", "list", "--json"))] == ["Default", "Another"]


def test_what_a_removed_owner_left_is_kept_or_ended_by_command(docmill: Commands, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("Invoice 17")
    docmill("add", paper)
    docmill("users", "add", "anna@example.org", "--role", "owner")
    docmill("users", "add", "ben@example.org", "--role", "owner")
    docmill("users", "add", "vera@example.org", "--role", "viewer")
    made = [_make_key(docmill.folder, "ben@example.org", name) for name in ("Robot", "Spider")]

    assert json.loads(docmill("users", "handovers", "list", "--json")) == []
    docmill("users", "remove", "ben@example.org", "--yes")
    listed = json.loads(docmill("users", "handovers", "list", "--json"))
    assert [(row["kind"], row["name"], row["id"]) for row in listed] == [
        ("key", "Robot", made[0]),
        ("key", "Spider", made[1]),
    ]
    for stranger in ("vera@example.org", "ben@example.org"):
        assert "is no owner" in docmill("users", "handovers", "keep", made[0], "--owner", stranger, code=2)
    kept = docmill("users", "handovers", "keep", made[0], "--owner", "anna@example.org")
    assert "anna@example.org answers for the key Robot" in kept
    assert "give --yes" in docmill("users", "handovers", "end", made[1], code=2)
    assert "Spider has ended" in docmill("users", "handovers", "end", made[1], "--yes")
    assert json.loads(docmill("users", "handovers", "list", "--json")) == []
    assert "waits for an owner" in docmill("users", "handovers", "end", made[0], "--yes", code=2)


def _make_key(folder: Path, email: str, name: str) -> str:
    """Make an API key in somebody's name; its id."""

    async def make() -> str:
        async with open_service(Settings(data_dir=folder)) as service:
            user = await service.accounts.by_email(email)
            assert user is not None
            session = await service.sign_in.begin_session(user.id, Visitor())
            access = await service.sign_in.of_session(session.token)
            assert access is not None
            return str((await service.api_keys.create(access, name, ["read"], None)).id)

    return asyncio.run(make())
