"""Letters on A4: the window envelope letter, the corporate band, the freelancer's page, the sidebar."""

from docmill.demo.canvas import BLACK, GREY, PALE, WHITE, Paper, text_width
from docmill.demo.layouts.blocks import (
    TableStyle,
    address,
    logo,
    meta,
    pairs,
    paragraph,
    payment,
    reach,
    stack,
    table,
    totals,
)
from docmill.demo.plan import Letter
from docmill.schemas.types import Party

_SIDEBAR_WIDTH = 47
_LONG_VALUE = 24


def vat_line(letter: Letter, side: str) -> list[str]:
    """The VAT number of `side` with its label, if the truth has it."""
    party = letter.value(side)
    if isinstance(party, Party) and party.vat_id:
        return [f"{letter.wording.label('vat_id')} {party.vat_id}"]
    return []


def heading(letter: Letter) -> str:
    """The paper's title."""
    return letter.wording.label(letter.kind)


def closing(paper: Paper, letter: Letter, x: float, y: float, *, width: float, size: float = 9) -> float:
    """Payment rows and closing sentences; the result is the next baseline."""
    for label, value in payment(letter):
        y = paragraph(paper, x, y, f"{label}: {value}", width=width, size=size) + 0.6
    for sentence in letter.closing:
        y = paragraph(paper, x, y + 1.5, sentence, width=width, size=size)
    return y


def own_and_other_side(letter: Letter) -> tuple[str, str]:
    """The fields of the sender and of the recipient: a buyer sends orders, a seller the rest."""
    return ("buyer", "seller") if letter.kind == "purchase_order" else ("seller", "buyer")


def envelope(paper: Paper, letter: Letter) -> None:
    """DIN 5008: logo right, address in the window, references in a block right, three-column footer."""
    sender, (own, other) = letter.sender, own_and_other_side(letter)
    paper.text(190, 22, sender.name, size=13, bold=True, align="right", colour=sender.colour)
    logo(paper, sender, 176, 26, 14)
    back = " \u00b7 ".join(address(sender))
    paper.text(25, 46, back, size=6.8, colour=GREY)
    paper.line(25, 47.2, 25 + text_width(back, size=6.8), 47.2, colour=GREY, width=0.3)
    stack(paper, (25, 54), address(letter.recipient) + vat_line(letter, other), size=10.5)
    pairs(paper, meta(letter), at=(122, 54), width=68, size=9)
    paper.text(25, 104, f"{heading(letter)} {letter.fields.number}", size=14, bold=True)
    y = paragraph(paper, 25, 112, letter.opening, width=165, size=10) + 3
    y = table(paper, letter, at=(25, y), width=165, style=TableStyle(head_fill=PALE))
    y = pairs(paper, totals(letter), at=(120, y + 7), width=68.5, strong_last=True)
    closing(paper, letter, 25, y + 6, width=165)
    paper.line(25, 271, 190, 271, colour=sender.colour)
    stack(paper, (25, 275.5), address(sender), size=7, colour=GREY)
    stack(paper, (82, 275.5), reach(sender) + vat_line(letter, own), size=7, colour=GREY)
    stack(paper, (132, 275.5), [sender.bank, *sender.legal.split(" | ")], size=7, colour=GREY)


def band(paper: Paper, letter: Letter) -> None:
    """A coloured band over the page, two address columns, references as a boxed table, zebra lines."""
    sender, right = letter.sender, paper.width - 18
    paper.box(0, 0, paper.width, 30, fill=sender.colour)
    paper.box(18, 6, 17, 17, fill=WHITE)
    logo(paper, sender, 20, 8, 13)
    paper.text(39, 17.5, sender.name, size=15, bold=True, colour=WHITE)
    paper.text(right, 18, heading(letter).upper(), size=18, align="right", colour=WHITE)
    stack(paper, (39, 23.5), ["  |  ".join(reach(sender))], size=8, colour=WHITE)
    say = letter.wording
    paper.text(18, 42, say.label("seller").upper(), size=7.5, bold=True, colour=sender.colour)
    stack(paper, (18, 47.5), address(sender) + vat_line(letter, "seller"), size=9)
    paper.text(112, 42, say.label("buyer").upper(), size=7.5, bold=True, colour=sender.colour)
    stack(paper, (112, 47.5), address(letter.recipient) + vat_line(letter, "buyer"), size=9)
    facts = meta(letter)
    per_row = min(4, len(facts))
    width = (paper.width - 36) / per_row
    for index, (label, value) in enumerate(facts):
        x, top = 18 + index % per_row * width, 74 + index // per_row * 12
        paper.box(x, top, width, 12, stroke=GREY, line_width=0.4)
        paper.text(x + 2, top + 4.2, label, size=7, colour=GREY)
        paper.text(x + 2, top + 9.4, value, size=9.5 if len(value) < _LONG_VALUE else 7.5, bold=True)
    y = 74 + -(-len(facts) // per_row) * 12 + 8
    if letter.opening:
        y = paragraph(paper, 18, y, letter.opening, width=right - 18) + 2
    style = TableStyle("zebra", head_fill=sender.colour, head_colour=WHITE, rule=sender.colour)
    y = table(paper, letter, at=(18, y), width=right - 18, style=style)
    rows = totals(letter)
    y = pairs(paper, rows[:-1], at=(right - 70, y + 7), width=68)
    paper.box(right - 74, y - 3, 74, 9, fill=sender.colour)
    paper.text(right - 70, y + 3, rows[-1][0], size=11, bold=True, colour=WHITE)
    paper.text(right - 2, y + 3, rows[-1][1], size=11, bold=True, align="right", colour=WHITE)
    closing(paper, letter, 18, y + 18, width=right - 18)
    paper.text(paper.width / 2, paper.height - 10, sender.legal, size=7, align="center", colour=GREY)


def airy(paper: Paper, letter: Letter) -> None:
    """A freelancer's page: serif, much white, no boxes, one column of references under a large title."""
    sender, x, right = letter.sender, 32, 178
    paper.text(x, 34, sender.name, size=20, face="serif")
    stack(paper, (x, 41), [", ".join(sender.address), *reach(sender)], size=9.5, face="serif", colour=GREY)
    stack(paper, (x, 56), vat_line(letter, "seller"), size=9.5, face="serif", colour=GREY)
    paper.text(x, 80, heading(letter), size=30, face="serif", colour=(0.75, 0.3, 0.2))
    y = stack(paper, (x, 92), [f"{label}  {value}" for label, value in meta(letter)], face="serif", size=10.5)
    lines = address(letter.recipient) + vat_line(letter, "buyer")
    stack(paper, (118, 92), lines, face="serif", size=10.5, first_bold=True)
    y = max(y, 116) + 12
    y = table(
        paper, letter, at=(x, y), width=right - x, style=TableStyle(face="serif", size=10.5, row=5, pad=1.8)
    )
    y = pairs(paper, totals(letter), at=(118, y + 9), width=58, size=11, face="serif", strong_last=True)
    for text in [f"{label}: {value}" for label, value in payment(letter)] + list(letter.closing):
        y = paragraph(paper, x, y + 5, text, width=right - x, size=10.5, face="serif")


def sidebar(paper: Paper, letter: Letter) -> None:
    """A coloured column at the left holds the sender and all references; the bill stands to its right."""
    sender, x, right = letter.sender, 72, 198
    paper.box(0, 0, 62, paper.height, fill=PALE)
    paper.box(0, 0, 62, 4, fill=sender.colour)
    logo(paper, sender, 12, 14, 22)
    y = stack(paper, (12, 48), [*_split(sender.name), *sender.address], size=8.5, first_bold=True)
    y = stack(paper, (12, y + 1), reach(sender) + vat_line(letter, "seller"), size=8) + 6
    for label, value in meta(letter):
        paper.text(12, y, label, size=7.5, colour=sender.colour, bold=True)
        y = stack(paper, (12, y + 4.6), _split(value), size=9.5) + 3
    for label, value in payment(letter):
        paper.text(12, y + 2, label, size=7.5, colour=sender.colour, bold=True)
        y = paragraph(paper, 12, y + 6.4, value, width=46, size=8) + 2.6
    paper.text(x, 26, heading(letter), size=26, bold=True, colour=sender.colour)
    paper.text(x, 40, letter.wording.label("buyer"), size=8, colour=GREY)
    stack(paper, (x, 46), address(letter.recipient) + vat_line(letter, "buyer"), size=10, first_bold=True)
    style = TableStyle("none", head_colour=sender.colour, size=8.5)
    y = table(paper, letter, at=(x, 78), width=right - x, style=style)
    y = pairs(paper, totals(letter), at=(128, y + 8), width=68.5, strong_last=True, size=10)
    for sentence in letter.closing:
        y = paragraph(paper, x, y + 6, sentence, width=right - x, size=8.5)
    paper.text(x, 288, sender.legal, size=7, colour=BLACK)


def _split(text: str) -> list[str]:
    """`text` on two lines where the sidebar is too narrow for one."""
    if text_width(text, size=9.5) < _SIDEBAR_WIDTH:
        return [text]
    middle = min((at for at, sign in enumerate(text) if sign == " "), key=lambda at: abs(at - len(text) // 2))
    return [text[:middle], text[middle + 1 :]]
