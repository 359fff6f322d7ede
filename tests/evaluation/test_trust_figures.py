"""What is called ready and is wrong is counted, by type and by source."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace

import pytest

from docmill.evaluation.judge import Judge
from docmill.evaluation.metrics import JudgedDocument
from docmill.evaluation.report import judge_document
from docmill.evaluation.trust_figures import score_trust, without_computed
from docmill.evaluation.trust_picture import draw_charts, draw_trust
from docmill.evaluation.trust_table import GROUP_HEADS, group_rows
from docmill.evaluation.truth import Truth
from docmill.schemas.outline import Kind

KINDS: dict[str, Kind] = {"number": "text", "gross_total": "decimal", "lines[].net_amount": "decimal"}
JUDGE = Judge(KINDS, frozenset(KINDS))


def document(
    source: str, status: str, read: Mapping[str, object], *, confidence: float = 0.95, kind: str = "invoice"
) -> JudgedDocument:
    truth = {"number": "R-1", "gross_total": "24.00", "lines": [{"net_amount": "24.00"}]}
    paths = ("number", "gross_total", "lines[0].net_amount")
    record = {
        "status": status,
        "data": read,
        "evidence": {path: {"confidence": confidence} for path in paths},
        "document_type": kind,
    }
    return judge_document(source, Truth(source, truth, kind), record, JUDGE)


RIGHT = {"number": "R-1", "gross_total": "24.00", "lines": [{"net_amount": "24.00"}]}
DOCUMENTS = [
    document("a/1.pdf", "completed", RIGHT),
    document("a/2.pdf", "completed", {**RIGHT, "number": "R-7"}),
    document("b/3.pdf", "completed", {**RIGHT, "gross_total": None}, kind="receipt"),
    document("b/4.pdf", "needs_review", {**RIGHT, "gross_total": "42.00"}, kind="receipt"),
    document("b/5.pdf", "completed", {**RIGHT, "lines": [{"net_amount": "2.00"}]}, kind="receipt"),
]


def test_only_ready_documents_with_a_wrong_value_count() -> None:
    every = score_trust(DOCUMENTS, KINDS)["all"]

    assert (every["ready"]["count"], every["ready"]["of"]) == (4, 5)
    assert every["ready_wrong_header"]["count"] == 1
    assert every["ready_wrong_vital"]["count"] == 0
    assert every["ready_wrong_item"]["count"] == 1
    assert every["silent_errors_per_100_ready"]["share"] == 25.0


def test_a_null_is_no_error_and_a_surplus_value_is() -> None:
    judged = Judge(KINDS, frozenset(KINDS))
    record = {"status": "completed", "data": {"gross_total": "1.00"}, "evidence": {}}
    surplus = judge_document("a.pdf", Truth("a.pdf", {"gross_total": None}, "invoice"), record, judged)

    assert score_trust([surplus], KINDS)["all"]["ready_wrong_vital"]["count"] == 1
    assert score_trust([DOCUMENTS[2]], KINDS)["all"]["ready_wrong_vital"]["count"] == 0


def test_a_computed_value_that_the_page_does_not_print_is_not_judged() -> None:
    truth = Truth("a.pdf", {"number": "R-1", "gross_total": None}, "invoice")
    proofs = {"gross_total": {"match": "computed", "confidence": 0.95}}
    record = {"status": "completed", "data": {"number": "R-2", "gross_total": "1.00"}, "evidence": proofs}
    judged = judge_document("a.pdf", truth, record, JUDGE)

    every = score_trust([without_computed(judged)], KINDS)["all"]

    assert (every["ready_wrong_vital"]["count"], every["ready_wrong_header"]["count"]) == (0, 1)
    assert score_trust([judged], KINDS)["all"]["ready_wrong_vital"]["count"] == 1


def test_types_and_sources_have_figures_of_their_own() -> None:
    trust = score_trust(DOCUMENTS, KINDS)

    assert {name: row["documents"] for name, row in trust["types"].items()} == {"invoice": 2, "receipt": 3}
    assert {name: row["documents"] for name, row in trust["sources"].items()} == {"a": 2, "b": 3}
    assert trust["types"]["invoice"]["ready_wrong_header"]["share"] == 0.5


def test_the_interval_of_few_documents_is_as_wide_as_chance_makes_it() -> None:
    many = [document(f"a/{name}.pdf", "completed", RIGHT) for name in range(4)]
    wrong = document("b/5.pdf", "completed", {**RIGHT, "number": "R-7"})

    low, high = score_trust([*many, wrong], KINDS)["all"]["ready_wrong_header"]["interval"]
    (single,) = (score_trust([DOCUMENTS[1]], KINDS)["all"]["ready_wrong_header"],)

    assert (round(low, 2), round(high, 2)) == (0.0, 0.62)
    assert [round(bound, 2) for bound in single["interval"]] == [0.21, 1.0]


def test_one_document_with_several_errors_has_no_interval_of_them() -> None:
    wrong = document("a.pdf", "completed", {**RIGHT, "number": "R-7", "gross_total": "42.00"})

    errors = score_trust([wrong], KINDS)["all"]["silent_errors_per_100_ready"]

    assert (errors["share"], errors["interval"]) == (200.0, None)


def test_the_interval_is_wider_where_a_whole_group_is_wrong() -> None:
    def figures(groups: int) -> list[float]:
        wrong = [document(f"w/{name}.pdf", "completed", {**RIGHT, "number": "R-7"}) for name in range(20)]
        right = [document(f"r/{name}.pdf", "completed", RIGHT) for name in range(20)]
        grouped = [
            replace(one, group=str(number % groups if number < 20 else number % groups + groups))
            for number, one in enumerate([*wrong, *right])
        ]
        return score_trust(grouped, KINDS)["all"]["ready_wrong_header"]["interval"]

    low, high = figures(2)
    lower, higher = figures(20)
    assert low < lower < 0.5 < higher < high


def test_sure_values_are_counted_apart() -> None:
    unsure = document("c.pdf", "completed", {**RIGHT, "number": "R-7"}, confidence=0.5)
    sure = score_trust([DOCUMENTS[1], unsure], KINDS)["all"]["sure_wrong"]

    assert (sure["count"], sure["of"]) == (1, 3)


def test_the_calibration_error_is_the_distance_to_the_share_that_is_right() -> None:
    assert score_trust([DOCUMENTS[0]], KINDS)["all"]["ece"] == pytest.approx(0.05)


def test_the_picture_has_a_chart_for_every_group_that_is_large_enough() -> None:
    trust = score_trust(DOCUMENTS, KINDS)
    many = score_trust(DOCUMENTS * 4, KINDS)

    texts = [element.text or "" for element in ET.fromstring(draw_trust(many)).iter() if element.text]  # noqa: S314 - our own
    assert any(text.startswith("all documents, 20") for text in texts)
    assert any(text.startswith("receipt, 12") for text in texts)
    assert "receipt" not in draw_trust(trust)


def test_on_a_page_each_chart_is_a_picture_of_its_own_and_the_table_fits_a_terminal() -> None:
    trust = score_trust(DOCUMENTS * 4, KINDS)

    charts = [ET.fromstring(chart) for chart in draw_charts(trust)]  # noqa: S314 - our own
    assert [chart.get("aria-label") for chart in charts][:2] == ["all documents", "invoice"]
    longest = [
        max(map(len, column))
        for column in zip(GROUP_HEADS, *(row[1:] for row in group_rows(trust["types"])), strict=True)
    ]
    assert len("bank_statement") + sum(longest) + 2 * len(longest) < 80


def test_a_curve_of_one_point_and_the_folder_itself_are_drawn_with_a_name() -> None:
    documents = [replace(one, source=one.source.replace("b/", "")) for one in DOCUMENTS * 4]
    alike = draw_trust(score_trust([replace(DOCUMENTS[0], source=f"{name}.pdf") for name in range(5)], KINDS))

    assert "this folder, 12" in draw_trust(score_trust(documents, KINDS))
    assert "<circle" in alike


def test_documents_without_values_have_no_figures() -> None:
    trust = score_trust([], KINDS)

    assert trust["all"]["ready"]["share"] is None
    assert trust["all"]["ece"] is None
    ET.fromstring(draw_trust(trust))  # noqa: S314 - our own
