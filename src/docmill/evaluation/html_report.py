"""An evaluation as one HTML file: the figures, and every error beside its place on the page."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from docmill.evaluation.metrics import JudgedDocument
from docmill.evaluation.trust_picture import LINES, draw_charts, draw_curve
from docmill.evaluation.trust_table import (
    FEW,
    GROUP_HEADS,
    TRUST_HEADS,
    group_rows,
    several_groups,
    trust_rows,
)

Pictures = Mapping[tuple[str, str], bytes]
"""WebP by source and by the path of a value; of a document's first page by an empty path."""

_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#d8dee6, #2c3742); --quiet: light-dark(#5d6a78, #96a4b2);
  --true: light-dark(#17663a, #72d19b); --said: light-dark(#a3231c, #ff9d94); }
body { background: light-dark(#f6f7f9, #10151b); color: light-dark(#17212b, #e7ecf1); margin: 0 auto;
  font: 15px/1.5 -apple-system, "Segoe UI", Roboto, Arial, "Liberation Sans", sans-serif;
  max-width: 1100px; padding: 24px 16px; }
h1 { font-size: 22px; } h2 { font-size: 16px; margin: 32px 0 4px; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 12px 0; }
th, td { border-bottom: 1px solid var(--line); padding: 4px 12px 4px 0; text-align: left;
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
article { background: light-dark(#ffffff, #171e26); border: 1px solid var(--line); border-radius: 8px;
  margin: 8px 0; padding: 12px 16px; }
dl { display: grid; gap: 2px 16px; grid-template-columns: max-content 1fr; margin: 8px 0; }
dt, .quiet { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
dd.true { color: var(--true); } dd.said { color: var(--said); }
h3 { font-size: 15px; margin: 0; }
img { background: #fff; border-radius: 4px; height: auto; max-width: 100%; }
.wide { overflow-x: auto; }
figure { margin: 12px 0; max-width: 480px; } figcaption { color: var(--quiet); }
.charts { display: flex; flex-wrap: wrap; gap: 12px; }
.charts svg { border: 1px solid var(--line); border-radius: 8px; box-sizing: border-box; height: auto;
  max-width: 100%; } figure svg { width: 100%; }
.charts rect { fill: light-dark(#ffffff, #171e26); } .charts text { fill: light-dark(#17212b, #e7ecf1); }
.charts path { stroke: var(--quiet); } .charts path.grid { stroke: var(--line); }
.legend { background: #fff; border-radius: 8px; display: inline-flex; flex-wrap: wrap; gap: 0 16px;
  padding: 4px 12px; }
"""


_TIERS = (
    "Right in S0: the same letters. S1: without space and case. S2, the figure to quote: digits and letters"
    " alone, the same day, equal to the cent. S3: nine letters of ten."
)


def build_page(report: Mapping[str, Any], documents: Sequence[JudgedDocument], pictures: Pictures) -> str:
    """Build the page. It loads nothing and runs no scripts."""
    wrong = [document for document in documents if not document.is_right]
    figures = report["figures"]
    confidence: Mapping[str, Any] = report.get("confidence") or {}
    tiers = [
        (tier, *(_percent(row[key]) for key in ("precision", "recall", "f1", "documents_right")))
        for tier, row in figures["tiers"].items()
    ]
    fields = [
        (
            name,
            str(row["right"]),
            str(row["values"]),
            _percent(row["accuracy"]),
            " to ".join(map(_percent, row["interval"] or ())),
        )
        for name, row in figures["fields"].items()
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:;'
        " style-src 'unsafe-inline'\">"
        f"<title>docmill: evaluation</title><style>{_STYLE}</style></head><body>"
        f"<h1>{len(wrong)} of {len(documents)} documents with errors</h1>"
        f"{_scores(report.get('scores'))}"
        f"{_table(('', 'precision', 'recall', 'F1', 'documents all right'), tiers)}"
        f'<p class="quiet">{_TIERS}</p>'
        f"{_table(('field', 'right', 'of', 'S2', '95 %'), fields)}"
        f"{_curve(confidence.get('curve', ()))}"
        f"{_trust(report.get('trust'))}"
        f"{''.join(_document(document, pictures) for document in wrong)}</body></html>\n"
    )


def _scores(scores: Mapping[str, Any] | None) -> str:
    """The figures of the evaluators of a pipeline, as they are: not all of them are shares."""
    rows = [
        (
            name,
            "" if figure["value"] is None else f"{figure['value']:.3f}",
            " to ".join(f"{bound:.3f}" for bound in figure["interval"] or ()),
            str(figure["documents"]),
        )
        for name, figure in (scores or {}).items()
    ]
    return _table(("figure", "value", "95 %", "documents"), rows) if rows else ""


def _curve(points: Sequence[Mapping[str, float]]) -> str:
    """Draw the risk-coverage curve: the share of errors as less confident values are accepted."""
    if not points:
        return ""
    first, last = points[0], points[-1]
    highest = max(point["risk"] for point in points)
    caption = escape(
        "Wrong values among those taken unseen, the surest first: from"
        f" {_percent(first['risk'])} % of the first {_percent(first['coverage'])} % of all values"
        f" to {_percent(last['risk'])} % of {_percent(last['coverage'])} %, at most {_percent(highest)} %."
    )
    return (
        "<h2>How wrong the surest values are</h2>"
        f'<figure class="charts">{draw_curve(points)}<figcaption>{caption}</figcaption></figure>'
    )


def _trust(trust: Mapping[str, Any] | None) -> str:
    """The trust figures as tables and curves, if they were asked for."""
    if not trust or not trust["all"]["documents"]:
        return ""
    tables = [_table(TRUST_HEADS, list(trust_rows(trust)))]
    tables += [
        _table((kind, *GROUP_HEADS), list(group_rows(groups))) for kind, groups in several_groups(trust)
    ]
    legend = "".join(f'<span style="color:{colour}">&#8212; {name}</span> ' for _, name, colour in LINES)
    return (
        f'{"".join(tables)}<p class="quiet">{FEW}.</p><div class="charts">{"".join(draw_charts(trust))}</div>'
        f'<p class="legend">{legend}</p>'
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        "".join(
            f"<{tag}{' class=number' if index else ''}>{escape(text)}</{tag}>"
            for index, text in enumerate(row)
        )
        for tag, row in (("th", heads), *(("td", row) for row in rows))
    ]
    head, *body = (f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(body)}</tbody></table></div>'


def _document(document: JudgedDocument, pictures: Pictures) -> str:
    """The errors of a document, each with a picture of its place, and the document's first page."""
    state = document.status.replace("_", " ") + (f": {document.error}" if document.error else "")
    errors: list[str] = []
    for cell in (cell for cell in document.cells if not cell.is_right):
        proof: Mapping[str, Any] = document.evidence.get(cell.path or "", {})
        facts = [
            ("truth", "true", "not on the page" if cell.true is None else cell.true),
            ("read", "said", "nothing" if cell.read is None else cell.read),
        ]
        if proof.get("text"):
            place = f" (page {proof['page']}, {proof['confidence']:.0%} sure)"
            facts.append(("evidence", "", proof["text"] + place))
        rows = "".join(f'<dt>{name}</dt><dd class="{role}">{escape(text)}</dd>' for name, role, text in facts)
        clip = _picture(pictures.get((document.source, cell.path or " ")), f"where {cell.field} was read")
        errors.append(f"<article><h3>{escape(cell.path or cell.field)}</h3><dl>{rows}</dl>{clip}</article>")
    page = _picture(pictures.get((document.source, "")), "its first page")
    details = f"<details><summary>first page</summary>{page}</details>" if page else ""
    return (
        f'<section><h2>{escape(document.source)}</h2><span class="quiet">{escape(state)}</span>'
        f"{''.join(errors)}{details}</section>"
    )


def _picture(content: bytes | None, description: str) -> str:
    if content is None:
        return ""
    return f'<img alt="{escape(description)}" src="data:image/webp;base64,{b64encode(content).decode()}">'


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"
