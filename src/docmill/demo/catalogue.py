"""All samples."""

from docmill.demo.documents import bills, credit_notes, invoices, neighbours, receipts, statements, trade
from docmill.demo.plan import Plan


def plans() -> list[Plan]:
    """Every sample that `generate` makes, in the order of its making."""
    return [
        *invoices.plans(),
        *bills.plans(),
        *trade.plans(),
        *receipts.plans(),
        *statements.plans(),
        *neighbours.plans(),
        *credit_notes.plans(),
    ]
