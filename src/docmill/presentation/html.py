"""A result as HTML for a notebook: the pages with a box around each value, and the values beside them."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from docmill.model.result import Suggestion, Verdict, percent_text
from docmill.presentation.text import Row

_STYLE = """
.docmill { background: #fff; color: #17212b;
  display: flex; flex-wrap: wrap; font: 13px/1.45 system-ui, sans-serif; gap: 16px;
  padding: 8px; }
.docmill figure { border: 1px solid #d8dee6; margin: 0 0 8px; position: relative; width: 420px; }
.docmill img { display: block; width: 100%; }
.docmill i { background: rgb(23 102 185 / .12); border: 1px solid #1766b9; position: absolute; }
.docmill table { border-collapse: collapse; color: inherit; font: inherit; }
.docmill th, .docmill td { border-bottom: 1px solid #d8dee6; padding: 3px 10px 3px 0; text-align: left;
  vertical-align: top; }
.docmill .quiet { color: #5d6a78; }
"""


def result_html(
    heading: str,
    rows: Sequence[Row],
    suggestions: Mapping[str, Sequence[Suggestion]],
    verdict: Verdict | None,
    pictures: Mapping[int, bytes],
) -> str:
    """The HTML; it loads nothing and runs no scripts. pictures: of pages by number, as WebP."""
    figures = "".join(_figure(number, picture, rows) for number, picture in sorted(pictures.items()))
    fields = "".join(
        f"<tr><td>{escape(row.path)}</td><td><b>{escape(row.value)}</b></td>"
        f"<td class=quiet>{escape(row.place)}</td></tr>"
        for row in rows
    )
    fields += "".join(
        f"<tr><td>{escape(path)}</td><td class=quiet>perhaps {escape(str(one.value))}</td>"
        f"<td class=quiet>{percent_text(one.evidence.confidence)}</td></tr>"
        for path, several in suggestions.items()
        for one in several
    )
    failures = "".join(
        f"<tr><td class=quiet>{escape(failure.check)}</td><td colspan=2>{escape(failure.message)}</td></tr>"
        for failure in (verdict.failures if verdict else ())
    )
    return (
        f"<style>{_STYLE}</style><div class=docmill><div>{figures}</div><div><p><b>{escape(heading)}</b></p>"
        f"<table>{fields}{failures}</table></div></div>"
    )


def _figure(number: int, picture: bytes, rows: Sequence[Row]) -> str:
    boxes = "".join(
        f'<i style="left:{box.x0:.2%};top:{box.y0:.2%};width:{box.x1 - box.x0:.2%};'
        f'height:{box.y1 - box.y0:.2%}" title="{escape(row.path)}"></i>'
        for row in rows
        if row.evidence is not None and row.evidence.page == number and (box := row.evidence.box) is not None
    )
    source = b64encode(picture).decode()
    return f'<figure><img alt="page {number}" src="data:image/webp;base64,{source}">{boxes}</figure>'
