"""What matching finds: links between records with their reasons, clusters and discrepancies."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Self

Relation = Literal[
    "quote_to_order",
    "contract_to_order",
    "contract_to_invoice",
    "order_to_response",
    "order_to_delivery",
    "order_to_invoice",
    "delivery_to_invoice",
    "invoice_to_credit_note",
    "invoice_to_reminder",
    "invoice_to_receipt",
    "invoice_to_payment",
    "receipt_to_payment",
    "credit_note_to_payment",
    "payment_to_return",
    "duplicate",
]
"""The kinds of links. The first record of a link has the first kind; of duplicates, it is the earlier one."""

State = Literal["automatic", "suggested", "outranked"]
"""Of a link: taken; for a person to decide; plausible by itself, but others explain the records better."""

DiscrepancyCode = Literal[
    "price",
    "quantity",
    "tax",
    "missing_line",
    "over_billed",
    "under_billed",
    "paid_twice",
    "overpaid",
    "underpaid",
    "payment_returned",
    "iban_changed",
]


@dataclass(frozen=True, slots=True)
class Reason:
    """A piece of evidence for or against a link.

    code: see `docs/matching.md`. weight: what it adds to the log-odds. values: what was compared, as text.
    """

    code: str
    weight: float
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two records. score: the calibrated probability that it is right."""

    first_id: str
    second_id: str
    relation: Relation
    score: float
    state: State
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A difference between linked records, with its figures.

    record_id: of the record that departs from the others. line: index of its line item, from 0; of
    `missing_line`, the index in the first of `other_ids`. expected, found, difference: as text, in the unit
    of what is compared.
    """

    code: DiscrepancyCode
    record_id: str
    other_ids: tuple[str, ...]
    line: int | None = None
    expected: str = ""
    found: str = ""
    difference: str = ""

    @classmethod
    def between(
        cls,
        code: DiscrepancyCode,
        record_id: str,
        other_ids: tuple[str, ...],
        *,
        expected: Decimal | str,
        found: Decimal | str,
        line: int | None = None,
    ) -> Self:
        """A discrepancy of two values; of numbers, with their difference."""
        difference = ""
        if isinstance(expected, Decimal) and isinstance(found, Decimal):
            difference = str(found - expected)
        return cls(code, record_id, other_ids, line, str(expected), str(found), difference)


@dataclass(frozen=True, slots=True)
class Matching:
    """The result for a set of records. clusters: sorted ids of the records that automatic links connect."""

    links: tuple[Link, ...]
    clusters: tuple[tuple[str, ...], ...]
    discrepancies: tuple[Discrepancy, ...]
