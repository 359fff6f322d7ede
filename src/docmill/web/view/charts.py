"""Charts as SVG, drawn on the server."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.service.store.operations import HourRow
from docmill.web.languages import gettext

WIDTH, HEIGHT = 720, 160
_LEFT, _BOTTOM, _TOP = 36, 20, 8
_GAP = 3
_LABELLED = 6
"""Every so many hours stand below the bars."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a bar. kind: `completed` or `failed`, for its colour."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A label at an axis."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart of the ingestions that ended in each hour. right, base: where its axes end."""

    bars: Sequence[Bar]
    hours: Sequence[Mark]
    values: Sequence[Mark]
    left: int = _LEFT
    right: int = WIDTH
    base: int = HEIGHT - _BOTTOM


def bar_chart(hours: Sequence[HourRow]) -> BarChart:
    """Draw completed and failed ingestions of each hour, one above the other."""
    top = scale_end(max((hour.completed + hour.failed for hour in hours), default=0))
    room = HEIGHT - _BOTTOM - _TOP
    step = (WIDTH - _LEFT) / max(1, len(hours))
    bars: list[Bar] = []
    marks: list[Mark] = []
    for index, hour in enumerate(hours):
        x, y = _LEFT + index * step, float(HEIGHT - _BOTTOM)
        title = gettext(
            "%(time)s: %(completed)s completed, %(failed)s failed",
            time=f"{hour.start:%H:%M}",
            completed=hour.completed,
            failed=hour.failed,
        )
        for kind, count in (("completed", hour.completed), ("failed", hour.failed)):
            height = room * count / top
            y -= height
            if count:
                bars.append(
                    Bar(
                        round(x + _GAP / 2, 1),
                        round(y, 1),
                        round(step - _GAP, 1),
                        round(height, 1),
                        kind,
                        title,
                    )
                )
        if index % _LABELLED == 0:
            marks.append(Mark(round(x, 1), HEIGHT - 5, f"{hour.start:%H:%M}"))
    values = [Mark(_LEFT - 4, _TOP + 4, str(top)), Mark(_LEFT - 4, HEIGHT - _BOTTOM, "0")]
    return BarChart(bars, marks, values)


def scale_end(largest: int) -> int:
    """Return the end of an axis: 1, 2 or 5 times a power of ten, at least `largest`."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= largest:
                return factor * power
        power *= 10
