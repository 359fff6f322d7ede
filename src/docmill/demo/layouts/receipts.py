"""Rolls of 80 mm: the monospaced till, the bistro bill, the small printed slip, the boxed ticket."""

from collections.abc import Sequence
from decimal import Decimal

from docmill.demo.canvas import BLACK, GREY, Align, Face, Paper, text_width
from docmill.demo.layouts.blocks import logo, meta, tax_rows
from docmill.demo.plan import Letter
from docmill.schemas.types import Receipt

_MARGIN = 5.0


class _Roll:
    """A narrow paper, printed downwards."""

    def __init__(
        self, paper: Paper, *, face: Face, size: float, top: float = 8, margin: float = _MARGIN
    ) -> None:
        self._paper = paper
        self.face: Face = face
        self.size = size
        self.y = top
        self.left = margin
        self.right = paper.width - margin

    @property
    def width(self) -> float:
        return self.right - self.left

    def put(self, text: str, *, align: Align = "left", bold: bool = False, grow: float = 1) -> None:
        x = {"left": self.left, "right": self.right, "center": self._paper.width / 2}[align]
        self.y += self.size * (grow - 1) * 0.3
        self._paper.text(x, self.y, text, size=self.size * grow, bold=bold, align=align, face=self.face)
        self.y += self.size * grow * 0.44

    def row(self, left: str, right: str, *, bold: bool = False, grow: float = 1) -> None:
        y = self.y
        self.put(left, bold=bold, grow=grow)
        self.y = y
        self.put(right, bold=bold, grow=grow, align="right")

    def cells(self, texts: Sequence[str], edges: Sequence[float], *, bold: bool = False) -> None:
        """The first text left, every other right-aligned at its edge."""
        self._paper.text(self.left, self.y, texts[0], size=self.size, face=self.face, bold=bold)
        for text, edge in zip(texts[1:], edges, strict=True):
            self._paper.text(edge, self.y, text, size=self.size, face=self.face, align="right", bold=bold)
        self.y += self.size * 0.46

    def rule(self, *, dashed: bool = True) -> None:
        self._paper.line(self.left, self.y - 2, self.right, self.y - 2, dashed=dashed, colour=GREY)
        self.y += 2.4


def _head(roll: _Roll, letter: Letter, *, align: Align, grow: float) -> None:
    fitting = roll.width / text_width(letter.sender.name, size=roll.size, bold=True, face=roll.face)
    roll.put(letter.sender.name, align=align, bold=True, grow=min(grow, fitting))
    for text in letter.sender.address:
        roll.put(text, align=align)
    if letter.sender.phone:
        roll.put(f"Tel. {letter.sender.phone}", align=align)
    if isinstance(letter.fields, Receipt) and letter.fields.seller.vat_id:
        roll.put(f"{letter.wording.label('vat_id')} {letter.fields.seller.vat_id}", align=align)


def _when(letter: Letter) -> str:
    (_, day), *_ = meta(letter, "issue_date")
    return f"{day}  {letter.value('time') or ''}".strip()


def _amount(letter: Letter, name: str) -> str | None:
    value = letter.value(name)
    return letter.wording.money(value) if isinstance(value, Decimal) else None


def _sums(roll: _Roll, letter: Letter, *names: str) -> None:
    for name in names:
        amount = _amount(letter, name)
        if amount:
            roll.row("Tip" if name == "tip" else letter.wording.label(name), amount)


def _farewell(roll: _Roll, letter: Letter) -> None:
    roll.y += 3
    for sentence in letter.closing:
        roll.put(sentence, align="center")


def mono_till(paper: Paper, letter: Letter) -> None:
    """Courier, quantities on a line below the article, the tax table at the foot."""
    roll, say = _Roll(paper, face="mono", size=8), letter.wording
    _head(roll, letter, align="center", grow=1.5)
    roll.y += 2
    roll.rule()
    for line in letter.fields.lines:
        roll.row(str(line.description), say.number(line.net_amount or Decimal(0)))
        if line.quantity and line.unit_price and line.quantity != 1:
            roll.put(f"   {say.count(line.quantity)} {line.unit or 'x'} {say.number(line.unit_price)}")
    roll.rule()
    roll.row(say.label("gross_total").upper(), _amount(letter, "gross_total") or "", bold=True, grow=1.35)
    roll.row(letter.printed_method, _amount(letter, "gross_total") or "")
    roll.rule()
    edges = (paper.width * 0.5, paper.width * 0.72, roll.right)
    roll.cells((say.label("tax"), say.label("base"), say.label("tax"), "="), edges)
    for tax in letter.taxes:
        figures = (tax.base, tax.amount, tax.base + tax.amount)
        roll.cells((say.percent(tax.rate), *(say.number(figure) for figure in figures)), edges)
    if len(letter.taxes) > 1:
        figures = [letter.value(name) for name in ("net_total", "tax_total", "gross_total")]
        roll.cells(("", *(say.number(each) for each in figures if isinstance(each, Decimal))), edges)
    roll.rule()
    for label, value in meta(letter, "number"):
        roll.row(f"{label} {value}", _when(letter))
    _farewell(roll, letter)


def bistro(paper: Paper, letter: Letter) -> None:
    """Helvetica, a mark on top, quantities before the dishes, the tip under the total."""
    roll, say = _Roll(paper, face="sans", size=8.5, top=30), letter.wording
    logo(paper, letter.sender, paper.width / 2 - 8, 8, 16)
    _head(roll, letter, align="center", grow=1.3)
    roll.y += 3
    for label, value in meta(letter, "number"):
        roll.row(f"{label} {value}", _when(letter))
    if letter.opening:
        roll.put(letter.opening)
    roll.y += 1.5
    roll.rule(dashed=False)
    for line in letter.fields.lines:
        roll.row(
            f"{say.count(line.quantity or Decimal(1))}  {line.description}",
            say.number(line.net_amount or Decimal(0)),
        )
        roll.y += 0.8
    roll.rule(dashed=False)
    _sums(roll, letter, "net_total")
    for label, value in tax_rows(letter):
        roll.row(label, value)
    roll.row(say.label("gross_total"), _amount(letter, "gross_total") or "", bold=True, grow=1.3)
    _sums(roll, letter, "tip")
    if _amount(letter, "amount_due"):
        roll.row(say.label("amount_due"), _amount(letter, "amount_due") or "", bold=True)
    roll.put(letter.printed_method)
    _farewell(roll, letter)


def slip(paper: Paper, letter: Letter) -> None:
    """A printed slip with a frame: labels above their values, the amount large."""
    say = letter.wording
    paper.box(4, 4, paper.width - 8, paper.height - 8, stroke=BLACK, line_width=1)
    roll = _Roll(paper, face="serif", size=10, top=13, margin=9)
    _head(roll, letter, align="center", grow=1.2)
    roll.y += 4
    for label, value in [*meta(letter, "number"), ("", _when(letter))]:
        roll.put(f"{label} {value}".strip(), align="center")
    roll.rule(dashed=False)
    for line in letter.fields.lines:
        roll.row(str(line.description), say.number(line.net_amount or Decimal(0)))
    roll.rule(dashed=False)
    roll.put(_amount(letter, "gross_total") or "", align="center", bold=True, grow=2)
    for tax, (label, value) in zip(letter.taxes, tax_rows(letter), strict=True):
        roll.put(f"{label}: {value}  ({say.label('base')} {say.number(tax.base)})", align="center")
    roll.put(letter.printed_method, align="center")
    _farewell(roll, letter)


def boxed_ticket(paper: Paper, letter: Letter) -> None:
    """Four ruled columns under a left-aligned head, sums in a double frame."""
    roll, say = _Roll(paper, face="mono", size=7.6, top=9), letter.wording
    roll.put(letter.opening, bold=True, grow=1.2)
    _head(roll, letter, align="left", grow=1.15)
    for _, value in meta(letter, "number"):
        roll.put(f"{say.label('receipt.number')}: {value}")
    roll.put(f"{say.label('issue_date')}: {_when(letter)}")
    roll.y += 2
    edges = (paper.width * 0.62, paper.width * 0.78, roll.right)
    heads = (
        say.label("description"),
        say.label("quantity"),
        say.label("unit_price"),
        say.label("net_amount"),
    )
    top = roll.y - 3.6
    roll.cells(heads, edges, bold=True)
    roll.rule(dashed=False)
    for line in letter.fields.lines:
        figures = (say.count(line.quantity or Decimal(1)), say.number(line.unit_price or Decimal(0)))
        roll.cells((str(line.description), *figures, say.number(line.net_amount or Decimal(0))), edges)
    paper.box(_MARGIN - 1.5, top, roll.right - _MARGIN + 3, roll.y - top, stroke=BLACK)
    roll.y += 6
    _sums(roll, letter, "net_total")
    for label, value in tax_rows(letter):
        roll.row(label, value)
    frame = roll.y - 1.5
    roll.y += 3
    roll.row(say.label("gross_total").upper(), _amount(letter, "gross_total") or "", bold=True, grow=1.4)
    paper.box(_MARGIN - 1.5, frame, roll.width + 3, 7.6, stroke=BLACK, line_width=1.2)
    roll.y += 4
    roll.put(letter.printed_method)
    _farewell(roll, letter)
