"""Differences between what was ordered and delivered, and what was billed: by line items, then by totals."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from docmill.matching.amounts import ROUNDING, total
from docmill.matching.items import pair_items
from docmill.matching.match_record import Item, MatchRecord, ReferenceKind
from docmill.matching.order_groups import OrderGroup, order_groups
from docmill.matching.outcome import Discrepancy, Link

_PRICE_ROUNDING = Decimal("0.005")
_SHARE_OF_DISCOUNT = Decimal("0.5")
"""A line's net amount may be less than price by quantity, by its discount; not by so much."""
_UNLIKELY_DIGITS = 15
"""A price per unit with so many digits comes of a misread quantity, and may be too long to be rounded."""
_NEARLY_ALL = Decimal("0.8")
"""Share of an order from which on an invoice without line items is meant to bill all of it."""


@dataclass(slots=True)
class _OrderedLine:
    """A line of an order, with the lines of invoices that bill it, and what was delivered of it.

    delivered: null where no delivery note has it; is_unread: whether one has it without a quantity.
    """

    order: MatchRecord
    index: int
    billed: list[tuple[MatchRecord, int]] = field(default_factory=list[tuple[MatchRecord, int]])
    delivered: Decimal | None = None
    is_unread: bool = False

    @property
    def item(self) -> Item:
        return self.order.items[self.index]


def find_billing_discrepancies(
    records: Mapping[str, MatchRecord], links: Sequence[Link], suggested: Sequence[Link]
) -> Iterator[Discrepancy]:
    """The discrepancies of invoices against their orders and delivery notes; see `find_discrepancies`."""
    for group in order_groups(records, links, suggested):
        yield from _of_orders(group) if group.orders else _of_deliveries(group)


def _of_orders(group: OrderGroup) -> Iterator[Discrepancy]:
    lines = _ordered_lines(group)
    found: list[Discrepancy] = []
    for line in lines:
        for invoice, index in line.billed:
            found.extend(_of_line(line, invoice, index))
    for order in group.orders:
        found.extend(_of_quantities(group, order, [line for line in lines if line.order is order]))
    yield from found
    if all(each.code == "tax" for each in found):
        yield from _of_totals(group, lines)


def _ordered_lines(group: OrderGroup) -> list[_OrderedLine]:
    """The lines of all orders of a group, each line of an invoice or delivery note with one of them."""
    lines = [_OrderedLine(order, index) for order in group.orders for index in range(len(order.items))]
    for invoice in group.invoices:
        orders = {order.id for order in group.orders if invoice in group.invoices_of(order)}
        own = [line for line in lines if line.order.id in orders]
        for pair in pair_items([line.item for line in own], invoice.items):
            own[pair.first].billed.append((invoice, pair.second))
    for delivery in group.deliveries:
        orders = {order.id for order in group.orders if delivery in group.deliveries_of(order)}
        own = [line for line in lines if line.order.id in orders]
        for pair in pair_items([line.item for line in own], delivery.items):
            quantity = delivery.items[pair.second].quantity
            own[pair.first].is_unread |= quantity is None
            own[pair.first].delivered = (own[pair.first].delivered or Decimal(0)) + (quantity or Decimal(0))
    return lines


def _of_line(ordered: _OrderedLine, invoice: MatchRecord, line: int) -> Iterator[Discrepancy]:
    order, item = ordered.order, invoice.items[line]
    expected, price = _unit_price(ordered.item), _unit_price(item)
    is_same_currency = not order.currency or not invoice.currency or order.currency == invoice.currency
    if (
        is_same_currency
        and expected is not None
        and price is not None
        and abs(expected - price) > _PRICE_ROUNDING
    ):
        yield Discrepancy.between("price", invoice.id, (order.id,), expected=expected, found=price, line=line)
    rate, other_rate = ordered.item.tax_rate, item.tax_rate
    if rate is not None and other_rate is not None and rate != other_rate:
        yield Discrepancy.between("tax", invoice.id, (order.id,), expected=rate, found=other_rate, line=line)


def _of_quantities(
    group: OrderGroup, order: MatchRecord, lines: Sequence[_OrderedLine]
) -> Iterator[Discrepancy]:
    """The differences of an order's lines between billed and delivered, or ordered if that is not known."""
    invoices, deliveries = group.invoices_of(order), group.deliveries_of(order)
    if not invoices or not all(invoice.items for invoice in invoices):
        return
    is_delivered = _are_all_known(group, deliveries, invoices)
    is_only = len(invoices) == 1
    # Where not all delivery notes are known, less than was ordered may be all that was delivered.
    is_complete = is_only and (is_delivered or not deliveries)
    is_aligned = any(line.billed for line in lines)
    for line in lines:
        from_deliveries = is_delivered and line.delivered is not None
        expected = line.delivered if from_deliveries else line.item.quantity
        if line.billed:
            others = deliveries if from_deliveries else [order]
            if not from_deliveries or not _is_proven(line, lines):
                yield from _of_quantity(line.billed, expected, others, is_complete=is_complete)
        elif is_only and is_aligned and _has_figures(line.item) and (line.delivered or not deliveries):
            shown = _shown(line.item)
            yield Discrepancy("missing_line", invoices[0].id, (order.id,), line.index, shown)


def _is_proven(line: _OrderedLine, lines: Sequence[_OrderedLine]) -> bool:
    """True if deliveries say nothing against the quantity that was billed of a line.

    Lines with one description cannot be told apart on a delivery note: they are added up.
    """
    alike = [each for each in lines if each.item.key == line.item.key]
    if any(each.is_unread for each in alike):
        return True
    billed = _sum([invoice.items[index].quantity for each in alike for invoice, index in each.billed])
    return len(alike) > 1 and billed == _sum([each.delivered or Decimal(0) for each in alike])


def _of_quantity(
    billed: Sequence[tuple[MatchRecord, int]],
    expected: Decimal | None,
    others: Sequence[MatchRecord],
    *,
    is_complete: bool,
) -> Iterator[Discrepancy]:
    quantities = [invoice.items[line].quantity for invoice, line in billed]
    if expected is None or any(quantity is None for quantity in quantities):
        return
    found = sum((quantity for quantity in quantities if quantity is not None), Decimal(0))
    if found > expected or (is_complete and found != expected):
        invoice, line = billed[-1]
        ids = tuple(other.id for other in others)
        yield Discrepancy.between("quantity", invoice.id, ids, expected=expected, found=found, line=line)


def _of_deliveries(group: OrderGroup) -> Iterator[Discrepancy]:
    """The differences between billed and delivered quantities, where no order is known."""
    if not _are_all_known(group, group.deliveries, group.invoices):
        return
    if len(group.invoices) == 1:
        (invoice,) = group.invoices
        delivered: defaultdict[int, list[Decimal | None]] = defaultdict(list)
        for delivery in group.deliveries:
            for pair in pair_items(delivery.items, invoice.items):
                delivered[pair.second].append(delivery.items[pair.first].quantity)
        for line, quantities in delivered.items():
            known = [quantity for quantity in quantities if quantity is not None]
            expected = sum(known, Decimal(0)) if len(known) == len(quantities) else None
            yield from _of_quantity([(invoice, line)], expected, group.deliveries, is_complete=True)
    elif len(group.deliveries) == 1:
        (delivery,) = group.deliveries
        billed: defaultdict[int, list[tuple[MatchRecord, int]]] = defaultdict(list)
        for invoice in group.invoices:
            for pair in pair_items(delivery.items, invoice.items):
                billed[pair.first].append((invoice, pair.second))
        for index, lines in billed.items():
            yield from _of_quantity(lines, delivery.items[index].quantity, [delivery], is_complete=False)


def _of_totals(group: OrderGroup, lines: Sequence[_OrderedLine]) -> Iterator[Discrepancy]:
    orders, invoices = group.orders, group.invoices
    if not invoices or len({each.currency for each in (*orders, *invoices)} - {""}) > 1:
        return
    if any(_names_more("order", invoice, len(orders)) for invoice in invoices):
        return
    both_net = all(each.net_total is not None for each in (*orders, *invoices))
    ordered = _sum([order.net_total if both_net else total(order) for order in orders])
    billed = _sum([invoice.net_total if both_net else total(invoice) for invoice in invoices])
    if ordered is None or billed is None:
        return
    if not both_net and any(order.tax_total is None for order in orders):
        # Whether the order's total has tax is not known: it may be that of the invoices without it.
        net = _sum([invoice.net_total or total(invoice) for invoice in invoices]) or billed
        if net - ROUNDING <= ordered <= billed + ROUNDING:
            return
    *others, last = invoices
    ids = tuple(each.id for each in (*orders, *others))
    # An invoice of an instalment has none of the order's lines, and is for what is still to come as well.
    is_part_delivered = any(line.billed for line in lines) and any(
        line.delivered is not None and line.item.quantity is not None and line.delivered < line.item.quantity
        for line in lines
    )
    credited = [
        each.net_total if both_net else total(each)
        for invoice in invoices
        for each in group.credit_notes.get(invoice.id, ())
    ]
    if billed - (_sum(credited) or 0) > ordered + ROUNDING:
        yield Discrepancy.between("over_billed", last.id, ids, expected=ordered, found=billed)
    elif _NEARLY_ALL * ordered <= billed < ordered - ROUNDING and not is_part_delivered:
        yield Discrepancy.between("under_billed", last.id, ids, expected=ordered, found=billed)


def _are_all_known(
    group: OrderGroup, deliveries: Sequence[MatchRecord], invoices: Sequence[MatchRecord]
) -> bool:
    """True if there are delivery notes, all of which were read, and none more is named or suggested."""
    return (
        bool(deliveries)
        and not any(each.id in group.undecided for each in (*deliveries, *invoices))
        and all(delivery.items for delivery in deliveries)
        and not any(_names_more("delivery_note", invoice, len(deliveries)) for invoice in invoices)
    )


def _names_more(kind: ReferenceKind, record: MatchRecord, count: int) -> bool:
    return len({reference.key for reference in record.references if reference.kind == kind}) > count


def _sum(amounts: Sequence[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if known and len(known) == len(amounts) else None


def _unit_price(item: Item) -> Decimal | None:
    """The price of one unit: the net amount over the quantity where the printed price is of several."""
    if item.unit_price is None or item.net_amount is None or not item.quantity:
        return item.unit_price
    of_one = item.net_amount / item.quantity
    is_of_one = abs(of_one - item.unit_price) <= abs(item.unit_price) * _SHARE_OF_DISCOUNT
    if of_one.adjusted() >= _UNLIKELY_DIGITS:
        return item.unit_price
    return item.unit_price if is_of_one else of_one.quantize(Decimal("0.0001")).normalize()


def _has_figures(item: Item) -> bool:
    return bool(item.key) and (item.quantity is not None or item.net_amount is not None)


def _shown(item: Item) -> str:
    return " ".join(str(part) for part in (item.quantity, item.description) if part not in (None, ""))
