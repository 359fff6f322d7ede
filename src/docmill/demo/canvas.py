"""A page to draw on: millimetres, origin top left, every text goes through here."""

from io import BytesIO
from typing import Any, Literal, Protocol, cast

from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfgen.canvas import Canvas

Align = Literal["left", "right", "center"]
Face = Literal["sans", "serif", "mono"]
Colour = tuple[float, float, float]
Size = tuple[float, float]

A4: Size = (210, 297)
BLACK: Colour = (0.08, 0.08, 0.1)
GREY: Colour = (0.42, 0.44, 0.47)
PALE: Colour = (0.94, 0.95, 0.96)
WHITE: Colour = (1, 1, 1)

_FACES = {
    "sans": ("Helvetica", "Helvetica-Bold"),
    "serif": ("Times-Roman", "Times-Bold"),
    "mono": ("Courier", "Courier-Bold"),
}


class _Canvas(Protocol):
    """The methods of reportlab that we use; the library has no types."""

    def setTitle(self, title: str) -> None: ...  # noqa: N802  # reportlab's names
    def setFont(self, name: str, size: float) -> None: ...  # noqa: N802
    def setFillColorRGB(self, r: float, g: float, b: float) -> None: ...  # noqa: N802
    def setStrokeColorRGB(self, r: float, g: float, b: float) -> None: ...  # noqa: N802
    def setLineWidth(self, width: float) -> None: ...  # noqa: N802
    def setDash(self, *pattern: float) -> None: ...  # noqa: N802
    def drawString(self, x: float, y: float, text: str) -> None: ...  # noqa: N802
    def line(self, x1: float, y1: float, x2: float, y2: float) -> None: ...
    def rect(self, x: float, y: float, w: float, h: float, *, stroke: int, fill: int) -> None: ...
    def circle(self, x: float, y: float, r: float, *, stroke: int, fill: int) -> None: ...
    def beginPath(self) -> Any: ...  # noqa: N802, ANN401
    def drawPath(self, path: Any, *, stroke: int, fill: int) -> None: ...  # noqa: N802, ANN401
    def showPage(self) -> None: ...  # noqa: N802
    def save(self) -> None: ...


class Paper:
    """A PDF being drawn. The bytes depend on what is drawn alone: no clock, no random id."""

    def __init__(self, size: Size = A4, *, title: str = "") -> None:
        self.width, self.height = size
        self._bytes = BytesIO()
        canvas = Canvas(self._bytes, pagesize=(size[0] * mm, size[1] * mm), invariant=1)
        self._canvas = cast("_Canvas", canvas)
        self._canvas.setTitle(title)
        self.page_number = 1

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 9.5,
        bold: bool = False,
        align: Align = "left",
        face: Face = "sans",
        colour: Colour = BLACK,
    ) -> None:
        """One line of text; y is its baseline, x its left edge, right edge or middle."""
        shift = {"left": 0.0, "right": 1.0, "center": 0.5}[align]
        start = x - shift * text_width(text, size=size, bold=bold, face=face)
        self._canvas.setFillColorRGB(*colour)
        self._canvas.setFont(_FACES[face][bold], size)
        self._canvas.drawString(start * mm, self._up(y), text)

    def line(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        *,
        width: float = 0.5,
        colour: Colour = BLACK,
        dashed: bool = False,
    ) -> None:
        """A straight line, `width` in points."""
        self._canvas.setStrokeColorRGB(*colour)
        self._canvas.setLineWidth(width)
        self._canvas.setDash(*((2, 2) if dashed else ()))
        self._canvas.line(x0 * mm, self._up(y0), x1 * mm, self._up(y1))

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: Colour | None = None,
        stroke: Colour | None = None,
        line_width: float = 0.5,
    ) -> None:
        """A rectangle below and to the right of (x, y)."""
        self._paint(fill, stroke, line_width)
        self._canvas.rect(
            x * mm,
            self._up(y + height),
            width * mm,
            height * mm,
            stroke=int(stroke is not None),
            fill=int(fill is not None),
        )

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """A filled circle around (x, y)."""
        self._paint(fill, None, 0.5)
        self._canvas.circle(x * mm, self._up(y), radius * mm, stroke=0, fill=1)

    def polygon(self, points: list[tuple[float, float]], fill: Colour) -> None:
        """A filled polygon."""
        self._paint(fill, None, 0.5)
        path = self._canvas.beginPath()
        path.moveTo(points[0][0] * mm, self._up(points[0][1]))
        for x, y in points[1:]:
            path.lineTo(x * mm, self._up(y))
        path.close()
        self._canvas.drawPath(path, stroke=0, fill=1)

    def next_page(self) -> None:
        """Begin another page."""
        self._canvas.showPage()
        self.page_number += 1

    def finish(self) -> bytes:
        """The PDF. Nothing can be drawn afterwards."""
        self._canvas.save()
        return self._bytes.getvalue()

    def _up(self, y: float) -> float:
        return (self.height - y) * mm

    def _paint(self, fill: Colour | None, stroke: Colour | None, line_width: float) -> None:
        self._canvas.setDash()
        self._canvas.setLineWidth(line_width)
        self._canvas.setFillColorRGB(*(fill or WHITE))
        self._canvas.setStrokeColorRGB(*(stroke or BLACK))


def text_width(text: str, *, size: float = 9.5, bold: bool = False, face: Face = "sans") -> float:
    """Return the width of `text` in millimetres."""
    return pdfmetrics.stringWidth(text, _FACES[face][bold], size) / mm


def wrap(text: str, width: float, *, size: float = 9.5, bold: bool = False, face: Face = "sans") -> list[str]:
    """`text` in lines of at most `width` millimetres, broken at spaces."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size=size, bold=bold, face=face) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
