"""`docmill run --store redis://…`: the state of runs over folders in a Redis server."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.commands import run_docmill
from support.redis_servers import RedisServer

if find_spec("redis") is None:
    pytest.skip("redis-py is not installed", allow_module_level=True)

SECRET = "hunter2"
PIPELINE = """
schema: receipt
lister: {kind: local, folder: inbox}
reader: {kind: local}
converter: {kind: standard}
extractor: {kind: standard}
exporter: {kind: json-lines, path: own.jsonl}
store: ${STATES}
"""


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear Anna, see you soon.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing more")
    return folder


def test_a_run_is_begun_shown_resumed_and_started_over(inbox: Path, redis_server: RedisServer) -> None:
    redis_server.ask("ACL", "SETUSER", "me", "on", f">{SECRET}", "~*", "+@all")
    store = redis_server.address.replace("//", f"//me:{SECRET}@")
    options = ("--out", "out.jsonl", "--store", store, "--jobs", "1")
    begun = run_docmill("run", "inbox", *options, "--run", "first")
    listed = run_docmill("runs", "list", "--store", store)
    shown = run_docmill("runs", "show", "first", "--store", store, "--json")
    (inbox / "broken.pdf").write_text("Dear Bob, see you later.")
    resumed = run_docmill("runs", "resume", "first", "--store", store)
    fresh = run_docmill("run", "inbox", *options, "--fresh", "--run", "second")
    left = run_docmill("runs", "list", "--store", store)

    every = (begun, listed, shown, resumed, fresh, left)
    assert [done.returncode for done in every] == [1, 0, 0, 0, 0, 0], [done.stderr for done in every]
    assert "1 failed" in listed.stdout
    assert {state["path"] for state in json.loads(shown.stdout)["documents"]} == {"broken.pdf", "letter.txt"}
    assert [line.split()[0] for line in left.stdout.splitlines()] == ["second"], "the first was forgotten"
    assert "records are missing" not in fresh.stderr
    assert all(SECRET not in done.stdout + done.stderr for done in every)
    assert not (inbox.parent / ".docmill").exists()


def test_the_store_of_a_pipeline_is_shown_without_its_password(
    inbox: Path, redis_server: RedisServer
) -> None:
    redis_server.ask("ACL", "SETUSER", "me", "on", f">{SECRET}", "~*", "+@all")
    store = redis_server.address.replace("//", f"//me:{SECRET}@")
    (inbox.parent / "pipeline.yaml").write_text(PIPELINE)

    done = run_docmill("run", "--pipeline", "pipeline.yaml", "--run", "own", variables={"STATES": store})
    shown = run_docmill("runs", "show", "own", "--store", store, "--json")

    assert done.returncode == 1, done.stderr
    assert f"why: docmill runs dead list own --store {store.replace(SECRET, '***')}" in done.stdout
    assert json.loads(shown.stdout)["configuration"]["store"] == "${STATES}"
    assert all(SECRET not in each.stdout + each.stderr for each in (done, shown))
