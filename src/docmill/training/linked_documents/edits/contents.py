"""Edits of what papers say of goods, prices and taxes, each with the discrepancy that it makes."""

from collections.abc import Callable
from decimal import Decimal

from docmill.demo.plan import cents, without
from docmill.schemas.types import Line
from docmill.training.linked_documents.deals import Deal, Paper
from docmill.training.linked_documents.purchases import PRICES, sums_of, with_quantity
from docmill.training.linked_documents.sampling import Sampler

_Change = Callable[[Line], Line]


def price_off_by_half_percent(deal: Deal, sampler: Sampler) -> Deal:
    return _price_off(deal, sampler, Decimal("0.005"))


def price_off_by_two_percent(deal: Deal, sampler: Sampler) -> Deal:
    return _price_off(deal, sampler, Decimal("0.02"))


def price_off_by_ten_percent(deal: Deal, sampler: Sampler) -> Deal:
    return _price_off(deal, sampler, Decimal("0.1"))


def price_off_by_five_percent(deal: Deal, sampler: Sampler) -> Deal:
    """Of the other set."""
    return _price_off(deal, sampler, Decimal("0.05"))


def quantity_differs(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice bills more or less of a line than was ordered and delivered."""
    step = sampler.choice((1, 1, 2, -1))
    return _line_off(
        deal, sampler, "quantity", lambda line: with_quantity(line, (line.quantity or Decimal(1)) + step)
    )


def quantity_tenfold(deal: Deal, sampler: Sampler) -> Deal:
    """Of the other set: a zero too many."""
    return _line_off(
        deal, sampler, "quantity", lambda line: with_quantity(line, (line.quantity or Decimal(1)) * 10)
    )


def tax_rate_wrong(deal: Deal, sampler: Sampler) -> Deal:
    """One line is taxed at the reduced rate, or at the full one."""

    def changed(line: Line) -> Line:
        reduced = Decimal(7) if (line.tax_rate or 0) > 7 else Decimal(19)
        return line.model_copy(update={"tax_rate": reduced})

    return _line_off(deal, sampler, "tax", changed)


def tax_left_out(deal: Deal, sampler: Sampler) -> Deal:
    """Of the other set: a line is not taxed."""
    return _line_off(deal, sampler, "tax", lambda line: line.model_copy(update={"tax_rate": Decimal(0)}))


def line_missing(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice leaves out a line of the order."""
    order, invoice = deal.paper("order 1"), deal.paper("invoice 1")
    if order is None or invoice is None or not _is_simple(deal) or len(invoice.lines) < 2:
        return deal
    index = sampler.random.randrange(len(invoice.lines))
    line = invoice.lines[index]
    kept = [each for place, each in enumerate(invoice.lines) if place != index]
    deal = deal.with_paper(invoice.with_values(**sums_of(kept)))
    deal = deal.with_discrepancy("under_billed", "invoice 1", is_optional=True)
    return deal.with_discrepancy("missing_line", "invoice 1", index, expected=line.description, found="")


def order_shows_net(deal: Deal, sampler: Sampler) -> Deal:
    """The order gives its net total as the total."""
    del sampler
    orders = deal.of_type("purchase_order")
    for order in orders:
        deal = deal.with_paper(order.with_values(gross_total=order.value("net_total"), tax_total=None))
    return deal


def order_without_prices(deal: Deal, sampler: Sampler) -> Deal:
    """The order names goods and quantities alone."""
    del sampler
    if any(not each.is_optional for each in deal.discrepancies):
        return deal
    for order in deal.of_type("purchase_order"):
        lines = without(order.lines, *PRICES)
        blank = order.with_values(lines=lines, net_total=None, tax_total=None, gross_total=None)
        deal = deal.with_paper(blank)
    return deal


def lines_not_read(deal: Deal, sampler: Sampler) -> Deal:
    """The table of one paper could not be read: totals alone are known."""
    papers = deal.of_type("purchase_order", "delivery_note", "invoice")
    if not papers or any(not each.is_optional for each in deal.discrepancies):
        return deal
    return deal.with_paper(sampler.choice(papers).with_values(lines=()))


def _price_off(deal: Deal, sampler: Sampler, share: Decimal) -> Deal:
    factor = 1 + sampler.choice((share, share, -share))

    def changed(line: Line) -> Line:
        price = cents((line.unit_price or Decimal(0)) * factor)
        return line.model_copy(
            update={"unit_price": price, "net_amount": cents(price * (line.quantity or Decimal(1)))}
        )

    return _line_off(deal, sampler, "price", changed)


def _line_off(deal: Deal, sampler: Sampler, code: str, change: _Change) -> Deal:
    """Change one line of the invoice; the order, or (of quantities) the delivery note, tells so."""
    order, invoice = deal.paper("order 1"), deal.paper("invoice 1")
    witness = order or (deal.paper("delivery 1") if code == "quantity" else None)
    if invoice is None or witness is None or not _is_simple(deal) or len(witness.lines) != len(invoice.lines):
        return deal
    index = sampler.random.randrange(len(invoice.lines))
    line = invoice.lines[index]
    changed = change(line)
    if changed == line or (changed.quantity or 0) <= 0:
        return deal
    lines = [changed if place == index else each for place, each in enumerate(invoice.lines)]
    deal = deal.with_paper(invoice.with_values(**sums_of(lines)))
    return _with_line_discrepancy(deal, invoice, code, index, (line, changed))


def _with_line_discrepancy(
    deal: Deal, invoice: Paper, code: str, index: int, lines: tuple[Line, Line]
) -> Deal:
    names = {"price": "unit_price", "quantity": "quantity", "tax": "tax_rate"}
    expected, found = (getattr(line, names[code]) for line in lines)
    total_code = "over_billed" if found > expected else "under_billed"
    deal = deal.with_discrepancy(total_code, invoice.key, is_optional=True)
    assert code in ("price", "quantity", "tax")
    return deal.with_discrepancy(code, invoice.key, index, expected=expected, found=found)


def _is_simple(deal: Deal) -> bool:
    """Whether one invoice bills one order, and nothing else is wrong with them yet."""
    papers = deal.of_type("purchase_order", "delivery_note")
    linked = {link.first_id for link in deal.links if link.second_id == "invoice 1"}
    return not deal.discrepancies and len([paper for paper in papers if paper.key in linked]) in (1, 2) and (
        deal.paper("order 2") is None
    )  # fmt: skip
