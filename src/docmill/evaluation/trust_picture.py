"""Curves of risk against coverage as an SVG picture, one small chart for each group of documents."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil
from typing import Any

_WIDTH, _HEIGHT = 300, 208
_LEFT, _TOP, _CHART_WIDTH, _CHART_HEIGHT = 46, 34, 236, 128
_COLUMNS = 3
LINES = (
    ("values_curve", "wrong among the values taken", "#1f6feb"),
    ("documents_curve", "documents taken with a wrong one", "#b3541e"),
)
"""Key, meaning and colour of the two curves of each chart."""
_INK, _QUIET, _GRID = "#17212b", "#5d6a78", "#d8dee6"
"""Colours of titles, of axes with their marks, and of the lines across. A dark page sets others."""
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.25)
"""Distances of the marks on the axis of errors, as shares."""
_MOST_STEPS = 4
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
    return f"{_svg(charts + legend, width, height, 'Risk against coverage', is_file=True)}\n"


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


def draw_curve(points: Sequence[Mapping[str, float]]) -> str:
    """Draw the curve of all values as a picture of its own."""
    _, name, colour = LINES[0]
    title = name.capitalize()
    return _svg(_axes(title, points) + _line(points, _ticks(points)[-1], colour), _WIDTH, _HEIGHT, title)


def _svg(content: str, width: int, height: int, description: str, *, is_file: bool = False) -> str:
    """Build a picture. is_file: whether it is one of its own, and no part of a page."""
    namespace = ' xmlns="http://www.w3.org/2000/svg"' if is_file else ""
    return (
        f'<svg{namespace} viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{escape(description)}" font-family="sans-serif"'
        f' font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>{content}</svg>'
    )


def _chart(name: str, figures: Mapping[str, Any]) -> str:
    points = [point for key, _, _ in LINES for point in figures[key]]
    highest = _ticks(points)[-1]
    lines = "".join(_line(figures[key], highest, colour) for key, _, colour in LINES)
    return _axes(f"{name}, {figures['documents']}", points) + lines


def _ticks(points: Sequence[Mapping[str, float]]) -> list[float]:
    """The risks that are marked on the axis, from 0 to one that no point is above."""
    highest = max((point["risk"] for point in points), default=0.0) or _STEPS[0]
    step = next(step for step in _STEPS if highest <= _MOST_STEPS * step)
    return [step * index for index in range(ceil(highest / step) + 1)]


def _axes(title: str, points: Sequence[Mapping[str, float]]) -> str:
    """The title, and the axes with their marks in percent: errors upwards, the share taken to the right."""
    bottom, right = _TOP + _CHART_HEIGHT, _LEFT + _CHART_WIDTH
    ticks = _ticks(points)
    parts = [f'<text x="8" y="20" font-size="13" fill="{_INK}">{escape(title)}</text>']
    for risk in ticks:
        y = bottom - _CHART_HEIGHT * risk / ticks[-1]
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}" stroke="{_GRID}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{_QUIET}">{100 * risk:g} %</text>'
        )
    for share in (0.0, 0.5, 1.0):
        x = _LEFT + _CHART_WIDTH * share
        place = f'x="{x:g}" y="{bottom + 16}" text-anchor="{"end" if share == 1 else "middle"}"'
        parts.append(
            f'<path d="M{x:g} {bottom}v4" stroke="{_QUIET}"/>'
            f'<text {place} fill="{_QUIET}">{100 * share:g} %</text>'
        )
    parts.append(
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="{_QUIET}"/>'
        f'<text x="{_LEFT + _CHART_WIDTH / 2:g}" y="{bottom + 34}" text-anchor="middle" fill="{_QUIET}">'
        "share taken, the surest first</text>"
    )
    return "".join(parts)


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
