"""What matching knows of one document, or of one payment of a bank statement."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from docmill.matching.return_words import NO_RETURN, ReturnWords

Kind = Literal[
    "quote",
    "contract",
    "purchase_order",
    "delivery_note",
    "invoice",
    "credit_note",
    "reminder",
    "receipt",
    "payment",
]
"""Document types that can be matched, by their names, and `payment` for a transaction of a bank statement."""

ReferenceKind = Literal["order", "delivery_note", "invoice", "contract", "customer", "payment", "text"]
"""What a number on a record refers to; `text` for one that stands in free text, such as a bank line."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A number that a record names. value: as read; key: normalised for comparison, see `references`."""

    kind: ReferenceKind
    value: str
    key: str


@dataclass(frozen=True, slots=True)
class PartyIdentity:
    """One side of a business. name: as read; key: normalised, without legal form, see `parties`.

    vat_id, iban: compact, in capitals; empty where they are not known or their checksum does not hold.
    """

    name: str = ""
    key: str = ""
    vat_id: str = ""
    iban: str = ""

    def __bool__(self) -> bool:
        return bool(self.key or self.vat_id or self.iban)


@dataclass(frozen=True, slots=True)
class Item:
    """A line item. quantity, unit_price, net_amount, tax_rate (in percent): null where not known."""

    description: str = ""
    key: str = ""
    quantity: Decimal | None = None
    unit_price: Decimal | None = None
    net_amount: Decimal | None = None
    tax_rate: Decimal | None = None


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """One record to be matched.

    id: of the document; `DOCUMENT#3` for the third transaction of a bank statement. document_id: of the file.
    numbers: its own numbers as references of its own kind. seller, buyer: of a payment, the one who is paid
    and the one who pays; the side of the account's owner has only an IBAN. amounts are positive; a payment
    has its amount as `gross_total`. is_incoming: of a payment, whether the account's owner received it.
    issue_date: of a payment, the day of booking. text_keys: keys of all words with a digit in its text.
    returned: of a payment, what its text says of an earlier one that the bank returned.
    """

    id: str
    document_id: str
    kind: Kind
    number: Reference | None = None
    references: tuple[Reference, ...] = ()
    seller: PartyIdentity = PartyIdentity()
    buyer: PartyIdentity = PartyIdentity()
    currency: str = ""
    net_total: Decimal | None = None
    tax_total: Decimal | None = None
    gross_total: Decimal | None = None
    amount_due: Decimal | None = None
    issue_date: dt.date | None = None
    due_date: dt.date | None = None
    delivery_date: dt.date | None = None
    period_start: dt.date | None = None
    period_end: dt.date | None = None
    terms: str = ""
    items: tuple[Item, ...] = ()
    text_keys: frozenset[str] = frozenset()
    is_incoming: bool | None = None
    returned: ReturnWords = NO_RETURN
    other_values: Mapping[str, str] = field(default_factory=dict[str, str])
