import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.commands import run_docmill

DOCMILL = Path(sys.executable).with_name("docmill")
WritePdf = Callable[..., Path]

INVOICE_TRUTH = {"number": "INV-104", "issue_date": "14.10.2026", "gross_total": 119.0, "due_date": None}


@pytest.fixture
def folder(tmp_path: Path, write_pdf: WritePdf) -> Path:
    """An invoice, and a file that is no PDF whatever its name says."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    write_pdf(folder / "invoice.pdf")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing more")
    return folder


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return write_truth(tmp_path / "truth.jsonl", INVOICE_TRUTH)


def write_truth(path: Path, invoice: dict[str, Any], broken: str = "broken") -> Path:
    lines = [
        {"source": "invoice.pdf", "document_type": "invoice", "data": invoice},
        {"source": broken, "document_type": "invoice", "data": {"number": "1"}},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def evaluated(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_docmill("eval", *arguments, "--jobs", "1")


def test_a_folder_is_read_and_judged(folder: Path, truth: Path, tmp_path: Path) -> None:
    done = evaluated(folder, "--truth", truth, "--out", tmp_path / "report.json")

    assert done.returncode == 0, done.stderr
    assert "2 documents: 1 failed, 1 completed (1 x corrupt)" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    s2 = report["figures"]["tiers"]["S2"]
    assert (s2["precision"], s2["recall"], s2["documents_right"]) == (1.0, 0.75, 0.5)
    assert report["classification"]["confusion"] == {"invoice": {"invoice": 1, "not read": 1}}


def test_what_has_a_record_is_not_read_again(folder: Path, truth: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    evaluated(folder, "--truth", truth, "--records", records)
    before = records.read_text()
    (folder / "invoice.pdf").unlink()

    again = evaluated(folder, "--truth", truth, "--records", records, "--out", tmp_path / "report.json")

    assert again.returncode == 0, again.stderr
    assert records.read_text() == before
    assert json.loads((tmp_path / "report.json").read_text())["figures"]["tiers"]["S2"]["values"] == 4


def test_worse_than_the_baseline_fails(folder: Path, truth: Path, tmp_path: Path) -> None:
    records, report = tmp_path / "records.jsonl", tmp_path / "report.json"
    evaluated(folder, "--truth", truth, "--records", records, "--out", report)
    same = evaluated(folder, "--truth", truth, "--records", records, "--baseline", report)
    spoilt = [json.loads(line) for line in records.read_text().splitlines()]
    for record in spoilt:
        record["data"] = None
    records.write_text("".join(json.dumps(record) + "\n" for record in spoilt))
    only_one = write_truth(tmp_path / "one.jsonl", INVOICE_TRUTH, broken="gone")

    worse = evaluated(folder, "--truth", only_one, "--records", records, "--baseline", report)

    assert same.returncode == 0, same.stdout + same.stderr
    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert "regression: F1" in worse.stdout
    assert "1 are in the baseline only" in worse.stdout
    assert "1 of 2 truths have no file and no record and are left out: gone" in worse.stderr


def test_a_schema_of_ones_own_is_what_is_read(folder: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    fields = {"invoice_number": {"type": "string"}, "total_due": {"type": "number"}}
    schema.write_text(json.dumps({"title": "Bill", "type": "object", "properties": fields}))
    truths = tmp_path / "truths"
    truths.mkdir()
    (truths / "invoice.json").write_text('{"invoice_number": "INV-104", "total_due": 119}')

    done = evaluated(
        folder, "--truth", truths, "--schema", schema, "--out", tmp_path / "deep" / "report.json"
    )

    report = json.loads((tmp_path / "deep" / "report.json").read_text())
    assert done.returncode == 0, done.stderr
    assert [document["source"] for document in report["documents"]] == ["invoice.pdf"]
    assert report["figures"]["tiers"]["S2"]["f1"] == 1.0
    assert report["classification"] is None


def test_truths_may_lie_beside_the_files(folder: Path, tmp_path: Path) -> None:
    (folder / "invoice.json").write_text(json.dumps(INVOICE_TRUTH))

    done = evaluated(folder, "--truth", folder, "--out", tmp_path / "report.json")

    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["figures"]["documents"] == 1


def test_a_truth_for_no_file_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"source": "elsewhere.pdf", "data": {"number": "1"}}')

    done = evaluated(folder, "--truth", other)

    assert done.returncode == 2
    assert "has no truth for any file in" in done.stderr
    assert "its first is for 'elsewhere.pdf'" in done.stderr


def test_a_schema_that_is_none_is_one_sentence(folder: Path, truth: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{")

    broken = evaluated(folder, "--truth", truth, "--schema", tmp_path / "schema.json")
    unknown = evaluated(folder, "--truth", truth, "--schema", "invoic")

    assert (broken.returncode, unknown.returncode) == (2, 2)
    assert "schema.json" in broken.stderr
    assert "invoic" in unknown.stderr


def test_a_report_that_cannot_be_written_is_one_sentence(folder: Path, truth: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = evaluated(folder, "--truth", truth, "--out", tmp_path / "file" / "report.json")

    assert done.returncode == 2
    assert "cannot write" in done.stderr


def test_the_page_of_errors_shows_where_a_value_was_read(folder: Path, tmp_path: Path) -> None:
    wrong = write_truth(tmp_path / "wrong.jsonl", {**INVOICE_TRUTH, "number": "INV-105"})

    done = evaluated(folder, "--truth", wrong, "--html", tmp_path / "errors.html")

    page = (tmp_path / "errors.html").read_text()
    assert done.returncode == 0, done.stderr
    assert "2 of 2 documents with errors" in page
    assert 'alt="where number was read" src="data:image/webp;base64,' in page
    assert "first page" not in page  # of a broken file there is none


def test_trust_is_printed_reported_and_drawn(folder: Path, truth: Path, tmp_path: Path) -> None:
    picture, report = tmp_path / "trust.svg", tmp_path / "report.json"

    done = evaluated(folder, "--truth", truth, "--trust", "--picture", picture, "--out", report)

    assert done.returncode == 0, done.stderr
    assert "ready with a wrong date or amount" in done.stdout
    trust = json.loads(report.read_text())["trust"]
    assert trust["all"]["documents"] == 2
    assert (trust["all"]["ready"]["count"], trust["all"]["ready_wrong_header"]["count"]) == (1, 0)
    assert picture.read_text().startswith("<svg")


def test_trust_says_in_words_that_a_truth_without_fields_says_nothing(folder: Path, tmp_path: Path) -> None:
    truth = write_truth(tmp_path / "truth.jsonl", {})
    truth.write_text(truth.read_text().splitlines()[0])

    done = evaluated(folder, "--truth", truth, "--trust")

    assert done.returncode == 0, done.stderr
    assert "trust: the truth names no field of these documents, so nothing can be said" in done.stdout
