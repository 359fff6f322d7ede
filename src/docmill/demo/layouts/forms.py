"""Forms: the boxed American order, the delivery slip with a bar code, the dot-matrix list."""

from docmill.demo.canvas import BLACK, GREY, PALE, Paper
from docmill.demo.layouts.blocks import (
    TableStyle,
    address,
    columns,
    logo,
    meta,
    pairs,
    paragraph,
    payment,
    reach,
    stack,
    table,
    table_row,
    totals,
)
from docmill.demo.layouts.letters import heading, own_and_other_side, vat_line
from docmill.demo.plan import Letter

_GREENBAR = (0.88, 0.95, 0.88)


def order_grid(paper: Paper, letter: Letter) -> None:
    """Everything stands in a box, the table is filled up with empty rows, a signature is asked for."""
    sender, left, right = letter.sender, 15, paper.width - 15
    logo(paper, sender, left, 14, 15)
    stack(paper, (left + 20, 18), address(sender) + reach(sender), size=8.5, first_bold=True)
    paper.text(right, 22, heading(letter).upper(), size=22, bold=True, align="right", colour=sender.colour)
    half = (right - left) / 2 - 2
    own, other = own_and_other_side(letter)
    _panel(paper, (left, 48), half, letter.wording.label(other), address(letter.recipient))
    delivery = vat_line(letter, own) or vat_line(letter, other)
    _panel(paper, (left + half + 4, 48), half, letter.wording.label("ship"), [*address(sender), *delivery])
    cell = (right - left) / len(meta(letter))
    for index, (label, value) in enumerate(meta(letter)):
        paper.box(left + index * cell, 84, cell, 6, fill=PALE, stroke=BLACK)
        paper.box(left + index * cell, 90, cell, 8, stroke=BLACK)
        paper.text(left + (index + 0.5) * cell, 88.2, label, size=7.5, bold=True, align="center")
        paper.text(left + (index + 0.5) * cell, 95.4, value, size=9, align="center")
    style = TableStyle("grid", head_fill=PALE, size=8.5, rule=BLACK)
    y = table(paper, letter, at=(left, 103), width=right - left, style=style)
    shape = columns(letter, right - left)
    for _ in range(max(0, 9 - len(letter.fields.lines))):
        y = table_row(paper, shape, [""] * len(shape), at=(left, y), style=style)
    for label, value in totals(letter):
        paper.box(right - 78, y, 78, 6.6, stroke=BLACK)
        pairs(paper, [(label, value)], at=(right - 76, y + 4.6), width=74.6, size=9, strong_last=True)
        y += 6.6
    for label, value in payment(letter):
        y = paragraph(paper, left, y + 5, f"{label}: {value}", width=110, size=9)
    for sentence in letter.closing:
        y = paragraph(paper, left, y + 3, sentence, width=right - left, size=8)
    paper.line(left, y + 18, left + 70, y + 18)
    paper.text(
        left, y + 22, "Authorized signature" if letter.wording.language == "en" else "", size=7.5, colour=GREY
    )


def _panel(paper: Paper, at: tuple[float, float], width: float, title: str, lines: list[str]) -> None:
    x, y = at
    paper.box(x, y, width, 6, fill=PALE, stroke=BLACK)
    paper.box(x, y + 6, width, 26, stroke=BLACK)
    paper.text(x + 2, y + 4.3, title.upper(), size=8, bold=True)
    stack(paper, (x + 2, y + 11), lines, size=9)


def delivery_slip(paper: Paper, letter: Letter) -> None:
    """No prices: a bar code over the number, boxes to tick at the right, a signature at the foot."""
    sender, right = letter.sender, paper.width - 20
    paper.text(20, 24, heading(letter).upper(), size=24, bold=True)
    x = right - 58
    for sign in f"*{letter.fields.number}*":  # bars that look like a code; they carry nothing
        for bit in range(7):
            width = 0.55 if ord(sign) >> bit & 1 else 0.22
            paper.box(x, 14, width, 12, fill=BLACK)
            x += width + 0.3
        x += 0.3
    paper.text(right - 29, 31, str(letter.fields.number), size=9, align="center", face="mono")
    paper.line(20, 36, right, 36, width=1.5, colour=sender.colour)
    logo(paper, sender, 20, 41, 11)
    stack(paper, (34, 44), address(sender) + reach(sender), size=9, first_bold=True)
    paper.text(118, 44, letter.wording.label("ship"), size=8, colour=GREY)
    stack(paper, (118, 50), address(letter.recipient), size=10.5, first_bold=True)
    pairs(paper, meta(letter), at=(20, 80), width=80)
    y = paragraph(paper, 20, 112, letter.opening, width=right - 20)
    y = table(paper, letter, at=(20, y + 2), width=right - 34, style=TableStyle(size=10, row=5, pad=2))
    for row in range(len(letter.fields.lines)):
        paper.box(right - 10, y - 6.2 - row * 8.2, 4, 4, stroke=BLACK)
    for sentence in letter.closing:
        y = paragraph(paper, 20, y + 8, sentence, width=right - 20)
    paper.line(20, 262, 90, 262)
    paper.text(20, 267, letter.wording.label("signature"), size=8, colour=GREY)
    paper.line(120, 262, right, 262)
    paper.text(120, 267, letter.wording.label("issue_date"), size=8, colour=GREY)
    paper.text(20, 284, " | ".join([sender.legal, *vat_line(letter, "seller")]), size=7, colour=GREY)


def dot_matrix(paper: Paper, letter: Letter) -> None:
    """Fanfold paper: perforated edges, green bars, Courier throughout."""
    right = paper.width - 22
    for step in range(int(paper.height / 12.7) + 1):
        for x in (6, paper.width - 6):
            paper.disc(x, 6 + step * 12.7, 2, GREY)
    for x in (12, paper.width - 12):
        paper.line(x, 0, x, paper.height, dashed=True, colour=GREY, width=0.3)
    paper.text(22, 20, letter.sender.name.upper(), size=12, bold=True, face="mono")
    stack(paper, (22, 25), [*letter.sender.address, *reach(letter.sender)], size=9, face="mono")
    paper.text(right, 20, heading(letter).upper(), size=14, bold=True, align="right", face="mono")
    y = pairs(paper, meta(letter), at=(right - 95, 28), width=95, size=9, face="mono")
    paper.text(22, 50, f"{letter.wording.label('ship')}:", size=9, face="mono")
    stack(paper, (50, 50), address(letter.recipient), size=9, face="mono")
    y = max(y, 68) + 2
    style = TableStyle("zebra", stripe=_GREENBAR, face="mono", size=9, rule=BLACK)
    y = table(paper, letter, at=(22, y), width=right - 22, style=style)
    y = pairs(paper, totals(letter), at=(right - 80, y + 6), width=78.5, size=9, face="mono")
    stack(
        paper,
        (22, y + 5),
        [*(f"{label}: {value}" for label, value in payment(letter)), *letter.closing],
        size=9,
        face="mono",
    )
