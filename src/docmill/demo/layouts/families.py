"""Layout families by name."""

from collections.abc import Callable

from docmill.demo.canvas import Paper
from docmill.demo.layouts import accounts, bills, forms, letters, payslips, receipts
from docmill.demo.plan import Letter, PaySheet, Statement

_BILLS: dict[str, Callable[[Paper, Letter], None]] = {
    "envelope": letters.envelope,
    "band": letters.band,
    "airy": letters.airy,
    "sidebar": letters.sidebar,
    "facture": bills.facture,
    "utility": bills.utility,
    "ledger": bills.ledger,
    "poster": bills.poster,
    "typewriter": bills.typewriter,
    "order-grid": forms.order_grid,
    "delivery-slip": forms.delivery_slip,
    "dot-matrix": forms.dot_matrix,
    "mono-till": receipts.mono_till,
    "bistro": receipts.bistro,
    "slip": receipts.slip,
    "boxed-ticket": receipts.boxed_ticket,
}
_STATEMENTS: dict[str, Callable[[Paper, Statement], None]] = {
    "running": accounts.running,
    "in-and-out": accounts.in_and_out,
    "releve": accounts.releve,
}


_PAYSLIPS: dict[str, Callable[[Paper, PaySheet], None]] = {
    "pay-grid": payslips.pay_grid,
    "pay-columns": payslips.pay_columns,
    "pay-lines": payslips.pay_lines,
}


def draw(layout: str, content: Letter | Statement | PaySheet) -> bytes:
    """`content` as a PDF in the family `layout`."""
    title = f"{content.fields.number}" if isinstance(content, Letter) else layout
    if isinstance(content, Statement):
        title = f"{content.fields.iban}"
    paper = Paper(content.size, title=title)
    match content:
        case Letter():
            _BILLS[layout](paper, content)
        case Statement():
            _STATEMENTS[layout](paper, content)
        case PaySheet():
            _PAYSLIPS[layout](paper, content)
    return paper.finish()
