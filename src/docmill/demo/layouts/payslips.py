"""Payslips: a grid of labels and values, two columns of amounts, plain lines."""

from typing import Any

from stdnum import iban

from docmill.demo.canvas import GREY, PALE, Paper
from docmill.demo.layouts.blocks import Row, address, logo, pairs, stack
from docmill.demo.plan import PaySheet
from docmill.demo.wording import DASH


def _facts(sheet: PaySheet) -> list[Row]:
    say, values = sheet.wording, sheet.fields.model_dump()
    period = f"{say.day(values['period_start'])} {DASH} {say.day(values['period_end'])}"
    return [
        (say.label("employee_number"), values["employee_number"]),
        (say.label("pay_period"), period),
        (say.label("payment_date"), say.day(values["payment_date"])),
    ]


def _amounts(sheet: PaySheet, rows: tuple[tuple[str, Any], ...]) -> list[Row]:
    return [(sheet.wording.label(label), sheet.wording.number(amount)) for label, amount in rows]


def _sum(sheet: PaySheet, name: str) -> Row:
    return (sheet.wording.label(name), sheet.wording.money(sheet.fields.model_dump()[name]))


def pay_grid(paper: Paper, sheet: PaySheet) -> None:
    """Employer on top, facts in a shaded block, all amounts in one list."""
    say = sheet.wording
    logo(paper, sheet.employer, 20, 14, 12)
    stack(paper, (36, 19), address(sheet.employer), size=9, first_bold=True)
    paper.text(190, 20, say.label("payslip"), size=17, bold=True, align="right", colour=sheet.employer.colour)
    stack(paper, (20, 52), address(sheet.employee), size=10)
    paper.box(112, 45, 80, 26, fill=PALE)
    pairs(paper, _facts(sheet), at=(115, 52), width=74, size=8.5)
    y = pairs(paper, _amounts(sheet, sheet.earnings), at=(20, 92), width=170)
    y = pairs(paper, [_sum(sheet, "gross_pay")], at=(20, y + 2), width=170, strong_last=True)
    y = pairs(paper, _amounts(sheet, sheet.deductions), at=(20, y + 5), width=170)
    y = pairs(paper, [_sum(sheet, "total_deductions")], at=(20, y + 2), width=170, strong_last=True)
    paper.line(20, y + 2, 190, y + 2, colour=GREY)
    y = pairs(paper, [_sum(sheet, "net_pay")], at=(20, y + 8), width=170, size=12, strong_last=True)
    paper.text(20, y + 8, f"IBAN {iban.format(sheet.fields.model_dump()['iban'])}", size=9)
    paper.text(20, 280, say.label("pay_note"), size=7.5, colour=GREY)


def pay_columns(paper: Paper, sheet: PaySheet) -> None:
    """A centred title, employer and employee side by side, earnings left and deductions right."""
    say = sheet.wording
    paper.text(105, 24, say.label("payslip"), size=15, bold=True, align="center")
    paper.line(18, 29, 192, 29)
    for x, label, house in ((18, "employer", sheet.employer), (110, "employee", sheet.employee)):
        paper.text(x, 37, say.label(label), size=8, colour=GREY)
        stack(paper, (x, 43), address(house), size=10, first_bold=True)
    y = pairs(paper, _facts(sheet), at=(18, 72), width=92, size=9)
    left = pairs(paper, _amounts(sheet, sheet.earnings), at=(18, y + 12), width=80, size=9)
    right = pairs(paper, _amounts(sheet, sheet.deductions), at=(110, y + 12), width=82, size=9)
    y = max(left, right) + 4
    paper.line(18, y, 192, y, colour=GREY)
    pairs(paper, [_sum(sheet, "gross_pay")], at=(18, y + 7), width=80, size=9.5, strong_last=True)
    pairs(paper, [_sum(sheet, "total_deductions")], at=(110, y + 7), width=82, size=9.5, strong_last=True)
    paper.box(108, y + 14, 86, 12, fill=PALE)
    pairs(paper, [_sum(sheet, "net_pay")], at=(110, y + 21), width=82, size=11, strong_last=True)
    paper.text(18, y + 40, f"IBAN: {iban.format(sheet.fields.model_dump()['iban'])}", size=9)
    paper.text(105, 282, say.label("pay_note"), size=7.5, align="center")


def pay_lines(paper: Paper, sheet: PaySheet) -> None:
    """Lines of one typeface, a label and a value in each, as an old program prints them."""
    say = sheet.wording
    rows: list[Row] = [
        (say.label("employer"), sheet.employer.name),
        ("", ", ".join(sheet.employer.address)),
        (say.label("employee"), sheet.employee.name),
        ("", ", ".join(sheet.employee.address)),
        *_facts(sheet),
        ("", ""),
        *_amounts(sheet, sheet.earnings),
        _sum(sheet, "gross_pay"),
        ("", ""),
        *_amounts(sheet, sheet.deductions),
        _sum(sheet, "total_deductions"),
        ("", ""),
        _sum(sheet, "net_pay"),
        ("IBAN", iban.format(sheet.fields.model_dump()["iban"])),
    ]
    paper.text(25, 30, say.label("payslip").upper(), size=13, face="mono", bold=True)
    y = 44.0
    for label, value in rows:
        paper.text(25, y, f"{label}:" if label else "", size=9, face="mono")
        paper.text(92, y, value, size=9, face="mono")
        y += 5.2
    paper.text(25, y + 8, say.label("pay_note"), size=8, face="mono")
