"""Bills of larger senders: French facture, utility bill, long ledger, poster, typewriter."""

from decimal import Decimal

from docmill.demo.canvas import BLACK, GREY, PALE, WHITE, Paper
from docmill.demo.layouts.blocks import (
    Column,
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
    table_row,
    totals,
)
from docmill.demo.layouts.letters import closing, heading, own_and_other_side, vat_line
from docmill.demo.plan import Letter

_ROWS_PER_PAGE = 22


def facture(paper: Paper, letter: Letter) -> None:
    """Full grid, the tax broken down by rate at the left of the totals, the legal line in the middle."""
    sender, say = letter.sender, letter.wording
    logo(paper, sender, 15, 12, 20)
    stack(paper, (40, 17), address(sender) + reach(sender), size=9, first_bold=True)
    paper.box(110, 40, 85, 36, stroke=GREY)
    paper.text(113, 45.5, say.label("buyer"), size=8, colour=GREY)
    stack(
        paper,
        (113, 51.5),
        address(letter.recipient) + vat_line(letter, "buyer"),
        size=10,
        first_bold=True,
    )
    paper.text(15, 56, heading(letter).upper(), size=20, bold=True, colour=sender.colour)
    y = pairs(paper, meta(letter), at=(15, 64), width=78, size=9)
    style = TableStyle("grid", head_fill=sender.colour, head_colour=WHITE, size=8.8)
    y = table(paper, letter, at=(15, max(y, 84) + 4), width=180, style=style) + 8
    titles = (f"{say.label('tax')} %", say.label("base"), say.label("tax"))
    shape = [Column(title, 30, "right") for title in titles]
    style = TableStyle("grid", head_fill=PALE, size=8.5)
    low = table_row(paper, shape, titles, at=(15, y), style=style, head=True)
    for tax in letter.taxes:
        texts = (say.percent(tax.rate), say.number(tax.base), say.number(tax.amount))
        low = table_row(paper, shape, texts, at=(15, low), style=style)
    for label, value in totals(letter):
        paper.box(127, y, 68, 7, stroke=GREY, fill=PALE if label == totals(letter)[-1][0] else None)
        pairs(paper, [(label, value)], at=(129, y + 4.8), width=64.5, size=9.5, strong_last=True)
        y += 7
    closing(paper, letter, 15, max(y, low) + 10, width=180)
    paper.line(15, 280, 195, 280, colour=GREY, width=0.3)
    foot = f"{sender.name} \u00b7 {sender.legal}"
    paper.text(105, 284.5, foot, size=7, align="center", colour=GREY)
    paper.text(105, 288.5, " ".join(vat_line(letter, "seller")), size=7, align="center", colour=GREY)


def utility(paper: Paper, letter: Letter) -> None:
    """A summary box with the amount large, a bar chart of use, the lines below, a slip to tear off."""
    sender = letter.sender
    logo(paper, sender, 20, 14, 12)
    paper.text(36, 23, sender.name, size=13, bold=True, colour=sender.colour)
    stack(paper, (190, 17), [*sender.address, *reach(sender)], size=8, align="right", colour=GREY)
    stack(paper, (20, 46), address(letter.recipient), size=10.5)
    paper.box(108, 40, 82, 58, fill=PALE)
    rows = totals(letter)
    paper.text(113, 49, rows[-1][0], size=10, colour=GREY)
    paper.text(113, 59, rows[-1][1], size=20, bold=True, colour=sender.colour)
    pairs(
        paper, meta(letter, "due_date", "contract_number", "customer_number"), at=(113, 70), width=72, size=9
    )
    stack(paper, (113, 90), [f"{label}: {value}" for label, value in meta(letter, "period")], size=7.6)
    paper.text(20, 82, heading(letter), size=18, bold=True)
    stack(
        paper,
        (20, 89),
        [f"{label}: {value}" for label, value in meta(letter, "number", "issue_date")],
        size=9.5,
    )
    y = paragraph(paper, 20, 108, letter.opening, width=170)
    base = y + 24
    for month, height in enumerate((11, 14, 12, 9, 7, 6, 5, 6, 8, 10, 12, 15)):
        x = 20 + month * 8
        paper.box(x, base - height, 5.5, height, fill=sender.colour)
        paper.text(x + 2.7, base + 3.6, str(month + 1), size=6.5, align="center", colour=GREY)
    paper.line(20, base, 116, base, colour=GREY)
    y = table(paper, letter, at=(20, y + 34), width=170, style=TableStyle(head_colour=sender.colour))
    y = pairs(paper, rows, at=(110, y + 7), width=78.5, strong_last=True)
    closing(paper, letter, 20, y + 4, width=170, size=8.5)
    paper.line(0, 252, 210, 252, dashed=True, colour=GREY)
    stack(paper, (20, 260), [sender.name, *vat_line(letter, "seller"), *sender.legal.split(" | ")], size=8.5)
    paper.box(128, 257, 62, 18, stroke=sender.colour)
    paper.text(159, 268.5, rows[-1][1], size=15, bold=True, align="center")


def ledger(paper: Paper, letter: Letter) -> None:
    """Several pages with the same head; the sum so far is carried from page to page."""
    lines = letter.fields.lines
    pages = [
        range(start, min(start + _ROWS_PER_PAGE, len(lines)))
        for start in range(0, len(lines), _ROWS_PER_PAGE)
    ]
    y = 0.0
    for rows in pages:
        if rows.start:
            paper.next_page()
        y = _ledger_page(paper, letter, rows, count=len(pages))
    right = paper.width - 16
    y = pairs(paper, totals(letter), at=(right - 72, y + 8), width=70.5, strong_last=True, size=10)
    closing(paper, letter, 16, y + 6, width=right - 16)


def _ledger_page(paper: Paper, letter: Letter, rows: range, *, count: int) -> float:
    say, right = letter.wording, paper.width - 16
    logo(paper, letter.sender, 16, 12, 13)
    paper.text(33, 17, letter.sender.name, size=11, bold=True)
    stack(
        paper,
        (33, 22),
        [", ".join(letter.sender.address), "  ".join(reach(letter.sender))],
        size=8,
        colour=GREY,
    )
    paper.text(right, 18, heading(letter), size=16, align="right", bold=True, colour=letter.sender.colour)
    paper.text(
        right, 24, f"{say.label('page')} {paper.page_number} / {count}", size=8, align="right", colour=GREY
    )
    stack(
        paper,
        (16, 38),
        [*address(letter.recipient), *vat_line(letter, "buyer")],
        size=9.5,
        first_bold=True,
    )
    pairs(paper, meta(letter), at=(right - 78, 38), width=78, size=9)
    y = table(paper, letter, at=(16, 72), width=right - 16, style=TableStyle(size=8.6, pad=1.2), rows=rows)
    if rows.stop < len(letter.fields.lines):
        so_far = sum((line.net_amount or Decimal(0) for line in letter.fields.lines[: rows.stop]), Decimal(0))
        pairs(
            paper,
            [(say.label("carry"), say.number(so_far))],
            at=(right - 72, y + 6),
            width=70.8,
            strong_last=True,
        )
    foot = "   ".join([letter.sender.legal, *vat_line(letter, "seller")]).strip()
    paper.text(paper.width / 2, paper.height - 9, foot, size=7, align="center", colour=GREY)
    return y


def poster(paper: Paper, letter: Letter) -> None:
    """The amount first and large; every line a card; who and how stands at the foot in three columns."""
    sender, say = letter.sender, letter.wording
    rows = totals(letter)
    paper.polygon([(0, 0), (paper.width, 0), (paper.width, 70), (0, 92)], sender.colour)
    paper.text(20, 24, f"{heading(letter)} {letter.fields.number}", size=12, colour=WHITE)
    paper.text(20, 48, rows[-1][1], size=40, bold=True, colour=WHITE)
    due = [f"{label}: {value}" for label, value in meta(letter, "issue_date", "delivery_date", "due_date")]
    stack(paper, (20, 58), due, size=10.5, colour=WHITE)
    stack(paper, (190, 24), address(sender), size=10, align="right", colour=WHITE, first_bold=True)
    y = 102.0
    for line in letter.fields.lines:
        paper.box(20, y, 170, 14, fill=PALE)
        paper.text(25, y + 6, str(line.description), size=10.5, bold=True)
        if line.quantity and line.unit_price:
            detail = f"{say.count(line.quantity)} {line.unit or ''} x {say.number(line.unit_price)}"
            paper.text(25, y + 11, detail, size=8.5, colour=GREY)
        paper.text(185, y + 8.4, say.money(line.net_amount or Decimal(0)), size=11, align="right")
        y += 16
    pairs(paper, rows, at=(110, y + 6), width=75, strong_last=True, size=10.5)
    paper.line(20, 246, 190, 246, colour=sender.colour)
    stack(paper, (20, 253), address(letter.recipient) + vat_line(letter, "buyer"), size=8.5, first_bold=True)
    extra = meta(letter, "customer_number", "order_number", "contract_number")
    stack(paper, (82, 253), [f"{label}: {value}" for label, value in extra + payment(letter)], size=8.5)
    stack(paper, (190, 271), reach(sender) + vat_line(letter, "seller"), size=8.5, align="right")
    paper.text(20, 286, "   ".join([*letter.closing, sender.legal]), size=8, colour=GREY)


def typewriter(paper: Paper, letter: Letter) -> None:
    """Courier and rows of signs, as an old accounting program prints it."""
    say, right = letter.wording, 192
    own, other = own_and_other_side(letter)
    stack(
        paper,
        (18, 22),
        [letter.sender.name.upper(), *letter.sender.address, *reach(letter.sender)],
        size=10,
        face="mono",
    )
    stack(paper, (18, 46), vat_line(letter, own), size=10, face="mono")
    lines = [f"{say.label(other)}:", *address(letter.recipient), *vat_line(letter, other)]
    stack(paper, (110, 40), lines, size=10, face="mono")
    paper.text(18, 74, "=" * 82, size=10, face="mono")
    half = -(-len(meta(letter)) // 2)
    refs = [f"{label}: {value}" for label, value in meta(letter)]
    y = stack(
        paper,
        (18, 80),
        [heading(letter).upper(), *refs[:half]],
        size=10,
        face="mono",
        first_bold=True,
    )
    stack(paper, (105, 80 + 4.85), refs[half:], size=10, face="mono")
    paper.text(18, y + 2, "=" * 82, size=10, face="mono")
    style = TableStyle("none", face="mono", size=9, rule=BLACK, pad=0.8)
    y = table(paper, letter, at=(18, y + 5), width=right - 18, style=style)
    y = pairs(
        paper, totals(letter), at=(105, y + 8), width=right - 106, size=10, face="mono", strong_last=True
    )
    paper.text(18, y + 2, "-" * 82, size=10, face="mono")
    foot = [f"{label}: {value}" for label, value in payment(letter)]
    stack(paper, (18, y + 8), [*foot, *letter.closing], size=9.5, face="mono")
