"""Curves of risk against coverage as an SVG picture, one small chart for each group of documents."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT = 300, 210
_LEFT, _TOP, _CHART_WIDTH, _CHART_HEIGHT = 46, 34, 236, 128
_COLUMNS = 3
LINES = (
    ("values_curve", "wrong among the values taken", "#1f6feb"),
    ("documents_curve", "documents taken with a wrong one", "#b3541e"),
)
"""Key, meaning and colour of the two curves of each chart."""
THIS_FOLDER = "this folder"
"""The source of documents that lie in no other folder."""
_FEWEST = 5
"""Documents of which a curve says anything."""


def draw_trust(trust: Mapping[str, Any]) -> str:
    """Draw the curves of a report's trust figures: of all documents, of each type and of each source."""
    shown = _groups(trust)
    columns = min(_COLUMNS, max(1, len(shown)))
    rows = -(-len(shown) // columns)
    charts = "".join(
        f'<g transform="translate({_WIDTH * (index % columns)} {_HEIGHT * (index // columns)})">'
        f"{_chart(name, figures)}</g>"
        for index, (name, figures) in enumerate(shown)
    )
    width, height = _WIDTH * columns, _HEIGHT * rows + 40
    legend = "".join(
        f'<text x="{_LEFT}" y="{height - 24 + 16 * index}" fill="{colour}">&#8212; {name}</text>'
        for index, (_, name, colour) in enumerate(LINES)
    )
    return f"{_svg(charts + legend, width, height, 'Risk against coverage')}\n"


def draw_charts(trust: Mapping[str, Any]) -> list[str]:
    """Draw the same curves as pictures of their own, which a page sets side by side or in one column."""
    return [_svg(_chart(name, figures), _WIDTH, _HEIGHT, name) for name, figures in _groups(trust)]


def _groups(trust: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """All documents, and each type and source of which there are several, with enough of them."""
    groups: dict[str, Mapping[str, Any]] = {"all documents": trust["all"]}
    for kind in ("types", "sources"):
        several: Mapping[str, Any] = trust[kind]
        if len(several) > 1:
            named = {THIS_FOLDER if name == "." else name: figures for name, figures in several.items()}
            groups |= {name.replace("_", " "): figures for name, figures in named.items()}
    return [(name, figures) for name, figures in groups.items() if figures["documents"] >= _FEWEST]


def _svg(content: str, width: int, height: int, description: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{escape(description)}" font-family="sans-serif"'
        f' font-size="11"><rect width="{width}" height="{height}" fill="#fff"/>{content}</svg>'
    )


def _chart(name: str, figures: Mapping[str, Any]) -> str:
    points = [point for key, _, _ in LINES for point in figures[key]]
    highest = max([0.01, *(point["risk"] for point in points)])
    bottom, right = _TOP + _CHART_HEIGHT, _LEFT + _CHART_WIDTH
    title = f"{escape(name)}, {figures['documents']}"
    lines = "".join(_line(figures[key], highest, colour) for key, _, colour in LINES)
    return (
        f'<text x="{_LEFT}" y="20" font-size="13" fill="#17212b">{title}</text>'
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#5d6a78"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 6}" text-anchor="end" fill="#5d6a78">{100 * highest:.1f} %</text>'
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end" fill="#5d6a78">0</text>'
        f'<text x="{_LEFT}" y="{bottom + 16}" fill="#5d6a78">0</text>'
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end" fill="#5d6a78">100 % taken</text>{lines}'
    )


def _line(points: Sequence[Mapping[str, float]], highest: float, colour: str) -> str:
    places = " ".join(
        f"{_LEFT + _CHART_WIDTH * point['coverage']:.1f},"
        f"{_TOP + _CHART_HEIGHT * (1 - point['risk'] / highest):.1f}"
        for point in points
    )
    if len(points) == 1:
        x, _, y = places.partition(",")
        return f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>'
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>' if places else ""
