"""Groups of orders, delivery notes and invoices that links connect."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from docmill.matching.amounts import ROUNDING, total
from docmill.matching.clusters import clusters_of
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link
from docmill.matching.relations import CHAINED


@dataclass(frozen=True, slots=True)
class OrderGroup:
    """Orders, delivery notes and invoices that links connect, each kind by date.

    partners: of each record, the ids of those that it is linked to. credit_notes: by the id of their invoice.
    undecided: ids of the records that have suggested links.
    """

    orders: Sequence[MatchRecord]
    deliveries: Sequence[MatchRecord]
    invoices: Sequence[MatchRecord]
    partners: Mapping[str, set[str]]
    credit_notes: Mapping[str, Sequence[MatchRecord]]
    undecided: set[str]

    def deliveries_of(self, order: MatchRecord) -> list[MatchRecord]:
        """The delivery notes of an order, also those of its invoices that are linked to no order."""
        invoices = {each.id for each in self.invoices if each.id in self.partners[order.id]}
        orders = {each.id for each in self.orders}
        return [
            each
            for each in self.deliveries
            if each.id in self.partners[order.id]
            or (invoices & self.partners[each.id] and not orders & self.partners[each.id])
        ]

    def invoices_of(self, order: MatchRecord) -> list[MatchRecord]:
        """The invoices of an order, also those that only a delivery note connects with it."""
        reached = self.partners[order.id].union(
            *(self.partners[each.id] for each in self.deliveries if each.id in self.partners[order.id])
        )
        return [each for each in self.invoices if each.id in reached]


def order_groups(
    records: Mapping[str, MatchRecord], links: Sequence[Link], suggested: Sequence[Link]
) -> Iterator[OrderGroup]:
    """The groups, without what counts once already.

    That is a record which is suggested as a copy of another one there, and an invoice that was wholly
    credited, if others were written in its place.
    """
    pairs = {(link.first_id, link.second_id) for link in links if link.relation in CHAINED}
    copies = {(link.first_id, link.second_id) for link in suggested if link.relation == "duplicate"}
    undecided = {
        id_ for link in suggested if link.relation in CHAINED for id_ in (link.first_id, link.second_id)
    }
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        partners[first].add(second)
        partners[second].add(first)
    credit_notes = _credit_notes(records, links)
    for cluster in clusters_of(sorted(pairs)):
        repeated = {second for first, second in copies if first in cluster}
        members = sorted(
            (records[id_] for id_ in cluster if id_ not in repeated),
            key=lambda each: (str(each.issue_date or ""), each.id),
        )
        orders, deliveries, invoices = (
            [each for each in members if each.kind == kind]
            for kind in ("purchase_order", "delivery_note", "invoice")
        )
        valid = [each for each in invoices if not _is_cancelled(each, credit_notes)]
        yield OrderGroup(orders, deliveries, valid or invoices, partners, credit_notes, undecided)


def _credit_notes(
    records: Mapping[str, MatchRecord], links: Sequence[Link]
) -> Mapping[str, Sequence[MatchRecord]]:
    credit_notes: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    for first, second in sorted(
        {(each.first_id, each.second_id) for each in links if each.relation == "invoice_to_credit_note"}
    ):
        credit_notes[first].append(records[second])
    return credit_notes


def _is_cancelled(invoice: MatchRecord, credit_notes: Mapping[str, Sequence[MatchRecord]]) -> bool:
    billed = total(invoice)
    credited = [total(each) or Decimal(0) for each in credit_notes.get(invoice.id, ())]
    return billed is not None and bool(credited) and billed - sum(credited, Decimal(0)) <= ROUNDING
