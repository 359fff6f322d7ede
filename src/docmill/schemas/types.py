"""The schema of each document type that has a class, and the parts that several of them share.

Names are those of EN 16931 where it has one.
"""

import datetime as dt
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field

from docmill.schemas.outline import CLOCK


class Fields(BaseModel):
    """Every field may be null: missing is null, never invented. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Party(Fields):
    """A seller or buyer (BG-4, BG-7)."""

    name: str | None = None
    address: str | None = None
    vat_id: str | None = None


class Payment(Fields):
    """Instructions for a payment, or details of one that was made (BG-16)."""

    iban: str | None = None
    bic: str | None = None
    terms: str | None = None
    method: str | None = None


class Line(Fields):
    """One line item (BG-25)."""

    position: str | None = None
    description: str | None = None
    quantity: Decimal | None = None
    unit: str | None = None
    unit_price: Decimal | None = None
    net_amount: Decimal | None = None
    tax_rate: Decimal | None = None


class Transaction(Fields):
    """One booking of a bank statement. amount: negative for a debit."""

    date: dt.date | None = None
    amount: Decimal | None = None
    currency: str | None = None
    counterparty: str | None = None
    iban: str | None = None
    reference: str | None = None
    description: str | None = None


class Invoice(Fields):
    """A request to pay. tax_category: codes of UNTDID 5305 (BT-118), parted by spaces if it has several."""

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
    tax_category: str | None = None
    gross_total: Decimal | None = None
    amount_due: Decimal | None = None
    payment: Payment = Payment()
    lines: tuple[Line, ...] = ()


class Receipt(Invoice):
    """A proof of payment at a till. time: as HH:MM or HH:MM:SS."""

    time: str | None = Field(default=None, json_schema_extra={"format": CLOCK})
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
    """The goods that were shipped."""

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
