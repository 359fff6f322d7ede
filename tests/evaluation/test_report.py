import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import Judge
from docmill.evaluation.metrics import JudgedDocument, bootstrap_interval, wilson_interval
from docmill.evaluation.report import build_report, compare_reports, judge_document, read_report
from docmill.evaluation.truth import Truth

JUDGE = Judge({"total": "decimal"}, frozenset({"name", "total"}))
EVERY = 1.0


def _read(
    source: str, said: dict[str, Any] | None, *, group: str | None = None, confidence: float = 0.9
) -> JudgedDocument:
    truth = Truth(source, {"name": "A", "total": "1.00"}, "invoice", group)
    record = {
        "status": "failed" if said is None else "completed",
        "data": said,
        "document_type": "invoice",
        "evidence": {path: {"confidence": confidence} for path in said or ()},
        "error": {"code": "timeout"} if said is None else None,
    }
    return judge_document(source, truth, record, JUDGE)


RIGHT = {"name": "A", "total": "1"}
WRONG = {"name": "B", "total": "1"}


def test_a_failed_document_counts_with_every_field_missing() -> None:
    report = build_report([_read("a", RIGHT), _read("b", None)])

    s2 = report["figures"]["tiers"]["S2"]
    assert (s2["precision"], s2["recall"], s2["documents_right"]) == (1.0, 0.5, 0.5)
    assert report["errors"] == {"timeout": 1}
    assert report["figures"]["fields"]["name"]["missing"] == 1
    assert report["classification"]["confusion"] == {"invoice": {"invoice": 1, "not read": 1}}
    assert report["classification"]["macro_f1"] == pytest.approx(2 / 3)


def test_a_wrong_value_is_one_too_many_and_one_missing() -> None:
    s2 = build_report([_read("a", WRONG)])["figures"]["tiers"]["S2"]

    assert (s2["precision"], s2["recall"], s2["f1"]) == (0.5, 0.5, 0.5)


def test_a_document_without_a_record_has_read_nothing() -> None:
    document = judge_document("a", Truth("a", {"name": "A"}), None, JUDGE)

    assert document.status == "failed"
    assert not document.is_right


def test_nothing_to_judge_has_no_figures() -> None:
    report = build_report([judge_document("a", Truth("a", {}), None, JUDGE)])

    assert report["figures"]["tiers"]["S2"]["f1"] is None
    assert report["classification"] is None
    assert report["confidence"] is None


def test_a_group_is_drawn_as_a_whole() -> None:
    apart = [_read(str(index), RIGHT if index % 2 else WRONG) for index in range(40)]
    grouped = [_read(str(index), RIGHT if index % 2 else WRONG, group=str(index % 4)) for index in range(40)]

    narrow, wide = (build_report(one)["figures"]["tiers"]["S2"]["f1_interval"] for one in (apart, grouped))

    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_where_all_are_right_the_interval_is_open_all_the_same() -> None:
    tier = build_report([_read(str(index), RIGHT) for index in range(10)])["figures"]["tiers"]["S2"]

    assert tier["f1"] == EVERY
    assert tier["documents_right_interval"] == wilson_interval(1.0, 10)
    assert tier["documents_right_interval"][0] == pytest.approx(0.722, abs=0.001)


def test_nothing_has_no_interval() -> None:
    assert bootstrap_interval(np.zeros(0), np.zeros(0), np.ones((1, 0))) is None


def test_the_sure_half_could_be_taken_unseen() -> None:
    documents = [_read(f"r{index}", RIGHT, confidence=0.95) for index in range(10)]
    documents += [_read(f"w{index}", {"name": "B"}, confidence=0.4) for index in range(10)]

    confidence = build_report(documents)["confidence"]

    assert confidence["values"] == 30
    assert confidence["coverage"] == 0.5
    assert confidence["precision"] == 1.0
    assert confidence["ece"] == pytest.approx((20 * 0.05 + 10 * 0.4) / 30)
    assert [(point["threshold"], point["coverage"]) for point in confidence["curve"]] == [
        (0.95, 0.5),
        (0.4, 0.75),
    ]
    assert [point["risk"] for point in confidence["curve"]] == pytest.approx([0, 1 / 3])


def test_where_nothing_is_sure_nothing_is_taken() -> None:
    confidence = build_report([_read(str(index), WRONG) for index in range(4)])["confidence"]

    assert confidence["coverage"] == 0
    assert confidence["precision"] is None


def test_items_of_a_list_are_told_together() -> None:
    judge = Judge({}, frozenset({"lines[].text"}))
    truth = Truth("a", {"lines": [{"text": "x"}, {"text": "y"}]})
    record = {"status": "completed", "data": {"lines": [{"text": "x"}]}, "document_type": "invoice"}

    lists = build_report([judge_document("a", truth, record, judge)])["figures"]["lists"]

    assert lists == {"lines": {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "values": 2}}


def _many(wrong: int, count: int = 100) -> list[JudgedDocument]:
    return [_read(str(index), WRONG if index < wrong else RIGHT) for index in range(count)]


def test_the_same_is_no_regression() -> None:
    comparison = compare_reports(_many(5), _many(5), max_regression=0)

    assert comparison["regressions"] == []
    assert comparison["fields"] == {}


def test_what_chance_does_not_explain_is_a_regression() -> None:
    comparison = compare_reports(_many(5), _many(25), max_regression=0.5)

    assert comparison["regressions"] == ["F1", "name"]
    assert comparison["fields"]["name"]["worse"] == 20
    assert comparison["fields"]["name"]["better"] == 0


def test_what_chance_explains_is_none() -> None:
    comparison = compare_reports(_many(5), _many(6), max_regression=0)

    assert comparison["f1"]["difference"] < 0
    assert comparison["regressions"] == []


def test_a_fall_that_is_allowed_is_none() -> None:
    assert compare_reports(_many(5), _many(25), max_regression=50)["regressions"] == []


def test_documents_with_another_truth_are_left_out() -> None:
    other = judge_document("1", Truth("1", {"name": "B"}), None, JUDGE)

    comparison = compare_reports([_read("0", RIGHT), other, _read("x", RIGHT)], _many(0, 3), max_regression=0)

    counted = {key: comparison[key] for key in ("documents", "truth_changed", "only_before", "only_now")}
    assert counted == {"documents": 1, "truth_changed": 1, "only_before": 1, "only_now": 1}


def test_nothing_in_common_cannot_be_compared() -> None:
    with pytest.raises(MisconfiguredError, match="nothing can be compared"):
        compare_reports([_read("x", RIGHT)], [_read("y", RIGHT)], max_regression=0)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    documents = [_read("a", RIGHT), _read("b", None)]

    file.write_text(json.dumps(build_report(documents)))

    assert compare_reports(read_report(file), documents, max_regression=0)["documents"] == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "no report"),
        ("[]", "no report"),
        ('{"version": 0}', "another docmill"),
        (None, "cannot"),
    ],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "report.json"
    if content is not None:
        file.write_text(content)

    with pytest.raises(MisconfiguredError, match=said):
        read_report(file)
