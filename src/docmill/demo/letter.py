"""The input of a layout: the truth, the sender and the sender's conventions."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from docmill.demo.canvas import A4, Paper, Size
from docmill.demo.issuers import House
from docmill.demo.sums import Tax
from docmill.demo.wording import Wording
from docmill.schemas.types import BankStatement, DeliveryNote, Invoice, PurchaseOrder

Bill = Invoice | PurchaseOrder | DeliveryNote


@dataclass(frozen=True, slots=True)
class Letter:
    """A business paper. `fields` is its truth: a layout prints every field that is not null, and no other.

    kind: the title's label. articles: item numbers, which no schema has. opening, closing: sentences around
    the table.
    """

    fields: Bill
    kind: str
    sender: House
    recipient: House
    wording: Wording
    taxes: tuple[Tax, ...] = ()
    articles: tuple[str, ...] = ()
    opening: str = ""
    closing: tuple[str, ...] = ()
    size: Size = A4

    def value(self, name: str) -> str | dt.date | Decimal | None:
        """The field `name`, null where this kind of document has none."""
        return getattr(self.fields, name, None)


@dataclass(frozen=True, slots=True)
class Statement:
    """A bank statement. See `Letter`."""

    fields: BankStatement
    bank: House
    holder: House
    wording: Wording
    size: Size = A4


Draw = Callable[[Paper, Letter], None] | Callable[[Paper, Statement], None]
