"""Evaluations compared with earlier ones, and reports as files."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs.evaluation.evaluated import CallEvaluator, ListExporter, letter_evaluation

from docmill.errors import MisconfiguredError, RegressionError
from docmill.evaluation.report import read_report
from docmill.runs.evaluation.evaluation_exporters import HtmlEvaluationExporter, JsonEvaluationExporter
from docmill.runs.evaluation.evaluation_report import EvaluationReport
from docmill.runs.evaluation.evaluators import FieldEvaluator
from docmill.runs.stores.memory import MemoryStore


async def report_of(folder: Path, *, own: dict[int, float] | None = None, **parts: Any) -> EvaluationReport:
    """An evaluation of forty letters. own: of those with these numbers, another score than 1."""
    senders = {f"name{number} {number}": f"name{number}" for number in range(40)}

    def score(key: str, _: int) -> float:
        return (own or {}).get(int(key.rsplit(maxsplit=1)[-1]), 1.0)

    evaluators = parts.pop("evaluators", (FieldEvaluator(), CallEvaluator(score)))
    return await letter_evaluation(folder, parts.pop("senders", senders), *evaluators, **parts).arun(
        store=MemoryStore()
    )


HALF = dict.fromkeys(range(20), 0.0)


async def test_a_figure_that_has_fallen_is_a_regression(tmp_path: Path) -> None:
    before, now = await report_of(tmp_path / "1"), await report_of(tmp_path / "2", own=HALF)

    (fallen,) = now.regressions(before)

    assert (fallen.name, fallen.before, fallen.now, fallen.difference) == ("own", 1.0, 0.5, -0.5)
    assert fallen.interval[0] < -0.5 < fallen.interval[1] < 0
    with pytest.raises(RegressionError, match=r"own fell from 1\.000 to 0\.500"):
        now.raise_on_regression(before)
    assert before.regressions(now) == []
    before.raise_on_regression(now)


async def test_a_fall_within_the_tolerance_or_by_chance_is_none(tmp_path: Path) -> None:
    before = await report_of(tmp_path / "1")
    slight = await report_of(tmp_path / "2", own=dict.fromkeys(range(40), 0.99))
    single = await report_of(tmp_path / "3", own={7: 0.0})

    assert [one.name for one in slight.regressions(before)] == ["own"]
    assert slight.regressions(before, tolerance=0.02) == []
    assert single.regressions(before) == []


async def test_what_failed_is_a_regression_and_what_was_truth_then_is_left_out(tmp_path: Path) -> None:
    senders = {f"name{number} {number}": f"name{number}" for number in range(40)}
    changed = {**senders, "name0 0": "other", "new 1": "new"}
    before = await report_of(tmp_path / "1")

    now = await report_of(tmp_path / "2", senders=changed)

    comparison = now.compare(before)
    assert (comparison["documents"], comparison["truth_changed"]) == (39, 1)
    assert (comparison["only_before"], comparison["only_now"]) == (0, 1)
    assert comparison["regressions"] == []


async def test_fields_are_compared_each_by_itself(tmp_path: Path) -> None:
    before = await report_of(tmp_path / "1")
    content = json.loads(json.dumps(before.content))
    for row in content["documents"][:30]:
        row["scores"]["f1"]["parts"]["sender"]["value"] = 0.0

    assert [one.name for one in EvaluationReport(content).regressions(before)] == ["f1: sender"]


async def test_an_evaluation_is_compared_with_its_baseline(tmp_path: Path) -> None:
    path, exporter = tmp_path / "before.json", ListExporter()
    await report_of(tmp_path / "1", exporters=[JsonEvaluationExporter(path)])

    now = await report_of(tmp_path / "2", own=HALF, baseline=path, exporters=[exporter])
    lenient = await report_of(tmp_path / "3", own=HALF, baseline=path, tolerance=0.6)

    assert exporter.reports[0]["comparison"]["regressions"] == ["own"]
    with pytest.raises(RegressionError):
        now.raise_on_regression()
    assert "worse than the earlier report: own" in str(now)
    lenient.raise_on_regression()
    with pytest.raises(MisconfiguredError, match="give a baseline"):
        EvaluationReport.read(path).raise_on_regression()


async def test_figures_that_one_report_has_are_named_and_none_in_common_is_an_error(tmp_path: Path) -> None:
    both = await report_of(tmp_path / "1")
    own = await report_of(tmp_path / "2", evaluators=(CallEvaluator(),))
    other = await report_of(tmp_path / "3", evaluators=(CallEvaluator(name="other"),))

    assert own.compare(both)["not_compared"] == ["documents_right", "f1", "precision", "recall"]
    with pytest.raises(MisconfiguredError, match="the baseline has none of these figures"):
        other.regressions(own)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"version": 1}', '{"version": 1, "documents": [{}]}'])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)

    with pytest.raises(MisconfiguredError, match="is no report of"):
        EvaluationReport.read(path)


def test_a_baseline_is_read_before_documents_are(tmp_path: Path) -> None:
    evaluation = letter_evaluation(tmp_path, {"anna 1": "anna"}, baseline=tmp_path / "none.json")

    with pytest.raises(MisconfiguredError, match=r"cannot read '.*none\.json': No such file"):
        evaluation.run(store=MemoryStore())
    assert not (tmp_path / "predictions.jsonl").exists()


async def test_a_baseline_that_cannot_be_compared_is_told_before_documents_are_read(tmp_path: Path) -> None:
    before = await report_of(tmp_path / "1", senders={"anna 1": "anna"})
    plain = EvaluationReport({name: item for name, item in before.content.items() if name != "scores"})

    for baseline, message in ((before, "none of these documents"), (plain, "no figures of evaluators")):
        folder = tmp_path / message
        with pytest.raises(MisconfiguredError, match=message):
            await report_of(folder, senders={"bert 2": "bert"}, baseline=baseline)
        assert not folder.exists()


async def test_reports_are_files_that_docmill_eval_and_browsers_read(tmp_path: Path) -> None:
    page, path = tmp_path / "report.html", tmp_path / "report.json"
    exporters = [JsonEvaluationExporter(path), HtmlEvaluationExporter(page)]

    report = await report_of(tmp_path, senders={"anna 1": "<b>anna</b>"}, exporters=exporters)

    assert [row.cells for row in read_report(path)] == [row.cells for row in report.documents]
    text = page.read_text()
    assert "1 of 1 documents with errors" in text
    assert "documents_right" in text
    assert "&lt;b&gt;anna&lt;/b&gt;" in text
    assert "<b>anna" not in text
