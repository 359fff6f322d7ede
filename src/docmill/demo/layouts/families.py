"""Layout families by name."""

from collections.abc import Callable

from docmill.demo.canvas import Paper
from docmill.demo.layouts import accounts, bills, forms, letters, receipts
from docmill.demo.plan import Letter, Statement

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


def draw(layout: str, content: Letter | Statement) -> bytes:
    """`content` as a PDF in the family `layout`."""
    title = f"{content.fields.number}" if isinstance(content, Letter) else f"{content.fields.iban}"
    paper = Paper(content.size, title=title)
    if isinstance(content, Letter):
        _BILLS[layout](paper, content)
    else:
        _STATEMENTS[layout](paper, content)
    return paper.finish()
