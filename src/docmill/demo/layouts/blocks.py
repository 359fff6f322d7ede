"""Building blocks of the layouts: labels and values, tables, logos."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from stdnum import iban

from docmill.demo.canvas import BLACK, GREY, WHITE, Align, Colour, Face, Paper, wrap
from docmill.demo.plan import House, Letter
from docmill.demo.wording import DASH
from docmill.schemas.types import Payment

Row = tuple[str, str]
_LEADING = 0.485  # millimetres per point of size
_META = (
    "number",
    "issue_date",
    "valid_until",
    "delivery_date",
    "due_date",
    "period",
    "customer_number",
    "order_number",
    "delivery_note_number",
    "contract_number",
    "preceding_invoice_number",
)


def meta(letter: Letter, *names: str) -> list[Row]:
    """Labels and values of the reference fields that this paper has; all of them, or only `names`."""
    say = letter.wording
    rows: list[Row] = []
    for name in names or _META:
        value = letter.value(name)
        if name == "period":
            start, end = letter.value("period_start"), letter.value("period_end")
            if isinstance(start, date) and isinstance(end, date):
                value = f"{say.day(start)} {DASH} {say.day(end)}"
        label = f"{letter.kind}.number" if name == "number" else name
        if name == "issue_date" and letter.kind != "invoice":
            label = "day"
        if value is not None:
            rows.append((say.label(label), say.day(value) if isinstance(value, date) else str(value)))
    return rows


def totals(letter: Letter) -> list[Row]:
    """The sums from net to gross; the last row is what the reader looks for."""
    say = letter.wording
    rows: list[Row] = []
    for name in ("net_total", "tax", "tax_total", "gross_total", "tip", "amount_due"):
        value = letter.value(name)
        if name == "tax":
            rows += tax_rows(letter)
        elif isinstance(value, Decimal) and (name != "tax_total" or len(letter.taxes) != 1):
            rows.append((say.label(name) if name != "tip" else "Tip", say.money(value)))
    return rows


def tax_rows(letter: Letter) -> list[Row]:
    """One row per rate."""
    say = letter.wording
    return [(f"{say.label('tax')} {say.percent(tax.rate)}", say.money(tax.amount)) for tax in letter.taxes]


def payment(letter: Letter) -> list[Row]:
    """Rows of the payment details."""
    paid = letter.value("payment")
    if not isinstance(paid, Payment):
        return []
    values = (
        ("terms", paid.terms),
        ("method", letter.printed_method),
        ("iban", iban.format(paid.iban) if paid.iban else None),
        ("bic", paid.bic),
    )
    return [(letter.wording.label(name), value) for name, value in values if value]


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column. width: in millimetres."""

    title: str
    width: float
    align: Align


_WIDTHS: dict[str, tuple[float, Align]] = {
    "position": (11, "left"),
    "article": (22, "left"),
    "description": (0, "left"),
    "quantity": (17, "right"),
    "unit": (17, "left"),
    "unit_price": (24, "right"),
    "tax_rate": (16, "right"),
    "net_amount": (27, "right"),
}


def column_names(letter: Letter) -> list[str]:
    """The columns for which any line has a value."""
    lines = letter.fields.lines
    present = {name for name in _WIDTHS if any(getattr(line, name, None) is not None for line in lines)}
    return [name for name in _WIDTHS if name in present or (name == "article" and letter.articles)]


def columns(letter: Letter, width: float) -> list[Column]:
    """The table's columns; the description takes what the others leave."""
    names = column_names(letter)
    rest = width - sum(_WIDTHS[name][0] for name in names)
    return [Column(letter.wording.label(name), _WIDTHS[name][0] or rest, _WIDTHS[name][1]) for name in names]


def cells(letter: Letter, index: int) -> list[str]:
    """The line `index` as printed, cell by cell."""
    say, line = letter.wording, letter.fields.lines[index]
    texts: list[str] = []
    for name in column_names(letter):
        value = letter.articles[index] if name == "article" else getattr(line, name)
        if isinstance(value, Decimal):
            write = {"tax_rate": say.percent, "quantity": say.count}.get(name, say.number)
            texts.append(write(value))
        else:
            texts.append(value or "")
    return texts


@dataclass(frozen=True, slots=True)
class TableStyle:
    """The style of a table. row: height of one line of text in millimetres."""

    rules: Literal["none", "rows", "grid", "zebra"] = "rows"
    head_fill: Colour | None = None
    head_colour: Colour = BLACK
    stripe: Colour = (0.95, 0.96, 0.97)
    size: float = 9
    face: Face = "sans"
    row: float = 4.4
    pad: float = 1.4
    rule: Colour = GREY


def table(
    paper: Paper,
    letter: Letter,
    *,
    at: tuple[float, float],
    width: float,
    style: TableStyle,
    rows: range | None = None,
) -> float:
    """Draw the lines as a table whose top left corner is `at`; the result is the y below it."""
    x, y = at
    shape = columns(letter, width)
    y = table_row(paper, shape, [column.title for column in shape], at=(x, y), style=style, head=True)
    for index in rows if rows is not None else range(len(letter.fields.lines)):
        fill = style.stripe if style.rules == "zebra" and index % 2 else None
        y = table_row(paper, shape, cells(letter, index), at=(x, y), style=style, fill=fill)
    if style.rules in {"none", "zebra"}:
        paper.line(x, y, x + width, y, colour=style.rule)
    return y


def table_row(
    paper: Paper,
    shape: Sequence[Column],
    texts: Sequence[str],
    *,
    at: tuple[float, float],
    style: TableStyle,
    head: bool = False,
    fill: Colour | None = None,
) -> float:
    """Draw one row, wrapped where a cell is too narrow; the result is the y below it."""
    x, y = at
    width = sum(column.width for column in shape)
    wrapped = [
        wrap(text, column.width - 2 * style.pad, size=style.size, bold=head, face=style.face)
        for column, text in zip(shape, texts, strict=True)
    ]
    height = max(len(cell) for cell in wrapped) * style.row + 2 * style.pad * 0.8
    background = style.head_fill if head else fill
    if background:
        paper.box(x, y, width, height, fill=background)
    left = x
    for column, cell in zip(shape, wrapped, strict=True):
        if style.rules == "grid":
            paper.box(left, y, column.width, height, stroke=style.rule)
        _cell_text(paper, column, cell, at=(left, y), style=style, head=head)
        left += column.width
    if style.rules == "rows" or head:
        paper.line(x, y + height, x + width, y + height, colour=style.rule, width=0.8 if head else 0.3)
    return y + height


def _cell_text(
    paper: Paper, column: Column, cell: list[str], *, at: tuple[float, float], style: TableStyle, head: bool
) -> None:
    x = {
        "left": at[0] + style.pad,
        "right": at[0] + column.width - style.pad,
        "center": at[0] + column.width / 2,
    }
    for number, text in enumerate(cell, 1):
        paper.text(
            x[column.align],
            at[1] + style.pad * 0.8 + number * style.row - style.row * 0.28,
            text,
            size=style.size,
            bold=head,
            align=column.align,
            face=style.face,
            colour=style.head_colour if head else BLACK,
        )


def stack(
    paper: Paper,
    at: tuple[float, float],
    lines: Sequence[str],
    *,
    size: float = 9.5,
    align: Align = "left",
    face: Face = "sans",
    colour: Colour = BLACK,
    first_bold: bool = False,
) -> float:
    """Lines one below the other; the result is the next baseline."""
    x, y = at
    for index, text in enumerate(lines):
        bold = first_bold and index == 0
        paper.text(x, y, text, size=size, align=align, face=face, colour=colour, bold=bold)
        y += size * _LEADING
    return y


def paragraph(
    paper: Paper, x: float, y: float, text: str, *, width: float, size: float = 9.5, face: Face = "sans"
) -> float:
    """Running text; the result is the next baseline."""
    return stack(paper, (x, y), wrap(text, width, size=size, face=face), size=size, face=face)


def pairs(
    paper: Paper,
    rows: Sequence[Row],
    *,
    at: tuple[float, float],
    width: float,
    size: float = 9.5,
    face: Face = "sans",
    strong_last: bool = False,
) -> float:
    """Labels left, values right; the result is the next baseline."""
    x, y = at
    for index, (label, value) in enumerate(rows):
        bold = strong_last and index == len(rows) - 1
        paper.text(x, y, label, size=size, face=face, bold=bold, colour=BLACK if bold else GREY)
        paper.text(x + width, y, value, size=size, face=face, bold=bold, align="right")
        y += size * 1.12 * _LEADING
    return y


def address(house: House) -> list[str]:
    """Name and address as on an envelope."""
    return [house.name, *house.address]


def reach(house: House) -> list[str]:
    """Telephone and mail, as far as there are."""
    return [text for text in (house.phone, house.mail) if text]


def logo(paper: Paper, house: House, x: float, y: float, size: float) -> None:
    """The house's mark in a square of `size` millimetres below and right of (x, y)."""
    colour, half, third = house.colour, size / 2, size / 3
    light: Colour = (colour[0] * 0.4 + 0.6, colour[1] * 0.4 + 0.6, colour[2] * 0.4 + 0.6)
    if house.logo == "disc":
        paper.disc(x + half, y + half, half, colour)
        paper.disc(x + half * 1.25, y + half * 0.8, half * 0.5, light)
    elif house.logo == "peak":
        paper.polygon([(x, y + size), (x + half, y), (x + size, y + size)], colour)
        paper.polygon([(x + third, y + third), (x + half, y), (x + 2 * third, y + third)], light)
    elif house.logo == "bars":
        for step in range(4):
            height = size * (0.4 + 0.2 * step)
            paper.box(
                x + step * size / 4, y + size - height, size / 5, height, fill=colour if step % 2 else light
            )
    elif house.logo == "leaf":
        paper.polygon(
            [(x, y + size), (x, y + half), (x + half, y), (x + size, y), (x + half, y + size)], colour
        )
        paper.line(x, y + size, x + size * 0.8, y + size * 0.2, colour=WHITE, width=1.2)
    elif house.logo == "frame":
        paper.box(x, y, size, size, stroke=colour, line_width=2.4)
        paper.box(x + third, y + third, third, third, fill=light)
    else:
        for step in range(3):
            top = y + step * third
            paper.polygon(
                [
                    (x, top + third * 0.8),
                    (x + third, top),
                    (x + size, top + third * 0.3),
                    (x + third, top + third),
                ],
                colour if step != 1 else light,
            )
