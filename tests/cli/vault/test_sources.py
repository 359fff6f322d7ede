"""`docmill sources`, without a running vault."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from docmill.cli.vault.sources import _asked, _assigned  # pyright: ignore[reportPrivateUsage]
from docmill.errors import ValidationError
from support.commands import run_docmill
from support.docmill_processes import DOCMILL
from support.oauth_server import running_oauth_server


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        yield Path(folder)


def test_a_source_is_added_tested_paused_and_removed(folder: Path, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    config = tmp_path / "docmill.toml"
    config.write_text(f'[sources]\nfolders = ["{inbox}"]\n')
    paper = tmp_path / "paper.txt"
    paper.write_text("Invoice 17")

    def docmill(*arguments: str | Path, code: int = 0) -> str:
        done = run_docmill(*arguments, "--data-dir", folder, "--config", config)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    docmill("add", paper)
    assert "no kind of source" in docmill("sources", "add", "fax", "Fax", code=2)
    assert "sources.folders" in docmill(
        "sources", "add", "folder", "Scans", "--set", f"path={tmp_path}", code=2
    )
    misspelt = docmill("sources", "add", "folder", "Scans", "--set", f"pth={inbox}", code=2)
    assert "path: this is needed" in misspelt
    assert "pth: this kind of source has no such setting" in misspelt
    no_list = docmill("sources", "add", "webhook", "Shop", "--set", "hosts=a.example", code=2)
    assert 'hosts: this is a list, such as ["a", "b"]' in no_list
    bad_secret = run_docmill(
        *("sources", "add", "webhook", "Shop", "--secret", "secret", "--data-dir", folder),
        variables={"DOCMILL_SECRET_SECRET": "whsec_!!!"},
    )
    assert (bad_secret.returncode, "what follows is no base64" in bad_secret.stderr) == (2, True)
    added = docmill(
        "sources", "add", "folder", "Scans", "--set", f"path={inbox}", "--set", "limits.per_second=2"
    )
    assert "the folder can be read" in added
    changed = docmill("sources", "change", "scans", "--name", "Mail room", "--set", "limits.per_second=")
    assert "Mail room was changed" in changed
    shown = json.loads(docmill("sources", "show", "Mail room", "--json"))
    assert (shown["settings"]["path"], shown["settings"]["limits"]["per_second"]) == (str(inbox), None)
    assert "the folder can be read" in docmill("sources", "test", "mail room")
    docmill("sources", "pause", "mail room")
    (listed,) = json.loads(docmill("sources", "list", "--json"))
    assert (listed["state"], listed["secrets_set"]) == ("paused", [])
    assert docmill("sources", "items", "mail room") == ""
    assert "give --yes" in docmill("sources", "remove", "mail room", code=2)
    assert "its documents stay" in docmill("sources", "remove", "mail room", "--yes")
    assert "no source" in docmill("sources", "show", "mail room", code=2)


def test_the_kinds_are_listed_with_what_they_need() -> None:
    done = run_docmill("sources", "kinds")

    assert "--set path (needed)" in done.stdout
    assert "--set limits.per_second" in done.stdout
    assert "address_token" not in done.stdout  # nobody can choose it


def test_settings_are_set_by_names_with_dots() -> None:
    before = {"host": "a", "limits": {"per_second": 1.0}}

    after = _assigned(before, ["host=b", "limits.file_mb=5", "limits.per_second=", 'folders=["x", "y"]'])

    assert after == {"host": "b", "limits": {"file_mb": "5"}, "folders": ["x", "y"]}
    with pytest.raises(ValidationError, match="NAME=VALUE"):
        _assigned({}, ["host"])


def test_a_secret_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_SECRET_PASSWORD", "hush")

    assert _asked(["password"]) == {"password": "hush"}


def test_the_variable_of_a_secret_is_no_unknown_setting(folder: Path) -> None:
    secret = {"DOCMILL_SECRET_PASSWORD": "hush"}

    done = run_docmill("sources", "list", "--data-dir", folder, variables=secret)

    assert "names no setting" not in done.stderr
    assert "there is no vault" in done.stderr


def test_the_owner_of_a_mailbox_gives_permission_in_a_browser(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text("[sources]\nallow_private_addresses = true\n")
    options = ("--data-dir", folder, "--config", config)
    paper = tmp_path / "paper.txt"
    paper.write_text("Invoice 17")
    run_docmill("add", paper, *options)
    with running_oauth_server() as provider:
        added = run_docmill(
            *("sources", "add", "gmail", "Gmail", "--no-test", "--set", "client_id=client"),
            *("--set", f"authorization_address={provider.authorization_address}"),
            *("--set", f"token_address={provider.token_address}", "--set", "api_address=http://127.0.0.1:9"),
            *options,
        )
        assert added.returncode == 0, added.stderr

        with subprocess.Popen(
            [DOCMILL, "sources", "authorize", "gmail", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as command:
            assert command.stdout
            address = command.stdout.readline().strip()
            seen = httpx.get(address, follow_redirects=True)
            _, told = command.communicate(timeout=60)
        assert "You can close this window" in seen.text
        assert "cannot be reached" in told  # permission was given, and what is no Gmail is tried
        shown = json.loads(run_docmill("sources", "show", "gmail", "--json", *options).stdout)
        assert shown["secrets_set"] == ["refresh_token"]

        typed = subprocess.run(
            [DOCMILL, "sources", "authorize", "gmail", "--no-browser", *options],
            input="http://localhost/?code=1\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert typed.returncode == 2
        assert "this is not the address" in typed.stderr
