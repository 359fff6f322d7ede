"""`docmill runs`: what became of runs, and how they go on."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from support.commands import run_docmill

Docmill = Callable[..., subprocess.CompletedProcess[str]]
INVOICE = """Invoice
Harbour Ltd
Invoice number R-1
Date 05.03.2024
Net 20.00
VAT 20 % 4.00
Total 24.00 EUR
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are given: it has a folder `inbox`, with an invoice and a file that is no PDF."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "invoice.txt").write_text(INVOICE)
    (tmp_path / "inbox" / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing more")
    return tmp_path


def read(out: str, *options: str) -> None:
    done = run_docmill("run", "inbox", "--out", out, "--jobs", "1", "--quiet", *options)
    assert done.returncode == 1, done.stderr


def data_of(*arguments: str) -> Any:  # noqa: ANN401  any JSON
    done = run_docmill(*arguments, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_runs_are_listed_shown_compared_and_removed(folder: Path) -> None:
    read("one.jsonl", "--run", "one")
    (folder / "inbox" / "invoice.txt").write_text(INVOICE.replace("24.00", "99.00"))
    (folder / "inbox" / "broken.pdf").unlink()
    (folder / "inbox" / "letter.txt").write_text("Dear Anna, see you soon.")
    assert run_docmill("run", "inbox", "--out", "two.jsonl", "--jobs", "1", "--run", "two").returncode == 0

    listed = run_docmill("runs", "list").stdout.splitlines()
    shown = data_of("runs", "show", "one")
    failed = run_docmill("runs", "show", "one", "--status", "failed")
    page = run_docmill("runs", "show", "one", "--html", "one.html")
    compared = run_docmill("runs", "diff", "one", "two")
    same = run_docmill("runs", "diff", "one", "one")
    unsaid = run_docmill("runs", "remove", "one")
    removed = run_docmill("runs", "remove", "one", "--yes")
    left = data_of("runs", "list")

    assert [line.split()[0] for line in listed] == ["two", "one"]
    assert "1 completed, 1 failed" in listed[1]
    assert shown["counts"] == {"completed": 1, "failed": 1}
    assert shown["configuration"]["folder"] == str(folder / "inbox")
    states = {each["path"]: each for each in shown["documents"]}
    assert states["broken.pdf"]["error"].startswith("[transcribe] the PDF is damaged")
    assert states["invoice.txt"]["attempts"] == 1
    assert "broken.pdf" in failed.stdout
    assert "invoice.txt" not in failed.stdout
    assert page.stdout == "report: one.html\n"
    assert "the PDF is damaged" in (folder / "one.html").read_text()
    assert compared.returncode == 1
    assert "broken.pdf: failed -> not there (missing)" in compared.stdout
    assert "letter.txt: not there -> " in compared.stdout
    assert "invoice.txt: completed -> completed (content)" in compared.stdout
    assert (same.returncode, same.stdout) == (0, "no difference\n")
    assert (unsaid.returncode, removed.returncode) == (2, 0)
    assert [run["run_id"] for run in left] == ["two"]


@pytest.mark.usefixtures("folder")
def test_a_run_is_told_as_lines_of_json() -> None:
    done = run_docmill("run", "inbox", "--out", "out.jsonl", "--jobs", "1", "--run", "one", "--json-log")

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.returncode, done.stdout) == (1, "")
    assert {line["run_id"] for line in lines} == {"one"}
    assert [lines[0]["event"], lines[-1]["event"]] == ["run_started", "run_ended"]
    ended = {line["path"]: line["status"] for line in lines if line["event"] == "document_ended"}
    assert ended == {"invoice.txt": "completed", "broken.pdf": "failed"}
    assert "Harbour" not in done.stderr


def test_failed_documents_are_told_and_tried_again(folder: Path) -> None:
    read("out.jsonl", "--run", "first")
    dead = run_docmill("runs", "dead", "list", "first")
    letter = data_of("runs", "dead", "show", "first", "broken.pdf")
    planned = run_docmill("runs", "dead", "requeue", "first", "broken.pdf", "invoice.txt", "--dry-run")
    again = run_docmill("runs", "retry", "first", "broken.pdf")
    queued = run_docmill("runs", "dead", "requeue", "first", "--all")
    (folder / "inbox" / "broken.pdf").write_text(INVOICE)
    resumed = run_docmill("runs", "resume", "first")
    emptied = data_of("runs", "dead", "list", "first")
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]

    assert "corrupt (CorruptError) after 1 attempt" in dead.stdout
    assert (letter["stage"], letter["code"]) == ("transcribe", "corrupt")
    assert "Traceback" in letter["traceback"]
    assert planned.returncode == 1  # one has not failed
    assert planned.stdout == "broken.pdf\n1 document selected; nothing was changed\n"
    assert again.returncode == 1
    assert "1 failed, 1 unchanged" in again.stdout
    assert queued.stdout == "1 document to be tried again: docmill runs resume first\n"
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert emptied == []
    assert {record["source"]: record["status"] for record in records} == {
        "invoice.txt": "completed",
        "broken.pdf": "completed",
    }


def test_dead_letters_are_deleted_only_if_a_person_says_so(folder: Path) -> None:
    read("out.jsonl", "--run", "first")

    unsaid = run_docmill("runs", "dead", "purge", "first", "--all")
    unselected = run_docmill("runs", "dead", "purge", "first")
    purged = run_docmill("runs", "dead", "purge", "first", "broken.pdf", "--yes")

    assert (unsaid.returncode, unselected.returncode, purged.returncode) == (2, 2, 0)
    assert "1 dead letter deleted" in purged.stdout
    assert data_of("runs", "dead", "list", "first") == []
    assert data_of("runs", "show", "first")["counts"] == {"completed": 1, "failed": 1}
    assert (folder / "out.jsonl").exists()


def test_what_is_not_there_is_one_sentence(folder: Path) -> None:
    nowhere = run_docmill("runs", "list")
    read("out.jsonl", "--run", "first")
    taken = run_docmill("run", "inbox", "--out", "other.jsonl", "--run", "first")
    other = run_docmill("run", "inbox", "--out", "out.jsonl", "--run", "second")
    unknown = [
        run_docmill("runs", *arguments)
        for arguments in (["show", "x"], ["resume", "x"], ["diff", "first", "x"], ["dead", "list", "x"])
    ]
    letter = run_docmill("runs", "dead", "show", "first", "invoice.txt")

    assert "give --store" in nowhere.stderr
    assert not list(folder.glob("x*"))
    assert "'first'" in taken.stderr
    assert "belongs to the run 'first'" in other.stderr
    assert all("there is no run 'x'" in done.stderr for done in unknown)
    assert "no dead letter for 'invoice.txt'" in letter.stderr
    codes = {done.returncode for done in (nowhere, taken, other, letter, *unknown)}
    assert codes == {2}
    assert not any("Traceback" in done.stderr for done in (nowhere, taken, other, letter, *unknown))


def test_a_pipeline_of_ones_own_is_run_and_gone_on_with(folder: Path) -> None:
    (folder / "pipeline.yaml").write_text(
        dedent(
            """
            schema: receipt
            lister: {kind: local, folder: inbox}
            reader: {kind: local}
            converter: {kind: standard}
            extractor: {kind: standard}
            exporter: {kind: json-lines, path: own.jsonl}
            """
        )
    )

    done = run_docmill("run", "--pipeline", "pipeline.yaml", "--run", "own")
    again = run_docmill("runs", "resume", "own")
    (folder / "inbox" / "broken.pdf").write_text(INVOICE.replace("R-1", "R-2"))
    retried = run_docmill("runs", "retry", "own")
    both = run_docmill("run", "inbox", "--pipeline", "pipeline.yaml", "--out", "x.jsonl")

    assert done.returncode == 1, done.stderr
    assert "run own: " in done.stdout
    assert "why: docmill runs dead list own" in done.stdout
    assert again.returncode == 1
    assert retried.returncode == 0, retried.stdout + retried.stderr
    assert len((folder / "own.jsonl").read_text().splitlines()) == 2
    assert both.returncode == 2


def test_the_state_of_runs_may_be_in_postgresql(folder: Path, database_url: str) -> None:
    address = database_url.replace("postgres@", "postgres:hunter2@", 1)
    read("out.jsonl", "--run", "one", "--store", address)
    shown = data_of("runs", "show", "one", "--store", address)
    dead = run_docmill("runs", "dead", "list", "one", "--store", address)
    resumed = run_docmill("runs", "resume", "one", "--retry-failed", "--store", address)
    read("out.jsonl", "--run", "two", "--fresh", "--store", address)
    listed = data_of("runs", "list", "--store", address)

    assert shown["counts"] == {"completed": 1, "failed": 1}
    assert "broken.pdf" in dead.stdout
    assert resumed.returncode == 1, resumed.stderr
    assert [run["run_id"] for run in listed] == ["two"]
    assert "hunter2" not in resumed.stdout + resumed.stderr + dead.stdout
    assert not (folder / ".docmill").exists()


def test_a_record_file_takes_no_second_folder_in_which_names_mean_other_files(folder: Path) -> None:
    read("out.jsonl")
    (folder / "other").mkdir()
    (folder / "other" / "invoice.txt").write_text(INVOICE.replace("R-1", "R-2"))
    before = (folder / "out.jsonl").read_text()

    other = run_docmill("run", "other", "--out", "out.jsonl", "--jobs", "1")
    after = (folder / "out.jsonl").read_text()
    (folder / "inbox").rename(folder / "moved")
    moved = run_docmill("run", "moved", "--out", "out.jsonl", "--jobs", "1")

    assert other.returncode == 2
    assert "has the records of" in other.stderr
    assert after == before
    assert moved.returncode == 1, moved.stderr
    assert "2 unchanged" in moved.stdout


def test_a_run_of_another_command_is_gone_on_with_by_that_command(folder: Path) -> None:
    done = run_docmill("match", "inbox", "--records", "matched.jsonl", "--jobs", "1", "--quiet")
    (run,) = data_of("runs", "list")

    resumed = run_docmill("runs", "resume", run["run_id"])

    assert done.returncode == 1, done.stderr
    assert resumed.returncode == 2
    assert f"docmill match` or `docmill eval`; give that command again, with --records {folder}" in (
        " ".join(resumed.stderr.split())
    )
