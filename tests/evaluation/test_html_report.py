import xml.etree.ElementTree as ET
from typing import Any

import pytest

from docmill.evaluation.html_report import build_page
from docmill.evaluation.judge import Judge
from docmill.evaluation.report import build_report, judge_document
from docmill.evaluation.trust_figures import score_trust
from docmill.evaluation.trust_picture import draw_curve
from docmill.evaluation.trust_table import trust_rows
from docmill.evaluation.truth import Truth

JUDGE = Judge({}, frozenset({"name", "number"}))
PROOF = {"name": {"page": 2, "text": "<b>Bolts", "confidence": 0.75, "box": [0, 0, 1, 1]}}


def _page(true: dict[str, Any], said: dict[str, Any] | None, pictures: dict[tuple[str, str], bytes]) -> str:
    record = {
        "status": "failed" if said is None else "completed",
        "data": said,
        "evidence": PROOF if said else {},
        "error": {"code": "timeout"} if said is None else None,
        "document_type": None,
    }
    documents = [judge_document("a&b.pdf", Truth("a&b.pdf", true), record, JUDGE)]
    return build_page(build_report(documents), documents, pictures)


def test_an_error_stands_beside_its_place() -> None:
    page = _page({"name": "Nuts"}, {"name": "<b>Bolts"}, {("a&b.pdf", "name"): b"clip"})

    assert "1 of 1 documents with errors" in page
    assert "<h2>a&amp;b.pdf</h2>" in page
    assert '<dd class="true">Nuts</dd>' in page
    assert '<dd class="said">&lt;b&gt;Bolts</dd>' in page
    assert "&lt;b&gt;Bolts (page 2, 75% sure)" in page
    assert '<img alt="where name was read" src="data:image/webp;base64,Y2xpcA==">' in page


def test_what_was_not_read_shows_the_first_page() -> None:
    page = _page({"name": "Nuts"}, None, {("a&b.pdf", ""): b"page"})

    assert "failed: timeout" in page
    assert '<dd class="said">nothing</dd>' in page
    assert "<summary>first page</summary><img" in page


def test_what_was_read_in_vain_is_not_on_the_page() -> None:
    page = _page({"name": "<b>Bolts", "number": None}, {"name": "<b>Bolts", "number": "7"}, {})

    assert '<dd class="true">not on the page</dd>' in page
    assert "<img" not in page


def test_the_page_loads_and_runs_nothing() -> None:
    page = _page({"name": "Nuts"}, {"name": "Nuts"}, {})

    assert "0 of 1 documents with errors" in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page


def test_the_curve_says_what_is_risked() -> None:
    page = _page({"name": "<b>Bolts", "number": "8"}, {"name": "<b>Bolts", "number": "7"}, {})

    assert "from 0.0 % of the first 50.0 % of all values to 50.0 % of 100.0 %, at most 50.0 %." in page
    assert "S2, the figure to quote" in page


def test_the_curve_has_axes_with_marks_and_units_and_a_title() -> None:
    page = _page({"name": "<b>Bolts", "number": "8"}, {"name": "<b>Bolts", "number": "7"}, {})

    assert "<h2>How wrong the surest values are</h2>" in page
    chart = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])  # noqa: S314 - our own
    texts = [element.text for element in chart.iter() if element.text]
    assert texts == [
        "Wrong among the values taken",
        *("0 %", "25 %", "50 %"),
        *("0 %", "50 %", "100 %"),
        "share taken, the surest first",
    ]
    assert '<polyline points="164.0,162.0 282.0,34.0"' in page


@pytest.mark.parametrize(("highest", "marks"), [(0.0, 1), (0.034, 4), (0.31, 4), (1.0, 4)])
def test_the_marks_of_the_curve_are_few_and_reach_above_it(highest: float, marks: int) -> None:
    chart = draw_curve([{"coverage": 0.5, "risk": 0.0}, {"coverage": 1.0, "risk": highest}])

    assert chart.count('class="grid"') == marks + 1
    assert "-" not in chart.partition("<polyline")[2].partition("fill")[0]


def test_the_figures_of_trust_stand_on_the_page_as_a_table_and_as_curves_in_two_colours() -> None:
    documents = [
        judge_document(
            f"{number}.pdf",
            Truth(f"{number}.pdf", {"name": "Nuts"}),
            {"status": "completed", "data": {"name": "Nuts"}, "evidence": PROOF, "document_type": None},
            JUDGE,
        )
        for number in range(6)
    ]
    report = {**build_report(documents), "trust": score_trust(documents, {})}

    page = build_page(report, documents, {})

    assert "<td>ready with any wrong field</td><td class=number>0.0</td>" in page
    assert "#1f6feb" in page
    assert "#b3541e" in page


def test_a_share_of_few_documents_is_not_printed() -> None:
    document = judge_document(
        "a.pdf",
        Truth("a.pdf", {"name": "Nuts"}),
        {"status": "completed", "data": {"name": "Nuts"}, "evidence": PROOF, "document_type": None},
        JUDGE,
    )

    rows = {row[0]: row[1] for row in trust_rows(score_trust([document], {}))}

    assert rows["ready"] == rows["ready with any wrong field"] == "few"
