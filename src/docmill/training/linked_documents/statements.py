"""Bank statements from payments: those of a month by day, on several statements where they are many."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from docmill.schemas.types import BankStatement, Transaction
from docmill.training.linked_documents.bank_texts import BankText
from docmill.training.linked_documents.companies import Company
from docmill.training.linked_documents.deals import NO_MONEY, Booking
from docmill.training.linked_documents.sampling import Sampler

_MOST_TRANSACTIONS = 60

BookingKey = tuple[int, str]
"""The index of the deal and the key of its payment."""


@dataclass(frozen=True, slots=True)
class MadeStatement:
    """A statement and the payments behind its transactions, in their order."""

    data: BankStatement
    keys: tuple[BookingKey, ...]


def make_statements(
    bookings: Sequence[tuple[BookingKey, Booking]],
    owner: Company,
    sampler: Sampler,
    texts: Sequence[BankText],
) -> list[MadeStatement]:
    """All statements of the tenant's account."""
    ordered = sorted(bookings, key=lambda pair: (pair[1].day, sampler.random.random()))
    balance = Decimal(sampler.random.randint(1_000_000, 9_000_000)) / 100
    made: list[MadeStatement] = []
    batch: list[tuple[BookingKey, Booking]] = []
    size = _draw_size(sampler)
    for pair in ordered:
        is_other_month = batch and batch[-1][1].day.replace(day=1) != pair[1].day.replace(day=1)
        if batch and (is_other_month or len(batch) >= size):
            made.append(_statement(batch, owner, sampler, texts, balance))
            balance = made[-1].data.closing_balance or NO_MONEY
            batch, size = [], _draw_size(sampler)
        batch.append(pair)
    if batch:
        made.append(_statement(batch, owner, sampler, texts, balance))
    return made


def _draw_size(sampler: Sampler) -> int:
    return sampler.random.randint(8, _MOST_TRANSACTIONS)


def _statement(
    batch: Sequence[tuple[BookingKey, Booking]],
    owner: Company,
    sampler: Sampler,
    texts: Sequence[BankText],
    balance: Decimal,
) -> MadeStatement:
    transactions: list[Transaction] = [sampler.choice(texts)(booking, sampler) for _, booking in batch]
    moved = sum((booking.amount for _, booking in batch), NO_MONEY)
    data = BankStatement(
        iban=owner.iban,
        currency=owner.currency,
        period_start=batch[0][1].day,
        period_end=batch[-1][1].day,
        opening_balance=balance,
        closing_balance=balance + moved,
        transactions=tuple(transactions),
    )
    return MadeStatement(data, tuple(key for key, _ in batch))
