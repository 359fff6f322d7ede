"""Differences between what invoices ask for and what was paid, and to which account."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from docmill.matching.amounts import CENT, ROUNDING, payable_amounts, total
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Discrepancy, Link

_Records = defaultdict[str, list[MatchRecord]]


def _no_records() -> _Records:
    return defaultdict(list)


@dataclass(frozen=True, slots=True)
class _Partners:
    """The records that links connect, by the id of the other one.

    payments_of, credit_notes_of: of an invoice. paid_by, set_off_by: the invoices and the credit notes of a
    payment. refunds_of: the payments of a credit note. returned_of: the payments of an invoice that the bank
    has returned, which are in none of the others. return_of: returns by the ids of their payments.
    """

    payments_of: _Records = field(default_factory=_no_records)
    paid_by: _Records = field(default_factory=_no_records)
    credit_notes_of: _Records = field(default_factory=_no_records)
    refunds_of: _Records = field(default_factory=_no_records)
    set_off_by: _Records = field(default_factory=_no_records)
    returned_of: _Records = field(default_factory=_no_records)
    return_of: dict[str, MatchRecord] = field(default_factory=dict[str, MatchRecord])


def find_payment_discrepancies(
    records: Mapping[str, MatchRecord], links: Iterable[Link], suggested: Iterable[Link]
) -> Iterator[Discrepancy]:
    """The discrepancies of payments against the invoices that they pay; see `find_discrepancies`."""
    links, suggested = list(links), list(suggested)
    return_of = _returns(records, links)
    partners = _partners(records, links, return_of)
    possible = _partners(records, suggested, return_of)
    possible.return_of.update(_returns(records, suggested))
    copies = {(link.first_id, link.second_id) for link in suggested if link.relation == "duplicate"}
    for payment_id, invoices in partners.paid_by.items():
        yield from _of_account(records[payment_id], invoices)
    for payment_id, invoices in partners.paid_by.items():
        if len(invoices) > 1 and all(len(partners.payments_of[invoice.id]) == 1 for invoice in invoices):
            yield from _of_collective_payment(records[payment_id], invoices, partners, possible)
    for invoice_id in sorted(partners.payments_of.keys() | partners.returned_of.keys()):
        payments = partners.payments_of.get(invoice_id, [])
        if all(len(partners.paid_by[payment.id]) == 1 for payment in payments):
            # One booking that may be in two files of a bank is not paid twice.
            own = [each for each in payments if not any((other.id, each.id) in copies for other in payments)]
            yield from _of_amounts(records[invoice_id], own, partners, possible)


def _returns(records: Mapping[str, MatchRecord], links: Iterable[Link]) -> dict[str, MatchRecord]:
    """The returns by the ids of the payments that they return."""
    ids = sorted((each.first_id, each.second_id) for each in links if each.relation == "payment_to_return")
    return {first: records[second] for first, second in ids}


def _partners(
    records: Mapping[str, MatchRecord], links: Iterable[Link], return_of: Mapping[str, MatchRecord]
) -> _Partners:
    """The partners by links. return_of: payments that pay nothing, with their returns, which do neither."""
    partners = _Partners(return_of=dict(return_of))
    returns = {record.id for record in return_of.values()}
    for relation, first, second in sorted({(each.relation, each.first_id, each.second_id) for each in links}):
        if second in returns:
            continue
        if second in return_of:
            if relation == "invoice_to_payment":
                partners.returned_of[first].append(records[second])
        elif relation == "invoice_to_payment":
            partners.payments_of[first].append(records[second])
            partners.paid_by[second].append(records[first])
        elif relation == "invoice_to_credit_note":
            partners.credit_notes_of[first].append(records[second])
        elif relation == "credit_note_to_payment":
            partners.refunds_of[first].append(records[second])
            partners.set_off_by[second].append(records[first])
    return partners


def _of_amounts(
    invoice: MatchRecord, payments: Sequence[MatchRecord], partners: _Partners, possible: _Partners
) -> Iterator[Discrepancy]:
    """What was paid, payment by payment: whatever comes after the invoice is settled is too much."""
    billed = total(invoice)
    if billed is None:
        return
    acceptable = _acceptable_amounts(invoice)
    credited = _sum(
        credit_note
        for credit_note in partners.credit_notes_of[invoice.id]
        if not _is_refunded(payments, partners.refunds_of[credit_note.id])
    )
    ordered = sorted(
        payments, key=lambda payment: (payment.issue_date is None, payment.issue_date, payment.id)
    )
    paid = Decimal(0)
    is_settled = False
    for number, payment in enumerate(ordered):
        before = ordered[:number]
        if invoice.currency and payment.currency and invoice.currency != payment.currency:
            is_settled = True  # by an amount that is not known in the invoice's currency
            continue
        amount = total(payment) or Decimal(0)
        if before and {payment.is_incoming, before[0].is_incoming} == {True, False}:  # it was returned
            paid -= amount
            is_settled = _is_one_of(paid, acceptable) or _is_one_of(paid + credited, acceptable)
            continue
        paid += amount
        ids = (invoice.id, *(each.id for each in before))
        may_be_returned = any(each.id in possible.return_of for each in (*before, payment))
        if is_settled and (_is_one_of(amount, acceptable) or any(amount == total(each) for each in before)):
            if not may_be_returned:
                yield Discrepancy.between("paid_twice", payment.id, ids, expected=billed, found=paid)
        elif is_settled or _is_too_much(paid, billed, credited, acceptable):
            if not may_be_returned and not _is_of_others(paid - billed, possible.paid_by[payment.id]):
                yield Discrepancy.between("overpaid", payment.id, ids, expected=billed, found=paid)
            is_settled = True
        else:
            is_settled = _is_one_of(paid, acceptable) or _is_one_of(paid + credited, acceptable)
    if not is_settled and paid + credited < billed - ROUNDING:
        yield from _of_missing(invoice, ordered, partners, possible, paid=paid, credited=credited)


def _of_missing(
    invoice: MatchRecord,
    payments: Sequence[MatchRecord],
    partners: _Partners,
    possible: _Partners,
    *,
    paid: Decimal,
    credited: Decimal,
) -> Iterator[Discrepancy]:
    """The discrepancy of an invoice that is not paid in full, unless a suggested link would explain it.

    payments: in their order.
    """
    billed, acceptable = total(invoice) or Decimal(0), _acceptable_amounts(invoice)
    set_off = (
        note
        for payment in payments
        for note in (*partners.set_off_by[payment.id], *possible.set_off_by[payment.id])
    )
    missing = [*possible.payments_of[invoice.id], *possible.credit_notes_of[invoice.id], *set_off]
    if any(_is_one_of(paid + credited + (total(each) or 0), acceptable) for each in missing):
        return
    if returned := partners.returned_of.get(invoice.id):
        last = max(returned, key=lambda payment: (str(partners.return_of[payment.id].issue_date), payment.id))
        ids = (invoice.id, partners.return_of[last.id].id)
        yield Discrepancy.between("payment_returned", last.id, ids, expected=billed, found=paid)
    else:
        yield Discrepancy.between("underpaid", payments[-1].id, (invoice.id,), expected=billed, found=paid)


def _of_collective_payment(
    payment: MatchRecord, invoices: Sequence[MatchRecord], partners: _Partners, possible: _Partners
) -> Iterator[Discrepancy]:
    """A payment of several invoices, which nothing else pays, against all that they ask for together."""
    paid, billed = total(payment), [total(invoice) for invoice in invoices]
    if paid is None or None in billed or any(invoice.currency != payment.currency for invoice in invoices):
        return
    expected = sum((amount for amount in billed if amount is not None), Decimal(0))
    credited = _sum(
        {
            note.id: note
            for notes in (partners.set_off_by[payment.id], possible.set_off_by[payment.id])
            for note in notes
        }.values()
    )
    noted = _sum(note for invoice in invoices for note in partners.credit_notes_of[invoice.id])
    acceptable = [_acceptable_amounts(invoice) for invoice in invoices]
    least = sum((min(amounts, default=Decimal(0)) for amounts in acceptable), Decimal(0))
    more = {each.id: each for invoice in invoices for each in possible.payments_of[invoice.id]}
    ids = tuple(invoice.id for invoice in invoices)
    if paid < least - max(credited, noted) - ROUNDING and not more:
        yield Discrepancy.between("underpaid", payment.id, ids, expected=expected, found=paid)
    elif paid > expected + ROUNDING and not _is_of_others(paid - expected, possible.paid_by[payment.id]):
        yield Discrepancy.between("overpaid", payment.id, ids, expected=expected, found=paid)


def _is_refunded(payments: Sequence[MatchRecord], refunds: Sequence[MatchRecord]) -> bool:
    """Whether a credit note was paid out, in the other direction than its invoice, and not set off."""
    directions = {payment.is_incoming for payment in payments}
    return any(refund.is_incoming not in directions for refund in refunds)


def _is_too_much(paid: Decimal, billed: Decimal, credited: Decimal, acceptable: Iterable[Decimal]) -> bool:
    is_exact = _is_one_of(paid, acceptable) or _is_one_of(paid + credited, acceptable)
    return paid > billed + ROUNDING and not is_exact


def _is_of_others(difference: Decimal, invoices: Sequence[MatchRecord]) -> bool:
    """Whether an amount is for other invoices, whose links with its payment are suggested."""
    return difference == _sum(invoices) or any(
        _is_one_of(difference, _acceptable_amounts(invoice)) for invoice in invoices
    )


def _acceptable_amounts(invoice: MatchRecord) -> set[Decimal]:
    """The amounts that settle an invoice. The net total does so only where no other one is known."""
    amounts = {amount for code, amount in payable_amounts(invoice) if code != "amount_net"}
    return amounts | ({invoice.net_total} if invoice.net_total is not None and not amounts else set())


def _is_one_of(amount: Decimal, acceptable: Iterable[Decimal]) -> bool:
    return any(abs(amount - each) <= CENT for each in acceptable)


def _sum(records: Iterable[MatchRecord]) -> Decimal:
    return sum((total(record) or Decimal(0) for record in records), Decimal(0))


def _of_account(payment: MatchRecord, invoices: Sequence[MatchRecord]) -> Iterator[Discrepancy]:
    """Payment to an account that none of the paid invoices shows."""
    shown = {invoice.seller.iban: invoice for invoice in invoices if invoice.seller.iban}
    paid_to = payment.seller.iban
    if payment.is_incoming is False and paid_to and shown and paid_to not in shown:
        account, invoice = next(iter(shown.items()))
        yield Discrepancy.between("iban_changed", payment.id, (invoice.id,), expected=account, found=paid_to)
