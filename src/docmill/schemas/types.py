"""One schema per document type."""

import datetime as dt
from decimal import Decimal

from docmill.schemas.fields import Fields, Line, Party, Payment, Transaction


class Invoice(Fields):
    """A request to pay, or a credit note."""

    number: str | None = None
    issue_date: dt.date | None = None
    due_date: dt.date | None = None
    delivery_date: dt.date | None = None
    period_start: dt.date | None = None
    period_end: dt.date | None = None
    seller: Party = Party()
    buyer: Party = Party()
    order_number: str | None = None
    delivery_note_number: str | None = None
    contract_number: str | None = None
    customer_number: str | None = None
    currency: str | None = None
    net_total: Decimal | None = None
    tax_total: Decimal | None = None
    gross_total: Decimal | None = None
    amount_due: Decimal | None = None
    payment: Payment = Payment()
    lines: tuple[Line, ...] = ()


class Receipt(Invoice):
    """A proof of payment at a till. time: as HH:MM or HH:MM:SS."""

    time: str | None = None
    tip: Decimal | None = None


class PurchaseOrder(Fields):
    """A buyer's order, or the seller's confirmation of it."""

    number: str | None = None
    issue_date: dt.date | None = None
    delivery_date: dt.date | None = None
    period_start: dt.date | None = None
    period_end: dt.date | None = None
    seller: Party = Party()
    buyer: Party = Party()
    contract_number: str | None = None
    customer_number: str | None = None
    currency: str | None = None
    net_total: Decimal | None = None
    tax_total: Decimal | None = None
    gross_total: Decimal | None = None
    payment: Payment = Payment()
    lines: tuple[Line, ...] = ()


class DeliveryNote(Fields):
    """What was shipped."""

    number: str | None = None
    issue_date: dt.date | None = None
    delivery_date: dt.date | None = None
    seller: Party = Party()
    buyer: Party = Party()
    order_number: str | None = None
    contract_number: str | None = None
    customer_number: str | None = None
    lines: tuple[Line, ...] = ()


class BankStatement(Fields):
    """The bookings of one account over a period."""

    iban: str | None = None
    currency: str | None = None
    period_start: dt.date | None = None
    period_end: dt.date | None = None
    opening_balance: Decimal | None = None
    closing_balance: Decimal | None = None
    transactions: tuple[Transaction, ...] = ()


class Other(Fields):
    """A document of no known type: it is kept and found, but nothing is extracted."""
