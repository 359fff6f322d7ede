"""Edits of a deal's structure: which papers there are, and how they share the goods."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from docmill.demo.plan import cents, without
from docmill.schemas.types import Line
from docmill.training.linked_documents.deals import Deal, Paper
from docmill.training.linked_documents.purchases import (
    PRICES,
    draw_lines,
    make_delivery,
    make_invoice,
    make_order,
    other_document,
    party_of,
    sums_of,
    with_quantity,
)
from docmill.training.linked_documents.sampling import Sampler


def only_invoice(deal: Deal, sampler: Sampler) -> Deal:
    """Order and delivery note are not there; the invoice still names them, or no longer does."""
    deal = deal.without("order 1").without("delivery 1")
    return deal if sampler.chance(0.5) else _without_numbers(deal)


def no_delivery_note(deal: Deal, sampler: Sampler) -> Deal:
    deal = deal.without("delivery 1")
    invoice = deal.paper("invoice 1")
    if invoice is None or sampler.chance(0.3):
        return deal
    return deal.with_paper(invoice.with_values(delivery_note_number=None))


def no_order(deal: Deal, sampler: Sampler) -> Deal:
    return deal.without("order 1") if sampler.chance(0.6) else _without_numbers(deal.without("order 1"))


def no_invoice(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice has not come yet."""
    del sampler
    return deal.without("invoice 1") if deal.paper("order 1") and deal.paper("delivery 1") else deal


def several_deliveries(deal: Deal, sampler: Sampler) -> Deal:
    """Two or three notes share the goods; one invoice names all or the last of them."""
    order, invoice = deal.paper("order 1"), deal.paper("invoice 1")
    if order is None or invoice is None or deal.paper("delivery 1") is None:
        return deal
    shares = split_lines(order.lines, sampler.random.choice((2, 2, 3)), sampler)
    if len(shares) < 2:
        return deal
    deal = deal.without("delivery 1")
    day = order.day
    numbers: list[str] = []
    for number, share in enumerate(shares, 1):
        day = sampler.later(day, 1, 14)
        delivery = make_delivery(deal, sampler, f"delivery {number}", share, day, order.text("number"))
        numbers.append(delivery.text("number"))
        deal = deal.with_paper(delivery).with_link("order 1", delivery.key, "order_to_delivery")
        deal = deal.with_link(delivery.key, "invoice 1", "delivery_to_invoice")
    named = ", ".join(numbers) if sampler.chance(0.6) else numbers[-1]
    billed = sampler.later(day, 0, 10)
    return deal.with_paper(_moved(invoice, billed).with_values(delivery_note_number=named))


def partial_delivery(deal: Deal, sampler: Sampler) -> Deal:
    """Less is delivered than was ordered, and only that is billed. The rest is still to come."""
    delivery, invoice = deal.paper("delivery 1"), deal.paper("invoice 1")
    if deal.paper("order 1") is None or delivery is None or invoice is None:
        return deal
    share, *rest = split_lines(invoice.lines, 2, sampler)
    if not rest:
        return deal
    shown = without(tuple(share), *PRICES)
    deal = deal.with_paper(delivery.with_values(lines=shown))
    deal = deal.with_paper(invoice.with_values(**sums_of(share)))
    for key in ("invoice 1", "delivery 1"):
        for code in ("quantity", "missing_line", "under_billed"):
            deal = deal.with_discrepancy(code, key, is_optional=True)
    return deal


def partial_invoices(deal: Deal, sampler: Sampler) -> Deal:
    """One order is billed by two or three invoices, each for a part of the goods."""
    order, first = deal.paper("order 1"), deal.paper("invoice 1")
    if order is None or first is None or deal.paper("delivery 2"):
        return deal
    shares = split_lines(order.lines, sampler.choice((2, 3)), sampler)
    if len(shares) < 2:
        return deal
    return _billed_in_parts(deal, sampler, shares, [f"Teilrechnung {number}" for number in range(1, 4)])


def instalments(deal: Deal, sampler: Sampler) -> Deal:
    """One order is billed by instalments; now and then their sum is not that of the order."""
    order = deal.paper("order 1")
    if order is None or deal.paper("invoice 1") is None or deal.paper("delivery 2") or not order.lines:
        return deal
    net, rate = order.value("net_total"), order.lines[0].tax_rate
    percents = sampler.choice(((30, 70), (50, 50), (30, 30, 40), (20, 60, 20)))
    amounts = [cents(net * percent / 100) for percent in percents[:-1]]
    amounts.append(net - sum(amounts, Decimal(0)))
    if min(amounts) <= 0:
        return deal
    factor = sampler.choice((1, 1, 1, 1, Decimal("1.1"), Decimal("0.8")))
    amounts[-1] = cents(amounts[-1] * factor)
    shares = [
        [_instalment_line(f"{percent} % des Auftrags {order.text('number')}", amount, rate)]
        for percent, amount in zip(percents, amounts, strict=True)
    ]
    names = ["1. Abschlagsrechnung", "2. Abschlagsrechnung", "3. Abschlagsrechnung"]
    names[len(percents) - 1] = "Schlussrechnung"
    deal = _billed_in_parts(deal, sampler, shares, names)
    if factor != 1:
        code = "over_billed" if factor > 1 else "under_billed"
        last = f"invoice {len(percents)}"
        deal = deal.with_discrepancy(code, last, expected=net, found=sum(amounts, Decimal(0)))
    if deal.paper(f"invoice {len(percents) + 1}"):
        # Billed in more parts before: one of these is left, and bills something once more.
        for invoice in deal.of_type("invoice"):
            deal = deal.with_discrepancy("over_billed", invoice.key, is_optional=True)
    return deal


def _instalment_line(description: str, amount: Decimal, rate: Decimal | None) -> Line:
    return Line(
        position="1",
        description=description,
        quantity=Decimal(1),
        unit_price=amount,
        net_amount=amount,
        tax_rate=rate,
    )


def _billed_in_parts(
    deal: Deal, sampler: Sampler, shares: Sequence[Sequence[Line]], names: Sequence[str]
) -> Deal:
    order, first = deal.paper("order 1"), deal.paper("invoice 1")
    assert order is not None
    assert first is not None
    day = first.day
    has_delivery = deal.paper("delivery 1") is not None
    deal = deal.without("invoice 1")
    for number, (share, name) in enumerate(zip(shares, names, strict=False), 1):
        key = f"invoice {number}"
        invoice = make_invoice(deal, sampler, key, share, day).with_note(name)
        invoice = invoice.with_values(order_number=order.text("number"))
        if has_delivery:
            invoice = invoice.with_values(delivery_note_number=first.value("delivery_note_number"))
        deal = deal.with_paper(invoice).with_link("order 1", key, "order_to_invoice")
        if has_delivery:
            deal = deal.with_link("delivery 1", key, "delivery_to_invoice")
        for code in ("quantity", "missing_line", "under_billed", "price"):
            deal = deal.with_discrepancy(code, key, is_optional=True)
        day = sampler.later(day, 7, 45)
    return deal


def one_invoice_for_two_orders(deal: Deal, sampler: Sampler) -> Deal:
    """A second order is on the same invoice, which names both."""
    order, invoice = deal.paper("order 1"), deal.paper("invoice 1")
    if order is None or invoice is None or deal.paper("invoice 2") or deal.discrepancies:
        return deal
    lines = draw_lines(deal.seed, deal.seller, sampler)
    second = make_order(deal, sampler, "order 2", lines, sampler.later(order.day, 0, 3))
    both = (*invoice.lines, *lines)
    renumbered = [line.model_copy(update={"position": str(number)}) for number, line in enumerate(both, 1)]
    numbers = f"{order.text('number')}, {second.text('number')}"
    invoice = invoice.with_values(**sums_of(renumbered), order_number=numbers)
    deal = deal.with_paper(second).with_paper(invoice).with_link("order 2", "invoice 1", "order_to_invoice")
    delivery = deal.paper("delivery 1")
    if delivery is not None:
        deal = deal.with_discrepancy("missing_line", "delivery 1", is_optional=True)
    return deal.with_discrepancy("over_billed", "invoice 1", is_optional=True)


def several_invoices(deal: Deal, sampler: Sampler) -> Deal:
    """One to three more invoices of the partner, each for other goods, within some weeks."""
    first = deal.paper("invoice 1")
    if first is None or deal.paper("invoice 2"):
        return deal
    day = first.day
    for number in range(2, sampler.random.randint(3, 5)):
        day = sampler.later(day, 1, 20)
        lines = draw_lines(deal.seed, deal.seller, sampler)
        deal = deal.with_paper(make_invoice(deal, sampler, f"invoice {number}", lines, day))
    return deal


def subscription(deal: Deal, sampler: Sampler) -> Deal:
    """Several months of the same amount and text, perhaps under a contract."""
    first = deal.paper("invoice 1")
    if first is None or deal.paper("order 1") or deal.paper("invoice 2"):
        return deal
    number = sampler.number(deal.seller, "contract", first.day)
    deal = deal.with_paper(first.with_values(contract_number=number, **_period(first.day)))
    deal = _without_numbers(deal)
    if sampler.chance(0.4):
        deal = _with_contract(deal, sampler, number, first.day)
    day = first.day
    for month in range(2, sampler.random.randint(4, 8)):
        day = next_month(day)
        invoice = make_invoice(deal, sampler, f"invoice {month}", first.lines, day)
        deal = deal.with_paper(invoice.with_values(contract_number=number, **_period(day)))
        if deal.paper("contract 1"):
            deal = deal.with_link("contract 1", invoice.key, "contract_to_invoice")
    return deal


def quote(deal: Deal, sampler: Sampler) -> Deal:
    """The order follows a quote of the seller."""
    order = deal.paper("order 1")
    if order is None:
        return deal
    day = order.day - dt.timedelta(days=sampler.random.randint(2, 40))
    values = {name: order.value(name) for name in type(order.data).model_fields}
    number = sampler.number(deal.seller, "quote", day)
    values |= {"number": number, "issue_date": day, "valid_until": sampler.later(day, 20, 60)}
    paper = other_document("quote 1", "quote", values)
    order = order.with_note(f"Ihr Angebot / your quote {number}") if sampler.chance(0.7) else order
    return deal.with_paper(paper).with_paper(order).with_link("quote 1", "order 1", "quote_to_order")


def framework_contract(deal: Deal, sampler: Sampler) -> Deal:
    """The order is made under a contract, which it names."""
    order = deal.paper("order 1")
    if order is None or deal.paper("contract 1"):
        return deal
    number = sampler.number(deal.seller, "contract", order.day)
    deal = _with_contract(deal, sampler, number, order.day, link_invoice=False)
    deal = deal.with_paper(order.with_values(contract_number=number))
    return deal.with_link("contract 1", "order 1", "contract_to_order")


def reminder(deal: Deal, sampler: Sampler) -> Deal:
    """The seller reminds of an invoice, which is paid after that if it is."""
    paid = {link.first_id: link.second_id for link in deal.links if link.relation == "invoice_to_payment"}
    bookings = {booking.key: booking for booking in deal.bookings}
    invoices = [
        invoice
        for invoice in deal.of_type("invoice")
        if invoice.key not in paid or abs(bookings[paid[invoice.key]].amount) == invoice.gross
    ]
    if not invoices:
        return deal
    invoice = sampler.choice(invoices)
    day = sampler.later(invoice.value("due_date") or invoice.day, 5, 30)
    values = {name: invoice.value(name) for name in type(invoice.data).model_fields}
    values |= {"number": sampler.number(deal.seller, "reminder", day) if sampler.chance(0.4) else None}
    values |= {
        "issue_date": day,
        "due_date": sampler.later(day, 7, 14),
        "invoice_number": invoice.text("number"),
    }
    values |= {"amount_due": invoice.gross, "subject": None}
    paper = other_document(f"reminder {invoice.key}", "reminder", values)
    if invoice.key in paid:
        deal = deal.with_booking(replace(bookings[paid[invoice.key]], day=sampler.later(day, 2, 14)))
    return deal.with_paper(paper).with_link(invoice.key, paper.key, "invoice_to_reminder")


def credit_note_for_all(deal: Deal, sampler: Sampler) -> Deal:
    """The seller cancels an invoice."""
    invoices = deal.of_type("invoice")
    return _credited(deal, sampler, sampler.choice(invoices), ()) if invoices else deal


def credit_note_for_part(deal: Deal, sampler: Sampler) -> Deal:
    """The seller gives back the price of some goods."""
    invoices = [invoice for invoice in deal.of_type("invoice") if len(invoice.lines) > 1]
    if not invoices:
        return deal
    invoice = sampler.choice(invoices)
    kept = sampler.random.sample(invoice.lines, sampler.random.randint(1, len(invoice.lines) - 1))
    return _credited(deal, sampler, invoice, kept)


def _credited(deal: Deal, sampler: Sampler, invoice: Paper, lines: Sequence[Line]) -> Deal:
    day = sampler.later(invoice.day, 3, 45)
    values = {name: invoice.value(name) for name in type(invoice.data).model_fields}
    values |= sums_of(lines or invoice.lines)
    values |= {"number": sampler.number(deal.seller, "credit_note", day), "issue_date": day, "due_date": None}
    values |= {"preceding_invoice_number": invoice.text("number"), "preceding_invoice_date": invoice.day}
    paper = other_document("credit 1", "credit_note", values)
    if deal.paper("credit 1"):
        return deal
    return deal.with_paper(paper).with_link(invoice.key, "credit 1", "invoice_to_credit_note")


def split_lines(lines: Sequence[Line], parts: int, sampler: Sampler) -> list[list[Line]]:
    """The goods in at most so many parts that sum up to them.

    Quantities are shared, or whole lines where they cannot be, so that a single line may stay one part.
    """
    shares: list[list[Line]] = [[] for _ in range(parts)]
    for line in lines:
        quantity = line.quantity or Decimal(1)
        if quantity != int(quantity) or quantity < parts or sampler.chance(0.3):
            sampler.choice(shares).append(line)
            continue
        cuts = sorted(sampler.random.sample(range(1, int(quantity)), parts - 1))
        for share, start, stop in zip(shares, [0, *cuts], [*cuts, int(quantity)], strict=True):
            share.append(with_quantity(line, Decimal(stop - start)))
    return [share for share in shares if share]


def next_month(day: dt.date) -> dt.date:
    """The same day of the next month, or the 28th."""
    first = (day.replace(day=1) + dt.timedelta(days=32)).replace(day=1)
    return first.replace(day=min(day.day, 28))


def _period(day: dt.date) -> dict[str, dt.date]:
    start = day.replace(day=1)
    return {"period_start": start, "period_end": next_month(start) - dt.timedelta(days=1)}


def _with_contract(
    deal: Deal, sampler: Sampler, number: str, day: dt.date, *, link_invoice: bool = True
) -> Deal:
    signed = day - dt.timedelta(days=sampler.random.randint(10, 300))
    values = {
        "number": number,
        "issue_date": signed,
        "period_start": signed.replace(day=1),
        "first_party": party_of(deal.seller).model_dump(exclude={"vat_id", "address"}),
        "second_party": party_of(deal.buyer).model_dump(exclude={"vat_id", "address"}),
        "subject": deal.seed.lines[0].description,
    }
    deal = deal.with_paper(other_document("contract 1", "contract", values))
    return deal.with_link("contract 1", "invoice 1", "contract_to_invoice") if link_invoice else deal


def _without_numbers(deal: Deal) -> Deal:
    """Without the numbers of order and delivery note on the invoice."""
    invoice = deal.paper("invoice 1")
    if invoice is None:
        return deal
    return deal.with_paper(invoice.with_values(order_number=None, delivery_note_number=None))


def _moved(invoice: Paper, day: dt.date) -> Paper:
    """The invoice with another date; it is due as many days later."""
    due = invoice.value("due_date")
    return replace(invoice.with_values(issue_date=day, due_date=due + (day - invoice.day) if due else None))
