"""Differences between linked records in prices, quantities, taxes, lines, totals, accounts and payments."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from docmill.matching.amounts import CENT, ROUNDING, payable_amounts, total
from docmill.matching.items import pair_items
from docmill.matching.match_record import Item, MatchRecord
from docmill.matching.outcome import Discrepancy, DiscrepancyCode, Link

_PRICE_ROUNDING = Decimal("0.005")
_SHARE_OF_DISCOUNT = Decimal("0.5")
"""A line's net amount may be less than price by quantity, by its discount; not by so much."""
_NEARLY_ALL = Decimal("0.8")
"""Share of an order from which on an invoice without line items is meant to bill all of it."""


def find_discrepancies(records: Mapping[str, MatchRecord], links: Iterable[Link]) -> list[Discrepancy]:
    """The discrepancies of linked records; only automatic and confirmed links should be given."""
    by_relation: defaultdict[str, list[tuple[MatchRecord, MatchRecord]]] = defaultdict(list)
    for link in links:
        by_relation[link.relation].append((records[link.first_id], records[link.second_id]))
    found = [
        *_of_orders(by_relation),
        *_of_deliveries(by_relation),
        *_of_payments(by_relation["invoice_to_payment"], by_relation["invoice_to_credit_note"]),
        *_of_accounts(records.values()),
    ]
    return sorted(
        found, key=lambda each: (each.record_id, each.code, each.line if each.line is not None else -1)
    )


def _difference(
    code: DiscrepancyCode,
    record: MatchRecord,
    others: Sequence[MatchRecord],
    expected: Decimal | str,
    found: Decimal | str,
    line: int | None = None,
) -> Discrepancy:
    both = isinstance(expected, Decimal) and isinstance(found, Decimal)
    return Discrepancy(
        code,
        record.id,
        tuple(other.id for other in others),
        line,
        str(expected),
        str(found),
        str(found - expected) if both else "",  # type: ignore[operator]
    )


def _of_orders(
    by_relation: Mapping[str, Sequence[tuple[MatchRecord, MatchRecord]]],
) -> Iterator[Discrepancy]:
    """What invoices bill against what was ordered."""
    invoices_of: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    orders_of: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    orders: dict[str, MatchRecord] = {}
    for order, invoice in by_relation.get("order_to_invoice", ()):
        orders[order.id] = order
        invoices_of[order.id].append(invoice)
        orders_of[invoice.id].append(order)
    delivered = {invoice.id for _, invoice in by_relation.get("delivery_to_invoice", ())}
    for order_id, invoices in invoices_of.items():
        order = orders[order_id]
        is_shared = any(len(orders_of[invoice.id]) > 1 for invoice in invoices)
        with_lines = bool(order.items) and all(invoice.items for invoice in invoices)
        found: list[Discrepancy] = []
        if with_lines:
            found = list(_of_lines(order, invoices, is_shared=is_shared, compares_quantities=not delivered))
            yield from found
        if not is_shared and not found:
            yield from _of_totals(order, invoices)


def _of_lines(
    order: MatchRecord, invoices: Sequence[MatchRecord], *, is_shared: bool, compares_quantities: bool
) -> Iterator[Discrepancy]:
    billed: defaultdict[int, list[tuple[MatchRecord, int]]] = defaultdict(list)
    for invoice in invoices:
        for pair in pair_items(order.items, invoice.items):
            billed[pair.first].append((invoice, pair.second))
            yield from _of_line(order, pair.first, invoice, pair.second)
    if not compares_quantities:
        return
    is_complete = len(invoices) == 1
    for index, ordered in enumerate(order.items):
        if index in billed:
            yield from _of_quantity(order, ordered, billed[index], is_complete=is_complete)
        elif is_complete and not is_shared and _has_figures(ordered):
            yield Discrepancy("missing_line", invoices[0].id, (order.id,), index, _shown(ordered), "")


def _of_line(order: MatchRecord, index: int, invoice: MatchRecord, line: int) -> Iterator[Discrepancy]:
    ordered, billed = order.items[index], invoice.items[line]
    price, other = _unit_price(ordered), _unit_price(billed)
    if price is not None and other is not None and abs(price - other) > _PRICE_ROUNDING:
        yield _difference("price", invoice, (order,), price, other, line)
    rate, other_rate = ordered.tax_rate, billed.tax_rate
    if rate is not None and other_rate is not None and rate != other_rate:
        yield _difference("tax", invoice, (order,), rate, other_rate, line)


def _of_quantity(
    order: MatchRecord, ordered: Item, billed: Sequence[tuple[MatchRecord, int]], *, is_complete: bool
) -> Iterator[Discrepancy]:
    amounts = [invoice.items[line].quantity for invoice, line in billed]
    if ordered.quantity is None or any(amount is None for amount in amounts):
        return
    summed = sum((amount for amount in amounts if amount is not None), Decimal(0))
    if summed > ordered.quantity or (is_complete and summed != ordered.quantity):
        invoice, line = billed[-1]
        yield _difference("quantity", invoice, (order,), ordered.quantity, summed, line)


def _of_totals(order: MatchRecord, invoices: Sequence[MatchRecord]) -> Iterator[Discrepancy]:
    both_net = order.net_total is not None and all(invoice.net_total is not None for invoice in invoices)
    ordered = order.net_total if both_net else total(order)
    parts = [invoice.net_total if both_net else total(invoice) for invoice in invoices]
    if ordered is None or any(part is None for part in parts):
        return
    billed = sum((part for part in parts if part is not None), Decimal(0))
    if not both_net and order.tax_total is None:
        # Whether the order's total has tax is not known: it may be that of the invoices without it.
        net = sum(
            (invoice.net_total or part or Decimal(0) for invoice, part in zip(invoices, parts, strict=True)),
            Decimal(0),
        )
        if net - ROUNDING <= ordered <= billed + ROUNDING:
            return
    *others, last = sorted(invoices, key=lambda record: (str(record.issue_date or ""), record.id))
    if billed > ordered + ROUNDING:
        yield _difference("over_billed", last, (order, *others), ordered, billed)
    elif _NEARLY_ALL * ordered <= billed < ordered - ROUNDING:
        yield _difference("under_billed", last, (order, *others), ordered, billed)


def _of_deliveries(
    by_relation: Mapping[str, Sequence[tuple[MatchRecord, MatchRecord]]],
) -> Iterator[Discrepancy]:
    """What is billed against what was delivered."""
    deliveries_of: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    invoices: dict[str, MatchRecord] = {}
    for delivery, invoice in by_relation.get("delivery_to_invoice", ()):
        deliveries_of[invoice.id].append(delivery)
        invoices[invoice.id] = invoice
    for invoice_id, deliveries in deliveries_of.items():
        invoice = invoices[invoice_id]
        delivered: defaultdict[int, Decimal] = defaultdict(Decimal)
        unknown: set[int] = set()
        for delivery in deliveries:
            for pair in pair_items(delivery.items, invoice.items):
                quantity = delivery.items[pair.first].quantity
                if quantity is None:
                    unknown.add(pair.second)
                else:
                    delivered[pair.second] += quantity
        for line, quantity in delivered.items():
            billed = invoice.items[line].quantity
            if line not in unknown and billed is not None and billed != quantity:
                yield _difference("quantity", invoice, deliveries, quantity, billed, line)


def _of_payments(
    payments: Sequence[tuple[MatchRecord, MatchRecord]],
    credit_notes: Sequence[tuple[MatchRecord, MatchRecord]],
) -> Iterator[Discrepancy]:
    """What was paid against what was billed."""
    payments_of: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    invoices_of: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    credited: defaultdict[str, Decimal] = defaultdict(Decimal)
    invoices: dict[str, MatchRecord] = {}
    for invoice, payment in payments:
        payments_of[invoice.id].append(payment)
        invoices_of[payment.id].append(invoice)
        invoices[invoice.id] = invoice
    for invoice, credit in credit_notes:
        credited[invoice.id] += total(credit) or 0
    for invoice_id, paid_by in payments_of.items():
        invoice = invoices[invoice_id]
        yield from _of_paid_account(invoice, paid_by)
        if any(len(invoices_of[payment.id]) > 1 for payment in paid_by):
            continue
        yield from _of_paid_amount(invoice, paid_by, credited[invoice_id])


def _of_paid_amount(
    invoice: MatchRecord, payments: Sequence[MatchRecord], credited: Decimal
) -> Iterator[Discrepancy]:
    billed = total(invoice)
    if billed is None:
        return
    acceptable = {amount for _, amount in payable_amounts(invoice)} | {billed}
    ordered = sorted(
        payments, key=lambda payment: (payment.issue_date is None, payment.issue_date, payment.id)
    )
    amounts = [total(payment) or Decimal(0) for payment in ordered]
    paid = sum(amounts, Decimal(0))
    is_paid = any(
        abs(paid - amount) <= CENT or abs(paid + credited - amount) <= CENT for amount in acceptable
    )
    if is_paid:
        return
    whole = [
        payment
        for payment, amount in zip(ordered, amounts, strict=True)
        if any(abs(amount - each) <= CENT for each in acceptable)
    ]
    if len(whole) > 1:
        for payment in whole[1:]:
            yield _difference("paid_twice", payment, (invoice, whole[0]), billed, paid)
    elif paid > billed + ROUNDING:
        yield _difference("overpaid", ordered[-1], (invoice,), billed, paid)
    elif paid + credited < billed - ROUNDING:
        yield _difference("underpaid", ordered[-1], (invoice,), billed, paid)


def _of_paid_account(invoice: MatchRecord, payments: Iterable[MatchRecord]) -> Iterator[Discrepancy]:
    account = invoice.seller.iban
    for payment in payments:
        paid_to = payment.seller.iban
        if account and paid_to and payment.is_incoming is False and paid_to != account:
            yield _difference("iban_changed", payment, (invoice,), account, paid_to)


def _of_accounts(records: Iterable[MatchRecord]) -> Iterator[Discrepancy]:
    """Invoices with another account than the last one before of the same seller: a sign of fraud."""
    by_seller: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    for record in records:
        if record.kind == "invoice" and record.seller.iban and record.issue_date is not None:
            key = record.seller.vat_id or record.seller.key
            if key:
                by_seller[key].append(record)
    for invoices in by_seller.values():
        invoices.sort(key=lambda record: (record.issue_date, record.id))
        known: dict[str, MatchRecord] = {}
        for invoice in invoices:
            if known and invoice.seller.iban not in known:
                last = list(known.values())[-1]
                yield _difference("iban_changed", invoice, (last,), last.seller.iban, invoice.seller.iban)
            known[invoice.seller.iban] = invoice


def _unit_price(item: Item) -> Decimal | None:
    """The price of one unit: the net amount over the quantity where the printed price is of several."""
    if item.unit_price is None or item.net_amount is None or not item.quantity:
        return item.unit_price
    of_one = item.net_amount / item.quantity
    is_of_one = abs(of_one - item.unit_price) <= abs(item.unit_price) * _SHARE_OF_DISCOUNT
    return item.unit_price if is_of_one else of_one.quantize(Decimal("0.0001")).normalize()


def _has_figures(item: Item) -> bool:
    return bool(item.key) and (item.quantity is not None or item.net_amount is not None)


def _shown(item: Item) -> str:
    return " ".join(str(part) for part in (item.quantity, item.description) if part not in (None, ""))
