"""Parts that several document types share. Names after EN 16931 where it has one."""

import datetime as dt
from decimal import Decimal

from pydantic import BaseModel, ConfigDict


class Fields(BaseModel):
    """Every field may be null: missing is null, never invented. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Party(Fields):
    """A seller or buyer (BG-4, BG-7)."""

    name: str | None = None
    address: str | None = None
    vat_id: str | None = None


class Payment(Fields):
    """How to pay, or how it was paid (BG-16)."""

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
