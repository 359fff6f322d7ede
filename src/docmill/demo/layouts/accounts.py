"""Bank statements: the running balance, two columns of amounts, the French relevé."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from stdnum import iban

from docmill.demo.canvas import GREY, PALE, WHITE, Paper
from docmill.demo.layouts.blocks import Column, TableStyle, logo, pairs, stack, table_row
from docmill.demo.plan import Statement
from docmill.demo.wording import DASH

_FIRST_AMOUNT = 2


def _span(statement: Statement) -> str:
    start, end = statement.fields.period_start, statement.fields.period_end
    return f"{statement.wording.day(start)} {DASH} {statement.wording.day(end)}" if start and end else ""


def _account(statement: Statement) -> str:
    return f"IBAN {iban.format(statement.fields.iban or '')}"


class _Booking(NamedTuple):
    """A booking as printed, and the balance after it."""

    day: str
    details: str
    amount: Decimal
    balance: Decimal


def _bookings(statement: Statement) -> Iterator[_Booking]:
    balance, _ = _balances(statement)
    for booking in statement.fields.transactions:
        account = iban.format(booking.iban) if booking.iban else None
        parts = (booking.description, booking.counterparty, account, booking.reference)
        day = statement.wording.day(booking.date) if booking.date else ""
        amount = booking.amount or Decimal(0)
        balance += amount
        yield _Booking(day, " ".join(part for part in parts if part), amount, balance)


def _balances(statement: Statement) -> tuple[Decimal, Decimal]:
    fields = statement.fields
    return fields.opening_balance or Decimal(0), fields.closing_balance or Decimal(0)


def _shape(titles: Sequence[str], widths: Sequence[float]) -> list[Column]:
    """Columns whose amounts, from the third on, stand right."""
    return [
        Column(title, width, "left" if index < _FIRST_AMOUNT else "right")
        for index, (title, width) in enumerate(zip(titles, widths, strict=True))
    ]


def running(paper: Paper, statement: Statement) -> None:
    """One signed column of amounts and the balance after each booking."""
    bank, say = statement.bank, statement.wording
    logo(paper, bank, 20, 14, 13)
    paper.text(37, 23, bank.name, size=14, bold=True, colour=bank.colour)
    stack(
        paper, (190, 17), [*bank.address, f"BIC {bank.bic}", bank.phone], size=8, align="right", colour=GREY
    )
    stack(paper, (20, 48), [statement.holder.name, *statement.holder.address], size=10.5)
    paper.text(20, 84, say.label("bank_statement"), size=16, bold=True)
    stack(
        paper, (20, 91), [f"{_account(statement)}   {statement.fields.currency}", _span(statement)], size=10
    )
    titles = tuple(say.label(key) for key in ("day", "details", "amount", "balance"))
    shape = _shape(titles, (24, 86, 30, 30))
    style = TableStyle(head_fill=PALE, size=8.8, row=4.2)
    opening, closing = _balances(statement)
    y = table_row(paper, shape, titles, at=(20, 103), style=style, head=True)
    y = table_row(
        paper, shape, ("", say.label("opening_balance"), "", say.number(opening)), at=(20, y), style=style
    )
    for day, details, amount, balance in _bookings(statement):
        sign = "+" if amount > 0 else ""
        texts = (day, details, sign + say.number(amount), say.number(balance))
        y = table_row(paper, shape, texts, at=(20, y), style=style)
    paper.box(20, y + 4, 170, 9, fill=bank.colour)
    paper.text(24, y + 10, say.label("closing_balance"), size=10.5, bold=True, colour=WHITE)
    paper.text(188, y + 10, say.money(closing), size=10.5, bold=True, align="right", colour=WHITE)


def in_and_out(paper: Paper, statement: Statement) -> None:
    """A summary box, columns for money out and in, the balance at each day's end."""
    bank, say = statement.bank, statement.wording
    paper.box(0, 0, paper.width, 5, fill=bank.colour)
    logo(paper, bank, 18, 13, 16)
    stack(paper, (40, 19), [bank.name, ", ".join(bank.address), bank.phone], size=9, first_bold=True)
    stack(paper, (18, 50), [statement.holder.name, *statement.holder.address], size=10)
    opening, closing = _balances(statement)
    paper.box(112, 42, 80, 44, stroke=bank.colour, line_width=1)
    paper.text(116, 49, say.label("bank_statement"), size=11, bold=True, colour=bank.colour)
    paper.text(116, 55, _span(statement), size=8.5)
    out = sum((min(booking.amount, Decimal(0)) for booking in _bookings(statement)), Decimal(0))
    rows = [
        (say.label("opening_balance"), say.money(opening)),
        (say.label("credit_column"), say.money(closing - opening - out)),
        (say.label("debit"), say.money(-out)),
        (say.label("closing_balance"), say.money(closing)),
    ]
    pairs(paper, rows, at=(116, 63), width=72, size=9, strong_last=True)
    paper.text(18, 92, f"{_account(statement)}   BIC {bank.bic}", size=9.5, bold=True)
    titles = tuple(say.label(key) for key in ("day", "details", "debit", "credit_column", "balance"))
    shape = _shape(titles, (30, 66, 26, 26, 26))
    style = TableStyle("zebra", head_fill=bank.colour, head_colour=WHITE, size=8.6)
    y = table_row(paper, shape, titles, at=(18, 98), style=style, head=True)
    for index, (day, details, amount, balance) in enumerate(_bookings(statement)):
        texts = (day, details, *_sides(say.number(abs(amount)), amount), say.number(balance))
        y = table_row(paper, shape, texts, at=(18, y), style=style, fill=PALE if index % 2 else None)


def releve(paper: Paper, statement: Statement) -> None:
    """Serif, debit and credit side by side in a ruled frame, no balance between, sums at the foot."""
    bank, say, fields = statement.bank, statement.wording, statement.fields
    paper.text(
        105, 22, bank.name.upper(), size=15, bold=True, align="center", face="serif", colour=bank.colour
    )
    paper.text(105, 28, " - ".join(bank.address), size=9, align="center", face="serif", colour=GREY)
    paper.text(105, 42, say.label("bank_statement").upper(), size=13, align="center", face="serif")
    paper.text(105, 48, _span(statement), size=10.5, align="center", face="serif")
    stack(paper, (115, 62), [statement.holder.name, *statement.holder.address], size=11, face="serif")
    stack(
        paper,
        (20, 62),
        [_account(statement), f"BIC {bank.bic}", f"{say.label('currency')}: {fields.currency}"],
        size=10.5,
        face="serif",
    )
    titles = tuple(say.label(key) for key in ("day", "details", "debit", "credit_column"))
    shape = _shape(titles, (24, 86, 30, 30))
    style = TableStyle("grid", head_fill=PALE, size=9.5, face="serif", row=4.5)
    opening, closing = _balances(statement)
    rows = [("", say.label("opening_balance"), *_sides(say.number(opening), opening))]
    rows += [
        (day, text, *_sides(say.number(abs(amount)), amount)) for day, text, amount, _ in _bookings(statement)
    ]
    y = table_row(paper, shape, titles, at=(20, 92), style=style, head=True)
    for row in rows:
        y = table_row(paper, shape, row, at=(20, y), style=style)
    row = ("", say.label("closing_balance"), *_sides(say.number(closing), closing))
    table_row(paper, shape, row, at=(20, y), style=style, head=True)


def _sides(text: str, amount: Decimal) -> tuple[str, str]:
    return (text, "") if amount < 0 else ("", text)
