"""Invoices that ask for payment to another account than the seller's earlier ones: a usual sign of fraud."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from docmill.matching.clusters import DisjointSets
from docmill.matching.match_record import MatchRecord, PartyIdentity
from docmill.matching.outcome import Discrepancy

_UMLAUT = re.compile("ae|oe|ue| ")


def find_account_discrepancies(records: Iterable[MatchRecord]) -> Iterator[Discrepancy]:
    """The invoices of the first day on which a seller has an account that is new."""
    invoices = [
        record
        for record in records
        if record.kind == "invoice" and record.seller.iban and record.issue_date is not None
    ]
    for own in _by_seller(invoices):
        own.sort(key=lambda record: (str(record.issue_date), record.id))
        last_of: dict[str, MatchRecord] = {}
        for _, of_day in groupby(own, key=lambda record: record.issue_date):
            today = list(of_day)
            last = next(reversed(last_of.values()), None)
            for invoice in today:
                if last is not None and invoice.seller.iban not in last_of:
                    expected, found = last.seller.iban, invoice.seller.iban
                    yield Discrepancy.between(
                        "iban_changed", invoice.id, (last.id,), expected=expected, found=found
                    )
            for invoice in today:
                last_of.pop(invoice.seller.iban, None)
                last_of[invoice.seller.iban] = invoice


def _by_seller(invoices: Iterable[MatchRecord]) -> list[list[MatchRecord]]:
    """The invoices by seller: the same VAT number, or the same name unless several VAT numbers have it."""
    invoices = list(invoices)
    vat_ids_of: defaultdict[str, set[str]] = defaultdict(set)
    for invoice in invoices:
        if invoice.seller.vat_id:
            vat_ids_of[_name(invoice.seller)].add(invoice.seller.vat_id)
    sets = DisjointSets()
    by_seller: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    for invoice in invoices:
        if keys := _keys(invoice.seller, vat_ids_of):
            for key in keys:
                sets.join(keys[0], key)
    for invoice in invoices:
        if keys := _keys(invoice.seller, vat_ids_of):
            by_seller[sets.root(keys[0])].append(invoice)
    return list(by_seller.values())


def _keys(seller: PartyIdentity, vat_ids_of: dict[str, set[str]]) -> list[str]:
    name = _name(seller)
    is_of_one = len(vat_ids_of.get(name, ())) <= 1
    vat_id = [f"vat {seller.vat_id}"] if seller.vat_id else []
    return vat_id + ([f"name {name}"] if name and (is_of_one or not vat_id) else [])


def _name(seller: PartyIdentity) -> str:
    """The seller's key without spaces, with umlauts as single letters. No other likeness is enough."""
    return _UMLAUT.sub(lambda match: match[0][:1].strip(), seller.key)
