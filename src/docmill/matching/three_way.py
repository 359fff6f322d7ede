"""The three-way match of a cluster: what was ordered, delivered, billed and paid, side by side."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import Literal, get_args

from docmill.matching.amounts import CENT
from docmill.matching.items import pair_items
from docmill.matching.match_record import Item, MatchRecord
from docmill.matching.outcome import Link

Stage = Literal["ordered", "delivered", "billed", "paid"]
STAGES: tuple[Stage, ...] = get_args(Stage)

_MOST_ITEMS = 200


@dataclass(frozen=True, slots=True)
class StageTotal:
    """The sum of a stage in a currency.

    records: how many it has. net, gross: null if one of them has no such amount. Credit notes count against
    what was billed, and their payments against what was paid, as do returns of payments.
    """

    stage: Stage
    currency: str
    records: int
    net: Decimal | None
    gross: Decimal | None


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much a stage departs from the one that it follows, in a currency; both net or both gross."""

    stage: Stage
    of: Stage
    currency: str
    basis: Literal["net", "gross"]
    amount: Decimal


@dataclass(slots=True)
class ItemQuantities:
    """An item with its quantity in each stage that has it. Null: one of its lines has no quantity."""

    description: str
    key: str
    unit_price: Decimal | None
    quantities: dict[Stage, Decimal | None] = field(default_factory=dict[Stage, "Decimal | None"])

    @property
    def differs(self) -> bool:
        """Whether two stages that are known have different quantities."""
        return len({quantity for quantity in self.quantities.values() if quantity is not None}) > 1


@dataclass(frozen=True, slots=True)
class ThreeWayMatch:
    """What was ordered, delivered, billed and paid, by amounts and by items."""

    totals: tuple[StageTotal, ...]
    differences: tuple[Difference, ...]
    items: tuple[ItemQuantities, ...]

    @property
    def stages(self) -> list[Stage]:
        """The stages of which there is a record."""
        return [stage for stage in STAGES if any(total.stage == stage for total in self.totals)]


NOTHING_TO_COMPARE = ThreeWayMatch((), (), ())


def three_way_match(records: Mapping[str, MatchRecord], links: Iterable[Link]) -> ThreeWayMatch:
    """The three-way match of linked records. links: automatic and confirmed ones.

    Copies of a document, and receipts of an invoice that is there, count once. A payment that the bank has
    returned counts for nothing.
    """
    links = list(links)
    extra = {link.second_id for link in links if link.relation in ("duplicate", "invoice_to_receipt")}
    refunds = {link.second_id for link in links if link.relation == "credit_note_to_payment"}
    payment_of = {link.second_id: link.first_id for link in links if link.relation == "payment_to_return"}
    refunds.update(payment_of)
    members = [
        _without_fee(record, records.get(payment_of.get(id_, "")))
        for id_, record in sorted(records.items())
        if id_ not in extra
    ]
    totals = tuple(_totals(members, refunds))
    return ThreeWayMatch(totals, tuple(_differences(totals)), tuple(_items(members)))


def _without_fee(record: MatchRecord, payment: MatchRecord | None) -> MatchRecord:
    """The record; a return with the amount of its payment, without what the bank charges for it."""
    return record if payment is None else replace(record, gross_total=payment.gross_total)


def _stage_of(record: MatchRecord) -> Stage | None:
    match record.kind:
        case "purchase_order":
            return "ordered"
        case "delivery_note":
            return "delivered"
        case "invoice" | "credit_note" | "receipt":
            return "billed"
        case "payment":
            return "paid"
        case _:
            return None


def _totals(records: Sequence[MatchRecord], refunds: set[str]) -> Iterator[StageTotal]:
    parts: defaultdict[tuple[Stage, str], list[tuple[Decimal | None, Decimal | None]]] = defaultdict(list)
    for record in records:
        if stage := _stage_of(record):
            sign = -1 if record.kind == "credit_note" or record.id in refunds else 1
            net = None if record.net_total is None else sign * record.net_total
            gross = record.amount_due if record.gross_total is None else record.gross_total
            parts[stage, record.currency].append((net, None if gross is None else sign * gross))
    for stage in STAGES:
        for (of, currency), amounts in sorted(parts.items()):
            if of == stage:
                net, gross = (_sum([amount[side] for amount in amounts]) for side in (0, 1))
                yield StageTotal(stage, currency, len(amounts), net, gross)


def _sum(amounts: Sequence[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if len(known) == len(amounts) else None


def _differences(totals: Sequence[StageTotal]) -> Iterator[Difference]:
    """Of each stage against the one before that has the same currency and an amount to compare."""
    by_currency: defaultdict[str, list[StageTotal]] = defaultdict(list)
    for each in totals:
        if each.net is not None or each.gross is not None:
            by_currency[each.currency].append(each)
    for currency, stages in sorted(by_currency.items()):
        for before, after in pairwise(stages):
            if before.gross is not None and after.gross is not None:
                yield Difference(after.stage, before.stage, currency, "gross", after.gross - before.gross)
            elif before.net is not None and after.net is not None:
                yield Difference(after.stage, before.stage, currency, "net", after.net - before.net)


def _items(records: Sequence[MatchRecord]) -> Iterator[ItemQuantities]:
    """The items of all stages, each once: lines of one record are never the same item.

    What a credit note takes back counts against what was billed, after all that was billed.
    """
    rows: list[ItemQuantities] = []
    for stage in STAGES:
        of_stage = [record for record in records if _stage_of(record) == stage]
        for record in sorted(of_stage, key=lambda record: record.kind == "credit_note"):
            _add_items(rows, stage, record)
    yield from rows[:_MOST_ITEMS]


def _add_items(rows: list[ItemQuantities], stage: Stage, record: MatchRecord) -> None:
    items = [item for item in record.items if item.key]
    known = [Item(row.description, row.key, _first_quantity(row), row.unit_price) for row in rows]
    row_of = {pair.second: rows[pair.first] for pair in pair_items(known, items)}
    for index, item in enumerate(items):
        row, quantity = row_of.get(index), item.quantity
        if record.kind == "credit_note":
            if row is None or not _is_returned(item, row):
                continue
            quantity = None if quantity is None else -abs(quantity)
        if row is None:
            row = ItemQuantities(item.description, item.key, item.unit_price)
            rows.append(row)
        before = row.quantities.get(stage, Decimal(0))
        row.quantities[stage] = None if before is None or quantity is None else before + quantity


def _is_returned(item: Item, row: ItemQuantities) -> bool:
    """Whether a line of a credit note takes goods back; one with another price is about the price alone."""
    if item.quantity is None or item.unit_price is None or row.unit_price is None:
        return item.quantity is not None
    return abs(abs(item.unit_price) - abs(row.unit_price)) <= CENT


def _first_quantity(row: ItemQuantities) -> Decimal | None:
    return next((quantity for quantity in row.quantities.values() if quantity is not None), None)
