"""All samples."""

from docmill.samples.documents import bills, invoices, receipts, statements, trade
from docmill.samples.plan import Plan


def plans() -> list[Plan]:
    """Every sample that `generate` makes, in the order of its making."""
    return [
        *invoices.plans(),
        *bills.plans(),
        *trade.plans(),
        *receipts.plans(),
        *statements.plans(),
    ]
