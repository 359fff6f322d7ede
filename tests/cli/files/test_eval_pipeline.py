"""`docmill eval --pipeline`: a pipeline of one's own is measured."""

import json
from pathlib import Path

import pytest

from support.commands import run_docmill

CONFIGURATION = """
schema: invoice
reader: {kind: local}
converter: {kind: standard, workers: 1}
extractor: {kind: standard, workers: 1}
exporter: {kind: json-lines, path: unused.jsonl}
test_data_loader: {kind: folder, folder: inbox}
evaluator: {kind: exact}
evaluation_exporter: {kind: json, path: configured.json}
"""
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
    """Where commands are given: with a pipeline, and three invoices beside what is true of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(CONFIGURATION)
    (tmp_path / "inbox").mkdir()
    for number in "123":
        (tmp_path / "inbox" / f"{number}.txt").write_text(INVOICE.replace("R-1", f"R-{number}"))
        (tmp_path / "inbox" / f"{number}.json").write_text(
            json.dumps({"number": f"R-{number}", "gross_total": "24.00"})
        )
    return tmp_path


def test_a_pipeline_is_measured_and_fails_where_it_is_worse_than_before(folder: Path) -> None:
    measure = ("eval", "--pipeline", "pipeline.yaml")

    first = run_docmill(*measure, "--run", "a", "--out", "x.json", "--html", "x.html")
    again = run_docmill(*measure, "--run", "a", "--baseline", "x.json")
    for path in (folder / "inbox").glob("*.txt"):
        path.write_text(INVOICE.replace("R-1", "Q-9"))
    worse = run_docmill(*measure, "--baseline", "x.json")
    elsewhere = run_docmill("runs", "resume", "a")

    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("evaluation a: 3 completed\nexact: 1.000")
    assert json.loads((folder / "x.json").read_text())["run"]["run_id"] == "a"
    assert "0 of 3 documents with errors" in (folder / "x.html").read_text()
    assert again.returncode == 0, again.stderr
    assert worse.returncode == 1, worse.stderr
    assert "worse than the earlier report: exact, exact: number" in worse.stdout
    assert (folder / "configured.json").exists()
    assert elsewhere.returncode == 2, "its results would go to the exporter of the pipeline"
    assert not (folder / "unused.jsonl").exists()


def test_what_cannot_be_measured_is_told(folder: Path) -> None:
    (folder / "pipeline.yaml").write_text(CONFIGURATION.partition("test_data_loader")[0])

    nothing = run_docmill("eval")
    both = run_docmill("eval", "inbox", "--pipeline", "pipeline.yaml")
    incomplete = run_docmill("eval", "--pipeline", "pipeline.yaml")

    assert [done.returncode for done in (nothing, both, incomplete)] == [2, 2, 2]
    assert "give FOLDER and --truth, or --pipeline" in nothing.stderr
    assert "test_data_loader" in both.stderr
    assert not any("Traceback" in done.stderr for done in (nothing, both, incomplete))
